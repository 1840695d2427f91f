package import ChannelWire

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
