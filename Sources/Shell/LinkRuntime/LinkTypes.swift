package import ChannelWire
package import PosixKit
internal import SodiumCrypto

/// What a link tells its user. Everything is called from the loop, never from inside a call of the user's.
package protocol LinkDelegate: AnyObject {
    /// The handshake is done; `handshakeHash` and, at a client, `peerIdentity` are known.
    func linkDidOpen(_ link: Link)
    /// A frame has come. PING, PONG and an ERROR about the link itself never get here.
    func link(_ link: Link, didReceive frame: Frame)
    /// What was unsent is with the kernel now: feed me.
    func linkIsWritable(_ link: Link)
    /// The last call, exactly one, whoever closed the link.
    func linkDidClose(_ link: Link, reason: LinkCloseReason)
}

/// Why a link is closed. Indirect, since every link has room for one and nearly none has one.
package indirect enum LinkCloseReason: Equatable, Sendable {
    /// By our user; with the number of the error that the peer was told, if any.
    case local(LinkErrorCode?)
    /// The peer ended the stream.
    case peerClosed
    /// The peer sent an ERROR about the link.
    case peerError(LinkError)
    /// The relay refused in its preface.
    case refused(code: UInt16)
    case handshakeFailed(LinkHandshakeProblem)
    /// A record that does not open: somebody changed bytes on the way.
    case notAuthentic
    /// A record or frame that does not decode; the peer was told the code.
    case malformed(LinkErrorCode, String)
    case timedOut(LinkStage)
    case slowReader
    /// More control frames were queued than a link may hold: the peer does not read.
    case queueFull
    /// No address could be connected to: the last failure.
    case unreachable(PosixError)
    /// The proxy itself could not be connected to.
    case proxyUnreachable(PosixError)
    /// The proxy gives no connection to the relay.
    case proxyFailed(SOCKS5Problem)
    case io(PosixError)
}

package enum LinkStage: String, Sendable { case connect, handshake, firstFrame, record, silence }

package enum LinkHandshakeProblem: Equatable, Sendable {
    case badPreface
    /// No version or suite that both know.
    case noCommonVersion
    /// The message does not open: another prologue (a changed preface) or another key.
    case notAuthentic
    case malformed
    case certificate(LinkCertificate.Problem)
}

/// How long each stage may last. Units: milliseconds. Source: link.md, "Deadlines".
package struct LinkDeadlines: Sendable {
    /// For each address a client tries.
    package var connect: Int64 = 10_000
    /// For a proxy to connect to one target; a circuit of Tor takes its time.
    package var proxy: Int64 = 20_000
    package var handshake: Int64 = 10_000
    /// Relay: the first frame that is not PING or PONG.
    package var firstFrame: Int64 = 10_000
    package var record: Int64 = 30_000
    /// Relay: silence before a PING.
    package var idle: Int64 = 90_000
    /// Client: silence before a PING.
    package var clientIdle: Int64 = 60_000
    /// Silence after that PING.
    package var pingAnswer: Int64 = 30_000
    package var unsentWithoutProgress: Int64 = 30_000
    /// For the whole of an unsent record, however little of it is taken at a time.
    package var unsentRecord: Int64 = 300_000
    /// For flushing what is queued before a close, and for the peer to take it.
    package var closeFlush: Int64 = 5_000

    package init() {}
}

/// What many links have in common. Made once and shared.
package final class LinkSettings: Sendable {
    package let deadlines: LinkDeadlines
    package let suites: LinkPreface.Suites
    /// What the relay shows of itself; nil at a client.
    package let relay: RelayLinkIdentity?

    package static func relay(
        _ identity: RelayLinkIdentity, suites: LinkPreface.Suites = .all,
        deadlines: LinkDeadlines = LinkDeadlines()
    ) -> LinkSettings {
        LinkSettings(relay: identity, suites, deadlines)
    }

    package static func client(
        suites: LinkPreface.Suites = .all, deadlines: LinkDeadlines = LinkDeadlines()
    ) -> LinkSettings {
        LinkSettings(relay: nil, suites, deadlines)
    }

    private init(
        relay: RelayLinkIdentity?, _ suites: LinkPreface.Suites, _ deadlines: LinkDeadlines
    ) {
        self.relay = relay
        self.deadlines = deadlines
        // AESGCM without the hardware is slow and leaks its key through the caches; libsodium has it in
        // hardware only.
        self.suites = AEADSuite.aesAvailable ? suites : suites.subtracting(.aesGCM)
    }
}
