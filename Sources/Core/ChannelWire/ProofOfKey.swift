/// What a client signs to claim a membership on one link. **Source**: docs/protocol/frames.md, "Proof of
/// key".
package enum ProofOfKey: String, Sendable {
    case control = "antenna/1 control"
    case attach = "antenna/1 attach"

    /// - Parameter handshakeHash: the 64 bytes of this link, so that the proof is worth nothing on another
    /// one.
    package func input(handshakeHash: [UInt8], channel: ChannelID, member: MemberID) -> [UInt8] {
        precondition(handshakeHash.count == 64, "a handshake hash has 64 bytes")
        var writer = ByteWriter(reserving: 160)
        writer.raw(rawValue.utf8)
        writer.raw(handshakeHash)
        writer.raw(channel.bytes)
        writer.len8(member.bytes)
        return writer.bytes
    }
}
