/// An owner's invitation to a relay.
package struct RelayInvitation: Hashable, Sendable {
    package var fromMember: MemberAndRole
    package var fromMemberProfile: Profile
    /// What the relay will be called in this channel.
    package var relayMemberID: MemberID
    /// A link of the channel.
    package var groupLink: String

    package init(
        fromMember: MemberAndRole, fromMemberProfile: Profile, relayMemberID: MemberID, groupLink: String
    ) {
        self.fromMember = fromMember
        self.fromMemberProfile = fromMemberProfile
        self.relayMemberID = relayMemberID
        self.groupLink = groupLink
    }
    init(json: JSONObject) throws(WireError) {
        fromMember = try MemberAndRole(json: try json.object("fromMember"))
        fromMemberProfile = try Profile(json: try json.object("fromMemberProfile"))
        relayMemberID = try json.memberID("relayMemberId")
        groupLink = try json.string("groupLink")
    }
    var json: JSONObject {
        [
            "fromMember": .object(fromMember.json), "fromMemberProfile": .object(fromMemberProfile.json),
            "relayMemberId": .string(relayMemberID.text), "groupLink": .string(groupLink),
        ]
    }
}

/// What a relay offers besides forwarding.
package struct RelayCapabilities: Hashable, Sendable {
    /// Where it publishes web previews.
    package var webDomain: String?
    package var others: JSONObject

    package init(webDomain: String? = nil, others: JSONObject = [:]) {
        self.webDomain = webDomain
        self.others = others
    }
    init(json: JSONObject) throws(WireError) {
        webDomain = try json.optionalString("webDomain")
        others = json.without(["webDomain"])
    }
    var json: JSONObject {
        var json: JSONObject = [:]
        json["webDomain"] = webDomain.map(JSONValue.string)
        return json.filled(from: others)
    }
}

/// A relay takes an invitation.
package struct RelayAcceptance: Hashable, Sendable {
    /// The relay's link for this channel; its key is the relay's member key.
    package var relayLink: String
    package var capabilities: RelayCapabilities?

    package init(relayLink: String, capabilities: RelayCapabilities? = nil) {
        self.relayLink = relayLink
        self.capabilities = capabilities
    }
    init(json: JSONObject) throws(WireError) {
        relayLink = try json.string("relayLink")
        if let object = try json.optionalObject("relayCap") {
            capabilities = try RelayCapabilities(json: object)
        }
    }
    var json: JSONObject {
        var json: JSONObject = ["relayLink": .string(relayLink)]
        json["relayCap"] = (capabilities?.json).map(JSONValue.object)
        return json
    }
}

/// Asks a relay to prove its identity, or answers that.
package struct RelayTest: Hashable, Sendable {
    package static let challengeBytes = 32
    package var challenge: [UInt8]
    /// Nil in the question.
    package var signature: Signature?

    package init(challenge: [UInt8], signature: Signature? = nil) {
        self.challenge = challenge
        self.signature = signature
    }
    init(json: JSONObject) throws(WireError) {
        challenge = try json.bytes("challenge")
        guard challenge.count == Self.challengeBytes else { throw .malformed("challenge is not 32 bytes") }
        if let text = try json.optionalString("signature") {
            guard let signature = Signature(text: text) else { throw .malformed("signature is not 64 bytes") }
            self.signature = signature
        }
    }
    var json: JSONObject {
        var json: JSONObject = ["challenge": .string(Base64URL.encode(challenge))]
        json["signature"] = (signature?.text).map(JSONValue.string)
        return json
    }
}

/// Announces a roster blob, which follows in chunks.
package struct RosterHeader: Hashable, Sendable {
    package var version: Int64
    /// **Units**: bytes.
    package var fileSize: Int64
    /// SHA-512 of the blob.
    package var fileDigest: [UInt8]

    package init(version: Int64, fileSize: Int64, fileDigest: [UInt8]) {
        self.version = version
        self.fileSize = fileSize
        self.fileDigest = fileDigest
    }
    init(json: JSONObject) throws(WireError) {
        version = try json.int64("version")
        let file = try json.object("fileInv")
        fileSize = try file.int64("fileSize")
        fileDigest = try file.bytes("fileDigest")
        guard version >= 0, fileSize >= 0 else { throw .malformed("version or fileSize is negative") }
        guard fileDigest.count == 64 else { throw .malformed("fileDigest is not 64 bytes") }
    }
    var json: JSONObject {
        [
            "version": JSONValue(version),
            "fileInv": .object([
                "fileSize": JSONValue(fileSize), "fileDigest": .string(Base64URL.encode(fileDigest)),
            ]),
        ]
    }
}

/// A relay has applied a roster, or says why not.
package struct RosterAcknowledgement: Hashable, Sendable {
    package var version: Int64
    package var error: String?

    package init(version: Int64, error: String? = nil) {
        self.version = version
        self.error = error
    }
    init(json: JSONObject) throws(WireError) {
        version = try json.int64("version")
        guard version >= 0 else { throw .malformed("version is negative") }
        error = try json.optionalString("error")
    }
    var json: JSONObject {
        var json: JSONObject = ["version": JSONValue(version)]
        json["error"] = error.map(JSONValue.string)
        return json
    }
}
