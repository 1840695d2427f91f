import ChannelWire
import Testing

@Suite("Fields of a JSON object")
struct JSONObjectTests {
    /// Keys in an order that is neither that of their bytes nor its reverse.
    static func shuffledKeys(_ count: Int) -> [String] {
        (0..<count).map { "k\(($0 * 7919 + 3) % count)" }
    }
    static func json(_ keys: [String]) -> [UInt8] {
        Array(("{" + keys.map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}").utf8)
    }

    @Test("each field is found in whatever order it came", arguments: [1, 2, 7, 8, 9, 10, 16, 17, 100, 1000])
    func find(count: Int) throws {
        let keys = JSONObjectTests.shuffledKeys(count)
        let object = try JSONObject.decode(JSONObjectTests.json(keys))
        for key in keys { #expect(object[key] == .string(key)) }
        for key in ["", "j", "k", "k\(count)", "l", "kk", "\u{10ffff}"] { #expect(object[key] == nil) }
        #expect(Array(object.keys).count == count && Set(object.keys) == Set(keys))
    }

    @Test(
        "objects are equal whatever the order, and are written in that of the bytes", arguments: [2, 9, 40])
    func order(count: Int) throws {
        let keys = JSONObjectTests.shuffledKeys(count)
        let object = try JSONObject.decode(JSONObjectTests.json(keys))
        let reversed = try JSONObject.decode(JSONObjectTests.json(keys.reversed()))
        var made = JSONObject()
        for key in keys { made[key] = .string(key) }
        #expect(object == reversed && object == made && object.hashValue == reversed.hashValue)
        let sorted = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(object.encode() == JSONObjectTests.json(sorted))
    }

    @Test("keys that Swift orders by what they say are written in the order of their bytes")
    func byteOrder() throws {
        // é in one scalar and in two: as texts the same length of é, as bytes c3 a9 and 65 cc 81.
        let keys = ["f", "\u{e9}b", "e\u{301}a", "z", "\u{ff5e}", "\u{1f600}"]
        let object = try JSONObject.decode(JSONObjectTests.json(keys))
        #expect(
            object.encode()
                == JSONObjectTests.json(["e\u{301}a", "f", "z", "\u{e9}b", "\u{ff5e}", "\u{1f600}"]))
        for key in keys { #expect(object[key] == .string(key)) }
    }

    @Test(
        "a key twice is refused wherever it stands, also as another spelling of one text",
        arguments: [3, 9, 200])
    func twice(count: Int) {
        let keys = JSONObjectTests.shuffledKeys(count)
        for at in Set([0, 1, count / 2, count]) {
            var more = keys
            more.insert(keys[count - 1 - at % count], at: at)
            #expect(throws: WireError.self) { _ = try JSONObject.decode(JSONObjectTests.json(more)) }
        }
        #expect(throws: WireError.self) {
            _ = try JSONObject.decode(JSONObjectTests.json(keys + ["\u{e9}", "e\u{301}"]))
        }
    }

    @Test("null is absent, and takes away what was there", arguments: [2, 12])
    func null(count: Int) throws {
        let keys = JSONObjectTests.shuffledKeys(count)
        let text = String(decoding: JSONObjectTests.json(keys), as: UTF8.self)
        let object = try JSONObject.decode(Array((text.dropLast() + #","absent":null}"#).utf8))
        #expect(object == (try JSONObject.decode(JSONObjectTests.json(keys))) && object["absent"] == nil)
        var changed = object
        for key in keys {
            changed[key] = key == keys[0] ? .null : nil
            #expect(changed[key] == nil)
        }
        #expect(changed.isEmpty && changed == JSONObject())
        changed["a"] = nil
        changed["a"] = .bool(true)
        changed["a"] = .bool(false)
        #expect(changed == ["a": .bool(false)])
        #expect(JSONObject(["b": .null, "a": .bool(false)]) == ["a": .bool(false)])
    }

    @Test("fields of a later version are kept beside those that are known")
    func others() throws {
        let object = try JSONObject.decode(JSONObjectTests.json(["c", "a", "b"]))
        #expect(object.without(["b"]) == ["a": .string("a"), "c": .string("c")])
        let mine: JSONObject = ["b": .bool(true), "d": .bool(true)]
        #expect(
            mine.filled(from: object)
                == ["a": .string("a"), "b": .bool(true), "c": .string("c"), "d": .bool(true)])
    }

    @Test("a key that only says the same as a known one is another key")
    func otherBytes() throws {
        // The Kelvin sign says K.
        let object = try JSONObject.decode(JSONObjectTests.json(["newMember\u{212a}ey"]))
        #expect(object["newMemberKey"] == nil)
        #expect(throws: WireError.self) {
            _ = try JSONObject.decode(JSONObjectTests.json(["newMember\u{212a}ey", "newMemberKey"]))
        }
        let plain = try JSONObject.decode(JSONObjectTests.json(["newMemberKey"]))
        #expect(plain["newMemberKey"] != nil && plain["newMember\u{212a}ey"] == nil)
        // As many bytes, the same text.
        var made: JSONObject = ["a": .bool(true)]
        made["o\u{301}\u{323}"] = .bool(true)
        #expect(made["o\u{301}\u{323}"] != nil && made["o\u{323}\u{301}"] == nil)
        #expect(made.without(["o\u{323}\u{301}"]) == made)
        let text = JSONValue.string("\u{212a}")
        #expect(text != .string("K") && text == .string("\u{212a}"))
        #expect(Set([text, .string("K"), .string("\u{212a}")]).count == 2)
    }
}

@Suite("The length of a key")
struct KeyLengthTests {
    @Test("is 255 bytes at most where it is not ASCII, and not bounded where it is")
    func bound() throws {
        let name = String(repeating: "a", count: 253) + "\u{e9}"
        _ = try JSONObject.decode(JSONObjectTests.json([name]))
        _ = try JSONObject.decode(JSONObjectTests.json([String(repeating: "a", count: 5000)]))
        #expect(throws: WireError.self) { _ = try JSONObject.decode(JSONObjectTests.json(["a" + name])) }
    }
}

/// Texts that say the same in other bytes take long to be told apart, the longer the more so.
@Suite("Combining marks without end")
struct CombiningMarksTests {
    static let marks = String(repeating: "\u{301}\u{323}", count: 3400)
    static let half = String(repeating: "\u{301}\u{323}", count: 1700)
    static let otherHalf = String(repeating: "\u{323}\u{301}", count: 1699)
    static let hostile: [String] = [
        #"{"event":"x.\#(marks)","params":{}}"#,
        #"{"event":"x.grp.del","params":{},"a\#(marks)":1}"#,
        #"{"event":"x.grp.del","params":{"a\#(half)":1,"a\#(otherHalf)":1}}"#,
        #"{"event":"x.msg.new","params":{"content":{"type":"te\#(marks)","text":""}}}"#,
        #"{"event":"x.msg.react","params":{"msgId":"AQ==","add":true,"reaction":{"type":"em\#(marks)"}}}"#,
        #"{"event":"x.grp.mem.role","params":{"memberId":"AQIDBA==","role":"ad\#(marks)"}}"#,
        #"{"event":"x.grp.prefs","params":{"groupPreferences":{"history":{"enable":"o\#(marks)"}}}}"#,
    ]

    @Test("cost a stranger's event no more than as much plain text", arguments: hostile.indices)
    func cost(index: Int) throws {
        let bytes = Array(Self.hostile[index].utf8)
        #expect(bytes.count <= Limits.encodedMessageMax)
        let text = String(repeating: "a", count: bytes.count - 40)
        let plain = Array(#"{"event":"x.grp.del","params":{},"a":"\#(text)"}"#.utf8)
        func read(_ bytes: [UInt8], isRefused: Bool = false) throws -> Duration {
            try (0..<5).map { _ in
                try ContinuousClock().measure {
                    guard let event = try? Event.decode(json: bytes) else { return #expect(isRefused) }
                    #expect(!isRefused)
                    #expect(event.encode().count > 0)
                    #expect(!event.tag.isPublishable || event.messageID == nil)
                    if case .memRole(let change) = event.params { #expect(!change.role.isKnown) }
                    if case .grpPrefs(let wishes) = event.params { #expect(wishes.history?.isOn != true) }
                }
            }.min() ?? .zero
        }
        // Their keys are longer than any name, and not ASCII.
        #expect(try read(bytes, isRefused: 1...2 ~= index) / 10 < (try read(plain)))
    }
}
