/// One event in its JSON container. **Source**: docs/protocol/channel.md and events.md.
package struct Event: Hashable, Sendable {
    /// Chat protocol versions that its writer speaks.
    package var versions: ClosedRange<UInt16>
    package var messageID: MessageID?
    package let tag: EventTag
    package var params: EventParams

    /// What we write into `v`.
    package static let ownVersions: ClosedRange<UInt16> = 9...19
    /// What a container without `v` means.
    package static let impliedVersions: ClosedRange<UInt16> = 9...9

    package init(
        versions: ClosedRange<UInt16> = Event.ownVersions, messageID: MessageID? = nil, params: EventParams
    ) {
        self.versions = versions
        self.messageID = messageID
        self.params = params
        tag = params.tag
    }

    /// Reads an element's JSON.
    ///
    /// **Throws** `.tooLarge` over the message limit, otherwise `.malformed` or `.truncated`. An event that
    /// we do not model is not an error: its params are `.other`.
    package static func decode(json bytes: [UInt8]) throws(WireError) -> Event {
        guard bytes.count <= Limits.encodedMessageMax else {
            throw .tooLarge(limit: Limits.encodedMessageMax, have: bytes.count)
        }
        let json = try JSONObject.decode(bytes)
        let tag = EventTag(rawValue: try json.string("event"))
        guard tag.rawValue.utf8.starts(with: "x.".utf8) else {
            throw .malformed("the name of an event starts with x.")
        }
        let versions = try Self.versions(of: try json.optionalString("v"))
        let messageID = try json.optionalMessageID("msgId")
        let params = try EventParams(tag: tag, json: try json.object("params"), whole: bytes)
        return Event(versions: versions, messageID: messageID, params: params)
    }

    /// The container without spaces, keys in order; an event that we do not model is written as it was read.
    package func encode() -> [UInt8] {
        if case .other(_, let bytes) = params { return bytes }
        var json: JSONObject = [
            "v": .string(Self.text(of: versions)), "event": .string(tag.rawValue),
            "params": .object(params.json),
        ]
        json["msgId"] = (messageID?.text).map(JSONValue.string)
        return json.encode()
    }

    /// A range as `9-19`, or one number where both ends are equal.
    static func text(of versions: ClosedRange<UInt16>) -> String {
        versions.count == 1 ? "\(versions.lowerBound)" : "\(versions.lowerBound)-\(versions.upperBound)"
    }
    static func versions(of text: String?) throws(WireError) -> ClosedRange<UInt16> {
        guard let text else { return impliedVersions }
        let ends = text.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard ends.count <= 2, let low = ends.first.flatMap(number), let high = ends.last.flatMap(number),
            low <= high
        else { throw .malformed("v is a version or a range of versions") }
        return low...high
    }
    private static func number(_ digits: Substring) -> UInt16? {
        guard 1...5 ~= digits.utf8.count,
            digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
        else { return nil }
        return UInt16(digits)
    }
}
