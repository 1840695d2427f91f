internal import ClientCore
internal import LinkRuntime
internal import SodiumCrypto

/// What keeps the connections of one membership apart from all others of this home.
///
/// At the proxy it is a user name: Tor gives each name a circuit of its own (IsolateSOCKSAuth).
struct Circuit {
    let token: [UInt8]

    /// For a question that belongs to no membership.
    static func fresh() -> Circuit { Circuit(token: hex(Sodium.random(16))) }

    /// The same for every process of this home, and nothing that anybody could link to another membership:
    /// derived from the membership's own secret.
    static func membership(_ keys: Ed25519.KeyPair, role: String) -> Circuit {
        var secret = keys.seed.copied()
        defer { Sodium.wipe(&secret) }
        let hash = Sodium.hmacBlake2b(key: secret, Array("antenna/1 proxy circuit \(role)".utf8))
        return Circuit(token: hex(Array(hash.prefix(16))))
    }

    /// Mixed into the jitter's seed, so that no membership's pauses follow from another's.
    var seed: UInt64 { token.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } }

    private static func hex(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }
}

extension ProxyAddress {
    /// The proxy as it is to be asked for one circuit. A name and password of the user's own go before ours.
    func link(_ circuit: Circuit) -> LinkProxy {
        let own = SOCKS5Credentials(name: user, password: password)
        guard let own = own ?? SOCKS5Credentials(name: circuit.token, password: circuit.token) else {
            preconditionFailure("a circuit has a name of 32 bytes")
        }
        return LinkProxy(addresses: addresses, credentials: own)
    }
}
