package import Operations

/// The commands of `antennactl`: usage, help and suggestions come from here.
package enum OperatorTable {
    package static let table = CommandTable(
        program: "antennactl",
        summary: "administers the relay that runs on this machine",
        globals: [
            OptionSpec("state", value: "DIR", "the relay's state directory"),
            OptionSpec(
                "socket", value: "PATH",
                "the relay's control socket, instead of the one in its state directory"),
            OptionSpec("timeout", value: "SECONDS", "give up after this long (default 10; 3600 for backup)"),
            OptionSpec("json", "print one JSON document, errors too"),
        ],
        commands: [
            CommandSpec(
                "status", "Show how the relay is doing",
                examples: ["antennactl status", "antennactl status --json"]),
            CommandSpec(
                "address", "Show the link that owners add this relay with",
                options: [OptionSpec("qr", "draw it as a QR code, also where no terminal is seen")],
                examples: ["antennactl address", "antennactl address --qr"]),
            CommandSpec(
                "channels", "List the channels that the relay carries or refuses",
                examples: ["antennactl channels", "antennactl channels --json"]),
            CommandSpec(
                "members", "List the members of a channel", arguments: [channel],
                options: [
                    OptionSpec("limit", value: "COUNT", "the most rows (default 1000)"),
                    OptionSpec("after", value: "MEMBER", "begin after this member id"),
                ],
                examples: ["antennactl members '#news'", "antennactl members \"#'my news'\" --limit 20"]),
            CommandSpec(
                "leave", "Leave a channel; future invitations will be rejected",
                discussion: """
                    Ends the channel here: its subscribers and owners are told, and every later
                    invitation is answered with a rejection until you allow it again. This survives
                    a restart.
                    """,
                arguments: [channel],
                options: [OptionSpec("reason", value: "TEXT", "kept in the audit")],
                examples: ["antennactl leave '#news'", "antennactl leave '#news' --reason 'too loud'"]),
            CommandSpec(
                "allow", aliases: ["group allow", "relay allow"],
                "Clear a relay rejection, so that the channel may invite again",
                discussion: "Nothing is sent to anybody. The owner removes the relay and adds it again.",
                arguments: [channel],
                examples: ["antennactl allow '#news'", "antennactl group allow '#news'"]),
            CommandSpec(
                "invitations", "List the invitations that wait for you",
                examples: ["antennactl invitations"]),
            CommandSpec(
                "accept", "Accept an invitation", arguments: [channel],
                examples: ["antennactl accept '#news'"]),
            CommandSpec(
                "reject", "Reject an invitation; the owner may invite again later", arguments: [channel],
                options: [OptionSpec("reason", value: "TEXT", "told to the owner (default not_accepted)")],
                examples: [
                    "antennactl reject '#news'", "antennactl reject '#news' --reason 'no room for podcasts'",
                ]),
            CommandSpec(
                "forget", "Delete what is kept of a channel that is not served; a rejection stays",
                arguments: [channel], examples: ["antennactl forget '#news'"]),
            CommandSpec(
                "audit", "List what operators did with channels, the newest first",
                discussion: "Leave, allow, accept, reject, forget and prune. The rest is in the relay's log.",
                options: [OptionSpec("limit", value: "COUNT", "the most rows (default 100)")],
                examples: ["antennactl audit", "antennactl audit --limit 5 --json"]),
            CommandSpec(
                "rotate-key", "Make a new key for links; the address stays",
                examples: ["antennactl rotate-key"]),
            CommandSpec(
                "prune", "Drop what is over the limits of a channel's log, or of all, now",
                discussion:
                    "The room is given back to the disk. Readers who come later are told what is gone.",
                arguments: [ArgumentSpec("CHANNEL", .optional, "this channel only")],
                options: [OptionSpec("keep", value: "COUNT", "leave only so many of the newest messages")],
                examples: [
                    "antennactl prune", "antennactl prune '#news'", "antennactl prune '#news' --keep 1000",
                ]),
            CommandSpec(
                "reload", "Read the settings anew, as at the signal HUP",
                discussion: """
                    What is wrong changes nothing: the settings of before stay in force, and this ends
                    with 78. Settings that need a restart are named.
                    """,
                examples: ["antennactl reload"]),
            CommandSpec(
                "backup", "Write a copy of the database while the relay works",
                discussion: """
                    The relay writes the file, so its user must be able to. It appears under its name only
                    when it is whole, checked and on disk; it holds every message accepted before the
                    command. antennad restore puts it back.
                    """,
                arguments: [ArgumentSpec("FILE", "where the copy goes; one of that name is replaced")],
                examples: ["antennactl backup /var/lib/antenna/backup.db"]),
            CommandSpec(
                "version", "Show the versions of this program and of the relay",
                examples: ["antennactl version"]),
        ],
        notes: """
            Without a command antennactl reads commands from standard input, one a line, with or without a
            slash in front: /leave #news, /group allow #'my news', help, quit. A line that begins with # is
            a comment.

            state directory: --state, else $ANTENNA_RELAY__STATE, else $XDG_STATE_HOME/antenna/relay,
            else ~/.local/state/antenna/relay, else /var/lib/antenna
            exit codes: 0 done, 1 refused or failed, 64 wrong usage or unknown name, 69 no relay there or
            no answer in time, 74 input or output failed, 77 not permitted, 78 settings invalid
            """)

    private static let channel = ArgumentSpec(
        "CHANNEL", "'#news', \"#'my news'\", '#news_1' or an id; to a shell a bare #news is a comment")
}
