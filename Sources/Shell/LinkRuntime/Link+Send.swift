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
        guard !queue.isEmpty, writing == nil, unsafe keys.isSet, descriptor >= 0 else { return }
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
        let offset = queue.isEmpty ? 0 : sealQueue(at: 0)
        let plaintext = RecordPadding.padded(frames.count)
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

    /// Sends a record that goes to many links, unless this one has something else to say before it or cannot
    /// take it now. Returns: whether it was sent.
    @unsafe
    package func sendBulk(_ record: BulkRecord) -> Bool {
        guard isQuiet else { return false }
        let nonce = sendNonce
        sendNonce = nonce &+ 1
        // Each time: another link's queue may have been sealed there meanwhile.
        unsafe record.memory.storeBytes(of: record.length, as: UInt16.self)
        unsafe keys.seal(record.sealing, nonce: nonce)
        let taken = unsafe Posix.sendQuickly(descriptor, record.memory, record.count)
        if unsafe taken != record.count { unsafe fallShort(taken, record) }
        return true
    }

    /// The kernel took `taken` bytes of a record, or none when it is less than zero.
    @inline(never)
    private func fallShort(_ taken: Int, _ record: BulkRecord) {
        let bytes = unsafe UnsafeRawBufferPointer(start: record.memory, count: record.count)
        if taken < 0 {
            unsafe transmit(bytes)
        } else {
            unsafe keep(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
        }
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
        let plaintext = unsafe context.seal.slice(start + 2, RecordPadding.padded(count))
        for index in count..<plaintext.count { unsafe plaintext[index] = 0 }
        return unsafe sealRecord(UnsafeRawBufferPointer(plaintext), at: start)
    }

    /// Seals a padded plaintext, which may lie where it will be sealed, into a record at `start`.
    /// Returns: the bytes of the record.
    @unsafe
    private func sealRecord(_ plaintext: UnsafeRawBufferPointer, at start: Int) -> Int {
        let ciphertext = plaintext.count + AEADKey.tagByteCount
        let record = unsafe context.seal.slice(start, 2 + ciphertext)
        unsafe record.storeBytes(of: UInt16(truncatingIfNeeded: ciphertext).bigEndian, as: UInt16.self)
        unsafe keys.seal(
            context.sealing.job(plaintext, into: UnsafeMutableRawBufferPointer(rebasing: record[2...])),
            nonce: sendNonce)
        sendNonce += 1
        return record.count
    }

    /// Hands bytes to the kernel; what it does not take waits in `writing`.
    @unsafe
    func transmit(_ bytes: UnsafeRawBufferPointer) {
        precondition(writing == nil, "nothing overtakes what is unsent")
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
        let writing = unsafe LinkWriting(
            context.loop.watch(descriptor, .write, owner: self), unsent: Array(rest), tick: context.tick)
        noteProgress(writing)
        self.writing = writing
        guard writing.watch.add() else { return finish(.io(PosixError(errno: 0, call: "epoll_ctl"))) }
        awaitDeadline()
    }

    /// The kernel has room again.
    func writable() {
        if let writing {
            let result = unsafe writing.unsent.withUnsafeBytes {
                unsafe Posix.send(descriptor, UnsafeRawBufferPointer(rebasing: $0[writing.offset...]))
            }
            switch result {
            case .done(let count):
                writing.offset += count
                noteProgress(writing)
            case .wouldBlock: break
            case .closed: return finish(.peerClosed)
            case .failed(let error): return finish(.io(error))
            }
            guard writing.offset == writing.unsent.count else { return }
            self.writing = nil
            // The peer took it all: a sign of life, from which silence counts anew.
            receivedTick = context.tick
            isPingSent = false
        }
        flushQueue()
        finishClosingIfFlushed()
        if canSendBulk { delegate?.linkIsWritable(self) }
    }
}
