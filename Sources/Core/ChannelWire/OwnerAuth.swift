/// One entry of the owners chain. **Source**: docs/protocol/channel.md, "Channel record".
package struct OwnerAuth: Hashable, Sendable {
    package let owner: MemberID
    package let key: PublicKey
    /// By the root key or the key of an earlier entry, over ownerId ‖ DER(ownerKey).
    package let signature: Signature

    package init(owner: MemberID, key: PublicKey, signature: Signature) {
        self.owner = owner
        self.key = key
        self.signature = signature
    }
    package init(owner: MemberID, key: PublicKey, sign: (_ message: [UInt8]) -> Signature) {
        self.init(owner: owner, key: key, signature: sign(Self.input(owner: owner, key: key)))
    }
    package static func input(owner: MemberID, key: PublicKey) -> [UInt8] { owner.bytes + key.der }

    /// The wrapper: one length byte, then the entry; trailing bytes inside it are ignored.
    package static func decode(from reader: inout ByteReader) throws(WireError) -> OwnerAuth {
        var inner = ByteReader(try reader.len8())
        let owner = try inner.memberID()
        let key = try inner.publicKey()
        return OwnerAuth(owner: owner, key: key, signature: try inner.signature())
    }
    package func encode(into writer: inout ByteWriter) {
        var inner = ByteWriter(reserving: 128)
        inner.len8(owner.bytes)
        inner.len8(key.der)
        inner.len8(signature.bytes)
        writer.len8(inner.bytes)
    }

    package enum ChainError: Error, Hashable, Sendable, CustomStringConvertible {
        case isRootKey
        case repeated
        case notAuthorised

        package var description: String {
            switch self {
            case .isRootKey: "an owner has the root key"
            case .repeated: "an owner is listed twice"
            case .notAuthorised: "an owner whom nobody authorised"
            }
        }
    }
    /// - Throws: `ChainError` for the first entry that is the root key, repeats an id or key, or nobody
    /// authorised.
    package static func checkChain(
        _ chain: [OwnerAuth], root: PublicKey,
        verify: (_ signature: Signature, _ message: [UInt8], _ key: PublicKey) -> Bool
    ) throws(ChainError) {
        var authorities = [root]
        var ids: Set<MemberID> = []
        for entry in chain {
            guard entry.key != root else { throw .isRootKey }
            guard !authorities.contains(entry.key), ids.insert(entry.owner).inserted else { throw .repeated }
            let input = input(owner: entry.owner, key: entry.key)
            guard authorities.contains(where: { verify(entry.signature, input, $0) }) else {
                throw .notAuthorised
            }
            authorities.append(entry.key)
        }
    }
}
