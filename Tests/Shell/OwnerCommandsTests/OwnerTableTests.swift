import ChannelClient
import Operations
import OwnerCommands
import Testing

@Suite("The commands of antenna") struct OwnerTableTests {
    @Test("every command of the table is carried out by something")
    func actions() {
        for spec in OwnerTable.table.commands {
            #expect(OwnerProgram.knows(spec.name) != CommandTable.isBuiltIn(spec.name), "\(spec.name)")
        }
        #expect(!OwnerProgram.knows("dance"))
    }

    @Test("every visible command has a summary and an example that parses as that command")
    func examples() throws {
        for spec in OwnerTable.table.commands where !spec.hidden && !CommandTable.isBuiltIn(spec.name) {
            #expect(!spec.summary.isEmpty && !spec.examples.isEmpty, "\(spec.name)")
            for example in spec.examples {
                // What feeds a pipe is not ours.
                let line = String(example.split(separator: "|").last ?? "")
                let words = try ShellWords.split(line)
                #expect(words.first == "antenna")
                guard case .run(let parsed) = try OwnerTable.table.parse(Array(words.dropFirst())) else {
                    Issue.record("\(example) does not run")
                    continue
                }
                #expect(parsed.name == spec.name)
            }
        }
    }

    @Test("what the library calls an error has a number of its own")
    func numbers() {
        let all = ChannelClientError.Code.allCases
        #expect(Set(all.map(ClientFailure.number)).count == all.count)
        #expect(all.allSatisfy { ClientFailure.number($0) >= 500 })
    }

    @Test(
        "an error of the library ends the program with its code",
        arguments: [
            (.notOwner, .permission), (.notPermitted, .permission), (.unknownChannel, .usage),
            (.homeTooNew, .badData),
            (.homeBusy, .temporary),
            (.homeNotWritable, .cannotCreate), (.unreachable, .unavailable), (.relayAddress, .usage),
            (.tooFewRelays, .usage),
        ] as [(ChannelClientError.Code, ExitCode)])
    func exitCodes(code: ChannelClientError.Code, exit: ExitCode) {
        let error = ChannelClientError(code, "x")
        #expect(ClientFailure.exitCode(error) == exit)
        // A program of somebody else ends alike; how many relays took a message it knows itself.
        if code != .tooFewRelays { #expect(error.exitStatus == exit.rawValue) }
    }
}

@Suite("Exit codes of relays") struct RelayExitCodeTests {
    private typealias Part = PublishReceipt.RelayReceipt

    private func receipt(_ outcomes: [Part.Outcome]) -> PublishReceipt {
        PublishReceipt(
            messageID: "m", channel: "news",
            relays: outcomes.enumerated().map { Part(relay: "r\($0.offset)", outcome: $0.element) })
    }

    @Test(
        "a publish ends with 0 for all relays, 2 for some, 69 for none, and 0 for as many as were asked for")
    func receipts() {
        let yes = Part.Outcome.accepted(sequence: 1)
        let no = Part.Outcome.queued("no answer")
        let refused = Part.Outcome.refused(code: 43, name: "not-permitted", text: "")
        #expect(Present.exitCode(receipt([yes, yes])) == .ok)
        #expect(Present.exitCode(receipt([yes, no])) == .partial)
        #expect(Present.exitCode(receipt([refused, yes])) == .partial)
        #expect(Present.exitCode(receipt([no, refused])) == .unavailable)
        #expect(Present.exitCode(receipt([yes, no]), minimum: 1) == .ok)
        #expect(Present.exitCode(receipt([yes, no]), minimum: 2) == .partial)
        #expect(Present.exitCode(receipt([no, no]), minimum: 1) == .unavailable)
    }

    @Test(
        "an invitation ends with 0 for all relays, 2 where some serve or still decide, 69 for none",
        arguments: [
            ([.active, .active], .ok), ([.active, .rejected("full")], .partial),
            ([.pending(.invited)], .partial),
            ([.noAnswer("silent")], .unavailable),
            ([.rejected("a"), .failed("b", retriable: true)], .unavailable),
            ([.active, .noAnswer("silent")], .partial), ([], .ok),
        ] as [([RelayOutcome.Result], ExitCode)])
    func outcomes(results: [RelayOutcome.Result], exit: ExitCode) {
        #expect(Present.exitCode(results.map { RelayOutcome(relay: "r", result: $0) }) == exit)
    }

    @Test(
        "catching up ends with 0 where every relay has everything, 2 for some, 69 where none was reached",
        arguments: [
            (0, 2, 0, .ok), (1, 2, 0, .partial), (0, 1, 1, .partial), (3, 0, 2, .unavailable), (0, 0, 0, .ok),
        ]
            as [(Int, Int, Int, ExitCode)])
    func catchingUp(pending: Int, reached: Int, unreachable: Int, exit: ExitCode) {
        let report = SynchronizeReport(
            delivered: 0, pending: pending, refused: 0, reached: reached,
            unreachable: Array(repeating: ("news", "home", "no answer"), count: unreachable))
        #expect(Present.exitCode(report) == exit)
    }

    @Test("why numbers of a log are gone is said in words")
    func gaps() {
        func line(_ from: Int64, _ to: Int64, _ reason: DeliveryGap.Reason) -> String {
            Present.line(
                FollowItem(
                    position: 1,
                    kind: .gap(
                        DeliveryGap(channel: "news", relay: "home", from: from, to: to, reason: reason))))
        }
        #expect(
            line(4, 5, .erased)
                == "-- home: numbers 4 to 5 of its log are gone (deleted by their author or an owner)")
        #expect(line(1, 1, .pruned) == "-- home: number 1 of its log is gone (older than what it keeps)")
        #expect(line(0, 0, .epoch) == "-- home started a new log; earlier positions are gone")
    }

    @Test("result lines stand in columns, also a single one")
    func columns() {
        #expect(Present.columns([["home", "active", ""]]) == ["home  active"])
        #expect(
            Present.columns([["a", "accepted", "x"], ["other", "queued", ""]]) == [
                "a      accepted  x", "other  queued",
            ])
        #expect(Present.columns([]) == [])
    }

    @Test("a message is one block of text that no author can turn into commands for a terminal")
    func hostileMessage() {
        let message = Message(
            channel: "news", id: "QWJjZGVmZ2hp", author: nil, authorName: "e\u{1B}[2Jve\n",
            text: "one\ttab\ntwo\u{202E}\u{7}",
            contentType: "text", time: 0, edited: true, deleted: false, signature: .signatureMissing,
            own: false,
            relays: [])
        #expect(
            Present.line(message)
                == "1970-01-01 00:00:00 e\\u{1b}[2Jve\\n: one\ttab\n    two\\u{202e}\\u{7}  (QWJjZGVmZ2, edited, NOT SIGNED)"
        )
    }
}
