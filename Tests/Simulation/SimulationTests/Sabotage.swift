/// Deliberate faults, put in one at a time to see whether the simulator finds them.
///
/// None of them is in a shipped code path: each is done to what passes between the parts of a simulated party, or
/// to its database between two of its turns (`Saboteur`).
enum Sabotage: String, CaseIterable {
    /// An author is told that a message is on the disk before the commit.
    case ackBeforeCommit
    /// A commit does not wait for the disk.
    case commitWithoutSync
    /// The operator's refusal is keyed by the invitation, not by the channel.
    case refusalKeyedByInvitation
    /// The operator's refusal does not outlive the process.
    case refusalForgottenAtStart
    /// A link goes on one entry after the place where its cursor stands.
    case cursorOffByOneAtTheSeam
    /// A message that comes again is stored again.
    case missingDeduplication
    /// What the log lacks is passed over without a word.
    case gapWithoutNotice
    /// A restored copy calls its log what the original called it.
    case epochKeptAfterRestore
    /// The relay writes anew what an author signed.
    case reencodedElement
    /// The relay says that it has a record, and keeps the old one.
    case recordSaidToBeStored
    /// A reader takes an older record than the one it has.
    case staleRecordAccepted
    /// A reader shows again what it has shown.
    case readerShowsTwice
    /// A reader writes down a position before the messages up to it.
    case positionBeforeMessages
    /// A reader takes a relay's word for it that a message was deleted.
    case erasedIsBelieved

    /// Whether a life can show it at all; a search passes over the others.
    func mayShow(in plan: Plan) -> Bool {
        var left: Set<Int> = []
        var removed: Set<Int> = []
        var saved: Set<Int> = []
        for planned in plan.steps {
            switch planned.step {
            case .leave(let relay): left.insert(relay)
            case .removeRelay(let relay): if left.contains(relay) { removed.insert(relay) }
            case .addRelay(let relay):
                if self == .refusalKeyedByInvitation, removed.contains(relay) { return true }
            case .backup(let relay): saved.insert(relay)
            case .restore(let relay, _):
                if self == .epochKeptAfterRestore, saved.contains(relay) { return true }
            case .crashRelay(let relay, _, _, _):
                if self == .commitWithoutSync { return true }
                if self == .refusalForgottenAtStart, left.contains(relay) { return true }
            default: break
            }
        }
        switch self {
        case .refusalKeyedByInvitation, .epochKeptAfterRestore, .commitWithoutSync, .refusalForgottenAtStart:
            return false
        case .staleRecordAccepted: return plan.liar?.lie == .servesOldRecord
        case .erasedIsBelieved: return plan.liar?.lie == .claimsDeletion
        default: return true
        }
    }

    /// A seed that finds it, as a search over the first thousand told (`SABOTAGE=search`).
    var seed: UInt64 { Self.seeds[self] ?? 0 }

    private static let seeds: [Sabotage: UInt64] = [
        .ackBeforeCommit: 4,
        .commitWithoutSync: 2,
        .refusalKeyedByInvitation: 106,
        .refusalForgottenAtStart: 51,
        .cursorOffByOneAtTheSeam: 1,
        .missingDeduplication: 7,
        .gapWithoutNotice: 36,
        .epochKeptAfterRestore: 51,
        .reencodedElement: 1,
        .recordSaidToBeStored: 1,
        .staleRecordAccepted: 111,
        .readerShowsTwice: 3,
        .positionBeforeMessages: 7,
        .erasedIsBelieved: 32,
    ]
}
