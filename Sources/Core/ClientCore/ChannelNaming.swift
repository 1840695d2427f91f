/// How people name channels: `news`, `#news`, `#'my news'`, with `_1`, `_2` … for the same name again.
package enum ChannelNaming {
    /// The local name for a display name: the name itself, or with the first free suffix.
    package static func localName(for displayName: String, taken: Set<String>) -> String {
        guard taken.contains(displayName) else { return displayName }
        var suffix = 1
        while taken.contains("\(displayName)_\(suffix)") { suffix += 1 }
        return "\(displayName)_\(suffix)"
    }

    /// The name without what people write around it.
    package static func plain(_ text: String) -> String {
        var name = text[...]
        if name.hasPrefix("#") { name = name.dropFirst() }
        if name.count >= 2, name.hasPrefix("'"), name.hasSuffix("'") { name = name.dropFirst().dropLast() }
        return String(name)
    }

    /// The name as people have to type it.
    package static func quoted(_ name: String) -> String {
        name.contains(where: { $0 == " " || $0 == "'" || $0 == "#" }) ? "#'\(name)'" : "#\(name)"
    }
}
