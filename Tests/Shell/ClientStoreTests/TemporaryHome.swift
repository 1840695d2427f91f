import ClientCore
import ClientStore
import PosixKit
import SodiumCrypto
import Testing

/// A home of one test.
final class TemporaryHome {
    let path: String

    init() throws {
        path = try Posix.makeTemporaryDirectory(prefix: "antenna-home-") + "/home"
    }

    /// At the end of the test, not after the last mention of the home: its store may live longer.
    func remove() {
        Posix.removeTree(Posix.directory(of: path))
    }

    func open() throws -> ClientStore { try ClientStore(home: path, busyTimeoutMilliseconds: 50) }
}

func bytes(_ n: UInt8, _ count: Int = 32) -> [UInt8] { [UInt8](repeating: n, count: count) }

extension ClientStore {
    func makeChannel(_ n: UInt8 = 1, name: String = "news") throws -> StoredChannel {
        try #require(
            try insertChannel(
                channelID: bytes(n), displayName: name, role: "owner", rootSecret: SecretBytes(bytes(n)),
                memberID: bytes(n, 16), memberName: "alice", memberSecret: SecretBytes(bytes(n)), record: [1],
                recordVersion: 1, now: 100))
    }

    func makeRelay(_ channel: StoredChannel, _ n: UInt8, status: OwnerRelay.Status = .active) throws
        -> StoredChannelRelay
    {
        try #require(
            try insertChannelRelay(
                channel: channel.id, name: "relay\(n)", memberID: bytes(n, 16), identity: bytes(n),
                address: "https://127.0.0.1/r#x", relay: OwnerRelay(status: status), now: 100))
    }

    func makeEvent(_ channel: StoredChannel, _ n: UInt8, tag: String = "x.msg.new", target: [UInt8]? = nil)
        throws
        -> Int64
    {
        try insertEvent(
            NewEvent(
                author: bytes(1, 16), messageID: bytes(n, 16), tag: tag, time: Int64(n),
                signature: "verified",
                own: true, digest: bytes(n), target: target, element: [n]), channel: channel.id
        ).id
    }
}
