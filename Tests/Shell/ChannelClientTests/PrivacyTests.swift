import ChannelClient
import PuppetRelay
import Testing

@Suite("Privacy", .serialized)
struct PrivacyTests {
    @Test("channels that lost their relays at one moment come back each at a moment of its own")
    func reconnectsAreSpread() async throws {
        let alice = try await Person("alice")
        let bob = try await Person("bob", background: .always, spread: .seconds(3))
        var relays: [PuppetRelay] = []
        for number in 0..<8 {
            let relay = try PuppetRelay()
            relays.append(relay)
            try await alice.client.addRelay(name: "r\(number)", address: relay.address)
            let creation = try await alice.client.createChannel(
                name: "c\(number)", relays: ["r\(number)"], timeout: .seconds(20))
            _ = try await bob.client.join(link: creation.link, timeout: .seconds(20))
        }
        let events = bob.client.events
        // No relay says when to come back, as real ones do: what spreads them is the client.
        for relay in relays { relay.hangUp() }
        let clock = ContinuousClock()
        let moments = try await within {
            var moments: [String: ContinuousClock.Instant] = [:]
            for await event in events {
                guard case .connectionChanged(let channel, _, true, _) = event else { continue }
                moments[channel] = clock.now
                if moments.count == 8 { break }
            }
            return Array(moments.values)
        }
        let first = try #require(moments.min())
        let last = try #require(moments.max())
        // Eight moments drawn from three seconds are within 0.6 s of each other once in ten thousand runs;
        // the pauses alone end within 0.1 s.
        #expect(last - first > .milliseconds(600))
    }

    @Test("a home without a profile joins under a random name, another one for each channel")
    func randomNames() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        try await alice.client.addRelay(name: "r0", address: relay.address)
        let nobody = try await Person("nobody", profile: false)
        for name in ["news", "chat"] {
            let creation = try await alice.client.createChannel(name: name, relays: ["r0"])
            _ = try await nobody.client.join(link: creation.link)
        }
        let bob = try await Person("bob")
        _ = try await bob.client.join(link: try await alice.client.link(to: "news"), as: .random)
        let carol = try await Person("carol")
        _ = try await carol.client.join(link: try await alice.client.link(to: "news"), as: .named("karl"))
        var names: [String] = []
        for channel in ["news", "chat"] {
            names += try await alice.client.members(of: channel).members.map(\.name).filter { $0 != "alice" }
        }
        let random = names.filter { $0.hasPrefix("reader-") && $0.count == 15 }
        #expect(names.count == 4 && names.contains("karl"))
        #expect(Set(random).count == 3)
    }

    @Test("a name that is not allowed is refused before anything leaves")
    func badName() async throws {
        let relay = try TestRelay()
        let alice = try await Person("alice")
        let creation = try await alice.create("news", on: [relay])
        let bob = try await Person("bob")
        for name in ["", "two\nlines", String(repeating: "x", count: 65)] {
            let error = await #expect(throws: ChannelClientError.self) {
                _ = try await bob.client.join(link: creation.link, as: .named(name))
            }
            #expect(error?.code == .invalidName)
        }
        #expect(try await alice.client.members(of: "news").total == 1)
    }

    @Test(
        "a proxy's address reads as written, and what would have to be resolved is refused",
        arguments: [
            ("socks5://127.0.0.1:9050", "socks5://127.0.0.1:9050"),
            ("SOCKS5H://[::1]", "socks5://[::1]:1080"),
            (" socks5://localhost:9050/ ", "socks5://localhost:9050"),
            ("socks5://me:p%40ss@10.0.0.1", "socks5://10.0.0.1:1080"), ("", nil), ("127.0.0.1:9050", nil),
            ("http://127.0.0.1:9050", nil), ("socks5://tor.example:9050", nil), ("socks5://", nil),
            ("socks5://127.0.0.1:0", nil), ("socks5://127.0.0.1:65536", nil), ("socks5://me@127.0.0.1", nil),
            ("socks5://me:%zz@127.0.0.1", nil), ("socks5://localhost:", nil), ("socks4://127.0.0.1", nil),
        ] as [(String, String?)])
    func proxyAddress(text: String, shown: String?) throws {
        guard let shown else {
            #expect(throws: ChannelClientError.self) { try ProxyAddress(text) }
            return
        }
        #expect(try ProxyAddress(text).description == shown)
    }
}
