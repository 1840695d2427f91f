internal import ChannelWire
internal import LinkRuntime
internal import PosixKit
internal import SodiumCrypto

/// What was published and what came of it: every delivery is counted, its place in the order checked, and on sampled
/// links its bytes compared with those that were signed.
final class Deliveries {
    let owner: MemberID
    /// The sequence of message 0.
    var firstSequence: Int64 = 0

    private(set) var received: UInt64 = 0
    /// Deliveries whose sequence was not the next one of their link.
    private(set) var disordered: UInt64 = 0
    private(set) var firstDisorder: String?
    /// Deliveries whose bytes were not those published.
    private(set) var wrong: UInt64 = 0
    /// Deliveries counted by the length of their record, without opening it.
    private(set) var unopened: UInt64 = 0
    /// Deliveries whose bytes were compared.
    private(set) var compared: UInt64 = 0
    var latency = Histogram()
    /// Leaves out every so-manieth delivery, to see that the check notices. 0: none.
    var forgets: UInt64 = 0
    private var sinceForgotten: UInt64 = 0

    /// The messages from `poolStart` on, one after the other, `messageBytes` each.
    private var pool: [UInt8] = []
    private var poolStart = 0
    private(set) var messageBytes = 0
    private var publishedAt: [UInt64] = []

    /// The bytes of one DELIVER frame of a message; 0 while none was seen.
    private(set) var frameBytes = 0
    /// By the length of a record: how many deliveries it holds, where that is certain; else 0.
    private var byLength = [UInt8](repeating: 0, count: 1 << 16)

    init(owner: MemberID) { self.owner = owner }

    // MARK: - Publishing

    /// How many messages were published.
    var published: Int { publishedAt.count }

    func setPool(_ messages: [UInt8], start: Int, messageBytes: Int) {
        pool = messages
        poolStart = start
        if messageBytes != self.messageBytes {
            self.messageBytes = messageBytes
            frameBytes = 0
            for index in byLength.indices { byLength[index] = 0 }
        }
    }

    /// Whether the next message is in the pool.
    var hasNext: Bool { (published - poolStart + 1) * messageBytes <= pool.count }

    func next(at now: UInt64) -> ArraySlice<UInt8> {
        let start = (published - poolStart) * messageBytes
        publishedAt.append(now)
        return pool[start..<start + messageBytes]
    }

    /// Notes a message that is not in the pool.
    func publishedAnother(at now: UInt64) { publishedAt.append(now) }

    func publishedAt(_ index: Int) -> UInt64? {
        publishedAt.indices.contains(index) ? publishedAt[index] : nil
    }

    // MARK: - Deliveries

    /// How many deliveries a record of this length holds, where no other number could make it so long.
    @inline(__always)
    func certainCount(recordLength: Int) -> Int { Int(byLength[recordLength]) }

    /// Counts what a record holds that is not opened.
    @inline(__always)
    func count(_ deliveries: Int, on link: BenchLink, at now: UInt64) {
        for _ in 0..<deliveries {
            note(link.nextSequence, now)
            link.nextSequence += 1
        }
        unopened += UInt64(deliveries)
    }

    /// Takes the body of one DELIVER frame.
    func take(_ body: UnsafeRawBufferPointer, on link: BenchLink, at now: UInt64) {
        guard body.count > 8 else {
            wrong += 1
            return
        }
        let sequence = unsafe Int64(bigEndian: body.loadUnaligned(as: Int64.self))
        if sequence != link.nextSequence {
            disordered += 1
            firstDisorder = firstDisorder ?? "\(sequence) came where \(link.nextSequence) was next"
        }
        link.nextSequence = sequence + 1
        note(sequence, now)
        let index = Int(sequence - firstSequence)
        guard (poolStart..<poolStart + pool.count / max(1, messageBytes)).contains(index) else { return }
        if frameBytes == 0 { learn(3 + body.count) }
        if link.isSampled { unsafe compare(body, index) }
    }

    @inline(__always)
    private func note(_ sequence: Int64, _ now: UInt64) {
        if forgets > 0 {
            sinceForgotten += 1
            if sinceForgotten == forgets { return sinceForgotten = 0 }
        }
        received += 1
        let index = Int(sequence - firstSequence)
        if index >= 0, index < publishedAt.count { latency.add(now &- publishedAt[index]) }
    }

    private func compare(_ body: UnsafeRawBufferPointer, _ index: Int) {
        compared += 1
        let start = (index - poolStart) * messageBytes
        let same = unsafe pool.withUnsafeBytes { pool in
            guard body.count == frameBytes - 3, body.count > messageBytes else { return false }
            let message = unsafe UnsafeRawBufferPointer(rebasing: pool[start..<start + messageBytes])
            return unsafe Bytes.equal(
                UnsafeRawBufferPointer(rebasing: body[(body.count - messageBytes)...]), message)
        }
        // What stands before the message is read too, as a client does, but not each time.
        guard same, unsafe index % 64 != 0 || isForwarded(Array(body[8...]), from: start) else {
            wrong += 1
            return
        }
    }

    private func isForwarded(_ batch: [UInt8], from start: Int) -> Bool {
        var reader = ByteReader(batch)
        guard let mark = try? reader.octet(), mark == UInt8(ascii: "="), let count = try? reader.octet(),
            count == 1,
            let element = try? reader.len16(), reader.isAtEnd, let forward = try? ForwardElement(element),
            case .member(owner, _) = forward.sender
        else { return false }
        return forward.inner == Array(pool[start..<start + messageBytes])
    }

    // MARK: - Lengths

    /// Works out, from the size of one delivery, which lengths of records tell how many they hold.
    private func learn(_ frame: Int) {
        frameBytes = frame
        // Padded or not: both are a relay's right.
        var makers: [Int: Int] = [:]
        var ambiguous: Set<Int> = []
        for count in 1...255 where count * frame <= RecordPadding.plaintextBytesMax {
            for plaintext in Set([count * frame, RecordPadding.padded(count * frame)]) {
                let length = plaintext + AEADKey.tagByteCount
                if let other = makers[length], other != count { ambiguous.insert(length) }
                makers[length] = count
            }
        }
        // Padding may also hide further frames behind the deliveries: a small one fits where a delivery does not, so
        // that what cannot be seen here is seen by the sequence of the closing message.
        for (length, count) in makers where !ambiguous.contains(length) { byLength[length] = UInt8(count) }
    }
}

enum Bytes {
    @inline(__always)
    static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt64 = 0
        var offset = 0
        while offset + 8 <= left.count {
            unsafe difference |=
                left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < left.count {
            unsafe difference |= UInt64(left[offset] ^ right[offset])
            offset += 1
        }
        return difference == 0
    }
}
