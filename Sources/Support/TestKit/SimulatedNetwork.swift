/// One direction of one simulated connection: a stream of bytes that arrive later, in order, or never.
///
/// ```
///   sent ──▶ under way (at most `windowBytes`) ──▶ arrived
///                 │ stalled: waits until a moment       │ dead: it goes nowhere, and nobody is told
/// ```
package struct SimulatedStream {
    /// What a part of the network does to what passes through it.
    package struct Weather: Equatable, Sendable {
        /// Units: milliseconds.
        package var latency: ClosedRange<Int64>
        /// Units: bytes a second; nil: as fast as they come.
        package var bytesPerSecond: Int64?

        package init(latency: ClosedRange<Int64>, bytesPerSecond: Int64? = nil) {
            self.latency = latency
            self.bytesPerSecond = bytesPerSecond
        }

        package static let fair = Weather(latency: 1...30)
    }

    package var weather: Weather
    /// Nothing arrives before this moment.
    package var stalledUntil: Int64 = 0
    /// The other end is gone and nobody said so: half open.
    package var isDead = false
    private var underWay: [(at: Int64, bytes: [UInt8]?)] = []
    package private(set) var underWayBytes = 0
    private var lastArrival: Int64 = 0

    /// As much as is sent without anything having arrived.
    package static let windowBytes = 32 << 10

    package init(weather: Weather) { self.weather = weather }

    /// Whether more may be sent.
    package var isOpen: Bool { underWayBytes < Self.windowBytes }

    /// Sends bytes, or the end of the stream (nil). Returns: when they arrive; nil: never.
    package mutating func send(_ bytes: [UInt8]?, now: Int64, using random: inout SeededRandom) -> Int64? {
        guard !isDead else { return nil }
        var travel = Int64.random(in: weather.latency, using: &random)
        if let rate = weather.bytesPerSecond { travel += Int64(bytes?.count ?? 0) * 1000 / max(1, rate) }
        // The bytes of one stream never overtake each other.
        lastArrival = max(lastArrival, max(now, stalledUntil) + travel)
        underWay.append((lastArrival, bytes))
        underWayBytes += bytes?.count ?? 0
        return lastArrival
    }

    /// When the next bytes arrive as things stand now; nil where none are under way.
    package var nextArrival: Int64? {
        guard !isDead, let first = underWay.first else { return nil }
        return max(first.at, stalledUntil)
    }

    /// What arrives now: bytes, or the end of the stream.
    package enum Arrival: Equatable, Sendable { case bytes([UInt8]), end }

    package mutating func takeArrival(now: Int64) -> Arrival? {
        guard let next = nextArrival, next <= now else { return nil }
        let bytes = underWay.removeFirst().bytes
        underWayBytes -= bytes?.count ?? 0
        return bytes.map(Arrival.bytes) ?? .end
    }

    /// The receiver took only a part: the rest stays first in the row.
    package mutating func giveBack(_ bytes: [UInt8], until moment: Int64) {
        underWay.insert((moment, bytes), at: 0)
        underWayBytes += bytes.count
    }
}
