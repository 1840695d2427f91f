/// The rule for names that people choose. **Source**: docs/protocol/limits.md.
package enum DisplayName {
    /// What is wrong with a name, or nil: 1 to 64 characters, at most 255 bytes, not blank, no control
    /// characters.
    package static func problem(_ name: String) -> WireError? {
        if name.utf8.count > Limits.displayNameBytesMax {
            return .tooLarge(limit: Limits.displayNameBytesMax, have: name.utf8.count)
        }
        if name.count > Limits.displayNameCharactersMax {
            return .tooMany(limit: Limits.displayNameCharactersMax)
        }
        if name.allSatisfy(\.isWhitespace) { return .malformed("a name may not be blank") }
        if name.unicodeScalars.contains(where: isControl) {
            return .malformed("a name may not have control characters")
        }
        return nil
    }
    package static func validate(_ name: String) throws(WireError) {
        if let problem = problem(name) { throw problem }
    }

    /// Controls, line and paragraph separators, and the marks that turn the direction of text around: a name
    /// with those could pass for another one, or for a line of our own output.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: 0x202a...0x202e ~= scalar.value || 0x2066...0x2069 ~= scalar.value
        }
    }
}
