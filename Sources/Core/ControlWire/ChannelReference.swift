/// A channel as an operator writes it: `#news`, `#'my news'`, `#news_1`, or the channel's id.
package enum ChannelReference: Sendable, Equatable {
    case name(String)
    /// 43 or 44 characters that may be an id; a channel may also be called that.
    case idOrName(String)

    /// Reads what the operator typed; nil where it is empty or a quote stands open.
    package init?(_ text: String) {
        var rest = Substring(text)
        let hashed = rest.first == "#"
        if hashed { rest = rest.dropFirst() }
        if let quote = rest.first, quote == "'" || quote == "\"" {
            rest = rest.dropFirst()
            guard rest.last == quote else { return nil }
            rest = rest.dropLast()
            guard !rest.isEmpty else { return nil }
            self = .name(String(rest))
            return
        }
        guard !rest.isEmpty else { return nil }
        self = !hashed && ChannelReference.looksLikeID(rest) ? .idOrName(String(rest)) : .name(String(rest))
    }

    /// The name as it has to be typed: quoted where it holds a space or a quote.
    package static func written(_ name: String) -> String {
        let plain = !name.isEmpty && name.allSatisfy { !$0.isWhitespace && $0 != "'" && $0 != "\"" }
        if plain { return "#\(name)" }
        return name.contains("'") ? "#\"\(name)\"" : "#'\(name)'"
    }

    private static func looksLikeID(_ text: Substring) -> Bool {
        var body = text
        if body.last == "=" { body = body.dropLast() }
        return body.utf8.count == 43
            && body.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
