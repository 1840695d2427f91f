/// A channel record that passed every check of docs/protocol/channel.md. There is no other way to make one.
package struct VerifiedRecord: Hashable, Sendable {
    package let channel: ChannelID
    package let record: ChannelRecord
    package let profile: GroupProfile

    package enum Problem: Error, Hashable, Sendable, CustomStringConvertible {
        case undecodable(WireError)
        /// SHA-256 of its root key is not the channel asked for.
        case otherChannel
        case ownersChain(OwnerAuth.ChainError)
        /// Signed by nobody who may.
        case signer
        case badSignature
        /// The profile's JSON, or its `publicGroupId`.
        case profile

        package var description: String {
            switch self {
            case .undecodable(let error): "it does not decode: \(error)"
            case .otherChannel: "it is another channel's"
            case .ownersChain(let error): "its owners: \(error)"
            case .signer: "it is signed by nobody who may"
            case .badSignature: "its signature is wrong"
            case .profile: "its profile does not decode, or names another channel"
            }
        }
    }

    /// Decodes and checks, in the order of the protocol text.
    ///
    /// - Parameter expected: the channel asked for; nil takes the one that the root key names.
    package init(_ bytes: [UInt8], expected: ChannelID?, crypto: ChannelCrypto) throws(Problem) {
        let record: ChannelRecord
        do throws(WireError) { record = try ChannelRecord.decode(bytes) } catch { throw .undecodable(error) }
        try self.init(record, expected: expected, crypto: crypto)
    }

    package init(_ record: ChannelRecord, expected: ChannelID?, crypto: ChannelCrypto) throws(Problem) {
        let content = record.content
        let channel = ChannelID(rootKey: content.rootKey, sha256: crypto.sha256)
        guard expected == nil || expected == channel else { throw .otherChannel }
        do throws(OwnerAuth.ChainError) {
            try OwnerAuth.checkChain(content.owners, root: content.rootKey, verify: crypto.verify)
        } catch { throw .ownersChain(error) }
        var key = content.rootKey
        if let signer = record.signer {
            guard let owner = content.owners.first(where: { $0.owner == signer }) else { throw .signer }
            key = owner.key
        }
        guard crypto.verify(record.signature, ChannelRecord.signatureInput(body: record.body), key) else {
            throw .badSignature
        }
        guard let profile = try? GroupProfile.decode(json: content.profile),
            profile.publicGroup?.publicGroupID == channel
        else { throw .profile }
        self.channel = channel
        self.record = record
        self.profile = profile
    }

    package var content: ChannelRecord.Content { record.content }
    package var version: Int64 { record.content.version }
    package var bytes: [UInt8] { record.bytes }
    package func ownerKey(_ owner: MemberID) -> PublicKey? { content.owners.first { $0.owner == owner }?.key }
    package func relay(member: MemberID) -> ChannelRecord.Relay? {
        content.relays.first { $0.member == member }
    }
    package func relay(identity: PublicKey) -> ChannelRecord.Relay? {
        content.relays.first { $0.identity == identity }
    }

    /// Whether it says that nobody but the owners has a role in which one writes.
    package func hasEmptyRoster(sha512: ([UInt8]) -> [UInt8]) -> Bool {
        content.rosterVersion < 0 || content.rosterDigest == sha512(Roster().blob())
    }

    package enum Comparison: Hashable, Sendable {
        case newer
        /// The same bytes.
        case same
        /// The same version with other bytes.
        case conflict
        case stale
    }
    /// How this record stands to one that is already held for the same channel.
    package func compared(to held: VerifiedRecord) -> Comparison {
        precondition(channel == held.channel, "only records of one channel are compared")
        if version > held.version { return .newer }
        if version < held.version { return .stale }
        return bytes == held.bytes ? .same : .conflict
    }
}
