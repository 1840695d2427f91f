import ChannelWire
import Testing

@Suite("Links")
struct LinkTests {
    static let key = "NHUPmL1Z_PyUbaRaqr6TO-FUpLUJThxKv0KGZQXzyX4"
    static let identity = Base64URL.encode(Fixture.identity.raw, padded: false)
    static let endpoint = AntennaLink.Endpoint(host: "a.example", port: 5280)
    static let second = AntennaLink.Endpoint(host: "2001:db8::1", port: 443)

    static let links: [(AntennaLink, https: String, antenna: String)] = [
        (
            .channel(Fixture.channel, hosts: [.init(endpoint: endpoint, identity: Fixture.identity)]),
            "https://a.example/c#\(key)?c=\(identity)", "antenna:/c#\(key)?h=a.example&c=\(identity)"
        ),
        (
            .channel(
                Fixture.channel,
                hosts: [
                    .init(endpoint: endpoint, identity: Fixture.identity),
                    .init(endpoint: second, identity: Fixture.relayKey),
                ]),
            "https://a.example/c#\(key)?h=[2001:db8::1]&p=5280%2C443&c=\(identity)%2C"
                + Base64URL.encode(Fixture.relayKey.raw, padded: false),
            "antenna:/c#\(key)?h=a.example%2C[2001:db8::1]&p=5280%2C443&c=\(identity)%2C"
                + Base64URL.encode(Fixture.relayKey.raw, padded: false)
        ),
        (
            .relayAddress(identity: Fixture.identity, hosts: [endpoint]),
            "https://a.example/r#\(identity)", "antenna:/r#\(identity)?h=a.example"
        ),
        (
            .relayAddress(identity: Fixture.identity, hosts: [.init(host: "10.0.0.1", port: 6000)]),
            "https://10.0.0.1/r#\(identity)?p=6000", "antenna:/r#\(identity)?h=10.0.0.1&p=6000"
        ),
        (
            .relayChannel(
                key: Fixture.relayKey, host: .init(endpoint: second, identity: Fixture.identity)),
            "https://[2001:db8::1]/g#" + Base64URL.encode(Fixture.relayKey.raw, padded: false)
                + "?p=443&c=\(identity)",
            "antenna:/g#" + Base64URL.encode(Fixture.relayKey.raw, padded: false)
                + "?h=[2001:db8::1]&p=443&c=\(identity)"
        ),
    ]

    @Test("a link is written in both schemes and read back from each", arguments: links)
    func roundTrip(link: AntennaLink, https: String, antenna: String) throws {
        #expect(link.text(.https) == https)
        #expect(link.text(.antenna) == antenna)
        #expect(try AntennaLink.parse(https) == link)
        #expect(try AntennaLink.parse(antenna) == link)
    }

    @Test(
        "other ways to write the same link are read",
        arguments: [
            "https://a.example/r#\(identity)", " https://a.example/r#\(identity)\n",
            "https://a.example/r/#\(identity)",
            "HTTPS://a.example/R#\(identity)", "antenna:/r#\(identity)?h=a.example",
            "simplex:/r#\(identity)?h=a.example",
            "https://a.example/r#\(identity)=", "https://a.example/r#\(identity)?p=5280",
            "https://a.example/r#\(identity)?later=1&p=5280", "https://a.example/r#\(identity)?",
        ])
    func variants(text: String) throws {
        #expect(
            try AntennaLink.parse(text) == .relayAddress(identity: Fixture.identity, hosts: [Self.endpoint]))
    }

    @Test("lists are split at commas as they are and percent-encoded")
    func commas() throws {
        for comma in [",", "%2C", "%2c"] {
            let text = "antenna:/r#\(Self.identity)?h=a.example\(comma)[2001:db8::1]&p=5280\(comma)443"
            #expect(
                try AntennaLink.parse(text)
                    == .relayAddress(identity: Fixture.identity, hosts: [Self.endpoint, Self.second]))
        }
        // One item serves all hosts.
        let text = "antenna:/c#\(Self.key)?h=a.example,b.example&p=7&c=\(Self.identity)"
        let hosts = ["a.example", "b.example"].map {
            AntennaLink.Host(endpoint: .init(host: $0, port: 7), identity: Fixture.identity)
        }
        #expect(try AntennaLink.parse(text) == .channel(Fixture.channel, hosts: hosts))
    }

    @Test(
        "what is not a link is refused with a sentence",
        arguments: [
            "", "a", "https://", "https://a.example", "https://a.example/", "https://a.example/r",
            "http://a.example/r#x",
            "https://a.example/r#", "https://a.example/r#AA", "https://a.example/x#\(key)",
            "https://a.example/#\(key)",
            "https:///r#\(key)", "antenna:/r#\(key)", "antenna:/r#\(key)?h=", "antenna://r#\(key)?h=a",
            "https://a.example:80/r#\(key)", "https://u@a.example/r#\(key)", "https://a b/r#\(key)",
            "https://2001:db8::1/r#\(key)", "https://[2001:db8::1/r#\(key)", "https://[]/r#\(key)",
            "https://[x]/r#\(key)",
            "https://a.example/r#\(key)?p=0", "https://a.example/r#\(key)?p=65536",
            "https://a.example/r#\(key)?p=-1",
            "https://a.example/r#\(key)?p=1,2", "https://a.example/r#\(key)?p",
            "https://a.example/r#\(key)?c=\(key)",
            "https://a.example/g#\(key)", "https://a.example/g#\(key)?c=AA",
            "https://a.example/g#\(key)?h=b.example&c=\(key)", "https://a.example/c#\(key)?c=AA",
            "https://a.example/c#\(key)?c=\(key),\(key)",
        ])
    func refused(text: String) {
        do throws(WireError) {
            let link = try AntennaLink.parse(text)
            Issue.record("\(link)")
        } catch {
            if case .malformed(let sentence) = error { #expect(!sentence.isEmpty) }
        }
    }

    @Test("a link with 16 hosts is read, with one more it is refused")
    func hosts() throws {
        func link(_ count: Int) -> String {
            "antenna:/c#\(Self.key)?h=" + (1...count).map { "h\($0)" }.joined(separator: ",")
        }
        guard case .channel(_, let hosts) = try AntennaLink.parse(link(16)) else {
            Issue.record("a channel's link")
            return
        }
        #expect(hosts.count == 16)
        #expect(throws: WireError.tooMany(limit: 16)) { _ = try AntennaLink.parse(link(17)) }
    }

    @Test("a link of 2048 bytes is read, one byte more is refused by its size")
    func limit() throws {
        let link = "https://a.example/r#\(Self.identity)?x="
        let largest = link + String(repeating: "a", count: Limits.linkTextMax - link.utf8.count)
        _ = try AntennaLink.parse(largest)
        #expect(throws: WireError.tooLarge(limit: 2_048, have: 2_049)) {
            _ = try AntennaLink.parse(largest + "a")
        }
    }

    @Test("the words shown to who opens a relay's address as a channel")
    func relayAddressWords() {
        #expect(AntennaLink.relayAddressTitle == "Relay address")
        #expect(
            AntennaLink.relayAddressText == "This is a chat relay address, it cannot be used to connect.")
    }
}
