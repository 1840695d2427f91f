/// Changes an earlier message of the same author.
package struct MessageUpdate: Hashable, Sendable {
    package var messageID: MessageID
    package var content: MessageContent
    package var asGroup: Bool
    /// `mentions`, `ttl`, `live`, `scope` and what comes later.
    package var others: JSONObject

    package init(
        messageID: MessageID, content: MessageContent, asGroup: Bool = false, others: JSONObject = [:]
    ) {
        self.messageID = messageID
        self.content = content
        self.asGroup = asGroup
        self.others = others
    }
    init(json: JSONObject) throws(WireError) {
        messageID = try json.messageID("msgId")
        content = try MessageContent(json: try json.object("content"))
        asGroup = try json.optionalBool("asGroup") ?? false
        others = json.without(["msgId", "content", "asGroup"])
    }
    var json: JSONObject {
        var json: JSONObject = ["msgId": .string(messageID.text), "content": .object(content.json)]
        if asGroup { json["asGroup"] = .bool(true) }
        return json.filled(from: others)
    }
}

/// Deletes an earlier message.
package struct MessageDeletion: Hashable, Sendable {
    package var messageID: MessageID
    /// The message's author where somebody else deletes it.
    package var memberID: MemberID?
    /// `scope`, `onlyHistory` and what comes later.
    package var others: JSONObject

    package init(messageID: MessageID, memberID: MemberID? = nil, others: JSONObject = [:]) {
        self.messageID = messageID
        self.memberID = memberID
        self.others = others
    }
    init(json: JSONObject) throws(WireError) {
        messageID = try json.messageID("msgId")
        memberID = try json.optionalMemberID("memberId")
        others = json.without(["msgId", "memberId"])
    }
    var json: JSONObject {
        var json: JSONObject = ["msgId": .string(messageID.text)]
        json["memberId"] = (memberID?.text).map(JSONValue.string)
        return json.filled(from: others)
    }
}

/// Adds a reaction to a message or takes it back.
package struct MessageReaction: Hashable, Sendable {
    package var messageID: MessageID
    /// The message's author; nil where that is the channel.
    package var memberID: MemberID?
    /// `type` and, for the type `emoji`, `emoji`.
    package var reaction: JSONObject
    package var add: Bool
    package var others: JSONObject

    package init(messageID: MessageID, memberID: MemberID? = nil, emoji: String, add: Bool) {
        self.messageID = messageID
        self.memberID = memberID
        reaction = ["type": "emoji", "emoji": .string(emoji)]
        self.add = add
        others = [:]
    }
    init(json: JSONObject) throws(WireError) {
        messageID = try json.messageID("msgId")
        memberID = try json.optionalMemberID("memberId")
        reaction = try json.object("reaction")
        if try reaction.string("type").hasSameBytes(as: "emoji") { _ = try reaction.string("emoji") }
        add = try json.bool("add")
        others = json.without(["msgId", "memberId", "reaction", "add"])
    }
    var json: JSONObject {
        var json: JSONObject = [
            "msgId": .string(messageID.text), "reaction": .object(reaction), "add": .bool(add),
        ]
        json["memberId"] = (memberID?.text).map(JSONValue.string)
        return json.filled(from: others)
    }
    /// Nil for a kind of reaction that we do not know.
    package var emoji: String? {
        guard reaction["type"] == "emoji", case .string(let emoji)? = reaction["emoji"] else { return nil }
        return emoji
    }
}

extension JSONValue: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
}
