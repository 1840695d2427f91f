/// The members with a role of their own, as the owner lists them. **Source**: docs/protocol/events.md, "The
/// channel".
package struct Roster: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package let member: MemberID
        package let key: PublicKey
        package let role: Role
        package init(member: MemberID, key: PublicKey, role: Role) {
            self.member = member
            self.key = key
            self.role = role
        }
    }
    package var entries: [Entry]

    package init(entries: [Entry] = []) { self.entries = entries }

    /// - Throws: `WireError` over 256 entries or 32768 bytes, for another role, a repeated member, or when
    /// anything follows.
    package init(blob: [UInt8]) throws(WireError) {
        guard blob.count <= Limits.rosterBlobMax else {
            throw .tooLarge(limit: Limits.rosterBlobMax, have: blob.count)
        }
        var reader = ByteReader(blob)
        let count = Int(try reader.word16())
        guard count <= Limits.rosterEntriesMax else { throw .tooMany(limit: Limits.rosterEntriesMax) }
        var entries: [Entry] = []
        for _ in 0..<count {
            let member = try reader.memberID()
            let key = try reader.publicKey()
            let role = Role(text: try reader.text8())
            guard role.isRosterRole else { throw .malformed("a roster role is member, moderator or admin") }
            _ = try reader.word16()
            entries.append(Entry(member: member, key: key, role: role))
        }
        try reader.expectEnd()
        guard Set(entries.map(\.member)).count == entries.count else {
            throw .malformed("a member is listed twice")
        }
        self.entries = entries
    }

    package func blob() -> [UInt8] {
        precondition(entries.count <= Limits.rosterEntriesMax, "a roster has at most 256 entries")
        var writer = ByteWriter(reserving: 2 + entries.count * 80)
        writer.word16(UInt16(entries.count))
        for entry in entries {
            writer.len8(entry.member.bytes)
            writer.len8(entry.key.der)
            writer.text8(entry.role.text)
            writer.word16(0)
        }
        return writer.bytes
    }

    /// The blob in file chunks under the header's message id, numbered from 1, each fit for a batch.
    package static func chunks(of blob: [UInt8], message: MessageID) -> [FileChunk] {
        let size = Limits.batchElementMax - 300
        var chunks: [FileChunk] = []
        var start = 0
        repeat {
            let end = min(start + size, blob.count)
            chunks.append(
                FileChunk(message: message, number: UInt8(chunks.count + 1), data: Array(blob[start..<end])))
            start = end
        } while start < blob.count
        return chunks
    }
}
