/// Words of a line typed inside an interactive program, quoted as in a shell.
package enum ShellWords {
    /// Splits at spaces outside quotes; `'…'`, `"…"` and `\` quote. Quotes are removed.
    ///
    /// **Throws** a usage error for a quote that is never closed.
    package static func split(_ line: String) throws(OperatorError) -> [String] {
        var words: [String] = []
        var word = ""
        var inWord = false
        var quote: Character?
        var escaped = false
        for character in line {
            if escaped {
                word.append(character)
                escaped = false
            } else if character == "\\", quote != "'" {
                escaped = true
                inWord = true
            } else if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                inWord = true
            } else if character.isWhitespace {
                if inWord { words.append(word) }
                word = ""
                inWord = false
            } else {
                word.append(character)
                inWord = true
            }
        }
        if let quote {
            throw OperatorError(
                .usage, "the quote \(quote) is not closed", hint: "for example: leave #'my news'")
        }
        if escaped { word.append("\\") }
        if inWord { words.append(word) }
        return words
    }
}

/// A channel as people write it: `#news`, `news`, `#'my news'`.
package enum ChannelName {
    /// The bare name or id: without `#` and the quotes around it.
    package static func parse(_ text: String) -> String {
        var rest = Substring(text)
        if rest.hasPrefix("#") { rest = rest.dropFirst() }
        if rest.count >= 2, let first = rest.first, first == rest.last, first == "'" || first == "\"" {
            rest = rest.dropFirst().dropLast()
        }
        return String(rest)
    }

    /// As it is shown and can be typed again: `#news`, `#'my news'`.
    package static func display(_ name: String) -> String {
        let safe = TerminalText.escaped(name)
        let plain = !safe.isEmpty && !safe.contains(where: { $0.isWhitespace || $0 == "'" || $0 == "\"" })
        return plain ? "#\(safe)" : "#'\(safe)'"
    }
}
