/// How a member or a relay presents itself. Fields that we do not read are kept in `others`.
package struct Profile: Hashable, Sendable {
    package var displayName: String
    package var fullName: String
    package var shortDescription: String?
    /// A data URI.
    package var image: String?
    package var others: JSONObject

    package init(
        displayName: String, fullName: String = "", shortDescription: String? = nil, image: String? = nil,
        others: JSONObject = [:]
    ) {
        self.displayName = displayName
        self.fullName = fullName
        self.shortDescription = shortDescription
        self.image = image
        self.others = others
    }
    package init(json: JSONObject) throws(WireError) {
        displayName = try json.string("displayName")
        fullName = try json.optionalString("fullName") ?? ""
        shortDescription = try json.optionalString("shortDescr")
        image = try json.optionalString("image")
        others = json.without(["displayName", "fullName", "shortDescr", "image"])
    }
    package var json: JSONObject {
        var json: JSONObject = ["displayName": .string(displayName), "fullName": .string(fullName)]
        json["shortDescr"] = shortDescription.map(JSONValue.string)
        json["image"] = image.map(JSONValue.string)
        return json.filled(from: others)
    }
}

/// How a channel presents itself; part of the channel record. Fields that we do not read are kept in
/// `others`.
package struct GroupProfile: Hashable, Sendable {
    package var displayName: String
    package var fullName: String
    package var shortDescription: String?
    /// The welcome text.
    package var description: String?
    /// A data URI.
    package var image: String?
    package var publicGroup: PublicGroup?
    package var preferences: GroupPreferences?
    package var others: JSONObject

    package init(
        displayName: String, fullName: String = "", shortDescription: String? = nil,
        description: String? = nil,
        image: String? = nil, publicGroup: PublicGroup? = nil, preferences: GroupPreferences? = nil,
        others: JSONObject = [:]
    ) {
        self.displayName = displayName
        self.fullName = fullName
        self.shortDescription = shortDescription
        self.description = description
        self.image = image
        self.publicGroup = publicGroup
        self.preferences = preferences
        self.others = others
    }

    /// Reads a channel record's profile.
    package static func decode(json bytes: [UInt8]) throws(WireError) -> GroupProfile {
        try GroupProfile(json: try JSONObject.decode(bytes))
    }
    package func encode() -> [UInt8] { json.encode() }

    package init(json: JSONObject) throws(WireError) {
        displayName = try json.string("displayName")
        fullName = try json.optionalString("fullName") ?? ""
        shortDescription = try json.optionalString("shortDescr")
        description = try json.optionalString("description")
        image = try json.optionalString("image")
        if let group = try json.optionalObject("publicGroup") { publicGroup = try PublicGroup(json: group) }
        if let preferences = try json.optionalObject("groupPreferences") {
            self.preferences = try GroupPreferences(json: preferences)
        }
        others = json.without([
            "displayName", "fullName", "shortDescr", "description", "image", "publicGroup",
            "groupPreferences",
        ])
    }
    package var json: JSONObject {
        var json: JSONObject = ["displayName": .string(displayName), "fullName": .string(fullName)]
        json["shortDescr"] = shortDescription.map(JSONValue.string)
        json["description"] = description.map(JSONValue.string)
        json["image"] = image.map(JSONValue.string)
        json["publicGroup"] = (publicGroup?.json).map(JSONValue.object)
        json["groupPreferences"] = (preferences?.json).map(JSONValue.object)
        return json.filled(from: others)
    }
    /// Content must be signed by its author.
    package var signsMessages: Bool { preferences?.signMessages?.isOn ?? false }
}

/// What makes a group public: its kind, its link and its id.
package struct PublicGroup: Hashable, Sendable {
    package static let channelType = "channel"
    /// `channel`; other texts are kept.
    package var groupType: String
    package var groupLink: String
    package var publicGroupID: ChannelID
    package var others: JSONObject

    package init(
        groupType: String = PublicGroup.channelType, groupLink: String, publicGroupID: ChannelID,
        others: JSONObject = [:]
    ) {
        self.groupType = groupType
        self.groupLink = groupLink
        self.publicGroupID = publicGroupID
        self.others = others
    }
    package init(json: JSONObject) throws(WireError) {
        groupType = try json.string("groupType")
        groupLink = try json.string("groupLink")
        guard let id = ChannelID(bytes: try json.bytes("publicGroupId")) else {
            throw .malformed("publicGroupId is not 32 bytes")
        }
        publicGroupID = id
        others = json.without(["groupType", "groupLink", "publicGroupId"])
    }
    package var json: JSONObject {
        let json: JSONObject = [
            "groupType": .string(groupType), "groupLink": .string(groupLink),
            "publicGroupId": .string(publicGroupID.text),
        ]
        return json.filled(from: others)
    }
}
