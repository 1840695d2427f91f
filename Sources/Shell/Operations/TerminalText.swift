/// Text from a peer made harmless for a terminal or a log line.
package enum TerminalText {
    /// Replaces what a terminal would obey by visible escapes.
    ///
    /// **Shape** C0, DEL, C1, line and paragraph separators and the bidirectional controls become `\n`, `\t`
    /// or `\u{hex}`; a text of several lines keeps its newlines and tabs. A backslash stays as it is: the
    /// result is for reading, not for parsing.
    package static func escaped(_ text: String, keepingNewlines: Bool = false) -> String {
        guard text.unicodeScalars.contains(where: { isHostile($0.value) }) else { return text }
        var out = ""
        out.reserveCapacity(text.utf8.count + 16)
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A where keepingNewlines, 0x09 where keepingNewlines: out.unicodeScalars.append(scalar)
            case 0x0A: out += "\\n"
            case 0x0D: out += "\\r"
            case 0x09: out += "\\t"
            case let value where isHostile(value): out += "\\u{\(String(value, radix: 16))}"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    /// The longest start of `text` that fits in `bytesMax` bytes of UTF-8 and is whole, with `…` when it was
    /// cut.
    package static func cut(_ text: String, bytesMax: Int = 512) -> String {
        guard text.utf8.count > bytesMax else { return text }
        var out = ""
        var used = 0
        for scalar in text.unicodeScalars {
            let size = scalar.utf8.count
            if used + size > bytesMax { break }
            out.unicodeScalars.append(scalar)
            used += size
        }
        return out + "…"
    }

    /// How many columns a terminal gives this text; wide letters count twice, combining ones not at all.
    package static func columns(_ text: String) -> Int {
        text.reduce(0) { total, character in total + columns(of: character) }
    }

    private static func columns(of character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        switch first.value {
        case 0..<0x20, 0x300...0x36F, 0x200B...0x200F: return 0
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    static func isHostile(_ value: UInt32) -> Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
