package import Operations

/// Every setting of `antennad`: the one table behind the file, the environment, the flags and the help.
package enum RelayOptions {
    package static let table: [ConfigurationOption] = [
        ConfigurationOption(
            "relay", "state", .text, default: "", reloadable: false,
            "the directory of the relay's state; empty: that of the service, else $XDG_STATE_HOME/antenna/relay"
        ),
        ConfigurationOption(
            "relay", "name", .text, default: "antenna relay", reloadable: true, "the name that owners see"),
        ConfigurationOption(
            "relay", "listen", .text, default: "127.0.0.1:5280", reloadable: false,
            "the address and port to listen on; port 0 takes a free one"),
        ConfigurationOption(
            "relay", "advertise", .text, default: "", reloadable: false,
            "HOST or HOST:PORT that goes into links; empty: the listen address"),
        ConfigurationOption(
            "relay", "loops", .integer(0...64), default: "0", reloadable: false,
            "threads that serve links; 0: one for each processor that the relay may run on"),
        ConfigurationOption(
            "relay", "drain_seconds", .seconds(0...3600), default: "5", reloadable: true,
            "the time in which a stopping relay says goodbye"),
        ConfigurationOption(
            "admission", "policy", .choice(["open", "manual", "closed"]), default: "open", reloadable: true,
            "who decides about invitations: the relay at once, its operator, nobody"),
        ConfigurationOption(
            "limits", "connections", .integer(1...10_000_000), default: "60000", reloadable: true,
            "the most connections at once"),
        ConfigurationOption(
            "limits", "connections_per_address", .integer(1...10_000_000), default: "2000", reloadable: true,
            "the most connections of one address (IPv6: one /64)"),
        ConfigurationOption(
            "limits", "channels", .integer(1...1_000_000), default: "10000", reloadable: true,
            "the most channels served"),
        ConfigurationOption(
            "limits", "pending_invitations", .integer(0...1_000_000), default: "1000", reloadable: true,
            "the most invitations that wait for the operator"),
        ConfigurationOption(
            "limits", "invitations_per_address", .integer(0...1_000_000), default: "500", reloadable: true,
            "the most invitations of one address (IPv6: one /64) taken up at once, and again in each day (0: "
                + "no limit)"),
        ConfigurationOption(
            "limits", "subscribers_per_channel", .integer(1...10_000_000), default: "100000",
            reloadable: true,
            "the most members of one channel"),
        ConfigurationOption(
            "limits", "message_bytes", .bytes(256...15602), default: "15602", reloadable: true,
            "the largest message taken"),
        ConfigurationOption(
            "limits", "log_messages", .integer(1...100_000_000), default: "100000", reloadable: true,
            "the most messages kept of one channel"),
        ConfigurationOption(
            "limits", "log_bytes", .bytes(65536...(1 << 40)), default: "256 MiB", reloadable: true,
            "the most bytes kept of one channel"),
        ConfigurationOption(
            "limits", "tail_bytes", .bytes(65536...(1 << 30)), default: "1 MiB", reloadable: true,
            "the newest messages of a channel kept in memory; a reload counts for channels that nobody reads yet"
        ),
        ConfigurationOption(
            "limits", "database_bytes", .bytes(0...(1 << 44)), default: "0", reloadable: true,
            "the most the database may grow to; beyond it publishes are refused (0: no limit)"),
        ConfigurationOption(
            "limits", "wal_bytes", .bytes(1048576...(1 << 44)), default: "512 MiB", reloadable: true,
            "the most the write-ahead log may grow to while another program reads the database; beyond it "
                + "publishes are refused"),
        ConfigurationOption(
            "timeouts", "handshake_seconds", .seconds(1...600), default: "10", reloadable: true,
            "for the handshake, and again for the first frame; a reload counts for new links"),
        ConfigurationOption(
            "timeouts", "idle_seconds", .seconds(1...86_400), default: "90", reloadable: true,
            "after this long without a word a link is asked whether it lives; a reload counts for new links"),
        ConfigurationOption(
            "timeouts", "slow_reader_seconds", .seconds(1...3600), default: "30", reloadable: true,
            "a reader that takes nothing for this long, or not one whole record in ten times as long, is cut; a "
                + "reload counts for new links"),
        ConfigurationOption(
            "log", "level", .choice(["debug", "info", "notice", "warning", "error"]), default: "info",
            reloadable: true, "the least grave events written"),
        ConfigurationOption(
            "log", "format", .choice(["text", "json"]), default: "text", reloadable: false,
            "how events are written"),
        ConfigurationOption(
            "log", "addresses", .boolean, default: "no", reloadable: true,
            "whether addresses of peers are written"),
    ]

    /// The flags of the command line and the settings they stand for.
    package static let flags: [(flag: OptionSpec, section: String, key: String)] = [
        (OptionSpec("state", value: "DIR", "the relay's state directory"), "relay", "state"),
        (
            OptionSpec("listen", value: "ADDRESS:PORT", "where to listen (default 127.0.0.1:5280)"), "relay",
            "listen"
        ),
        (OptionSpec("advertise", value: "HOST[:PORT]", "what goes into links"), "relay", "advertise"),
        (OptionSpec("name", value: "NAME", "the name that owners see"), "relay", "name"),
        (
            OptionSpec("loops", value: "COUNT", "threads that serve links (default: one for each processor)"),
            "relay", "loops"
        ),
        (OptionSpec("log-format", value: "text|json", "how events are written"), "log", "format"),
        (OptionSpec("log-level", value: "LEVEL", "debug, info, notice, warning or error"), "log", "level"),
    ]
}
