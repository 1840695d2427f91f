internal import ChannelWire
internal import LinkRuntime
internal import Operations
internal import PosixKit

extension Bench {
    // MARK: - Messages

    /// Signs messages ahead, so that a run does not wait for signatures.
    func refill(messages: Int) throws(OperatorError) {
        var pool: [UInt8] = []
        pool.reserveCapacity(messages * current.size)
        let start = deliveries.published
        for number in start..<start + messages {
            let message = channel.message(number)
            guard message.count == current.size else {
                throw OperatorError(.internalDefect, "a message of \(message.count) bytes")
            }
            pool += message
        }
        deliveries.setPool(pool, start: start, messageBytes: current.size)
    }

    func publishNext() throws(OperatorError) { try publishNext { false } }

    /// Publishes the next message and as many more as `more` lets, in as few records as possible.
    private func publishNext(_ more: () -> Bool) throws(OperatorError) {
        let link = try publisher
        var frames: [UInt8] = []
        repeat {
            let request = UInt32(truncatingIfNeeded: deliveries.published + 1)
            let body = deliveries.next(at: Clock.monotonicNanoseconds())
            frames += Frame.publish(request: request, body: Array(body)).encode()
            if frames.count + current.size + 16 > RecordPadding.plaintextBytesMax { break }
        } while deliveries.hasNext && more()
        try link.send(frames: frames)
    }

    // MARK: - A run

    /// One run; 0 is the one to warm up with.
    func publish(run: Int) throws(OperatorError) {
        let seconds = run == 0 ? options.warmUp : options.seconds
        try refill(messages: poolSize(seconds))
        let subscribers = UInt64(links.count)
        let base = deliveries.received
        let first = deliveries.published
        let disordered = deliveries.disordered
        let wrong = deliveries.wrong
        deliveries.latency = Histogram()
        ackTimes = Histogram()
        firstOfRun = first
        acknowledged = 0
        refused = 0
        var signedLate = 0

        let relayStart = account?.cpuNanoseconds ?? 0
        let generatorStart = Clock.processNanoseconds()
        let start = Clock.monotonicNanoseconds()
        let end = start + UInt64(seconds * 1e9)
        let patience = UInt64(options.patience * 1e9)
        let idle: Int32 = options.blocks ? 1 : 0
        var last = start
        var lastReceived = base
        while true {
            let now = Clock.monotonicNanoseconds()
            let count = deliveries.published - first
            if now < end, count < options.messages {
                if !deliveries.hasNext {
                    try refill(messages: 256)
                    signedLate += 256
                }
                if mayPublish(now - start, first, base) {
                    try publishNext { mayPublish(now - start, first, base) }
                }
            } else if deliveries.received - base >= UInt64(count) * subscribers,
                acknowledged + refused >= count
            {
                break
            }
            try turn(milliseconds: idle)
            if deliveries.received != lastReceived {
                lastReceived = deliveries.received
                last = Clock.monotonicNanoseconds()
            } else if now > last + patience, now > end || count >= options.messages {
                break
            }
        }
        let relayEnd = account?.cpuNanoseconds ?? 0
        let generatorEnd = Clock.processNanoseconds()
        let messages = deliveries.published - first
        var result = BenchReport.Run(
            messages: messages, deliveries: deliveries.received - base,
            lost: Int64(UInt64(messages) * subscribers) - Int64(deliveries.received - base),
            disordered: deliveries.disordered - disordered, wrong: deliveries.wrong - wrong,
            seconds: Double(last - start) / 1e9, relayNanoseconds: account.map { _ in relayEnd - relayStart },
            generatorNanoseconds: generatorEnd - generatorStart, latency: deliveries.latency, acks: ackTimes,
            unacknowledged: messages - acknowledged, signedLate: min(signedLate, messages))
        if result.lost == 0 { result.problem = try closingMessage() }
        report.resident = account?.resident ?? report.resident
        report.series[report.series.count - 1].add(
            result, frameBytes: deliveries.frameBytes, isWarmUp: run == 0)
    }

    /// Whether one message more fits into the window, or is due.
    @inline(__always)
    private func mayPublish(_ elapsed: UInt64, _ first: Int, _ base: UInt64) -> Bool {
        let count = deliveries.published - first
        guard count < options.messages else { return false }
        switch current.pace {
        case .rate(let rate): return Double(elapsed) >= Double(count) * 1e9 / rate
        case .window(let window):
            let subscribers = UInt64(links.count)
            let outstanding = UInt64(count) * subscribers - (deliveries.received - base)
            return outstanding <= UInt64(window - 1) * subscribers
        }
    }

    /// How many messages to sign before a run: what the run before got through, and a third more.
    private func poolSize(_ seconds: Double) -> Int {
        let wanted: Double
        switch current.pace {
        case .rate(let rate): wanted = rate * seconds + 2
        case .window(let window):
            let before = report.series.last.flatMap { $0.runs.last ?? $0.warmUp }
            let rate = before.map { Double($0.messages) / max($0.seconds, 0.001) } ?? 2000
            wanted = rate * seconds * 1.33 + Double(2 * window)
        }
        return min(options.messages, Int(min(wanted, 2_000_000)))
    }

    /// Publishes one message of another size, which every link opens: that it opens and has the right sequence shows that
    /// each link got every record before it and counted what was in them. Returns: what is wrong.
    private func closingMessage() throws(OperatorError) -> String? {
        let link = try publisher
        let request = UInt32(truncatingIfNeeded: deliveries.published + 1)
        try channel.setMessageBytes(current.size + current.size / 4 + 64)
        let body = channel.message(deliveries.published)
        try channel.setMessageBytes(current.size)
        let disordered = deliveries.disordered
        deliveries.publishedAnother(at: Clock.monotonicNanoseconds())
        try link.send(.publish(request: request, body: body))
        let next = deliveries.firstSequence + Int64(deliveries.published)
        let deadline = Clock.monotonicNanoseconds() + UInt64(options.patience * 1e9)
        var waiting = 0
        while Clock.monotonicNanoseconds() < deadline {
            try turn(milliseconds: options.blocks ? 1 : 0)
            while waiting < links.count, links[waiting].nextSequence == next { waiting += 1 }
            if waiting == links.count { break }
        }
        if waiting < links.count { return "the closing message did not come on link \(waiting)" }
        return deliveries.disordered == disordered
            ? nil : "the closing message did not have the next sequence on every link"
    }

    func finish() {
        report.unopened = deliveries.unopened
        report.compared = deliveries.compared
        report.received = deliveries.received
    }
}
