/// What a channel allows. Preferences that we do not read are kept in `others`.
package struct GroupPreferences: Hashable, Sendable {
    package var signMessages: PreferenceSwitch?
    package var history: PreferenceSwitch?
    package var reactions: PreferenceSwitch?
    package var others: JSONObject

    package init(
        signMessages: PreferenceSwitch? = nil, history: PreferenceSwitch? = nil,
        reactions: PreferenceSwitch? = nil,
        others: JSONObject = [:]
    ) {
        self.signMessages = signMessages
        self.history = history
        self.reactions = reactions
        self.others = others
    }
    package init(json: JSONObject) throws(WireError) {
        signMessages = try PreferenceSwitch.read("signMessages", in: json)
        history = try PreferenceSwitch.read("history", in: json)
        reactions = try PreferenceSwitch.read("reactions", in: json)
        others = json.without(["signMessages", "history", "reactions"])
    }
    package var json: JSONObject {
        var json: JSONObject = [:]
        json["signMessages"] = (signMessages?.json).map(JSONValue.object)
        json["history"] = (history?.json).map(JSONValue.object)
        json["reactions"] = (reactions?.json).map(JSONValue.object)
        return json.filled(from: others)
    }
}

/// One preference: on, off, or a text of a later version, which counts as off.
package struct PreferenceSwitch: Hashable, Sendable {
    package var enable: String
    package var others: JSONObject

    package static let on = PreferenceSwitch(enable: "on")
    package static let off = PreferenceSwitch(enable: "off")

    package init(enable: String, others: JSONObject = [:]) {
        self.enable = enable
        self.others = others
    }
    package var isOn: Bool { enable.hasSameBytes(as: Self.on.enable) }

    static func read(_ key: String, in json: JSONObject) throws(WireError) -> PreferenceSwitch? {
        guard let object = try json.optionalObject(key) else { return nil }
        return PreferenceSwitch(enable: try object.string("enable"), others: object.without(["enable"]))
    }
    var json: JSONObject {
        let json: JSONObject = ["enable": .string(enable)]
        return json.filled(from: others)
    }
}
