internal import ChannelWire

/// How gaps and disagreements are kept in the journal: JSON with stable keys.
enum JournalText {
    /// `head`: where the new log ended when a relay said that its log is another one.
    static func encode(_ gap: DeliveryGap, head: Int64? = nil) -> String {
        var json: JSONObject = [
            "relay": .string(gap.relay), "from": JSONValue(gap.from), "to": JSONValue(gap.to),
            "reason": .string(gap.reason.rawValue),
        ]
        json["head"] = head.map { JSONValue($0) }
        return text(json)
    }

    static func encode(_ disagreement: RelayDisagreement) -> String {
        var json: JSONObject = [
            "kind": .string(disagreement.kind.rawValue), "relay": .string(disagreement.relay),
            "comparedWith": .array(disagreement.comparedWith.map(JSONValue.string)),
            "detail": .string(disagreement.detail),
        ]
        json["messageId"] = disagreement.messageID.map(JSONValue.string)
        return text(json)
    }

    static func gap(_ text: String, channel: String) -> DeliveryGap? {
        guard let json = try? JSONObject.decode(Array(text.utf8)), case .string(let relay)? = json["relay"],
            case .number(let from)? = json["from"], case .number(let to)? = json["to"],
            case .string(let reason)? = json["reason"]
        else { return nil }
        return DeliveryGap(
            channel: channel, relay: relay, from: Int64(from) ?? 0, to: Int64(to) ?? 0,
            reason: DeliveryGap.Reason(rawValue: reason) ?? .unknown)
    }

    /// The `head` that stands beside a gap; nil where there is none.
    static func head(_ text: String) -> Int64? {
        guard let json = try? JSONObject.decode(Array(text.utf8)), case .number(let head)? = json["head"]
        else { return nil }
        return Int64(head)
    }

    static func disagreement(_ text: String, channel: String) -> RelayDisagreement? {
        guard let json = try? JSONObject.decode(Array(text.utf8)), case .string(let relay)? = json["relay"],
            case .string(let kindText)? = json["kind"], let kind = RelayDisagreement.Kind(rawValue: kindText),
            case .array(let others)? = json["comparedWith"], case .string(let detail)? = json["detail"]
        else { return nil }
        var messageID: String?
        if case .string(let id)? = json["messageId"] { messageID = id }
        return RelayDisagreement(
            kind: kind, channel: channel, relay: relay,
            comparedWith: others.compactMap { if case .string(let name) = $0 { name } else { nil } },
            messageID: messageID, detail: detail)
    }

    private static func text(_ json: JSONObject) -> String { String(decoding: json.encode(), as: UTF8.self) }
}
