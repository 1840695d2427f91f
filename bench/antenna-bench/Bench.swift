internal import ChannelWire
internal import Operations
internal import PosixKit
internal import SodiumCrypto

/// One measurement: a channel, its subscribers, its messages.
final class Bench: TrafficUser {
    enum Stage: UInt8 { case handshaking, joining, attached }

    let options: BenchOptions
    let relay: RelayPlace
    let account: ProcessAccount?
    let note: (String) -> Void
    let poller: Poller
    let channel: BenchChannel
    let deliveries: Deliveries
    let traffic: Traffic
    var report: BenchReport
    /// What is published now.
    var current: BenchOptions.Series

    /// The owner's two links have tags 0 and 1, the subscribers' those that follow.
    static let controlTag = 0
    static let ownerTag = 1
    static let firstTag = 2

    var control: BenchLink?
    private var owner: BenchLink?
    var isServed = false
    var isOwnerAttached = false
    var links: ContiguousArray<BenchLink> = []
    var stages: ContiguousArray<Stage> = []
    /// Who a link is for, until it is attached.
    var people: [Int: Person] = [:]
    var attached = 0
    var joinTimes = Histogram()

    var acknowledged = 0
    /// The first message of the run. What was published before it may be acknowledged only now: acks come last.
    var firstOfRun = 0
    var refused = 0
    var ackTimes = Histogram()

    init(
        _ options: BenchOptions, _ relay: RelayPlace, _ account: ProcessAccount?,
        note: @escaping (String) -> Void
    ) throws(OperatorError) {
        self.options = options
        guard let first = options.series.first else {
            throw OperatorError(.usage, "there is nothing to publish")
        }
        current = first
        self.relay = relay
        self.account = account
        self.note = note
        poller = try Poller()
        channel = BenchChannel(relay)
        deliveries = Deliveries(owner: channel.owner.id)
        deliveries.forgets = UInt64(options.forget)
        traffic = Traffic(deliveries)
        report = BenchReport(options)
        traffic.user = self
    }

    func run() throws(OperatorError) -> BenchReport {
        // Sizes that cannot be are found before anything is begun.
        for series in options.series.reversed() { try channel.setMessageBytes(series.size) }
        try becomeOwner()
        try joinAll()
        for series in options.series where options.runs > 0 {
            current = series
            try channel.setMessageBytes(series.size)
            report.series.append(BenchReport.Series(series))
            for run in (options.warmUp > 0 ? 0 : 1)...options.runs { try publish(run: run) }
        }
        finish()
        return report
    }

    var publisher: BenchLink {
        get throws(OperatorError) {
            guard let owner else { throw OperatorError(.internalDefect, "there is no owner's link") }
            return owner
        }
    }

    // MARK: - One turn

    /// Reads every link that has something; with 0 milliseconds without ever sleeping.
    @inline(__always)
    func turn(milliseconds: Int32) throws(OperatorError) {
        poller.wait(milliseconds: milliseconds)
        // Whatever came for the subscribers, what the owner is told is read at once.
        if isOwnerAttached, let owner { try traffic.read(owner, Bench.ownerTag, isSubscriber: false) }
        for index in 0..<poller.ready {
            let tag = poller.tag(index)
            if tag >= Bench.firstTag {
                try traffic.read(links[tag - Bench.firstTag], tag, isSubscriber: true)
            } else if let link = tag == Bench.controlTag ? control : owner {
                try traffic.read(link, tag, isSubscriber: false)
            }
        }
        if let owner, owner.hasUnsent { try owner.flush() }
    }

    /// Takes turns until something holds.
    func wait(_ what: String, seconds: Double = 30, until holds: () -> Bool) throws(OperatorError) {
        let deadline = Clock.monotonicNanoseconds() + UInt64(seconds * 1e9)
        while !holds() {
            try turn(milliseconds: 20)
            guard Clock.monotonicNanoseconds() < deadline else {
                throw OperatorError(.timeout, "waited in vain for \(what)")
            }
        }
    }

    // MARK: - The owner

    private func becomeOwner() throws(OperatorError) {
        let control = try BenchLink(relay, source: 0, suites: options.suites, isSampled: false)
        self.control = control
        try poller.add(control.descriptor, tag: Bench.controlTag)
        try wait("the relay to take the channel") { isServed }
        let owner = try BenchLink(relay, source: 0, suites: options.suites, isSampled: false)
        self.owner = owner
        try poller.add(owner.descriptor, tag: Bench.ownerTag)
        try wait("the owner to be attached") { isOwnerAttached }
        report.suite = owner.suite == .aesGCM ? "aesgcm" : "chachapoly"
    }

    // MARK: - What comes

    func linkDidOpen(_ link: BenchLink, _ tag: Int) throws(OperatorError) {
        switch tag {
        case Bench.controlTag: for frame in try channel.invitation(link) { try link.send(frame) }
        case Bench.ownerTag: try link.send(channel.owner.attach(channel.id, link))
        default:
            // One flight: the protocol lets a client go on before it is answered.
            guard let person = people[tag] else { throw .unexpected("a link of nobody") }
            try link.send(channel.join(person), person.attach(channel.id, link))
            stages[tag - Bench.firstTag] = .joining
        }
        link.forgetHandshakeHash()
    }

    func frame(_ frame: Frame, _ link: BenchLink, _ tag: Int, at now: UInt64) throws(OperatorError) {
        switch (frame, tag) {
        case (.controlled, Bench.controlTag): break
        case (.direct(let body), Bench.controlTag):
            // Later ones tell of members who came.
            if !isServed { try link.send(channel.accepted(body)) }
        case (.recordStored, Bench.controlTag): isServed = true
        case (.attached(let attached), Bench.ownerTag):
            deliveries.firstSequence = attached.head + 1
            isOwnerAttached = true
        case (.attached(let place), _):
            link.nextSequence = place.resumeAfter + 1
            try link.acknowledgeWhenRead()
            stages[tag - Bench.firstTag] = .attached
            people[tag] = nil
            attached += 1
            joinTimes.add(now - link.begun)
        case (.joined, _), (.record, _): break
        case (.ack(let request, let results), Bench.ownerTag): acked(Int(request) - 1, results, now)
        case (.gap(let from, let to, _), _):
            throw .unexpected("messages \(from) to \(to) are gone from the log")
        case (.drain, _): throw .unexpected("the relay is stopping")
        default: throw .unexpected("a frame that has no place here")
        }
    }

    private func acked(_ index: Int, _ results: [Frame.AckResult], _ now: UInt64) {
        guard results == [.stored(deliveries.firstSequence + Int64(index))],
            let published = deliveries.publishedAt(index)
        else {
            refused += 1
            return
        }
        guard index >= firstOfRun else { return }
        acknowledged += 1
        ackTimes.add(now - published)
    }
}
