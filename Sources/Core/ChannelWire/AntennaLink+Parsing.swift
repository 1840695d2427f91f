extension AntennaLink {
    /// Reads a link. Takes `https://`, `antenna:` and `simplex:`, letters in any case, and commas as they are
    /// or as `%2C`.
    ///
    /// - Throws: `WireError.malformed` with one sentence that says what is wrong and what would be right.
    package static func parse(_ text: String) throws(WireError) -> AntennaLink {
        guard text.utf8.count <= Limits.linkTextMax else {
            throw .tooLarge(limit: Limits.linkTextMax, have: text.utf8.count)
        }
        let text = trimmed(text)
        var rest: Substring
        var first: String?
        if let after = dropping(prefix: "https://", of: text) {
            guard let slash = after.firstIndex(of: "/") else {
                throw .malformed("a link has a letter after its host")
            }
            first = String(after[..<slash])
            rest = after[after.index(after: slash)...]
        } else if let after = dropping(prefix: "antenna:/", of: text)
            ?? dropping(prefix: "simplex:/", of: text)
        {
            rest = after
        } else {
            throw .malformed("a link begins with https:// or antenna:/")
        }
        guard let hash = rest.firstIndex(of: "#") else {
            throw .malformed("a link has its key after a #; quote the link in a shell")
        }
        var letter = rest[..<hash].lowercased()
        if letter.hasSuffix("/") { letter.removeLast() }
        let fragment = rest[rest.index(after: hash)...]
        let parts = fragment.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let keyText = parts.first, let key = Base64URL.decode(keyText), key.count == 32 else {
            throw .malformed("a link's key is 43 characters of base64url")
        }
        let query = try readQuery(parts.count > 1 ? parts[1] : "")
        let endpoints = try endpoints(first: first, query)
        switch letter {
        case "c":
            guard let id = ChannelID(bytes: key) else { throw .malformed("a channel id has 32 bytes") }
            let identities = try identities(query.keys, count: endpoints.count)
            return .channel(id, hosts: zip(endpoints, identities).map { Host(endpoint: $0, identity: $1) })
        case "g":
            let identities = try identities(query.keys, count: endpoints.count)
            guard endpoints.count == 1, let identity = identities[0], let member = PublicKey(raw: key) else {
                throw .malformed("a g link has one host and one identity key (c=)")
            }
            return .relayChannel(key: member, host: Host(endpoint: endpoints[0], identity: identity))
        case "r":
            guard query.keys.isEmpty else { throw .malformed("an r link has no c=") }
            guard let identity = PublicKey(raw: key) else { throw .malformed("a relay's key has 32 bytes") }
            return .relayAddress(identity: identity, hosts: endpoints)
        default:
            throw .malformed("a link's letter is c (channel), g (relay's place in a channel) or r (relay)")
        }
    }

    private struct Query {
        var hosts: [String] = []
        var ports: [String] = []
        var keys: [String] = []
    }

    private static func readQuery(_ text: Substring) throws(WireError) -> Query {
        var query = Query()
        for item in text.split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { throw .malformed("a link's query is name=value, joined by &") }
            let values = list(pair[1])
            switch pair[0] {
            case "h": query.hosts = values
            case "p": query.ports = values
            case "c": query.keys = values
            default: break  // A later version's.
            }
        }
        return query
    }
    private static func list(_ text: Substring) -> [String] {
        var items: [String] = []
        var item = ""
        var rest = text
        while let character = rest.first {
            if character == "," {
                items.append(item)
                item = ""
                rest = rest.dropFirst()
            } else if rest.hasPrefix("%2C") || rest.hasPrefix("%2c") {
                items.append(item)
                item = ""
                rest = rest.dropFirst(3)
            } else {
                item.append(character)
                rest = rest.dropFirst()
            }
        }
        items.append(item)
        return items
    }

    private static func endpoints(first: String?, _ query: Query) throws(WireError) -> [Endpoint] {
        let hosts = (first.map { [$0] } ?? []) + query.hosts.filter { !$0.isEmpty }
        guard !hosts.isEmpty else { throw .malformed("a link names at least one host (h=)") }
        guard hosts.count <= 16 else { throw .tooMany(limit: 16) }
        guard query.ports.count <= 1 || query.ports.count == hosts.count else {
            throw .malformed("p= holds one port, or one for each host")
        }
        var endpoints: [Endpoint] = []
        for (index, host) in hosts.enumerated() {
            var port = defaultPort
            if !query.ports.isEmpty {
                let text = query.ports[query.ports.count == 1 ? 0 : index]
                guard let number = UInt16(text), number > 0 else { throw .malformed("a port is 1 to 65535") }
                port = number
            }
            endpoints.append(Endpoint(host: try hostName(host), port: port))
        }
        return endpoints
    }
    private static func hostName(_ text: String) throws(WireError) -> String {
        if text.hasPrefix("[") {
            let inner = text.dropFirst().dropLast()
            guard text.hasSuffix("]"), inner.utf8.count <= 45, !inner.isEmpty,
                inner.utf8.allSatisfy({ isHexDigit($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
                )
            else { throw .malformed("an IPv6 host stands in brackets") }
            return String(inner)
        }
        let allowed = text.utf8.allSatisfy {
            isHexDigit($0) || UInt8(ascii: "g")...UInt8(ascii: "z") ~= $0
                || UInt8(ascii: "G")...UInt8(ascii: "Z") ~= $0
                || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
        guard 1...253 ~= text.utf8.count, allowed else {
            throw .malformed("a host is a name or an address; ports go into p=, IPv6 into brackets")
        }
        return text
    }
    private static func isHexDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
            || UInt8(ascii: "A")...UInt8(ascii: "F") ~= byte
    }
    private static func identities(_ texts: [String], count: Int) throws(WireError) -> [PublicKey?] {
        guard texts.count <= 1 || texts.count == count else {
            throw .malformed("c= holds one key, or one for each host")
        }
        var keys: [PublicKey?] = []
        for index in 0..<count {
            let text = texts.isEmpty ? "" : texts[texts.count == 1 ? 0 : index]
            if text.isEmpty {
                keys.append(nil)
                continue
            }
            guard let raw = Base64URL.decode(text), let key = PublicKey(raw: raw) else {
                throw .malformed("c= holds 43 characters of base64url for each key")
            }
            keys.append(key)
        }
        return keys
    }

    private static func trimmed(_ text: String) -> Substring {
        var slice = text[...]
        while let first = slice.first, first.isWhitespace { slice = slice.dropFirst() }
        while let last = slice.last, last.isWhitespace { slice = slice.dropLast() }
        return slice
    }
    private static func dropping(prefix: String, of text: Substring) -> Substring? {
        guard text.prefix(prefix.count).lowercased() == prefix else { return nil }
        return text.dropFirst(prefix.count)
    }
}
