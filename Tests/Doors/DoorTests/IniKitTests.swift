import IniKit
import Testing

@Suite struct IniTests {
    @Test func `entries come in order with section, key, value and line`() throws {
        let text = """
            ; comment
            loose = 1

            [relay]
            listen = [::1]:5280   ; where
            name=The relay
            # another comment
            [log]
            level : debug
            empty =
            """
        #expect(
            try Ini.parse(text: text) == [
                Ini.Entry(section: "", key: "loose", value: "1", line: 2),
                Ini.Entry(section: "relay", key: "listen", value: "[::1]:5280", line: 5),
                Ini.Entry(section: "relay", key: "name", value: "The relay", line: 6),
                Ini.Entry(section: "log", key: "level", value: "debug", line: 9),
                Ini.Entry(section: "log", key: "empty", value: "", line: 10),
            ])
    }

    @Test func `indentation means nothing, and a key may come twice`() throws {
        let entries = try Ini.parse(text: "[a]\nx = 1\n   y = 2\n\tx = 3\n  [b]\n  z = 4")
        #expect(entries.map(\.key) == ["x", "y", "x", "z"])
        #expect(entries.map(\.value) == ["1", "2", "3", "4"])
        #expect(entries.last?.section == "b")
    }

    @Test func `line ends of both kinds and a byte order mark are understood`() throws {
        let entries = try Ini.parse(bytes: [0xef, 0xbb, 0xbf] + [UInt8]("a=1\r\nb=2\r\n".utf8))
        #expect(entries.map(\.key) == ["a", "b"])
        #expect(entries.map(\.value) == ["1", "2"])
        #expect(try Ini.parse(text: "").isEmpty)
    }

    @Test(arguments: [
        ("a=1\nnonsense\nb=2", 2), ("[open\n", 1), ("a=1\n\n\n=\n]\n", 5), ("\nword", 2),
    ])
    func `a line that is nothing is named by its number`(text: String, line: Int) {
        #expect(throws: Ini.Failure.syntax(line: line)) { try Ini.parse(text: text) }
    }

    @Test func `a line of 4096 bytes is the longest`() throws {
        let value = String(repeating: "v", count: 4094)
        #expect(try Ini.parse(text: "a=1\nk=\(value)\nb=2").map(\.value) == ["1", value, "2"])
        #expect(throws: Ini.Failure.lineTooLong(line: 2)) { try Ini.parse(text: "a=1\nk=\(value)v\nb=2") }
        #expect(throws: Ini.Failure.lineTooLong(line: 1)) {
            try Ini.parse(text: ";" + String(repeating: "c", count: 4096))
        }
    }

    @Test func `a file of 1 MiB is the longest`() throws {
        let line = [UInt8]((String(repeating: ";", count: 1023) + "\n").utf8)
        let file = Array(repeatElement(line, count: 1024).joined())
        #expect(file.count == 1 << 20)
        #expect(try Ini.parse(bytes: file).isEmpty)
        #expect(throws: Ini.Failure.fileTooLarge(byteCount: (1 << 20) + 1)) {
            try Ini.parse(bytes: file + [10])
        }
    }

    @Test func `a section's name of 48 bytes is the longest, and none is cut`() throws {
        let name = String(repeating: "s", count: 48)
        #expect(try Ini.parse(text: "[\(name)]\na=1").first?.section == name)
        #expect(throws: Ini.Failure.sectionTooLong(line: 2)) { try Ini.parse(text: "[\(name)s]\na=1") }
        #expect(throws: Ini.Failure.sectionTooLong(line: 2)) { try Ini.parse(text: "[\(name)sssss]\na=1") }
        let key = String(repeating: "k", count: 200)
        #expect(try Ini.parse(text: "\(key)=1").first?.key == key)
    }

    @Test func `bytes that are no text are refused with their line`() {
        #expect(throws: Ini.Failure.notText(line: 2)) {
            try Ini.parse(bytes: [UInt8]("a=1\nb=".utf8) + [0, 10])
        }
        #expect(throws: Ini.Failure.notText(line: 1)) {
            try Ini.parse(bytes: [UInt8]("a=".utf8) + [0xff, 10])
        }
        #expect(Ini.Failure.notText(line: 7).line == 7)
    }
}
