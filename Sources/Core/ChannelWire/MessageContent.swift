/// What a message says. Kinds and fields that we do not know are kept as they are.
package struct MessageContent: Hashable, Sendable {
    /// `text`, `link`, `image`, `video`, `voice`, `file`, `report`, `chat`, or something newer.
    package let type: String
    /// Everything besides the type.
    package let fields: JSONObject

    package static let placeholder = "unknown message type"
    private static let knownTypes = [
        "text", "link", "image", "video", "voice", "file", "report", "chat",
    ]

    package init(text: String) { self.init(type: "text", fields: ["text": .string(text)]) }
    package init(type: String, fields: JSONObject) {
        self.type = type
        self.fields = fields.without(["type"])
    }
    package init(json: JSONObject) throws(WireError) {
        type = try json.string("type")
        fields = json.without(["type"])
        if isKnown { _ = try fields.string("text") }
    }
    package var json: JSONObject {
        var json = fields
        json["type"] = .string(type)
        return json
    }
    package var isKnown: Bool { Self.knownTypes.contains { type.hasSameBytes(as: $0) } }
    /// The text to show; a placeholder where a kind that we do not know has none.
    package var text: String {
        guard case .string(let text)? = fields["text"] else { return Self.placeholder }
        return text
    }
}

/// The message that another one answers.
package struct Quote: Hashable, Sendable {
    package var messageID: MessageID?
    /// ISO 8601, as it was written.
    package var sentAt: String
    /// The quoting author's own message.
    package var sent: Bool
    /// Author of the quoted message; nil where that is the channel.
    package var memberID: MemberID?
    package var content: MessageContent

    package init(
        messageID: MessageID?, sentAt: String, sent: Bool, memberID: MemberID?, content: MessageContent
    ) {
        self.messageID = messageID
        self.sentAt = sentAt
        self.sent = sent
        self.memberID = memberID
        self.content = content
    }
    package init(json: JSONObject) throws(WireError) {
        let reference = try json.object("msgRef")
        messageID = try reference.optionalMessageID("msgId")
        sentAt = try reference.string("sentAt")
        sent = try reference.bool("sent")
        memberID = try reference.optionalMemberID("memberId")
        content = try MessageContent(json: try json.object("content"))
    }
    package var json: JSONObject {
        var reference: JSONObject = ["sentAt": .string(sentAt), "sent": .bool(sent)]
        reference["msgId"] = (messageID?.text).map(JSONValue.string)
        reference["memberId"] = (memberID?.text).map(JSONValue.string)
        return ["msgRef": .object(reference), "content": .object(content.json)]
    }
}

/// Announces a file; how to get it is among `others`.
package struct FileInvitation: Hashable, Sendable {
    package var fileName: String
    /// **Units**: bytes.
    package var fileSize: Int64
    package var others: JSONObject

    package init(fileName: String, fileSize: Int64, others: JSONObject = [:]) {
        self.fileName = fileName
        self.fileSize = fileSize
        self.others = others
    }
    package init(json: JSONObject) throws(WireError) {
        fileName = try json.string("fileName")
        fileSize = try json.int64("fileSize")
        guard fileSize >= 0 else { throw .malformed("fileSize is negative") }
        others = json.without(["fileName", "fileSize"])
    }
    package var json: JSONObject {
        let json: JSONObject = ["fileName": .string(fileName), "fileSize": JSONValue(fileSize)]
        return json.filled(from: others)
    }
}

/// A new message; the params of `EventTag.msgNew`.
package struct MessageContainer: Hashable, Sendable {
    package var content: MessageContent
    /// The channel is the author. Honoured for owners only.
    package var asGroup: Bool
    package var quote: Quote?
    /// Who is meant by each `@name` in the text.
    package var mentions: [String: MemberID]
    package var file: FileInvitation?
    /// **Units**: seconds.
    package var timeToLive: Int64?
    /// `live`, `scope`, `parent`, `forward`, `forwardLink` and what comes later.
    package var others: JSONObject

    package init(
        content: MessageContent, asGroup: Bool = false, quote: Quote? = nil,
        mentions: [String: MemberID] = [:],
        file: FileInvitation? = nil, timeToLive: Int64? = nil, others: JSONObject = [:]
    ) {
        self.content = content
        self.asGroup = asGroup
        self.quote = quote
        self.mentions = mentions
        self.file = file
        self.timeToLive = timeToLive
        self.others = others
    }
    package init(json: JSONObject) throws(WireError) {
        content = try MessageContent(json: try json.object("content"))
        asGroup = try json.optionalBool("asGroup") ?? false
        if let quote = try json.optionalObject("quote") { self.quote = try Quote(json: quote) }
        mentions = [:]
        if let object = try json.optionalObject("mentions") {
            for name in object.keys { mentions[name] = try object.object(name).memberID("memberId") }
        }
        if let file = try json.optionalObject("file") { self.file = try FileInvitation(json: file) }
        timeToLive = try json.optionalInt64("ttl")
        others = json.without(["content", "asGroup", "quote", "mentions", "file", "ttl"])
    }
    package var json: JSONObject {
        var json: JSONObject = ["content": .object(content.json)]
        if asGroup { json["asGroup"] = .bool(true) }
        json["quote"] = (quote?.json).map(JSONValue.object)
        if !mentions.isEmpty {
            json["mentions"] = .object(
                JSONObject(mentions.mapValues { .object(["memberId": .string($0.text)]) }))
        }
        json["file"] = (file?.json).map(JSONValue.object)
        json["ttl"] = timeToLive.map { JSONValue($0) }
        return json.filled(from: others)
    }
}
