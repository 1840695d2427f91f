package import ChannelWire

/// The names that channels go by at this relay.
enum ChannelName {
    /// A name made of a channel's title that an operator can read and type.
    ///
    /// No control characters, nothing around it that `ChannelSelector` takes for its own, and not longer than
    /// a display name.
    static func make(from title: String) -> String {
        let shown = String(
            title.unicodeScalars.filter { DisplayName.problem("x\($0)") == nil }.map(Character.init))
        var name = shown.prefix(Limits.displayNameCharactersMax)
        while let first = name.first, first == "#" || first == "'" || first == "\"" || first.isWhitespace {
            name = name.dropFirst()
        }
        while let last = name.last, last == "'" || last == "\"" || last.isWhitespace {
            name = name.dropLast()
        }
        return name.isEmpty ? "channel" : String(name)
    }
}

/// How an operator names a channel: `#news`, `news`, `#'my news'`, or its id in base64url.
package struct ChannelSelector: Equatable, Sendable {
    package let text: String
    /// The name without `#` and quotes.
    let name: String

    package init(_ text: String) {
        self.text = text
        var name = text[...]
        while name.first == " " { name = name.dropFirst() }
        while name.last == " " { name = name.dropLast() }
        if name.first == "#" { name = name.dropFirst() }
        if name.count >= 2, let quote = name.first, quote == "'" || quote == "\"", name.last == quote {
            name = name.dropFirst().dropLast()
        }
        self.name = String(name)
    }

    package init(_ id: ChannelID) {
        self.init(id.text)
    }

    /// The id, when that is what the operator gave.
    var id: ChannelID? { ChannelID(text: name) }
}
