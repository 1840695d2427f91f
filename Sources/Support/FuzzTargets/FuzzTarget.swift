internal import ChannelWire
internal import LinkRuntime
internal import SodiumCrypto
internal import ZstdKit

/// Something that reads bytes of strangers.
package enum FuzzTarget: String, CaseIterable, Sendable {
    case links, json, event, profile, element, body, compressed, record, roster, frame, admission
    case preface, certificate, socks, identityFile = "identity-file"
    case control, configuration, texts
    case handshake
    case relaySession = "relay-session"
    case clientSession = "client-session"
}

/// Runs targets, and keeps what some of them need for longer than one input.
package final class FuzzBench {
    private var relay: RelaySessionFuzz?
    private var client: ClientSessionFuzz?
    private var links: HandshakeFuzz?

    package init() {}

    /// Ends with a trap where something is wrong.
    package func run(_ target: FuzzTarget, _ input: [UInt8]) {
        switch target {
        case .links: Self.links(input)
        case .json: Self.json(input)
        case .event: Self.event(input)
        case .profile: Self.profile(input)
        case .element: Self.element(input)
        case .body: Self.body(input)
        case .compressed: Self.compressed(input)
        case .record: Self.record(input)
        case .roster: Self.roster(input)
        case .frame: Self.frames(input)
        case .admission: Self.admission(input)
        case .preface: Self.preface(input)
        case .certificate:
            _ = try? LinkCertificate.check(
                input, handshakeStatic: Array(input.dropFirst(33).prefix(32)), expectedIdentity: nil,
                nowSeconds: 1_800_000_000)
        case .socks: Self.socks(input)
        case .identityFile: Self.identityFile(input)
        case .control: Self.control(input)
        case .configuration: Self.configuration(input)
        case .texts: Self.texts(input)
        case .handshake:
            if links == nil { links = HandshakeFuzz() }
            links?.run(input)
        case .relaySession:
            if relay == nil { relay = RelaySessionFuzz() }
            relay?.run(input)
        case .clientSession:
            if client == nil { client = ClientSessionFuzz() }
            client?.run(input)
        }
    }
}

/// What the libraries do, as at a relay.
let crypto = ChannelCrypto(
    verify: { Ed25519.verify(signature: $0.bytes, message: $1, publicKey: $2.raw) },
    sha256: { Sodium.sha256($0) }, sha512: { Sodium.sha512($0) },
    decompress: { Zstd.decompress($0, limit: $1) }, compress: { Zstd.compress($0) })
