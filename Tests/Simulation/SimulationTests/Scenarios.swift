/// Lives that went wrong once, by hand, so that they stay in the tests whatever the seeds come to mean.
enum Scenarios {
    static let all: [(name: String, plan: Plan)] =
        [
            (
                "an operator leaves while a message waits for the relay",
                Plan(
                    seed: 1,
                    steps: [
                        Planned(at: 1_500, step: .publish(bytes: 40, copies: 1)),
                        Planned(
                            at: 2_000, step: .block(client: 0, relay: 0, refused: true, milliseconds: 4_000)),
                        Planned(at: 2_100, step: .cut(client: 0, relay: 0)),
                        Planned(at: 2_500, step: .publish(bytes: 40, copies: 2)),
                        Planned(at: 3_000, step: .leave(relay: 0)),
                    ])
            ),
            (
                "a relay comes in between a message and its change",
                Plan(
                    seed: 2,
                    steps: [
                        Planned(at: 1_000, step: .join(reader: 0)),
                        Planned(at: 2_000, step: .removeRelay(relay: 1)),
                        Planned(at: 4_000, step: .publish(bytes: 40, copies: 1)),
                        Planned(at: 5_000, step: .addRelay(relay: 1)),
                        Planned(at: 8_000, step: .publish(bytes: 40, copies: 1)),
                        Planned(at: 9_000, step: .edit(recent: 1)),
                        Planned(at: 10_000, step: .publish(bytes: 40, copies: 2)),
                    ])
            ),
            (
                "the wall clock goes back while a relay claims that messages were deleted",
                lying(
                    .claimsDeletion,
                    Plan(
                        seed: 3,
                        steps: [
                            Planned(at: 1_000, step: .join(reader: 0)),
                            Planned(at: 5_000, step: .publish(bytes: 40, copies: 8)),
                            Planned(at: 6_500, step: .stepClock(seconds: -3_000)),
                        ]))
            ),
            (
                "the wall clock goes back by most of an hour while a message waits for a relay",
                Plan(
                    seed: 4,
                    steps: [
                        Planned(at: 1_000, step: .join(reader: 0)),
                        Planned(
                            at: 2_000, step: .block(client: 0, relay: 0, refused: true, milliseconds: 3_000)),
                        Planned(at: 2_100, step: .cut(client: 0, relay: 0)),
                        Planned(at: 2_500, step: .publish(bytes: 40, copies: 1)),
                        Planned(
                            at: 3_000,
                            step: .stall(
                                client: 0, relay: 0, toRelay: true, toClient: true, milliseconds: 500)),
                        Planned(at: 3_500, step: .stepClock(seconds: -3_000)),
                        Planned(at: 9_000, step: .publish(bytes: 40, copies: 1)),
                        Planned(at: 9_010, step: .cut(client: 0, relay: 0)),
                        Planned(at: 9_020, step: .stepClock(seconds: -600)),
                    ])
            ),
        ]
        // The power may go at any write or sync.
        + (0..<16).map { operations in
            (
                "a reader's power goes \(operations) writes into a join",
                Plan(
                    seed: UInt64(10 + operations),
                    steps: [
                        Planned(
                            at: 900,
                            step: .crashClient(
                                client: 1, afterOperations: operations, silently: false, downFor: 1_000)),
                        Planned(at: 1_000, step: .join(reader: 0)),
                        Planned(at: 4_000, step: .publish(bytes: 40, copies: 1)),
                    ])
            )
        }
        + (0..<12).map { operations in
            (
                "an owner's power goes \(operations) writes into a removal",
                Plan(
                    seed: UInt64(30 + operations),
                    steps: [
                        Planned(
                            at: 1_000, step: .block(client: 0, relay: 1, refused: true, milliseconds: 3_000)),
                        Planned(at: 1_100, step: .cut(client: 0, relay: 1)),
                        Planned(at: 1_500, step: .publish(bytes: 40, copies: 2)),
                        Planned(
                            at: 1_900,
                            step: .crashClient(
                                client: 0, afterOperations: operations, silently: false, downFor: 1_000)),
                        Planned(at: 2_000, step: .removeRelay(relay: 1)),
                    ])
            )
        }
        + (0..<14).map { operations in
            (
                "a reader's power goes \(operations) writes into the return of a relay",
                Plan(
                    seed: UInt64(70 + operations),
                    steps: [
                        Planned(at: 1_000, step: .join(reader: 0)),
                        Planned(at: 4_000, step: .removeRelay(relay: 1)),
                        Planned(
                            at: 5_000,
                            step: .crashClient(
                                client: 1, afterOperations: operations, silently: false, downFor: 1_000)),
                        Planned(at: 5_100, step: .addRelay(relay: 1)),
                    ])
            )
        }
        + (0..<8).map { seed in
            (
                "a relay is put back while a reader is away, and goes on from there",
                Plan(
                    seed: UInt64(90 + seed),
                    steps: [
                        Planned(at: 1_000, step: .publish(bytes: 40, copies: 1)),
                        Planned(at: 2_000, step: .join(reader: 0)),
                        Planned(
                            at: 4_000,
                            step: .crashClient(
                                client: 1, afterOperations: nil, silently: false,
                                downFor: seed.isMultiple(of: 2) ? 12_000 : 4_000)),
                        Planned(at: 5_000, step: .publish(bytes: 40, copies: 1)),
                        Planned(at: 6_000, step: .backup(relay: 1)),
                        Planned(at: 7_000, step: .publish(bytes: 40, copies: 2)),
                        Planned(at: 9_000, step: .restore(relay: 1, downFor: 1_000)),
                        Planned(at: 11_000, step: .publish(bytes: 40, copies: 2)),
                    ])
            )
        }
        + (14..<24).map { operations in
            (
                "a reader's power goes \(operations) writes into the log of a relay that was put back",
                Plan(
                    seed: UInt64(100 + operations),
                    steps: [
                        Planned(at: 1_000, step: .publish(bytes: 40, copies: 1)),
                        Planned(at: 2_000, step: .join(reader: 0)),
                        Planned(
                            at: 4_000, step: .block(client: 1, relay: 1, refused: true, milliseconds: 9_500)),
                        Planned(
                            at: 4_000, step: .block(client: 1, relay: 0, refused: true, milliseconds: 12_000)),
                        Planned(at: 4_100, step: .cut(client: 1, relay: 1)),
                        Planned(at: 4_100, step: .cut(client: 1, relay: 0)),
                        Planned(at: 5_000, step: .publish(bytes: 40, copies: 1)),
                        Planned(at: 6_000, step: .backup(relay: 1)),
                        Planned(at: 7_000, step: .publish(bytes: 40, copies: 2)),
                        Planned(at: 9_000, step: .restore(relay: 1, downFor: 1_000)),
                        Planned(at: 11_000, step: .publish(bytes: 40, copies: 2)),
                        Planned(
                            at: 13_501,
                            step: .crashClient(
                                client: 1, afterOperations: operations, silently: false, downFor: 1_000)),
                    ])
            )
        }
        + (0..<3).map { seed in
            (
                "a reader comes after a relay was put back and went on",
                Plan(
                    seed: UInt64(120 + seed),
                    steps: [
                        Planned(at: 1_000, step: .publish(bytes: 40, copies: 1)),
                        Planned(at: 2_000, step: .backup(relay: 1)),
                        Planned(at: 3_000, step: .publish(bytes: 40, copies: 2)),
                        Planned(at: 5_000, step: .restore(relay: 1, downFor: 1_000)),
                        Planned(at: 8_000, step: .publish(bytes: 40, copies: 2)),
                        Planned(at: 10_000, step: .join(reader: 0)),
                        Planned(at: 12_000, step: .publish(bytes: 40, copies: 1)),
                    ])
            )
        }
        // It has taken the reader by then, who is a member and has been shown something.
        + (1...8).map { moment in
            (
                "a relay's power goes \(moment * 400) ms into a join that takes its time",
                Plan(
                    seed: UInt64(50 + moment),
                    steps: [
                        Planned(at: 500, step: .publish(bytes: 6_000, copies: 8)),
                        Planned(
                            at: 900, step: .block(client: 1, relay: 1, refused: true, milliseconds: 12_000)),
                        Planned(
                            at: 950,
                            step: .slow(client: 1, relay: 0, bytesPerSecond: 12_000, milliseconds: 12_000)),
                        Planned(at: 1_000, step: .join(reader: 0)),
                        Planned(
                            at: 1_000 + Int64(moment) * 400,
                            step: .crashRelay(
                                relay: 0, afterOperations: nil, silently: false, downFor: 1_500)),
                    ])
            )
        }

    private static func lying(_ lie: Lie, _ plan: Plan) -> Plan {
        var plan = plan
        plan.liar = (1, lie)
        return plan
    }
}
