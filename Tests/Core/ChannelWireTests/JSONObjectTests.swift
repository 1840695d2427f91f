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
}
