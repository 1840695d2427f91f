internal import ChannelWire
internal import LinkRuntime
internal import Operations
internal import PosixKit
internal import SodiumCrypto

/// Who is told what came on a link, deliveries apart.
protocol TrafficUser: AnyObject {
    func linkDidOpen(_ link: BenchLink, _ tag: Int) throws(OperatorError)
    func frame(_ frame: Frame, _ link: BenchLink, _ tag: Int, at now: UInt64) throws(OperatorError)
}

/// Reads links into one buffer, and takes records and frames from it.
@safe final class Traffic {
    let deliveries: Deliveries
    weak var user: (any TrafficUser)?

    private static let readBytes = 256 << 10
    private static let recordMax = 2 + 65535
    private let buffer: UnsafeMutableRawBufferPointer

    init(_ deliveries: Deliveries) {
        self.deliveries = deliveries
        unsafe buffer = .allocate(byteCount: Traffic.readBytes + Traffic.recordMax, alignment: 16)
        unsafe buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { unsafe buffer.deallocate() }

    /// Takes what has come on a link. `isSubscriber`: its deliveries count.
    func read(_ link: BenchLink, _ tag: Int, isSubscriber: Bool) throws(OperatorError) {
        let kept = link.partial.count
        if kept > 0 {
            unsafe link.partial.withUnsafeBytes { unsafe buffer.copyMemory(from: $0) }
        }
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[kept..<kept + Traffic.readBytes])
        let end: Int
        switch unsafe Posix.receive(link.descriptor, into: room) {
        case .done(let count): end = kept + count
        case .wouldBlock: return
        case .closed: throw .unexpected("the relay closed link \(tag)")
        case .failed(let error): throw OperatorError(.inputOutput, error.description)
        }
        let now = Clock.monotonicNanoseconds()
        var offset = 0
        while link.phase != .open {
            let used = try link.advanceHandshake(unsafe Array(buffer[offset..<end]))
            if used == 0 { break }
            offset += used
            if link.phase == .open { try user?.linkDidOpen(link, tag) }
        }
        if link.phase == .open { offset = try records(link, tag, offset, end, now, isSubscriber) }
        if kept > 0 { link.partial.removeAll(keepingCapacity: true) }
        if offset < end {
            unsafe link.partial.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[offset..<end]))
        }
    }

    /// Takes whole records. Returns: where the first begins that is not whole.
    private func records(
        _ link: BenchLink, _ tag: Int, _ start: Int, _ end: Int, _ now: UInt64, _ isSubscriber: Bool
    ) throws(OperatorError) -> Int {
        var offset = start
        guard let key = link.receiveKey else { return offset }
        while end - offset >= 2 {
            let length = unsafe Int(buffer[offset]) << 8 | Int(buffer[offset + 1])
            guard end - offset >= 2 + length else { break }
            let next = offset + 2 + length
            if isSubscriber, !link.isSampled, link.nextSequence > 0 {
                let count = deliveries.certainCount(recordLength: length)
                if count > 0 {
                    deliveries.count(count, on: link, at: now)
                    link.receiveNonce += 1
                    offset = next
                    continue
                }
            }
            let record = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset + 2..<next])
            guard let count = unsafe key.open(record, nonce: link.receiveNonce) else {
                throw .unexpected("a record on link \(tag) does not open")
            }
            link.receiveNonce += 1
            try unsafe frames(
                UnsafeRawBufferPointer(rebasing: record[..<count]), link, tag, now, isSubscriber)
            offset = next
        }
        return offset
    }

    private func frames(
        _ plaintext: UnsafeRawBufferPointer, _ link: BenchLink, _ tag: Int, _ now: UInt64,
        _ isSubscriber: Bool
    ) throws(OperatorError) {
        var offset = 0
        while offset + 3 <= plaintext.count {
            let type = unsafe plaintext[offset]
            if type == 0 { return }
            let length = unsafe Int(plaintext[offset + 1]) << 8 | Int(plaintext[offset + 2])
            guard offset + 3 + length <= plaintext.count else {
                throw .unexpected("a frame crosses its record")
            }
            let body = unsafe UnsafeRawBufferPointer(rebasing: plaintext[offset + 3..<offset + 3 + length])
            offset += 3 + length
            switch FrameType(rawValue: type) {
            case .deliver: if isSubscriber { unsafe deliveries.take(body, on: link, at: now) }
            case .ping: try link.send(.pong(unsafe Array(body.prefix(8))))
            case .pong: break
            default:
                let frame: Frame
                do throws(WireError) {
                    frame = try Frame.decode(type: type, body: unsafe Array(body))
                } catch {
                    throw .unexpected("a frame of type \(type) does not decode: \(error)")
                }
                if case .error(let error) = frame {
                    throw .unexpected("the relay said \(LinkErrorCode.described(error.code)): \(error.text)")
                }
                try user?.frame(frame, link, tag, at: now)
            }
        }
    }
}
