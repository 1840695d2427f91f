import ChannelWire
import LibeventLoop
import LinkRuntime
import PosixKit
import Testing

@testable import RelayServer

/// A loop of the relay with one reader, whose link is open: the client's end is on the same loop.
final class FeedBench {
    let loop: RelayLoop
    let feed: ChannelFeed
    let reader: MemberReader
    let client = Received()
    let session: LinkSession
    /// The client's end.
    let clientLink: Link
    private let guardian: LoopTimer

    final class Received: LinkDelegate {
        var sequences: [Int64] = []
        /// Whatever is no delivery.
        var others: [Frame] = []
        var error: LinkError?
        var isOpen = false

        func linkDidOpen(_ link: Link) { isOpen = true }
        func link(_ link: Link, didReceive frame: Frame) {
            if case .deliver(let sequence, _) = frame {
                sequences.append(sequence)
            } else {
                others.append(frame)
            }
        }
        func linkIsWritable(_ link: Link) {}
        func linkDidClose(_ link: Link, reason: LinkCloseReason) {
            if case .peerError(let error) = reason { self.error = error }
        }
    }

    init(_ loop: RelayLoop, _ identity: RelayIdentity) throws {
        self.loop = loop
        let (ours, theirs) = try Posix.socketPair()
        session = LinkSession(number: 1, loop: loop)
        let relayLink = Link.accept(
            FileDescriptor(owning: ours), peer: nil, context: loop.context, settings: .relay(identity.link),
            delegate: session)
        session.adopt(relayLink)
        clientLink = Link.handshake(
            over: FileDescriptor(owning: theirs), context: loop.context, settings: .client(),
            expectedIdentity: identity.publicKey, delegate: client)
        let channel = try #require(ChannelID(bytes: [UInt8](repeating: 1, count: 32)))
        let member = try #require(MemberID(bytes: [7]))
        let key = try #require(PublicKey(raw: [UInt8](repeating: 2, count: 32)))
        feed = loop.feed(channel, head: 0)
        reader = MemberReader(
            link: relayLink, number: 1, member: member, key: key, feed: feed, cursor: 0)
        feed.add(reader)
        // So that a loop with nothing to do comes back and a test that waits in vain can fail.
        guardian = loop.loop.timer(afterMilliseconds: 20, repeating: true) {}
        run("the link opens") { client.isOpen && relayLink.canSendBulk }
    }

    deinit { loop.context.closeAll() }

    func run(_ what: Comment, until condition: () -> Bool) {
        let end = Clock.monotonicNanoseconds() + 10_000_000_000
        while !condition() {
            guard Clock.monotonicNanoseconds() < end else {
                Issue.record(what)
                return
            }
            loop.loop.runOnce()
        }
    }

    /// Messages that follow the last one, each as a segment of its own.
    func append(count: Int64) {
        for _ in 0..<count {
            guard let next = LogSegment(after: feed.tail.head, frames: message(feed.tail.head + 1)) else {
                preconditionFailure("a frame with a rising sequence is a segment")
            }
            feed.append(next)
        }
    }

    /// A DELIVER frame of a message.
    func message(_ sequence: Int64) -> [UInt8] {
        Frame.deliver(sequence: sequence, batch: [1, 2, 3]).encode()
    }

    /// One more reader of the same link.
    func another(at cursor: Int64) -> MemberReader {
        let other = MemberReader(
            link: reader.link, number: 1, member: reader.member, key: reader.key, feed: feed, cursor: cursor)
        feed.add(other)
        return other
    }
}
