import ChannelWire
import Testing

@Suite("JSON from strangers")
struct HostileJSONTests {
    static let shapes: [String] = [
        "", " ", "{", "}", "[]", "null", "1", "\"x\"", "{}", "{]", #"{"event":"x.ok"}"#,
        #"{"event":"x.ok","params":[]}"#, #"{"event":"x.ok","params":null}"#, #"{"event":1,"params":{}}"#,
        #"{"event":"y.ok","params":{}}"#, #"{"event":"x","params":{}}"#, #"{"event":"","params":{}}"#,
        #"{"event":"x.ok","params":{}}x"#, #"{"event":"x.ok","params":{}}{"event":"x.ok","params":{}}"#,
        #"{"event":"x.ok","params":{},}"#, #"{"event":"x.ok" "params":{}}"#, #"{event:"x.ok","params":{}}"#,
        #"{'event':'x.ok','params':{}}"#,
        // Repeated keys, also through escapes and beside null: readers would disagree about which one counts.
        #"{"event":"x.ok","event":"x.grp.del","params":{}}"#,
        #"{"event":"x.ok","\u0065vent":"x.ok","params":{}}"#,
        #"{"event":"x.ok","params":{},"msgId":null,"msgId":"AQIDBA=="}"#,
        #"{"event":"x.ok","params":{},"msgId":"AQIDBA==","msgId":null}"#,
        // Ids, keys and required fields
        #"{"event":"x.ok","params":{},"msgId":""}"#, #"{"event":"x.ok","params":{},"msgId":"A"}"#,
        #"{"event":"x.ok","params":{},"msgId":"AQ+/"}"#, #"{"event":"x.ok","params":{},"msgId":1}"#,
        #"{"event":"x.msg.del","params":{}}"#, #"{"event":"x.msg.del","params":{"msgId":{}}}"#,
        #"{"event":"x.msg.new","params":{}}"#, #"{"event":"x.msg.new","params":{"content":{"type":"text"}}}"#,
        #"{"event":"x.msg.new","params":{"content":{"text":"a"}}}"#,
        #"{"event":"x.msg.new","params":{"content":{"type":"text","text":"a"},"asGroup":"true"}}"#,
        #"{"event":"x.grp.relay.test","params":{"challenge":"AQIDBA=="}}"#,
        #"{"event":"x.member","params":{"profile":{"displayName":"b"},"newMemberId":"AQ==","newMemberKey":"AQ=="}}"#,
        #"{"event":"x.info","params":{"profile":{"displayName":null}}}"#,
        #"{"event":"x.grp.roster","params":{"version":0,"fileInv":{"fileSize":-2,"fileDigest":"AQ=="}}}"#,
    ]
    @Test("what is not an event is refused", arguments: shapes)
    func refusals(json: String) {
        #expect(throws: WireError.self) { _ = try Event.decode(json: Array(json.utf8)) }
    }

    @Test(
        "a value that is not JSON is refused",
        arguments: [
            "01", "+1", ".5", "1.", "-", "1e", "0x1", "NaN", "Infinity", "tru", "True", "nulll", "'a'",
            "[1,]", "[1 2]",
            "{,}", #"{"a"}"#, #"{"b":1,"b":2}"#, #""\x""#, #""\u12""#, #""\ud800""#, #""\udc00""#,
            #""\ud800\u0041""#, #""\ud800\ue000""#, #""\ud800\udbff""#, #""\ud800\uffff""#,
            #""\u0000""#, "\"\u{0}\"", "\"\n\"", "\"", #""\"#, "\u{feff}1", "/**/1", "",
            String(repeating: "9", count: 65),
        ])
    func values(value: String) {
        #expect(throws: WireError.self) { _ = try JSONValue.decode(Array(value.utf8)) }
        let event = Array(#"{"event":"x.other","params":{"a":\#(value)}}"#.utf8)
        #expect(throws: WireError.self) { _ = try Event.decode(json: event) }
    }

    @Test(
        "a number that a field cannot hold is refused",
        arguments: [
            "9223372036854775808", "-9223372036854775809", "1e400", "1e2", "1.5", "-1", "\"1\"", "true",
            "null",
        ])
    func numbers(value: String) {
        let json = #"{"event":"x.grp.roster.ack","params":{"version":\#(value)}}"#
        #expect(throws: WireError.self) { _ = try Event.decode(json: Array(json.utf8)) }
    }

    @Test(
        "bytes that are not UTF-8 are refused",
        arguments: [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80]])
    func notUTF8(bad: [UInt8]) {
        let head = Array(#"{"event":"x.ok","params":{"a":""#.utf8)
        let tail = Array(#""}}"#.utf8)
        #expect(throws: WireError.self) { _ = try Event.decode(json: head + bad + tail) }
        #expect(throws: WireError.self) { _ = try Event.decode(json: head + Array(#"\n"#.utf8) + bad + tail) }
        #expect(throws: WireError.self) { _ = try Event.decode(json: bad + head + tail) }
    }

    @Test("32 levels are read, 33 and thousands are refused", arguments: ["[]", "{}"])
    func depth(kind: String) throws {
        func nested(_ levels: Int) -> [UInt8] {
            let open = kind == "[]" ? "[" : #"{"a":"#
            let close = kind == "[]" ? "]" : "}"
            return Array(
                (String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)).utf8)
        }
        // The number inside is the innermost level.
        _ = try JSONValue.decode(nested(Limits.jsonDepthMax - 1))
        #expect(throws: WireError.self) { _ = try JSONValue.decode(nested(Limits.jsonDepthMax)) }
        #expect(throws: WireError.self) { _ = try JSONValue.decode(nested(1_000_000)) }
    }

    @Test("escapes are read, and written only where they are needed")
    func escapes() throws {
        let json = Array(#"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u001f"}"#.utf8)
        let object = try JSONObject.decode(json)
        #expect(try object.string("a") == "\"\\/\u{8}\u{c}\n\r\t\u{e9}\u{1f600}\u{1f}")
        #expect(
            String(decoding: object.encode(), as: UTF8.self)
                == #"{"a":"\"\\/\u0008\u000c\n\r\t"# + "\u{e9}\u{1f600}" + #"\u001f"}"#)
        #expect(try JSONObject.decode(object.encode()) == object)
    }
}
