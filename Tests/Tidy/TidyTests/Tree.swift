import Foundation

/// The tree this package was built from, as text.
struct Tree {
    struct File: CustomStringConvertible, Sendable {
        /// From the root, with slashes.
        let path: String
        let text: String

        var description: String { path }
        var name: String { String(path.split(separator: "/").last ?? "") }
        var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
        /// `Core/ChannelWire` for `Sources/Core/ChannelWire/…`.
        var room: String { path.split(separator: "/").dropFirst().prefix(2).joined(separator: "/") }
        /// The lines with comments and the insides of string literals taken out, each with its number.
        var code: [(number: Int, text: String)] { Tree.code(lines) }
    }

    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static let textFiles: [File] = load()
    static let swift = textFiles.filter { $0.path.hasSuffix(".swift") }
    static let sources = swift.filter { $0.path.hasPrefix("Sources/") }
    static let markdown = textFiles.filter { $0.path.hasSuffix(".md") }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
    }

    private static func load() -> [File] {
        let kinds: Set = ["swift", "md", "h", "modulemap", "py", "ini", "txt", "abnf", "sql", ""]
        var files: [File] = []
        var waiting = [""]
        while let folder = waiting.popLast() {
            let place = folder.isEmpty ? root : root.appendingPathComponent(folder)
            for name in (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? [] {
                // Hidden folders hold what was built or downloaded; `.ci` is ours.
                if (name.hasPrefix(".") && name != ".ci") || name == "__pycache__" { continue }
                let path = folder.isEmpty ? name : "\(folder)/\(name)"
                var isFolder: ObjCBool = false
                _ = FileManager.default.fileExists(
                    atPath: root.appendingPathComponent(path).path, isDirectory: &isFolder)
                if isFolder.boolValue {
                    waiting.append(path)
                } else if kinds.contains((name as NSString).pathExtension),
                    let text = try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
                {
                    files.append(File(path: path, text: text))
                }
            }
        }
        return files.sorted { $0.path < $1.path }
    }

    private static func code(_ lines: [Substring]) -> [(number: Int, text: String)] {
        var result: [(number: Int, text: String)] = []
        var inBlock = false
        for (index, line) in lines.enumerated() {
            // Texts over several lines: everything between the triple quotes is taken out.
            let marks = line.components(separatedBy: "\"\"\"").count - 1
            if inBlock {
                if marks > 0 { inBlock = false }
                continue
            }
            if marks == 1 { inBlock = true }
            var out = ""
            var inString = false
            var escaped = false
            var previous: Character = " "
            for character in line {
                if inString {
                    if escaped {
                        escaped = false
                    } else if character == "\\" {
                        escaped = true
                    } else if character == "\"" {
                        inString = false
                        out.append(character)
                    }
                } else {
                    if character == "/", previous == "/" {
                        out.removeLast()
                        break
                    }
                    if character == "\"" { inString = true }
                    out.append(character)
                }
                previous = character
            }
            result.append((index + 1, out))
        }
        return result
    }
}
