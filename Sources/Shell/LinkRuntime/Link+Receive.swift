internal import ChannelWire
internal import LibeventLoop
internal import PosixKit
internal import SodiumCrypto

extension Link {
    /// Reads nothing more for now, so that the peer's own sending stalls; frames that were received already
    /// still come. What the peer may be blamed for by its silence waits too.
    package func pauseReading() {
        if phase == .open { readWatch?.remove() }
    }

    /// Reads again.
    package func resumeReading() {
        guard phase == .open, isReadingPaused else { return }
        receivedTick = context.tick
        recordTick = context.tick
        isPingSent = false
        guard readWatch?.add() == true else { return finish(.io(PosixError(errno: 0, call: "epoll_ctl"))) }
        awaitDeadline()
    }

    var isReadingPaused: Bool { readWatch?.isAdded == false }

    /// Bytes have come: joined with what was left, they are opened where they lie in the loop's scratch
    /// memory.
    func readable() {
        let kept = inbound.count
        let scratch = context.receive
        // What comes behind a handshake stays with the kernel: it would be kept here for as long as the
        // handshake waits for others.
        let end = phase == .handshaking ? max(LinkHandshake.inputBytesMax, kept + 1) : scratch.count
        switch unsafe Posix.receive(descriptor, into: scratch.slice(kept, end - kept)) {
        case .done(let count):
            receivedTick = context.tick
            isPingSent = false
            // A record that is far from whole only grows; without this a slow sender would cost a copy of it
            // each time.
            if phase == .open, let needed = recordNeeded, kept + count < needed {
                return unsafe inbound.append(contentsOf: scratch.slice(kept, count))
            }
            unsafe inbound.withUnsafeBytes { unsafe scratch.slice(0, kept).copyMemory(from: $0) }
            process(kept + count)
        case .wouldBlock: break
        case .closed where phase == .proxying: proxyFailed(.closed)
        case .failed where phase == .proxying: proxyFailed(.closed)
        case .closed: finish(.peerClosed)
        case .failed(let error): finish(.io(error))
        }
    }

    /// Looks again at what was kept.
    func processInbound() {
        let kept = inbound.count
        unsafe inbound.withUnsafeBytes { unsafe context.receive.slice(0, kept).copyMemory(from: $0) }
        process(kept)
    }

    /// The length of the record that `inbound` begins, once that is known.
    private var recordNeeded: Int? {
        inbound.count >= 2 ? 2 + (Int(inbound[0]) << 8 | Int(inbound[1])) : nil
    }

    /// Takes handshake messages and records from the first `count` bytes of the scratch memory; keeps the
    /// rest.
    private func process(_ count: Int) {
        var offset = 0
        while phase == .handshaking || phase == .proxying {
            let bytes = unsafe Array(
                context.receive.slice(offset, min(count - offset, LinkHandshake.inputBytesMax)))
            let used = phase == .proxying ? advanceProxy(bytes) : advanceHandshake(bytes)
            if used == 0 { break }
            offset += used
        }
        if phase == .open { offset += openRecords(offset, count) }
        guard phase == .open || phase == .handshaking || phase == .proxying else {
            inbound = []
            return
        }
        let rest = count - offset
        if rest == 0 {
            if !inbound.isEmpty { inbound = [] }
            return
        }
        // The clock of a record starts with its first byte.
        if offset > 0 || inbound.isEmpty { recordTick = context.tick }
        inbound = unsafe Array(context.receive.slice(offset, rest))
        awaitDeadline()
    }

    // MARK: - Records

    /// Opens every whole record in the scratch memory from `start` to `end` and handles its frames.
    /// Returns: the bytes that are done with.
    private func openRecords(_ start: Int, _ end: Int) -> Int {
        var offset = start
        var isLoaded = false
        while phase == .open, end - offset >= 2 {
            let head = unsafe context.receive.slice(offset, 2)
            let length = unsafe Int(head[0]) << 8 | Int(head[1])
            guard length > AEADKey.tagByteCount else {
                malformed(.badFrame, "a record of \(length) bytes")
                break
            }
            guard end - offset >= 2 + length else { break }
            // Once for all records that came together: no other link receives meanwhile.
            if !isLoaded {
                unsafe keys.loadReceiving(into: context.opening)
                isLoaded = true
            }
            let record = unsafe context.receive.slice(offset + 2, length)
            guard let count = unsafe context.opening.open(record, nonce: receiveNonce) else {
                finish(.notAuthentic)
                break
            }
            receiveNonce += 1
            unsafe handleFrames(UnsafeRawBufferPointer(rebasing: record[..<count]))
            offset += 2 + length
        }
        return offset - start
    }

    private func handleFrames(_ plaintext: UnsafeRawBufferPointer) {
        var offset = 0
        while offset < plaintext.count {
            let type = unsafe plaintext[offset]
            if type == 0 {
                guard offset > 0, unsafe plaintext[offset...].allSatisfy({ $0 == 0 }) else {
                    return malformed(
                        .badFrame, offset == 0 ? "a record without a frame" : "padding that is not zero")
                }
                return
            }
            guard plaintext.count - offset >= 3 else {
                return malformed(.badFrame, "a frame without its length")
            }
            let length = unsafe Int(plaintext[offset + 1]) << 8 | Int(plaintext[offset + 2])
            guard length <= Limits.frameBodyMax else {
                return malformed(.tooLarge, "a frame of \(length) bytes")
            }
            guard plaintext.count - offset - 3 >= length else {
                return malformed(.badFrame, "a frame that crosses its record")
            }
            let body = unsafe [UInt8](plaintext[offset + 3..<offset + 3 + length])
            offset += 3 + length
            handleFrame(type, body)
            guard phase == .open else { return }
        }
    }

    private func handleFrame(_ type: UInt8, _ body: [UInt8]) {
        switch FrameType(rawValue: type) {
        case .ping: handlePing(body)
        case .pong: break
        case nil where type >= 0x80: break
        case nil: malformed(.badFrame, "a frame of the unknown type \(type)")
        default:
            let frame: Frame
            do throws(WireError) {
                frame = try Frame.decode(type: type, body: body)
            } catch {
                return malformed(.badFrame, "\(error)")
            }
            if case .error(let error) = frame, error.request == 0 {
                return finish(.peerError(error))
            }
            hasReceivedFrame = true
            delegate?.link(self, didReceive: frame)
        }
    }

    private func handlePing(_ body: [UInt8]) {
        guard body.count >= 8 else { return malformed(.badFrame, "a PING of \(body.count) bytes") }
        enqueue([FrameType.pong.rawValue, 0, 8] + body[..<8])
    }

    func malformed(_ code: LinkErrorCode, _ what: String) {
        end(.malformed(code, what), telling: code, what)
    }
}
