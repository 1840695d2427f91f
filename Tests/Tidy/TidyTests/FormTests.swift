import ChannelWire
import Foundation
import Testing

/// One issue with one line for each finding.
func expectNone(_ findings: [String]) {
    if !findings.isEmpty { Issue.record("\(findings.joined(separator: "\n"))") }
}

@Suite("The tree is tidy") struct FormTests {
    @Test("a file has at most 500 lines, and a line of source at most 110 columns")
    func sizes() {
        var found: [String] = []
        for file in Tree.swift where file.name != "Package.swift" && file.lines.count > 501 {
            found.append("\(file) has \(file.lines.count) lines")
        }
        for file in Tree.sources {
            // A text (a statement of SQL, say) is not torn to please a ruler; it counts as empty.
            let code = Dictionary(uniqueKeysWithValues: file.code.map { ($0.number, $0.text) })
            for (index, line) in file.lines.enumerated() where line.count > 110 {
                let withoutTexts = code[index + 1] ?? ""
                if withoutTexts.count <= 110, !line.contains("//") { continue }
                found.append("\(file):\(index + 1) has \(line.count) columns")
            }
        }
        expectNone(found)
    }

    @Test("every room says on one screen what it is")
    func readmes() {
        let rooms = Set(Tree.sources.map(\.room)).filter { !$0.hasPrefix("Apps/") }
        #expect(rooms.count >= 20)
        for room in rooms {
            guard let readme = Tree.markdown.first(where: { $0.path == "Sources/\(room)/README.md" }) else {
                Issue.record("\(room) has no README.md")
                continue
            }
            #expect((6...61).contains(readme.lines.count), "\(readme) has \(readme.lines.count) lines")
        }
    }

    @Test("a wire tag is written once")
    func wireTags() throws {
        let literal = try NSRegularExpression(pattern: #""(x\.[a-z]+(?:\.[a-z]+)*)""#)
        var places: [String: [String]] = [:]
        for file in Tree.sources {
            for (index, line) in file.lines.enumerated() {
                let text = String(line)
                for match in literal.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
                    guard let range = Range(match.range(at: 1), in: text) else { continue }
                    places[String(text[range]), default: []].append("\(file):\(index + 1)")
                }
            }
        }
        #expect(places.count > 15)
        for (tag, found) in places where found.count > 1 { Issue.record("\(tag) is written in \(found)") }
    }

    @Test("no drawer for what has no place")
    func names() {
        let vague = ["Utils", "Util", "Helpers", "Helper", "Misc", "Common", "Stuff", "Manager"]
        for file in Tree.sources {
            let words = file.path.split(whereSeparator: { "/.+".contains($0) }).map(String.init)
            #expect(!words.contains { word in vague.contains(where: word.hasSuffix) }, "\(file)")
        }
    }

    @Test("nothing is left for later without a place where it is written down")
    func leftovers() {
        // Put together here so that this file does not find itself.
        let words = [
            "TO" + "DO", "FIX" + "ME", "X" + "XX: ", "HA" + "CK:", "throw .not" + "Yet", "not built " + "yet",
        ]
        for file in Tree.textFiles where !file.path.hasPrefix("Tests/Tidy/") {
            for word in words where file.text.contains(word) { Issue.record("\(file) contains \(word)") }
            #expect(file.name != "Placeholder.swift", "\(file)")
        }
    }

    @Test("the project speaks of itself alone: no path of a machine that built it")
    func machinePaths() {
        let words = ["/work" + "/", "/root" + "/", "/home" + "/", "/opt" + "/swift", "/Us" + "ers/"]
        for file in Tree.textFiles where !file.path.hasPrefix("Tests/Tidy/") {
            for word in words where file.text.contains(word) { Issue.record("\(file) contains \(word)") }
        }
    }

    @Test("the table of errors in the protocol text is the one in the code")
    func errorTable() throws {
        let page = try #require(Tree.markdown.first { $0.path == "docs/protocol/errors.md" })
        var written: [UInt16: (name: String, retry: String)] = [:]
        for line in page.lines {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count >= 4, let number = UInt16(cells[0]) else { continue }
            #expect(written[number] == nil, "\(number) stands there twice")
            written[number] = (cells[1], cells[2])
        }
        #expect(Set(written.keys) == Set(LinkErrorCode.allCases.map(\.rawValue)))
        for code in LinkErrorCode.allCases {
            #expect(written[code.rawValue]?.name == code.name)
            #expect(written[code.rawValue]?.retry == code.retry.rawValue)
        }
    }

    @Test("an error says in words what is wrong: no name of a case reaches a person")
    func errorsInWords() throws {
        let declaration = try NSRegularExpression(
            pattern: #"(?:enum|struct|class) (\w+): ([^{\n]*\bError\b[^{\n]*)\{"#)
        var count = 0
        for file in Tree.sources where !file.room.hasPrefix("Support/") {
            let range = NSRange(file.text.startIndex..., in: file.text)
            for match in declaration.matches(in: file.text, range: range) {
                guard let name = Range(match.range(at: 1), in: file.text).map({ file.text[$0] }),
                    let bases = Range(match.range(at: 2), in: file.text).map({ file.text[$0] })
                else { continue }
                count += 1
                let apart = try Regex("extension (\\w+\\.)*\(name): [^{]*CustomStringConvertible")
                let says =
                    bases.contains("CustomStringConvertible") || bases.hasPrefix("String,")
                    || file.text.contains(apart)
                #expect(says, "\(file): \(name) has no description")
            }
        }
        #expect(count > 15)
    }

    @Test("a link between pages leads somewhere")
    func links() throws {
        let link = try NSRegularExpression(pattern: #"\]\(([^)\s]+)\)"#)
        for file in Tree.markdown {
            let folder = file.path.split(separator: "/").dropLast()
            for match in link.matches(in: file.text, range: NSRange(file.text.startIndex..., in: file.text)) {
                guard let range = Range(match.range(at: 1), in: file.text) else { continue }
                let target = String(file.text[range])
                if target.contains("://") || target.hasPrefix("#") || target.hasPrefix("mailto:") { continue }
                let path = target.split(separator: "#").first.map(String.init) ?? ""
                #expect(
                    Tree.exists((folder.map(String.init) + [path]).joined(separator: "/")),
                    "\(file): \(target)")
            }
        }
    }

    @Test("every test that the threat model names is there")
    func threatModel() throws {
        let page = try #require(Tree.markdown.first { $0.path == "docs/THREAT_MODEL.md" })
        let tests = Tree.textFiles.filter { $0.path.hasPrefix("Tests/") }.map(\.text).joined()
        let name = try NSRegularExpression(pattern: #"`(test_\w+)`|“([^”]+ [^”]+)”"#)
        var count = 0
        for match in name.matches(in: page.text, range: NSRange(page.text.startIndex..., in: page.text)) {
            if let range = Range(match.range(at: 1), in: page.text) {
                #expect(tests.contains("def \(page.text[range])("), "\(page.text[range])")
            } else if let range = Range(match.range(at: 2), in: page.text) {
                let text = page.text[range]
                #expect(tests.contains("\"\(text)\"") || tests.contains("`\(text)`"), "\(text)")
            }
            count += 1
        }
        #expect(count > 80)
    }

    @Test("a script can be run as it lies there")
    func scripts() {
        let scripts = Tree.textFiles.filter { $0.path.hasPrefix("scripts/") || $0.path == ".ci/run" }
        #expect(scripts.count >= 4)
        for script in scripts where script.text.hasPrefix("#!") {
            let path = Tree.root.appendingPathComponent(script.path).path
            #expect(FileManager.default.isExecutableFile(atPath: path), "\(script)")
        }
    }
}
