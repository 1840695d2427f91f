import QRKit
import Testing

@Suite struct QRCodeTests {
    @Test func `a short text gives version 1 with its three finder patterns`() throws {
        let modules = try #require(QRCode.modules("antenna"))
        #expect(modules.count == 21)
        #expect(modules.allSatisfy { $0.count == 21 })
        for (top, left) in [(0, 0), (0, 14), (14, 0)] {
            for row in 0..<7 {
                for column in 0..<7 {
                    let ring = min(row, column, 6 - row, 6 - column)
                    #expect(modules[top + row][left + column] == (ring != 1))
                }
            }
        }
    }

    @Test func `the terminal text has the quiet zone of four modules on every side`() throws {
        let text = try #require(QRCode.terminal("antenna"))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
        #expect(lines.count == 15, "29 rows, two to a line")
        #expect(lines.allSatisfy { $0.count == 29 })
        #expect(lines[0].allSatisfy { $0 == "█" } && lines[1].allSatisfy { $0 == "█" })
        #expect(lines.dropLast().allSatisfy { String($0).hasPrefix("████") && String($0).hasSuffix("████") })
        #expect(lines[14].allSatisfy { $0 == "▀" }, "the last row has no partner")
    }

    @Test(arguments: [QRCode.Background.dark, .light])
    func `the half blocks are the modules`(background: QRCode.Background) throws {
        let link = "https://relay.example/c#" + String(repeating: "Ab3_", count: 30)
        let modules = try #require(QRCode.modules(link))
        let text = try #require(QRCode.terminal(link, background: background))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
        for row in modules.indices {
            for column in modules.indices {
                let character = lines[(row + 4) / 2][column + 4]
                let inks: Set<Character> = (row + 4).isMultiple(of: 2) ? ["█", "▀"] : ["█", "▄"]
                #expect(inks.contains(character) == (modules[row][column] == (background == .light)))
            }
        }
    }

    @Test func `case and every byte count, up to the 2331 that fit`() {
        #expect(QRCode.modules("a") != QRCode.modules("A"))
        #expect(QRCode.modules(String(repeating: "x", count: 2331))?.count == 177)
        #expect(QRCode.modules(String(repeating: "x", count: 2332)) == nil)
        #expect(QRCode.terminal("") == nil)
        #expect(QRCode.terminal("a\0b") == nil)
    }
}
