internal import ControlWire
package import Operations
package import PosixKit

/// The settings of a relay, checked and in the units in which they are used.
package struct RelayConfiguration: Sendable {
    package enum Admission: String, Sendable { case open, manual, closed }

    package var state: String
    package var name = "antenna relay"
    package var listen = SocketAddress.loopback(port: 5280)
    /// The host and port that go into links; nil: the address that the relay listens on.
    package var advertise: (host: String, port: UInt16?)?
    package var loops = 1
    static let loopsMax = 64
    package var drainSeconds: Int64 = 5
    package var admission = Admission.open
    package var connectionsMax = 60_000
    package var connectionsPerAddressMax = 2000
    package var channelsMax = 10_000
    package var pendingInvitationsMax = 1000
    /// 0: no limit.
    package var invitationsPerAddressMax = 500
    package var subscribersPerChannelMax = 100_000
    package var messageBytesMax = 15_602
    package var logMessagesMax: Int64 = 100_000
    package var logBytesMax: Int64 = 256 << 20
    package var tailBytesMax = 1 << 20
    /// 0: no limit.
    package var databaseBytesMax: Int64 = 0
    package var walBytesMax: Int64 = 512 << 20
    package var handshakeSeconds: Int64 = 10
    package var idleSeconds: Int64 = 90
    package var slowReaderSeconds: Int64 = 30
    package var logAddresses = false

    /// The defaults, with a state directory.
    package init(state: String) { self.state = state }

    /// Reads the settings in force.
    ///
    /// **Throws** bad-configuration for an address or a name that makes no sense.
    package init(_ settings: Configuration) throws(OperatorError) {
        if let state = settings.text("relay", "state") {
            self.state = state
        } else if let state = ControlPaths.defaultState(environment: { Console.environment($0) }) {
            self.state = state
        } else {
            throw OperatorError(
                .badConfiguration, "neither HOME nor XDG_STATE_HOME is set",
                hint: "name the directory with --state")
        }
        name = settings.text("relay", "name") ?? name
        guard (1...64).contains(name.count), name.utf8.count <= 255,
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw RelayConfiguration.wrong(settings, "relay", "name", "a name of at most 64 characters")
        }
        guard let listen = settings.text("relay", "listen").flatMap(SocketAddress.parse) else {
            throw RelayConfiguration.wrong(
                settings, "relay", "listen", "an address and a port: 127.0.0.1:5280, [::]:5280")
        }
        self.listen = listen
        if let text = settings.text("relay", "advertise") {
            guard let advertise = RelayConfiguration.hostAndPort(text) else {
                throw RelayConfiguration.wrong(settings, "relay", "advertise", "HOST or HOST:PORT")
            }
            self.advertise = advertise
        }
        let loops = Int(settings.integer("relay", "loops"))
        self.loops = loops > 0 ? loops : min(Posix.processorCount, RelayConfiguration.loopsMax)
        drainSeconds = settings.integer("relay", "drain_seconds")
        admission = settings.text("admission", "policy").flatMap(Admission.init) ?? .open
        connectionsMax = Int(settings.integer("limits", "connections"))
        connectionsPerAddressMax = Int(settings.integer("limits", "connections_per_address"))
        channelsMax = Int(settings.integer("limits", "channels"))
        pendingInvitationsMax = Int(settings.integer("limits", "pending_invitations"))
        invitationsPerAddressMax = Int(settings.integer("limits", "invitations_per_address"))
        subscribersPerChannelMax = Int(settings.integer("limits", "subscribers_per_channel"))
        messageBytesMax = Int(settings.integer("limits", "message_bytes"))
        logMessagesMax = settings.integer("limits", "log_messages")
        logBytesMax = settings.integer("limits", "log_bytes")
        tailBytesMax = Int(settings.integer("limits", "tail_bytes"))
        databaseBytesMax = settings.integer("limits", "database_bytes")
        walBytesMax = settings.integer("limits", "wal_bytes")
        handshakeSeconds = settings.integer("timeouts", "handshake_seconds")
        idleSeconds = settings.integer("timeouts", "idle_seconds")
        slowReaderSeconds = settings.integer("timeouts", "slow_reader_seconds")
        logAddresses = settings.boolean("log", "addresses")
    }

    /// These settings with what only a restart can change taken from `running`.
    func keepingFixed(of running: RelayConfiguration) -> RelayConfiguration {
        var kept = self
        kept.state = running.state
        kept.listen = running.listen
        kept.advertise = running.advertise
        kept.loops = running.loops
        return kept
    }

    /// `relay.example`, `relay.example:5281`, `[::1]`, `[::1]:5281`; the port is nil where it is not given.
    package static func hostAndPort(_ text: String) -> (host: String, port: UInt16?)? {
        var host = Substring(text)
        var port: UInt16?
        if host.first == "[" {
            guard let end = host.firstIndex(of: "]") else { return nil }
            let rest = host[host.index(after: end)...]
            host = host[host.index(after: host.startIndex)..<end]
            guard host.contains(":") else { return nil }
            if !rest.isEmpty {
                guard rest.first == ":", let number = UInt16(rest.dropFirst()), number > 0 else { return nil }
                port = number
            }
        } else if let colon = host.lastIndex(of: ":") {
            guard let number = UInt16(host[host.index(after: colon)...]), number > 0 else { return nil }
            port = number
            host = host[..<colon]
            guard !host.contains(":") else { return nil }
        }
        let allowed = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: ":"):
                true
            default: false
            }
        }
        guard !host.isEmpty, host.utf8.count <= 253, allowed else { return nil }
        return (String(host), port)
    }

    private static func wrong(
        _ settings: Configuration, _ section: String, _ key: String, _ expected: String
    ) -> OperatorError {
        let setting = settings.setting(section, key)
        let shown = TerminalText.cut(setting.text, bytesMax: 64)
        return OperatorError(
            .badConfiguration, "\(setting.origin.description): [\(section)] \(key) cannot be ‘\(shown)’",
            hint: "give \(expected)")
    }
}
