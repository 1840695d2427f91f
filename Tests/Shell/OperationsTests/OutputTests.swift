import Operations
import Synchronization
import Testing

@Suite("Output") struct OutputTests {
    final class Sink: Sendable {
        private let streams = Mutex<[Console.Stream: String]>([:])
        @discardableResult
        func add(_ text: String, _ stream: Console.Stream) -> Bool {
            streams.withLock { $0[stream, default: ""] += text }
            return true
        }
        func text(_ stream: Console.Stream) -> String { streams.withLock { $0[stream] ?? "" } }
    }

    @Test("with --json standard output holds one document, in success and in failure")
    func json() {
        let sink = Sink()
        let output = Output(json: true) { sink.add($0, $1) }
        output.note("working")
        output.answer(["ok": true], ["fine"])
        #expect(sink.text(.output) == #"{"ok":true}"# + "\n")
        let failed = Sink()
        let code = Output(json: true) { failed.add($0, $1) }
            .failure(
                OperatorError(.notFound, "there is no channel #x", hint: "antenna channels"),
                program: "antenna")
        #expect(code == .usage)
        #expect(
            failed.text(.output)
                == #"{"error":{"number":110,"name":"not-found","message":"there is no channel #x","hint":"antenna channels","exitCode":64}}"#
                + "\n")
        #expect(failed.text(.error) == "antenna: there is no channel #x (antenna channels)\n")
    }

    @Test("without --json a failure is one line on standard error and nothing on standard output")
    func text() {
        let sink = Sink()
        _ = Output(json: false) { sink.add($0, $1) }.failure(
            OperatorError(.timeout, "a\nb"), program: "antenna")
        #expect(sink.text(.output).isEmpty)
        #expect(sink.text(.error) == "antenna: a\\nb\n")
    }

    @Test("a table lines its columns up, also with wide and hostile text")
    func table() {
        let lines = Output.table(
            ["NAME", "STATUS"], [["a", "active"], ["日本", "new"], ["x\u{1B}[2J", "left"]])
        #expect(lines == ["NAME        STATUS", "a           active", "日本        new", "x\\u{1b}[2J  left"])
        #expect(Output.table(["NAME"], []).isEmpty)
        #expect(Output.table(["A", "B"], [["x", ""], ["y", "z"]]) == ["A  B", "x", "y  z"])
    }

    @Test("error numbers and names are unique", arguments: [OperatorError.Kind.allCases])
    func kinds(all: [OperatorError.Kind]) {
        #expect(Set(all.map(\.name)).count == all.count)
    }

    @Test("JSON text escapes what a parser or a terminal would trip over")
    func escapes() {
        #expect(
            JSONValue.string("\"\\\u{1}\u{1B}\u{7F}\u{2028}é\n").text == #""\"\\\u0001\u001b\u007f\u2028é\n""#
        )
        #expect(
            JSONValue.array([.null, .integer(-1), .number(.nan), .bool(false)]).text == "[null,-1,null,false]"
        )
        // What others encoded may hold these as they are.
        let foreign = "{\"name\":\"a\u{9B}31m\u{202E}\u{200F}é\",\"n\":1}"
        #expect(JSONValue.harmless(foreign) == #"{"name":"a\u009b31m\u202e\u200fé","n":1}"#)
        #expect(JSONValue.string("a\u{9B}31m\u{202E}\u{200F}é").text == #""a\u009b31m\u202e\u200fé""#)
    }

    @Test("progress is seen on a terminal only, and goes away")
    func progress() {
        let sink = Sink()
        let hidden = Progress(visible: false) { sink.add($0, .error) }
        hidden.show("x")
        hidden.clear()
        #expect(sink.text(.error).isEmpty)
        let shown = Progress(visible: true) { sink.add($0, .error) }
        shown.show("x")
        shown.clear()
        #expect(sink.text(.error).hasPrefix("\r") && sink.text(.error).hasSuffix("\r\u{1B}[K"))
    }
}

@Suite("TimeText") struct TimeTextTests {
    @Test("every number of seconds has a text", arguments: [Int64.min, .min + 1, -1, 0, .max - 1, .max])
    func extremes(seconds: Int64) {
        #expect(TimeText.readable(seconds: seconds).contains("-"))
        #expect(TimeText.utc(milliseconds: seconds).hasSuffix("Z"))
    }

    @Test(
        "a time is read back as it was written",
        arguments: [0, 1, 86_399, 951_782_400, 1_709_164_800, 4_102_444_799] as [Int64])
    func roundTrip(seconds: Int64) {
        #expect(TimeText.parse(TimeText.utc(seconds: seconds)) == seconds)
    }

    @Test(
        "dates are read as people write them, nonsense is not",
        arguments: [
            ("2024-02-29", Int64(1_709_164_800)), ("2024-02-29T00:00Z", 1_709_164_800),
            ("2024-02-29 01:02:03", 1_709_168_523), ("12", 12), ("2023-02-29", nil), ("2024-13-01", nil),
            ("2024-01-01T24:00", nil), ("yesterday", nil), ("", nil), ("2024-01-01T", nil), ("-", nil),
        ] as [(String, Int64?)])
    func parse(text: String, seconds: Int64?) {
        #expect(TimeText.parse(text) == seconds)
    }
}
