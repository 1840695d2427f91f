internal import ChannelWire
internal import ControlWire
internal import LinkRuntime
internal import PosixKit
internal import RelayStore

// What the threads of a relay say to each other.
//
//   loops ──AuthorityMessage──▶ authority ──LoopMessage──▶ loops
//   loops ───ReaderMessage────▶ reader    ──LoopMessage──▶ loops

/// Names one link from any thread. Numbers are never used again. One word, since the authority keeps one for
/// every attached link.
struct LinkReference: Hashable, Sendable {
    private let word: UInt64

    init(loop: Int, number: UInt64) {
        precondition(loop < 256 && number < 1 << 56, "a loop and a number fit into one word")
        word = UInt64(loop) << 56 | number
    }

    var loop: Int { Int(word >> 56) }
    var number: UInt64 { word & (1 << 56 - 1) }
}

/// Who waits for the answer of an operator's command: a connection of the control socket on loop 0, and its
/// request.
struct ControlReference: Hashable, Sendable {
    let connection: UInt64
    let request: Int64
    let command: ControlCommand
}

/// To the one writer. `bytes` come back with the answer: the asker counts what is under way.
enum AuthorityMessage: Sendable {
    /// The first: who the loops are.
    case begin(RelayShared, [Mailbox<LoopMessage>])
    /// The relay's identity key was made and is on disk.
    case claim([UInt8])
    /// Something that has one reply of the ledger.
    case ask(LinkReference, LedgerCommand, Question, bytes: Int)
    /// A PUBLISH body, already checked as far as its bytes go.
    case publish(LinkReference, request: UInt32, [PublishItem], bytes: Int)
    /// A member's proof of key was good: the link counts among the member's links.
    case linked(LinkReference, ChannelID, MemberID)
    /// A link that was `linked` is gone.
    case unlinked(LinkReference, ChannelID, MemberID)
    case operatorAsks(ControlReference, LedgerCommand)
    /// A reload: other limits from now on.
    case settingsChanged(LedgerOptions)
    /// Finish what is queued, close the database, end.
    case stop

    /// What a reply of the ledger is the answer to.
    enum Question: Sendable {
        case control
        case invite
        case recordPut(request: UInt32)
        case recordNews
        case roster
        case recordGet(request: UInt32)
        case join
        case attach
    }
}

/// One element of a PUBLISH body.
enum PublishItem: Sendable {
    case command(LedgerCommand.Publish)
    case refused(LinkErrorCode)
}

/// To the thread that reads from disk.
enum ReaderMessage: Sendable {
    case page(LinkReference, ChannelID, after: Int64)
    case history(LinkReference, ChannelID, request: UInt32, RelayReader.HistoryQuestion, limit: Int)
    case members(LinkReference, ChannelID, request: UInt32, after: MemberID?, limit: Int)
    case stop
}

/// To a loop.
enum LoopMessage: Sendable {
    /// A connection that loop 0 accepted for this one; who gets the message owns the descriptor.
    case accepted(descriptor: Int32, SocketAddress?)
    case reply(LinkReference, AuthorityMessage.Question, LedgerReply, bytes: Int)
    case acked(LinkReference, request: UInt32, [Frame.AckResult], bytes: Int)
    /// Close a link for a reason that another thread found.
    case close(LinkReference, LinkErrorCode)

    // What happened, in order, to every loop
    case appended(ChannelID, LogSegment)
    /// Nothing up to this sequence may be sent from memory any more.
    case erased(ChannelID, through: Int64)
    case recordChanged(ChannelID, record: [UInt8], version: Int64)
    case notice(LedgerNotice)

    // From the reader
    case page(LinkReference, LogSegment?, head: Int64?)
    case history(LinkReference, request: UInt32, LogSegment?)
    case members(LinkReference, request: UInt32, Frame?)

    // The control socket; loop 0 only
    case openFrontDoor(FrontDoorPlan)
    case operatorAnswered(ControlReference, LedgerReply, attached: [ChannelID: Int])
    case backupEnded(ControlReference, Result<ControlResult, ControlError>)

    // The process
    case settingsChanged
    case newLinkKey(RelayLinkIdentity)
    case drain(milliseconds: Int64)
    case hurry
    case stop
}
