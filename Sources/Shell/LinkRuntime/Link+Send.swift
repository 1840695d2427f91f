package import ChannelWire
internal import LibeventLoop
internal import PosixKit
internal import SodiumCrypto

extension Link {
    // MARK: - Control frames

    /// Queues a frame; frames queued while one event is handled leave in one record.
    /// Before the link is open they wait, after its end they go nowhere. A queue beyond its limit ends the
    /// link.
    package func send(_ frame: Frame) {
        guard !isEnding else { return }
        enqueue(frame.encode())
    }

    func enqueue(_ encoded: [UInt8]) {
        guard queue.count + encoded.count <= Link.queueBytesMax else {
            return end(.queueFull, telling: .slowReader, "the frames for you do not get through")
        }
        queue.append(contentsOf: encoded)
        if phase == .open { putOff() }
    }

    /// Seals the queue into records and sends them, unless older ones still wait.
    func flushQueue() {
        guard !queue.isEmpty, unsent.isEmpty, keys != nil, descriptor >= 0 else { return }
        let count = sealQueue(at: 0)
        unsafe transmit(UnsafeRawBufferPointer(context.seal.slice(0, count)))
    }

    // MARK: - Bulk

    /// Sends ready frames as one record, after whatever is queued: sealed into the loop's scratch memory and
    /// handed to the kernel at once. Only what the kernel does not take is copied and kept.
    ///
    /// Shape: whole encoded frames, 1 to `bulkBytesMax` bytes in all; `zerosAfter` readable bytes behind
    /// them are zero. With `RecordPadding.zerosMax` of them the padding is there already, and the frames are
    /// sealed from where they lie. Call it when `canSendBulk` only.
    /// Cost: no allocation when the kernel takes everything.
    @unsafe
    package func sendBulk(_ frames: UnsafeRawBufferPointer, zerosAfter: Int = 0) {
        precondition(canSendBulk, "bulk is sent when nothing is unsent")
        unsafe precondition(
            !frames.isEmpty && frames.count <= Link.bulkBytesMax, "bulk frames fit into one record")
        let offset = isQueueEmpty ? 0 : sealQueue(at: 0)
        let plaintext = paddedCount(frames.count)
        let count: Int
        if plaintext - frames.count <= zerosAfter {
            count = unsafe sealRecord(
                UnsafeRawBufferPointer(start: frames.baseAddress, count: plaintext), at: offset)
        } else {
            unsafe context.seal.slice(offset + 2, frames.count).copyMemory(from: frames)
            count = sealRecord(at: offset, frames.count)
        }
        unsafe transmit(UnsafeRawBufferPointer(context.seal.slice(0, offset + count)))
    }

    /// The same for an array, where speed does not matter.
    package func sendBulk(_ frames: [UInt8]) {
        unsafe frames.withUnsafeBytes { unsafe sendBulk($0) }
    }

    // MARK: - Records

    /// Seals the queue into records of whole frames at `start` of the scratch memory, and empties it.
    /// Returns: the bytes of all records.
    private func sealQueue(at start: Int) -> Int {
        let frames = queue
        queue = []
        var out = start
        var from = 0
        while from < frames.count {
            var to = from
            while to < frames.count {
                let frame = 3 + (Int(frames[to + 1]) << 8 | Int(frames[to + 2]))
                if to + frame - from > RecordPadding.plaintextBytesMax { break }
                to += frame
            }
            unsafe frames.withUnsafeBytes {
                unsafe context.seal.slice(out + 2, to - from).copyBytes(from: $0[from..<to])
            }
            out += sealRecord(at: out, to - from)
            from = to
        }
        return out - start
    }

    /// Pads and seals the `count` bytes that lie two bytes after `start`, and writes the length before them.
    /// Returns: the bytes of the record.
    private func sealRecord(at start: Int, _ count: Int) -> Int {
        let plaintext = unsafe context.seal.slice(start + 2, paddedCount(count))
        for index in count..<plaintext.count { unsafe plaintext[index] = 0 }
        return unsafe sealRecord(UnsafeRawBufferPointer(plaintext), at: start)
    }

    /// Seals a padded plaintext, which may lie where it will be sealed, into a record at `start`.
    /// Returns: the bytes of the record.
    @inline(__always) @unsafe
    private func sealRecord(_ plaintext: UnsafeRawBufferPointer, at start: Int) -> Int {
        guard let keys else { preconditionFailure("an open link has its keys") }
        let ciphertext = plaintext.count + AEADKey.tagByteCount
        let record = unsafe context.seal.slice(start, 2 + ciphertext)
        unsafe record.storeBytes(of: UInt16(truncatingIfNeeded: ciphertext).bigEndian, as: UInt16.self)
        keys.loadSending(into: context.sealing)
        unsafe context.sealing.seal(
            plaintext, into: UnsafeMutableRawBufferPointer(rebasing: record[2...]), nonce: sendNonce,
            associatedData: UnsafeRawBufferPointer(start: nil, count: 0))
        sendNonce += 1
        return record.count
    }

    @inline(__always)
    private func paddedCount(_ count: Int) -> Int {
        settings.isPadding ? RecordPadding.padded(count) : count
    }

    /// Hands bytes to the kernel; what it does not take waits in `unsent`.
    @inline(__always) @unsafe
    func transmit(_ bytes: UnsafeRawBufferPointer) {
        precondition(unsent.isEmpty, "nothing overtakes what is unsent")
        switch unsafe Posix.send(descriptor, bytes) {
        case .done(let count) where count == bytes.count: return
        case .done(let count): unsafe keep(UnsafeRawBufferPointer(rebasing: bytes[count...]))
        case .wouldBlock: unsafe keep(bytes)
        case .closed: finish(.peerClosed)
        case .failed(let error): finish(.io(error))
        }
    }

    func transmit(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe transmit($0) }
    }

    private func keep(_ rest: UnsafeRawBufferPointer) {
        unsafe unsent = Array(rest)
        unsentOffset = 0
        unsentTick = context.tick
        noteProgress()
        if writeWatch == nil {
            writeWatch = context.loop.watch(descriptor, .write, owner: self)
        }
        guard writeWatch?.add() == true else { return finish(.io(PosixError(errno: 0, call: "epoll_ctl"))) }
        awaitDeadline()
    }

    /// The kernel has room again.
    func writable() {
        if !unsent.isEmpty {
            let result = unsafe unsent.withUnsafeBytes {
                unsafe Posix.send(descriptor, UnsafeRawBufferPointer(rebasing: $0[unsentOffset...]))
            }
            switch result {
            case .done(let count):
                unsentOffset += count
                noteProgress()
            case .wouldBlock: break
            case .closed: return finish(.peerClosed)
            case .failed(let error): return finish(.io(error))
            }
            guard unsentOffset == unsent.count else { return }
            unsent = []
            unsentOffset = 0
            // The peer took it all: a sign of life, from which silence counts anew.
            receivedTick = context.tick
            isPingSent = false
        }
        writeWatch?.remove()
        flushQueue()
        finishClosingIfFlushed()
        if canSendBulk { delegate?.linkIsWritable(self) }
    }
}
