package import LibeventLoop
package import PosixKit
internal import SodiumCrypto

/// One connection between a client and a relay, on one loop.
///
/// ```
///  client   connecting ──▶ (proxying) ──▶ handshaking ──▶ open ──▶ closing ──▶ closed
///  relay                                  handshaking ──▶ open ──▶ closing ──▶ closed
/// ```
/// `closing` flushes what is queued, ends our half of the stream and waits for the peer to end its own, all
/// within a deadline. Every state may go straight to `closed`. An idle open link holds keys, one watched
/// descriptor and nothing else: no buffer, no handshake, no timer.
///
/// The loop's context keeps a link until `linkDidClose` has been called, and the link keeps its delegate as
/// long.
package final class Link: DescriptorOwner {
    package enum Side: Sendable { case client, relay }
    enum Phase: UInt8 { case connecting, proxying, handshaking, open, closing, closed, reported }

    // What a delivery touches comes first and lies together, so that it is in few lines of the cache.

    /// Open, with nothing queued and nothing unsent. Kept ready, since each delivery asks for it.
    private(set) var isQuiet = false
    package let side: Side
    var phase: Phase { didSet { lookWhetherQuiet() } }
    var descriptor: Int32 = -1
    var sendNonce: UInt64 = 0
    // SAFETY: unchecked, since each use is one call that ends before anybody else looks.
    @exclusivity(unchecked)
    var keys = AEADKeyPair()

    package let context: LinkLoopContext
    package let settings: LinkSettings
    package var delegate: (any LinkDelegate)?
    /// The other end; nil on a Unix socket and at a client that is not connected yet.
    package internal(set) var peerAddress: SocketAddress?
    /// The relay's identity key, at a client that is open.
    package internal(set) var peerIdentity: [UInt8]?
    /// Names this link in proofs of key. Shape: 64 bytes once open; empty before, and after
    /// `forgetHandshakeHash`.
    package internal(set) var handshakeHash: [UInt8] = []

    var readWatch: DescriptorWatch?
    /// There is one while the link connects or has something unsent.
    var writing: LinkWriting? { didSet { lookWhetherQuiet() } }
    var handshake: LinkHandshake?

    var receiveNonce: UInt64 = 0

    /// A record, or a handshake message, that has not come whole yet.
    var inbound: [UInt8] = []
    /// Ready control frames that wait for their record.
    var queue: [UInt8] = [] { didSet { lookWhetherQuiet() } }
    let slot: Int32
    /// The tick the context looks at this link again.
    var awaitedTick: UInt32 = 0
    /// When the phase began.
    var phaseTick: UInt32 = 0
    var receivedTick: UInt32 = 0
    var recordTick: UInt32 = 0
    var hasReceivedFrame = false
    var isPingSent = false
    var isPutOff = false
    var isWriteEnded = false
    var discarded = 0
    var closeReason: LinkCloseReason?

    init(
        _ side: Side, _ phase: Phase, _ context: LinkLoopContext, _ settings: LinkSettings,
        _ delegate: (any LinkDelegate)?
    ) {
        self.context = context
        self.settings = settings
        self.side = side
        self.phase = phase
        self.delegate = delegate
        slot = context.reserveSlot()
        context.register(self, at: slot)
        enter(phase)
    }

    deinit {
        unsafe keys.wipe()
        if descriptor >= 0 { Posix.closeRaw(descriptor) }
    }

    // MARK: - What a user may ask

    package var isOpen: Bool { phase == .open }
    /// Whether the state of the handshake is still kept.
    package var isHandshaking: Bool { handshake != nil }
    /// Whether nothing more will be received: closing or closed.
    package var isEnding: Bool { phase.rawValue >= Phase.closing.rawValue }

    /// Whether `sendBulk` may be called: open, and no record waits for the kernel.
    package var canSendBulk: Bool { phase == .open && writing == nil }

    /// Bytes of control frames that wait. A user with much to say looks here before the next `send`.
    package var queuedBytes: Int { queue.count }

    /// Memory that buffers of this link take now: parts of records, queued frames, unsent bytes. 0 when it is
    /// idle.
    package var bufferBytes: Int { inbound.capacity + queue.capacity + (writing?.unsent.capacity ?? 0) }

    /// Frees the handshake hash when no proof of key will be checked on this link any more.
    package func forgetHandshakeHash() { handshakeHash = [] }

    /// The plaintext that one `sendBulk` can take. Units: bytes.
    package static let bulkBytesMax = RecordPadding.plaintextBytesMax
    /// Units: bytes. Source: limits.md, "control frames waiting on one link".
    package static let queueBytesMax = 64 << 10

    private func lookWhetherQuiet() { isQuiet = phase == .open && queue.isEmpty && writing == nil }

    // MARK: - Events

    package func descriptorReady(_ interest: EventLoop.Interest) {
        context.run {
            switch (interest, phase) {
            case (_, .closed), (_, .reported): break
            case (.write, .connecting): connectionProgressed()
            case (.write, _): writable()
            case (.read, .closing): discardReadable()
            case (.read, _): readable()
            }
        }
    }

    /// Does what was put off while an event was handled. Called by the context.
    func settle() {
        isPutOff = false
        switch phase {
        case .open, .closing:
            flushQueue()
            finishClosingIfFlushed()
        case .closed: report()
        case .connecting, .proxying, .handshaking, .reported: break
        }
    }

    func putOff() {
        guard !isPutOff else { return }
        isPutOff = true
        context.putOff(self)
    }
}

@available(*, unavailable)
extension Link: Sendable {}
