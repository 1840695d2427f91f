internal import ChannelWire
internal import Operations
internal import PosixKit

extension Bench {
    /// Joins and attaches everybody, a few at a time, then lets the relay rest and looks at its memory.
    func joinAll() throws(OperatorError) {
        report.memory.before = account?.resident
        links.reserveCapacity(options.subscribers)
        let cpu = account?.cpuNanoseconds ?? 0
        let start = Clock.monotonicNanoseconds()
        let limit = UInt64(max(options.patience, 30) * 1e9)
        var progressed = start
        var before = 0
        var alongside = Alongside(options.publishWhileJoining, start)
        if options.publishWhileJoining > 0 { try refill(messages: 1000) }
        while attached < options.subscribers {
            while links.count < options.subscribers, links.count - attached < options.concurrent {
                try begin()
            }
            try turn(milliseconds: options.blocks ? 1 : 0)
            let now = Clock.monotonicNanoseconds()
            if alongside.isDue(now) {
                if !deliveries.hasNext { try refill(messages: 1000) }
                try publishNext()
                alongside.count += 1
            }
            if attached > before {
                before = attached
                progressed = now
            } else if now > progressed + limit {
                throw OperatorError(.timeout, "\(attached) subscribers were attached, then no more")
            }
        }
        let end = Clock.monotonicNanoseconds()
        report.join = BenchReport.Join(
            seconds: Double(end - start) / 1e9, times: joinTimes,
            relayMicroseconds: account.map {
                Double($0.cpuNanoseconds - cpu) / 1000 / Double(options.subscribers)
            })
        if alongside.count > 0 {
            try waitForEverybody()
            report.whileJoining = BenchReport.WhileJoining(
                messages: alongside.count, latency: deliveries.latency)
        }
        let rest = Clock.monotonicNanoseconds() + UInt64(options.settle * 1e9)
        while Clock.monotonicNanoseconds() < rest { try turn(milliseconds: 10) }
        report.memory.attached = account?.resident
        if let problem = everybodysPlace() { throw OperatorError(.internalDefect, problem) }
    }

    /// Messages that leave at their time while something else goes on.
    private struct Alongside {
        private let rate: Double
        private let start: UInt64
        var count = 0

        init(_ rate: Double, _ start: UInt64) {
            self.rate = rate
            self.start = start
        }

        func isDue(_ now: UInt64) -> Bool { rate > 0 && Double(now - start) >= Double(count) * 1e9 / rate }
    }

    /// Begins one subscriber's link.
    private func begin() throws(OperatorError) {
        let index = links.count
        let tag = index + Bench.firstTag
        // 127.0.0.1 and those that follow it.
        let source = options.sources > 1 ? 0x7F00_0001 + UInt32(index % options.sources) : 0
        let isSampled = options.sample.map { index < $0 } ?? true
        people[tag] = Person()
        let link = try BenchLink(relay, source: source, suites: options.suites, isSampled: isSampled)
        links.append(link)
        stages.append(.handshaking)
        try poller.add(link.descriptor, tag: tag)
    }

    /// What is wrong with where the links stand after everything was delivered; nil: nothing.
    func everybodysPlace() -> String? {
        let next = deliveries.firstSequence + Int64(deliveries.published)
        let behind = links.reduce(0) { $0 + ($1.nextSequence == next ? 0 : 1) }
        return behind == 0 ? nil : "\(behind) links do not stand at the end of the log"
    }

    /// Waits until every link has what was published last.
    func waitForEverybody() throws(OperatorError) {
        let next = deliveries.firstSequence + Int64(deliveries.published)
        let deadline = Clock.monotonicNanoseconds() + UInt64(max(30, options.patience) * 1e9)
        var waiting = 0
        while true {
            while waiting < links.count, links[waiting].nextSequence == next { waiting += 1 }
            if waiting == links.count { return }
            try turn(milliseconds: 10)
            guard Clock.monotonicNanoseconds() < deadline else {
                throw OperatorError(
                    .timeout,
                    "\(links.count { $0.nextSequence != next }) subscribers do not get further, \(waiting) stands at "
                        + "\(links[waiting].nextSequence - 1) of \(next - 1); \(acknowledged) acknowledged; "
                        + (deliveries.firstDisorder ?? "everything in order"))
            }
        }
    }
}
