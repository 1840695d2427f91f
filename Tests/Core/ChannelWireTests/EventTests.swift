import ChannelWire
import Testing

@Suite("Event")
struct EventTests {
    @Test(
        "an example is read under its tag, and what is written means the same", arguments: EventExamples.all)
    func examplesRoundTrip(tag: EventTag, json: String) throws {
        let event = try Event.decode(json: Array(json.utf8))
        #expect(event.tag == tag)
        #expect(event.params.tag == tag)
        #expect(try Event.decode(json: event.encode()) == event)
        // Nothing of the examples is lost: both texts are the same JSON value.
        #expect(try JSONValue.decode(event.encode()) == JSONValue.decode(Array(json.utf8)))
    }

    @Test("every event that we model has an example")
    func examplesCover() throws {
        var modelled: Set<EventTag> = []
        for example in EventExamples.all {
            let event = try Event.decode(json: Array(example.json.utf8))
            if case .other = event.params { continue }
            modelled.insert(event.tag)
        }
        #expect(modelled.count == 25)
    }

    @Test("the fields of a message arrive in their places")
    func message() throws {
        let json = #"""
            {"v":"9-19","msgId":"AQIDBA==","event":"x.msg.new","params":{"content":{"text":"hello to you too",
            "type":"text"},"asGroup":true,"quote":{"content":{"text":"hello there!","type":"text"},"msgRef":
            {"msgId":"BQYHCA==","sent":true,"sentAt":"1970-01-01T00:00:01.000000001Z"}},"ttl":60,"scope":{"type":"member"}}}
            """#
        let event = try Event.decode(json: Array(json.utf8))
        #expect(event.versions == 9...19)
        #expect(event.messageID == MessageID(bytes: [1, 2, 3, 4]))
        guard case .msgNew(let message) = event.params else {
            Issue.record("not a message")
            return
        }
        #expect(message.content == MessageContent(text: "hello to you too"))
        #expect(message.asGroup)
        #expect(message.timeToLive == 60)
        #expect(message.quote?.messageID == MessageID(bytes: [5, 6, 7, 8]))
        #expect(message.quote?.sent == true)
        #expect(message.quote?.memberID == nil)
        #expect(message.others["scope"] != nil)
    }

    @Test("our own writing has keys in order, no spaces, plain slashes, and leaves out what is absent")
    func writing() {
        let event = Event(params: .relayAcpt(RelayAcceptance(relayLink: "https://r.example/g#k")))
        #expect(
            String(decoding: event.encode(), as: UTF8.self)
                == #"{"event":"x.grp.relay.acpt","params":{"relayLink":"https://r.example/g#k"},"v":"9-19"}"#)
    }

    @Test("an event that we do not know is kept to the byte")
    func unknownEvent() throws {
        let json = Array(
            #" { "event" : "x.new.thing" , "params":{"a":1e2}, "extra":[null] , "msgId":"AQIDBA==" } "#.utf8)
        let event = try Event.decode(json: json)
        #expect(event.params == .other(tag: EventTag(rawValue: "x.new.thing"), json: json))
        #expect(event.messageID == MessageID(bytes: [1, 2, 3, 4]))
        #expect(event.versions == 9...9)
        #expect(event.encode() == json)
    }

    @Test("contents, roles and reasons that we do not know are kept")
    func unknownTexts() throws {
        let json = #"{"event":"x.msg.new","params":{"content":{"type":"poll","options":["a","b"],"n":1.50}}}"#
        let event = try Event.decode(json: Array(json.utf8))
        guard case .msgNew(let message) = event.params else {
            Issue.record("not a message")
            return
        }
        #expect(!message.content.isKnown)
        #expect(message.content.text == MessageContent.placeholder)
        #expect(String(decoding: event.encode(), as: UTF8.self).contains(#""n":1.50"#))
        let role = #"{"event":"x.grp.mem.role","params":{"memberId":"AQIDBA==","role":"commenter"}}"#
        #expect(
            try Event.decode(json: Array(role.utf8)).params
                == .memRole(
                    MemberRoleChange(memberID: MemberID(bytes: [1, 2, 3, 4])!, role: Role(text: "commenter")))
        )
        let reason = #"{"event":"x.grp.relay.reject","params":{"reason":"I am on holiday"}}"#
        #expect(
            try Event.decode(json: Array(reason.utf8)).params
                == .relayReject(RejectionReason(text: "I am on holiday")))
    }

    @Test("null is absent, everywhere")
    func nulls() throws {
        let json = #"""
            {"v":null,"msgId":null,"event":"x.msg.new",
            "params":{"content":{"type":"text","text":"a"},"quote":null,"asGroup":null,"ttl":null}}
            """#
        let event = try Event.decode(json: Array(json.utf8))
        #expect(event.versions == 9...9)
        #expect(event.params == .msgNew(MessageContainer(content: MessageContent(text: "a"))))
    }

    @Test(
        "a version text is a number or a range",
        arguments: [
            ("9", 9...9), ("9-19", 9...19), ("1-65535", 1...65535), ("19-9", nil), ("", nil), ("9-", nil),
            ("-9", nil),
            ("9-10-11", nil), ("65536", nil), ("+9", nil), ("9 ", nil), ("000009", nil),
        ] as [(String, ClosedRange<UInt16>?)])
    func versionTexts(text: String, range: ClosedRange<UInt16>?) {
        let json = #"{"v":"\#(text)","event":"x.ok","params":{}}"#
        #expect((try? Event.decode(json: Array(json.utf8)))?.versions == range)
    }

    @Test("a message of 15602 bytes is read, one byte more is refused by its size")
    func limit() throws {
        func message(_ size: Int) -> [UInt8] {
            let head = Array(#"{"event":"x.msg.new","params":{"content":{"type":"text","text":""#.utf8)
            let tail = Array(#""}}}"#.utf8)
            return head + [UInt8](repeating: UInt8(ascii: "a"), count: size - head.count - tail.count) + tail
        }
        _ = try Event.decode(json: message(Limits.encodedMessageMax))
        #expect(throws: WireError.tooLarge(limit: 15_602, have: 15_603)) {
            _ = try Event.decode(json: message(Limits.encodedMessageMax + 1))
        }
    }

    @Test("ids of 255 bytes are read, of 256 refused")
    func idLimit() throws {
        func deletion(_ count: Int) -> [UInt8] {
            let id = Base64URL.encode([UInt8](repeating: 7, count: count))
            return Array(#"{"event":"x.msg.del","params":{"msgId":"\#(id)","memberId":"\#(id)"}}"#.utf8)
        }
        _ = try Event.decode(json: deletion(255))
        #expect(throws: WireError.self) { _ = try Event.decode(json: deletion(256)) }
    }
}
