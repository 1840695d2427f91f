internal import ChannelWire
internal import LibeventLoop
internal import LinkRuntime
internal import PosixKit

/// The input in place of the other end of a connection: of a client at a relay, or of a relay at a client.
final class HandshakeFuzz {
    private let loop: EventLoop
    private let context: LinkLoopContext
    private let identity = RelayIdentity.create(nowSeconds: 1_800_000_000)

    private final class Nobody: LinkDelegate {
        var isClosed = false
        func linkDidOpen(_ link: Link) {}
        func link(_ link: Link, didReceive frame: Frame) {}
        func linkIsWritable(_ link: Link) {}
        func linkDidClose(_ link: Link, reason: LinkCloseReason) { isClosed = true }
    }

    init() {
        do {
            loop = try EventLoop()
        } catch {
            preconditionFailure("a loop can be made: \(error)")
        }
        context = LinkLoopContext(
            loop: loop, clock: { 1_000_000_000 }, wallSeconds: { 1_800_000_000 }, pacesHandshakes: false)
    }

    /// The first byte says which end, and whether a good preface comes first; the next two where it is cut.
    func run(_ input: [UInt8]) {
        var steps = Steps(input)
        let flags = steps.octet()
        let cut = Int(steps.octet()) << 8 | Int(steps.octet())
        var bytes = Array(input.dropFirst(3))
        if flags & 2 == 2 {
            let start =
                flags & 1 == 0
                ? LinkPreface.Client(suites: .all).bytes
                : LinkPreface.Relay.chosen(version: 1, suite: .chaChaPoly).bytes
            bytes = start + bytes
        }
        guard let (ours, theirs) = try? Posix.socketPair() else { return }
        let nobody = Nobody()
        let link =
            flags & 1 == 0
            ? Link.accept(
                FileDescriptor(owning: ours), peer: nil, context: context, settings: .relay(identity.link),
                delegate: nobody)
            : Link.handshake(
                over: FileDescriptor(owning: ours), context: context, settings: .client(),
                expectedIdentity: nil, delegate: nobody)
        let first = min(cut, bytes.count)
        for part in [bytes[..<first], bytes[first...]] {
            if !part.isEmpty { _ = Posix.send(theirs, Array(part.prefix(100_000))) }
            for _ in 0..<3 { loop.runOnce(waiting: false) }
        }
        precondition(!link.isOpen || flags & 1 == 0, "no client opens a link with who has no keys")
        Posix.closeRaw(theirs)
        for _ in 0..<8 where !nobody.isClosed { loop.runOnce(waiting: false) }
        context.run { link.close(after: false) }
        precondition(nobody.isClosed && context.linkCount == 0, "a link ends with its connection")
    }
}
