/// A link as people hand it on. **Source**: docs/protocol/channel.md, "Links".
package enum AntennaLink: Hashable, Sendable {
    /// `c`: a channel, and up to three relays that can serve its record.
    case channel(ChannelID, hosts: [Host])
    /// `g`: one relay's place in one channel.
    case relayChannel(key: PublicKey, host: Host)
    /// `r`: a relay, for owners.
    case relayAddress(identity: PublicKey, hosts: [Endpoint])

    package static let defaultPort: UInt16 = 5280
    /// Shown, with the text, to who opens an `r` link as if it were a channel.
    package static let relayAddressTitle = "Relay address"
    package static let relayAddressText = "This is a chat relay address, it cannot be used to connect."

    package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
        /// A name, an IPv4 address, or an IPv6 address without brackets.
        package let host: String
        package let port: UInt16
        package init(host: String, port: UInt16) {
            self.host = host
            self.port = port
        }
        package var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }
        package var description: String { "\(bracketedHost):\(port)" }
    }
    package struct Host: Hashable, Sendable {
        package let endpoint: Endpoint
        /// The relay's identity key, where the link tells it.
        package let identity: PublicKey?
        package init(endpoint: Endpoint, identity: PublicKey?) {
            self.endpoint = endpoint
            self.identity = identity
        }
    }
}

// MARK: - Writing

extension AntennaLink {
    package enum Scheme: Sendable { case https, antenna }

    package func text(_ scheme: Scheme = .https) -> String {
        switch self {
        case .channel(let id, let hosts):
            return Self.write(
                scheme, "c", id.unpaddedText, hosts.map(\.endpoint), identities: hosts.map(\.identity))
        case .relayChannel(let key, let host):
            let keyText = Base64URL.encode(key.raw, padded: false)
            return Self.write(scheme, "g", keyText, [host.endpoint], identities: [host.identity])
        case .relayAddress(let identity, let hosts):
            return Self.write(
                scheme, "r", Base64URL.encode(identity.raw, padded: false), hosts, identities: [])
        }
    }

    private static func write(
        _ scheme: Scheme, _ letter: String, _ key: String, _ endpoints: [Endpoint], identities: [PublicKey?]
    ) -> String {
        var listed = endpoints.map(\.bracketedHost)
        var text = "antenna:/"
        if scheme == .https, !listed.isEmpty { text = "https://\(listed.removeFirst())/" }
        text += "\(letter)#\(key)"
        var query: [String] = []
        if !listed.isEmpty { query.append("h=" + listed.joined(separator: "%2C")) }
        let ports = endpoints.map { $0.port }
        if ports.contains(where: { $0 != defaultPort }) {
            query.append("p=" + shortened(ports.map { String($0) }).joined(separator: "%2C"))
        }
        let keys = identities.map { $0.map { Base64URL.encode($0.raw, padded: false) } ?? "" }
        if keys.contains(where: { !$0.isEmpty }) {
            query.append("c=" + shortened(keys).joined(separator: "%2C"))
        }
        return query.isEmpty ? text : text + "?" + query.joined(separator: "&")
    }
    /// One item serves all hosts.
    private static func shortened(_ items: [String]) -> [String] {
        Set(items).count == 1 ? Array(items.prefix(1)) : items
    }
}
