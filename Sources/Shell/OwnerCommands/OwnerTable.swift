package import Operations

/// Every command of `antenna` with its help; what it does stands in the function named beside it.
package enum OwnerTable {
    package static let table = CommandTable(
        program: "antenna", summary: "channels on relays that anyone can host",
        globals: [
            OptionSpec("home", value: "DIR", "where keys, channels and messages are kept"),
            OptionSpec(
                "passphrase-file", value: "FILE", "a file whose first line unlocks the keys of the home"),
            OptionSpec(
                "proxy", value: "URL", "a SOCKS5 proxy for everything: socks5://127.0.0.1:9050"),
            OptionSpec("json", "one JSON document (a stream: JSON lines) on standard output"),
            OptionSpec("timeout", value: "SECONDS", "how long to wait for relays (default 30)"),
        ],
        commands: people + channels + messages + upkeep + [demo],
        notes: """
            The home is --home, else $ANTENNA_HOME, else $XDG_DATA_HOME/antenna, else ~/.local/share/antenna.
            The proxy is --proxy, else $ANTENNA_PROXY. Through it each channel has a user name of its own, which
            Tor takes for a circuit of its own, and relay names are resolved by the proxy alone.
            A channel is written '#news', news, "#'my news'" or as its id. A message is named by its id or by
            a unique beginning of four characters or more.

            exit codes: 0 all relays, 2 some of them (or their operators still decide), 69 none or no
            answer in time, 64 wrong usage, 77 not permitted, 65 73 74 75 the home directory cannot be
            used, 1 anything else
            """)

    private static let channel = ArgumentSpec(
        "CHANNEL", "news, '#news' or its id; to a shell a bare #news is a comment")
    private static let message = ArgumentSpec("MESSAGE", "the message's id, or a unique beginning of it")
    private static let minimum = OptionSpec(
        "min-relays", value: "N", "succeed (exit 0) as soon as N relays have it")

    // MARK: Who I am and whom I know

    private static let people = [
        CommandSpec(
            "profile", "Show or set the name that channels made or joined from now on carry",
            arguments: [ArgumentSpec("NAME", .optional, "the name to show to others")],
            examples: ["antenna profile alice", "antenna profile --json"]),
        CommandSpec(
            "passphrase", "Lock the keys of this home with a passphrase, or change it",
            discussion:
                "It is asked for on a terminal, and read as a line of standard input elsewhere. Other\n"
                + "commands ask for it on a terminal, else they need --passphrase-file or $ANTENNA_PASSPHRASE_FILE.",
            options: [OptionSpec("remove", "take the passphrase away")],
            examples: ["antenna passphrase", "antenna passphrase --remove --passphrase-file secret"]),
        CommandSpec(
            "relay add", "Write a relay into the address book",
            arguments: [
                ArgumentSpec("NAME", "what to call it here"),
                ArgumentSpec("ADDRESS", "its address, as its operator hands it out"),
            ], examples: ["antenna relay add home 'https://relay.example/r#KEY'"]),
        CommandSpec(
            "relay test", "Check address, connection, certificate and signature of a relay",
            arguments: [ArgumentSpec("NAME", "its name here, or any relay address")],
            examples: [
                "antenna relay test home", "antenna relay test 'https://relay.example/r#KEY' --timeout 5",
            ]),
        CommandSpec("relay list", "Show the address book", examples: ["antenna relay list --json"]),
        CommandSpec(
            "relay remove", "Take a relay out of the address book; channels on it stay there",
            arguments: [ArgumentSpec("NAME", "its name here")], examples: ["antenna relay remove home"]),
    ]

    // MARK: Channels

    private static let channels = [
        CommandSpec(
            "channel create", "Create a channel and invite relays; one result line per relay",
            arguments: [ArgumentSpec("NAME", "the channel's name")],
            options: [
                OptionSpec("relay", value: "NAME", repeats: true, "a relay of the address book to carry it"),
                OptionSpec("description", value: "TEXT", "what it is about"),
                OptionSpec("unsigned", "do not sign messages, so that nobody can prove who wrote them"),
            ],
            examples: ["antenna channel create news --relay home --relay other --description 'What is new'"]),
        CommandSpec(
            "channel list", aliases: ["channels"], "Show the channels of this home",
            examples: ["antenna channels"]),
        CommandSpec(
            "channel set", "Change a channel's name or description", arguments: [channel],
            options: [
                OptionSpec("description", value: "TEXT", "what it is about"),
                OptionSpec("name", value: "NAME", "its name"),
            ], examples: ["antenna channel set '#news' --description 'All that is new'"]),
        CommandSpec(
            "channel delete", "Delete a channel for everybody", arguments: [channel],
            options: [OptionSpec("yes", short: "y", "do not ask")],
            examples: ["antenna channel delete '#news' --yes"]),
        CommandSpec(
            "channel forget",
            "Take a channel that was left, or that ended, out of this home with its messages",
            arguments: [channel], examples: ["antenna channel forget '#news'"]),
        CommandSpec(
            "relays", "Show the relays of a channel and where they stand, add or remove them",
            discussion: """
                A relay is new, invited, accepted, acknowledgedRoster, then active: it carries the
                channel. Inactive: not any more. Rejected: its operator left the channel, or turned
                it down, and only they can change that.
                A relay that is listed, in whatever status, has to be removed before it can be added.
                """,
            arguments: [channel],
            options: [
                OptionSpec("add", value: "NAME", repeats: true, "invite this relay of the address book"),
                OptionSpec("remove", value: "NAME", repeats: true, "remove this relay"),
                OptionSpec("offline", "show what is known here; else the relays are asked, for 5 s at most"),
            ],
            examples: [
                "antenna relays '#news'", "antenna relays '#news' --add other",
                "antenna relays '#news' --offline",
            ]),
        CommandSpec(
            "link", "Show the link that readers join with", arguments: [channel],
            options: [OptionSpec("qr", "also as a QR code")], examples: ["antenna link '#news' --qr"]),
        CommandSpec(
            "join", "Become a subscriber of a channel",
            discussion:
                "The channel sees the name of the profile; another one with --as, a random one with\n"
                + "--anonymous or where the home has no profile. Key and member id are fresh for each channel.",
            arguments: [ArgumentSpec("LINK", "the channel's link")],
            options: [
                OptionSpec("as", value: "NAME", "the name to show in this channel"),
                OptionSpec("anonymous", "show a random name in this channel"),
            ],
            examples: [
                "antenna join 'https://relay.example/c#ID?c=KEY'",
                "antenna join 'https://relay.example/c#ID?c=KEY' --anonymous --proxy socks5://127.0.0.1:9050",
            ]),
        CommandSpec(
            "leave", "End the own membership", arguments: [channel], examples: ["antenna leave '#news'"]),
        CommandSpec(
            "members", "Show who is in a channel", arguments: [channel],
            options: [OptionSpec("limit", value: "N", "at most so many (default 200)")],
            examples: ["antenna members '#news'"]),
        CommandSpec(
            "remove", "Remove a member from a channel",
            arguments: [channel, ArgumentSpec("MEMBER", "id, a unique beginning of it, or a unique name")],
            options: [OptionSpec("messages", "also delete what the member wrote")],
            examples: ["antenna remove '#news' mallory --messages"]),
    ]

    // MARK: Messages

    private static let messages = [
        CommandSpec(
            "post", "Publish a message to all relays of a channel; one receipt line per relay",
            discussion:
                "Without TEXT the message is read from standard input. A relay that did not take it yet\n"
                + "stays in the outbox: the next command, follow or sync goes on trying.",
            arguments: [channel, ArgumentSpec("TEXT", .optional, "the text; absent or -: standard input")],
            options: [minimum, OptionSpec("as-channel", "show the channel as the author")],
            examples: ["antenna post '#news' 'hello'", "date | antenna post '#news' --min-relays 1"]),
        CommandSpec(
            "edit", "Change an own message",
            arguments: [
                channel, message,
                ArgumentSpec("TEXT", .optional, "the new text; absent or -: standard input"),
            ],
            options: [minimum], examples: ["antenna edit '#news' QWJjZGVm 'hello again'"]),
        CommandSpec(
            "delete", "Delete a message for everybody", arguments: [channel, message], options: [minimum],
            examples: ["antenna delete '#news' QWJjZGVm"]),
        CommandSpec(
            "follow", "Show what is published, as it comes; Ctrl-C ends",
            discussion: "It goes on for ever; only where --timeout is given, it ends after that long.",
            arguments: [channel],
            options: [
                OptionSpec(
                    "since", value: "TIME|AGE|MESSAGE",
                    "begin with what came at or after a time, in the last 10m, 2h, 7d, or after a message"),
                OptionSpec("after", value: "POSITION", "begin after a position, as --json prints them"),
                OptionSpec("last", value: "N", "begin with the last N messages that are stored here"),
                OptionSpec("count", value: "N", "end after N messages"),
            ],
            examples: [
                "antenna follow '#news'", "antenna follow '#news' --since 2h",
                "antenna follow '#news' --since 2026-07-14T09:30 --json",
                "antenna follow '#news' --count 1 --timeout 60",
            ]),
        CommandSpec(
            "history", "Show earlier messages, asked from the relays where they are not here",
            arguments: [channel],
            options: [
                OptionSpec("limit", value: "N", "at most so many (default 50)"),
                OptionSpec("before", value: "MESSAGE", "those before this message"),
                OptionSpec("local", "only what is stored here"),
            ],
            examples: [
                "antenna history '#news' --limit 20", "antenna history '#news' --before QWJjZGVm --json",
            ]),
    ]

    // MARK: Upkeep

    private static let upkeep = [
        CommandSpec("outbox", "Show what some relay does not have yet", examples: ["antenna outbox --json"]),
        CommandSpec(
            "outbox discard", "Give up on a message that relays refused", arguments: [channel, message],
            options: [OptionSpec("pending", "also where a relay has not answered yet")],
            examples: ["antenna outbox discard '#news' QWJjZGVm"]),
        CommandSpec(
            "sync", "Send what waits, follow up invitations, and fetch what was missed",
            discussion:
                "Ends with 0 where every relay was reached and has everything, with 69 where none was.",
            examples: ["antenna sync"]),
    ]

    private static let demo = CommandSpec(
        "demo", "One owner and two subscribers on one relay, for scripts/run",
        arguments: [ArgumentSpec("ADDRESS", "the relay's address")], examples: [], hidden: true)
}
