internal import ChannelWire
internal import PosixKit

extension Link {
    func enter(_ phase: Phase) {
        self.phase = phase
        phaseTick = context.tick
        receivedTick = context.tick
        awaitDeadline()
    }

    /// Asks the context to look again at the next deadline, unless it does so earlier anyway.
    func awaitDeadline() {
        guard let deadline = nextDeadline else { return }
        let wanted = DeadlineWheel.reachable(deadline, from: context.tick)
        guard awaitedTick <= context.tick || wanted < awaitedTick else { return }
        awaitedTick = wanted
        context.waitForTick(slot, wanted)
    }

    /// The context's look: something may be due, or the link was only to be asked again.
    func awaitedTickCame() {
        awaitedTick = 0
        if let deadline = nextDeadline, deadline <= context.tick { deadlinePassed() }
        awaitDeadline()
    }

    // MARK: - What the peer takes

    /// The peer has made room, so it lives, even where it has nothing to say.
    func noteProgress(_ writing: LinkWriting) {
        writing.progressTick = context.tick
        writing.progressLookTick = context.tick
        writing.kernelBytes = Posix.unacknowledgedBytes(descriptor) ?? .max
    }

    /// The kernel asks for more only after a large part of what it holds has gone; on a slow line that takes
    /// longer than a frozen peer is given. So the kernel is asked what the peer took meanwhile.
    private func lookForProgress() {
        guard let writing else { return }
        writing.progressLookTick = context.tick
        guard let held = Posix.unacknowledgedBytes(descriptor), held < writing.kernelBytes else { return }
        writing.kernelBytes = held
        writing.progressTick = context.tick
    }

    // MARK: - Deadlines

    private var idleDeadline: UInt32? {
        // What lies unsent is before any PING: while the peer takes it, that is its sign of life.
        guard !isReadingPaused, writing == nil else { return nil }
        let idle = side == .relay ? settings.deadlines.idle : settings.deadlines.clientIdle
        return context.deadline(receivedTick, isPingSent ? idle + settings.deadlines.pingAnswer : idle)
    }
    private var firstFrameDeadline: UInt32? {
        guard side == .relay, !hasReceivedFrame, !isReadingPaused else { return nil }
        return context.deadline(phaseTick, settings.deadlines.firstFrame)
    }
    private var recordDeadline: UInt32? {
        inbound.isEmpty || isReadingPaused ? nil : context.deadline(recordTick, settings.deadlines.record)
    }
    private var unsentDeadline: UInt32? {
        guard let writing else { return nil }
        return min(
            context.deadline(writing.progressTick, settings.deadlines.unsentWithoutProgress),
            context.deadline(writing.unsentTick, settings.deadlines.unsentRecord))
    }
    private var progressLook: UInt32? {
        writing.map { context.deadline($0.progressLookTick, settings.deadlines.unsentWithoutProgress / 4) }
    }

    private var nextDeadline: UInt32? {
        switch phase {
        case .connecting: context.deadline(phaseTick, settings.deadlines.connect)
        case .proxying: context.deadline(phaseTick, settings.deadlines.proxy)
        case .handshaking: context.deadline(phaseTick, settings.deadlines.handshake)
        case .open:
            earliest(
                earliest(idleDeadline, firstFrameDeadline),
                earliest(recordDeadline, earliest(unsentDeadline, progressLook)))
        case .closing: context.deadline(phaseTick, settings.deadlines.closeFlush)
        case .closed, .reported: nil
        }
    }

    private func earliest(_ one: UInt32?, _ other: UInt32?) -> UInt32? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    private func deadlinePassed() {
        let now = context.tick
        switch phase {
        case .connecting: connectionTimedOut()
        case .proxying: proxyFailed(.timedOut)
        case .handshaking: finish(.timedOut(.handshake))
        case .closing: finish(closeReason ?? .local(nil))
        case .closed, .reported: break
        case .open:
            // Also just before the end, so that the last look is not an old one.
            if let look = earliest(progressLook, unsentDeadline), look <= now { lookForProgress() }
            if let due = unsentDeadline, due <= now {
                end(.slowReader, telling: .slowReader, "what was sent is not being read")
            } else if let due = recordDeadline, due <= now {
                finish(.timedOut(.record))
            } else if let due = firstFrameDeadline, due <= now {
                end(.timedOut(.firstFrame), telling: .timeout, "no opening frame came")
            } else if let due = idleDeadline, due <= now {
                if isPingSent { return finish(.timedOut(.silence)) }
                isPingSent = true
                enqueue([FrameType.ping.rawValue, 0, 8] + [UInt8](repeating: 0, count: 8))
            }
        }
    }
}
