package import ChannelWire
internal import LibeventLoop
internal import PosixKit
internal import SodiumCrypto

extension Link {
    /// Ends the link. `linkDidClose` follows later, from the loop; nothing else does.
    ///
    /// With `flush` everything queued, and `error` last, is sent first and the peer gets the time to read it;
    /// all within the deadline `closeFlush`. Without it the link is gone at once.
    package func close(after flush: Bool, error: Frame? = nil) {
        guard !isEnding else {
            if !flush { finish(closeReason ?? .local(nil)) }
            return
        }
        var code: LinkErrorCode?
        if case .error(let error) = error { code = error.known }
        guard flush, phase == .open else { return finish(.local(code)) }
        if let error { queue.append(contentsOf: error.encode()) }
        beginClosing(.local(code))
    }

    /// The same with an ERROR about the link as a whole.
    package func close(error code: LinkErrorCode, _ text: String? = nil, retryAfterMilliseconds: UInt32 = 0) {
        close(after: true, error: .error(LinkError(code, retryAfterMs: retryAfterMilliseconds, text: text)))
    }

    /// Ends the link for a reason of its own, telling the peer where that is possible.
    func end(_ reason: LinkCloseReason, telling code: LinkErrorCode, _ text: String) {
        guard phase == .open else { return finish(reason) }
        queue.append(contentsOf: Frame.error(LinkError(code, text: text)).encode())
        beginClosing(reason)
    }

    // MARK: - Closing

    private func beginClosing(_ reason: LinkCloseReason) {
        closeReason = reason
        inbound = []
        enter(.closing)
        // The peer's end of the stream must be seen, also where reading was paused.
        _ = readWatch?.add()
        putOff()
    }

    /// Ends our half of the stream once everything has been sent.
    func finishClosingIfFlushed() {
        guard phase == .closing, queue.isEmpty, writing == nil, !isWriteEnded else { return }
        isWriteEnded = true
        // Closing now, with bytes of the peer unread, would reset the connection and could destroy what we
        // have just sent; so the peer's end is awaited.
        Posix.shutdownWriting(descriptor)
    }

    /// While closing, what still comes is thrown away, up to a limit.
    func discardReadable() {
        switch unsafe Posix.receive(descriptor, into: context.receive.slice(0, context.receive.count)) {
        case .done(let count):
            discarded += count
            if discarded > Link.discardedBytesMax { finish(closeReason ?? .local(nil)) }
        case .wouldBlock: break
        case .closed, .failed: finish(closeReason ?? .local(nil))
        }
    }

    /// The end, whatever was before: everything is given back, and the delegate will be told.
    func finish(_ reason: LinkCloseReason) {
        guard phase.rawValue < Phase.closed.rawValue else { return }
        if closeReason == nil { closeReason = reason }
        phase = .closed
        dropDescriptor()
        context.unregister(slot)
        handshake = nil
        unsafe keys.wipe()
        inbound = []
        queue = []
        putOff()
    }

    /// Stops watching before closing: the number may be another connection's in the next moment.
    func dropDescriptor() {
        readWatch = nil
        writing = nil
        if descriptor >= 0 { Posix.closeRaw(descriptor) }
        descriptor = -1
    }

    func report() {
        phase = .reported
        let told = delegate
        delegate = nil
        told?.linkDidClose(self, reason: closeReason ?? .local(nil))
    }

    private static let discardedBytesMax = 1 << 20
}
