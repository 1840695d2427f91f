import ControlWire
import Testing

@Suite("Control lines")
struct ControlLineTests {
    @Test("a request reads back as it was written, for every command", arguments: ControlCommand.allCases)
    func requestRoundTrip(command: ControlCommand) throws {
        let request = ControlRequest(
            id: 7, command: command,
            arguments: ControlArguments(channel: "#'my news'", reason: "ümlaut \"quoted\""))
        let line = request.encode()
        #expect(!line.contains(UInt8(ascii: "\n")))
        #expect(try ControlRequest.decode(line) == request)
    }

    @Test("arguments may be missing and unknown keys are ignored")
    func lenient() throws {
        let line = #"{"id":3,"command":"status","color":"red"}"#
        #expect(try ControlRequest.decode(Array(line.utf8)) == ControlRequest(id: 3, command: .status))
    }

    @Test(
        "what is not a request is a bad request",
        arguments: [
            "", "status", "[]", "{}", #"{"id":"x","command":"status"}"#, #"{"command":"status"}"#, "\u{0}",
        ])
    func bad(line: String) {
        #expect {
            try ControlRequest.decode(Array(line.utf8))
        } throws: { error in
            (error as? ControlRequestError)?.error.kind == .badRequest
        }
    }

    static let strangeNumbers = [
        #""limit":0"#, #""limit":-1"#, #""limit":1001"#, #""limit":1.5"#, #""limit":"5""#, #""limit":true"#,
        #""limit":[]"#, #""limit":9223372036854775808"#, #""limit":-9223372036854775808"#, #""limit":1e400"#,
        #""keep":0"#, #""keep":-1"#, #""keep":2147483648"#, #""keep":9223372036854775807"#, #""keep":0.5"#,
        #""keep":"1""#, #""keep":false"#, #""keep":{}"#, #""keep":1e30"#, #""keep":-0.1"#,
    ]
    @Test("a number that makes no sense is refused with the id of its request", arguments: strangeNumbers)
    func numbers(argument: String) {
        for command in ControlCommand.allCases {
            let line =
                #"{"id":9,"command":"\#(command.rawValue)","arguments":{"channel":"news",\#(argument)}}"#
            #expect {
                try ControlRequest.decode(Array(line.utf8))
            } throws: { error in
                let error = error as? ControlRequestError
                return error?.id == 9 && error?.error.kind == .badRequest
                    && error?.error.message.contains("number") == true
            }
        }
    }

    @Test(
        "an id that is no whole number is a bad request with id 0",
        arguments: ["1.5", "-", "\"1\"", "1e99", "null"])
    func strangeID(id: String) {
        #expect(throws: ControlRequestError.self) {
            do throws(ControlRequestError) {
                _ = try ControlRequest.decode(Array(#"{"id":\#(id),"command":"status"}"#.utf8))
            } catch {
                #expect(error.id == 0 && error.error.kind == .badRequest)
                throw error
            }
        }
    }

    @Test("a reason or a file that is too long, or a file with a zero byte, is refused")
    func texts() {
        for argument in [
            #""reason":"\#(String(repeating: "x", count: ControlLimits.reasonBytesMax + 1))""#,
            #""file":"/\#(String(repeating: "x", count: ControlLimits.fileBytesMax))""#,
            #""file":"/tmp/a\u0000b""#,
        ] {
            #expect(throws: ControlRequestError.self) {
                try ControlRequest.decode(
                    Array(#"{"id":1,"command":"status","arguments":{\#(argument)}}"#.utf8))
            }
        }
    }

    @Test("the largest numbers that make sense are taken")
    func largest() throws {
        let line = #"{"id":1,"command":"prune","arguments":{"keep":2147483647,"limit":1000}}"#
        let request = try ControlRequest.decode(Array(line.utf8))
        #expect(
            request.arguments.keep == ControlLimits.keepMax
                && request.arguments.limit == ControlLimits.rowsMax)
    }

    @Test("an unknown command is answered with the id of its request")
    func unknownCommand() {
        #expect {
            try ControlRequest.decode(Array(#"{"id":9,"command":"destroy"}"#.utf8))
        } throws: { error in
            let error = error as? ControlRequestError
            return error?.id == 9 && error?.error.name == "unknown-command"
        }
    }

    @Test("a request one byte over the limit is refused before it is read")
    func tooLong() {
        let line = [UInt8](repeating: UInt8(ascii: " "), count: ControlLimits.requestBytesMax + 1)
        #expect(throws: ControlRequestError.self) { try ControlRequest.decode(line) }
    }

    @Test("a result reads back as it was written")
    func resultRoundTrip() {
        let report = LeaveReport(id: "abc", channel: "#news", already: false)
        let response = ControlResponse(id: 1, outcome: .success(.leave(report)))
        #expect(ControlResponse.decode(response.encode(), to: .leave) == response)
        #expect(ControlResponse.decode(response.encode(), to: .status) == nil)
    }

    @Test("an error reads back whatever the command was", arguments: ControlCommand.allCases)
    func errorRoundTrip(command: ControlCommand) {
        let response = ControlResponse(
            id: 2, outcome: .failure(ControlError(.unknownChannel, "No channel #news.")))
        #expect(ControlResponse.decode(response.encode(), to: command) == response)
    }

    @Test("the bytes of a response are those of the document")
    func golden() {
        let response = ControlResponse(id: 2, outcome: .failure(ControlError(.notRejected, "Not rejected.")))
        let error = #"{"code":103,"message":"Not rejected.","name":"not-rejected"}"#
        let line = #"{"error":\#(error),"id":2,"ok":false}"#
        #expect(String(decoding: response.encode(), as: UTF8.self) == line)
    }
}

@Suite("Channel references")
struct ChannelReferenceTests {
    static let id = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"

    @Test(
        "names are read with or without the hash and with either quote",
        arguments: [
            ("#news", ChannelReference.name("news")), ("news", .name("news")),
            ("#'my news'", .name("my news")),
            ("'my news'", .name("my news")), ("#\"it's\"", .name("it's")), ("#news_1", .name("news_1")),
            ("#" + id, .name(id)), (id, .idOrName(id)), (id + "=", .idOrName(id + "=")),
        ])
    func read(text: String, expected: ChannelReference) {
        #expect(ChannelReference(text) == expected)
    }

    @Test("an empty name and an open quote are no reference", arguments: ["", "#", "#''", "#'news", "''"])
    func refused(text: String) {
        #expect(ChannelReference(text) == nil)
    }

    @Test("a written name reads back", arguments: ["news", "my news", "it's", "a_1", "straße\u{a0}2"])
    func written(name: String) {
        #expect(ChannelReference(ChannelReference.written(name)) == .name(name))
    }
}
