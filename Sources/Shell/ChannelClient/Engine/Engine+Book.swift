internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
internal import PosixKit
internal import SodiumCrypto

/// Profile, address book, relay tests.
extension Engine {
    func setProfile(_ name: String) throws(ChannelClientError) {
        try Self.checkName(name, "display name")
        try attempt { try store.setProfileName(name) }
    }

    func setPassphrase(_ passphrase: String?) throws(ChannelClientError) {
        if let passphrase, passphrase.isEmpty { throw .init(.invalidName, "A passphrase is not empty.") }
        try attempt { try store.setPassphrase(passphrase.map { SecretBytes(Array($0.utf8)) }) }
    }

    func profile() throws(ChannelClientError) -> Profile? {
        try attempt { try store.profileName() }.map { Profile(displayName: $0) }
    }

    func profileName() throws(ChannelClientError) -> String {
        guard let name = try attempt({ try store.profileName() }) else {
            throw .init(.noProfile, "This home has no profile yet; set a display name first.")
        }
        return name
    }

    /// The name that one membership shows.
    func name(_ choice: NameChoice) throws(ChannelClientError) -> String {
        switch choice {
        case .profile: return try attempt { try store.profileName() } ?? Self.randomName()
        case .random: return Self.randomName()
        case .named(let name):
            try Self.checkName(name, "display name")
            return name
        }
    }

    /// Of one form at every client, so that it tells nothing but that no name was wanted.
    private static func randomName() -> String {
        let digits = Array("abcdefghijkmnpqrstuvwxyz23456789")
        return "reader-" + String(Sodium.random(8).map { digits[Int($0) % digits.count] })
    }

    func addRelay(name: String, address: String) throws(ChannelClientError) -> RelayEntry {
        try Self.checkName(name, "relay name")
        let (identity, _) = try Self.relayAddress(address)
        let entry = StoredRelay(
            name: name, address: address.trimmed, identity: identity.raw, addedAt: nowSeconds)
        guard try attempt({ try store.addRelay(entry) }) else {
            throw .init(.relayNameTaken, "The address book has a relay \(name) already.")
        }
        return Self.entry(entry)
    }

    func relays() throws(ChannelClientError) -> [RelayEntry] {
        try attempt { try store.relays() }.map(Self.entry)
    }

    func removeRelay(name: String) throws(ChannelClientError) {
        guard try attempt({ try store.removeRelay(name: name) }) else {
            throw .init(.unknownRelay, "There is no relay \(name) in the address book.")
        }
    }

    private static func entry(_ stored: StoredRelay) -> RelayEntry {
        RelayEntry(
            name: stored.name, address: stored.address,
            identity: Base64URL.encode(stored.identity, padded: false),
            addedAt: stored.addedAt)
    }

    static func relayAddress(_ text: String) throws(ChannelClientError) -> (PublicKey, [AntennaLink.Endpoint])
    {
        let link: AntennaLink
        do throws(WireError) { link = try AntennaLink.parse(text) } catch {
            throw .init(.invalidAddress, "This is no relay address: \(error.explanation).")
        }
        guard case .relayAddress(let identity, let hosts) = link else {
            throw .init(.invalidAddress, "This link is not a relay address; those have /r# in them.")
        }
        return (identity, hosts)
    }

    // MARK: Testing a relay

    func testRelay(_ name: String, milliseconds: Int64, _ reply: Reply<RelayTestReport>) {
        let address: String
        do throws(ChannelClientError) {
            address = name.contains("#") ? name : try findRelay(name).address
        } catch {
            return reply.fail(error)
        }
        let run = RelayTestRun(
            relay: name, start: loop.nowMonotonicMilliseconds,
            clock: { [loop] in loop.nowMonotonicMilliseconds })
        let identity: PublicKey
        let hosts: [AntennaLink.Endpoint]
        do throws(ChannelClientError) {
            (identity, hosts) = try Self.relayAddress(address)
        } catch {
            run.done(.parse, ok: false, error.message)
            return reply.succeed(run.report)
        }
        run.done(.parse, ok: true, hosts.map(\.description).joined(separator: ", "))
        let challenge = Sodium.random(RelayTest.challengeBytes)
        AnonymousQuestion.ask(
            engine: self, hosts: hosts, identity: identity, .challenge(challenge), milliseconds: milliseconds
        ) { [crypto] progress in
            switch progress {
            case .resolved(let text):
                run.done(.resolve, ok: true, text)
            case .opened:
                run.done(.connect, ok: true, "connected")
                run.done(.handshake, ok: true, "the certificate is by the identity of the address")
            case .signature(let signature):
                let ok = crypto.verify(signature, challenge, identity)
                run.done(
                    .verify, ok: ok,
                    ok ? "the challenge is signed" : "the signature over the challenge is wrong")
                reply.succeed(run.report)
            case .record:
                break
            case .failed(let failure):
                run.failed(failure)
                reply.succeed(run.report)
            }
        }
    }
}

/// Collects the steps of one relay test.
final class RelayTestRun {
    private let relay: String
    private let start: Int64
    private let clock: () -> Int64
    private var last: Int64
    private var steps: [RelayTestReport.Step] = []

    init(relay: String, start: Int64, clock: @escaping () -> Int64) {
        self.relay = relay
        self.start = start
        self.clock = clock
        last = start
    }

    func done(_ step: RelayTestStep, ok: Bool, _ detail: String) {
        let now = clock()
        steps.append(.init(step: step, ok: ok, detail: detail, milliseconds: now - last))
        last = now
    }

    /// The first step not done yet failed; which one it was the failure's stage may say more exactly.
    func failed(_ failure: ConnectionFailure) {
        if failure.stage == .handshake, steps.count == 2 { done(.connect, ok: true, "connected") }
        guard steps.count < RelayTestStep.allCases.count else { return }
        done(RelayTestStep.allCases[steps.count], ok: false, failure.text)
    }

    var report: RelayTestReport {
        RelayTestReport(relay: relay, steps: steps, milliseconds: clock() - start)
    }
}

extension String {
    var trimmed: String {
        var slice = self[...]
        while slice.first?.isWhitespace == true { slice = slice.dropFirst() }
        while slice.last?.isWhitespace == true { slice = slice.dropLast() }
        return String(slice)
    }
}
