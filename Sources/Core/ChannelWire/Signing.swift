/// Signed elements: what is signed, making one, checking one. **Source**: docs/protocol/channel.md,
/// "Elements".
package enum Signing {
    /// `"G" ‖ 20 ‖ channelId ‖ len8 memberId ‖ json`: binds an event to its channel and author.
    package static func input(channel: ChannelID, member: MemberID, json: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(reserving: json.count + 64)
        writer.octet(SignedElement.groupBinding)
        writer.len8(channel.bytes)
        writer.len8(member.bytes)
        writer.raw(json)
        return writer.bytes
    }

    /// A signed element with one signature.
    package static func element(
        json: [UInt8], channel: ChannelID, member: MemberID, sign: (_ message: [UInt8]) -> Signature
    ) -> [UInt8] {
        let signature = sign(input(channel: channel, member: member, json: json))
        var writer = ByteWriter(reserving: json.count + 69)
        writer.octet(UInt8(ascii: "/"))
        writer.octet(SignedElement.groupBinding)
        writer.octet(1)
        writer.octet(UInt8(ascii: "M"))
        writer.len8(signature.bytes)
        writer.raw(json)
        return writer.bytes
    }
}

extension SignedElement {
    package enum Check: Hashable, Sendable {
        case valid
        case invalid
        /// A binding other than `G` cannot be verified.
        case wrongBinding
    }
    /// Every signature present must verify with the author's key.
    package func check(
        channel: ChannelID, member: MemberID, key: PublicKey,
        verify: (_ signature: Signature, _ message: [UInt8], _ key: PublicKey) -> Bool
    ) -> Check {
        guard binding == Self.groupBinding else { return .wrongBinding }
        let input = Signing.input(channel: channel, member: member, json: json)
        return signatures.allSatisfy { verify($0, input, key) } ? .valid : .invalid
    }
}
