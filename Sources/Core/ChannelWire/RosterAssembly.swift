/// Collects the chunks of one roster, as its header announced them.
package struct RosterAssembly: Sendable {
    package let header: RosterHeader
    package let message: MessageID
    private var blob: [UInt8] = []
    private var next: UInt8 = 1

    /// - Throws: `WireError.tooLarge` when the header announces more than a roster may have.
    package init(header: RosterHeader, message: MessageID) throws(WireError) {
        guard header.fileSize <= Limits.rosterBlobMax else {
            throw .tooLarge(limit: Limits.rosterBlobMax, have: Int(clamping: header.fileSize))
        }
        self.header = header
        self.message = message
    }

    /// The roster when `chunk` was the last one, nil while some are missing.
    ///
    /// - Throws: `WireError` when the chunk is not the next one, passes the announced size, or the whole does
    /// not have
    ///   the announced digest or shape. The assembly is then of no further use.
    package mutating func add(_ chunk: FileChunk, sha512: ([UInt8]) -> [UInt8]) throws(WireError) -> Roster? {
        guard chunk.message == message else { throw .malformed("a chunk of another file") }
        guard chunk.number == next, next < UInt8.max else {
            throw .malformed("chunk \(chunk.number), not \(next)")
        }
        guard Int64(blob.count + chunk.data.count) <= header.fileSize else {
            throw .tooLarge(limit: Int(header.fileSize), have: blob.count + chunk.data.count)
        }
        next += 1
        blob += chunk.data
        guard Int64(blob.count) == header.fileSize else { return nil }
        guard sha512(blob) == header.fileDigest else { throw .malformed("the roster has another digest") }
        return try Roster(blob: blob)
    }
}
