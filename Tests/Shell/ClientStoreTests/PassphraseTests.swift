import ClientStore
import PosixKit
import SQLiteKit
import SodiumCrypto
import Testing

@Suite("A home with a passphrase", .serialized)
struct PassphraseTests {
    static let right = SecretBytes(Array("right".utf8))
    static let wrong = SecretBytes(Array("wrong".utf8))

    static func secrets(_ home: TemporaryHome) throws -> [[UInt8]] {
        let database = try Database(path: home.path + "/client.db", mode: .readOnly)
        return try database.query("SELECT root_secret, member_secret FROM channel") {
            [$0.blob(0), $0.blob(1)]
        }
        .flatMap(\.self)
    }

    @Test("locks the keys on the disk, opens with the right one only, and gives the keys back")
    func locked() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let made = try store.makeChannel(7)
        #expect(try Self.secrets(home) == [bytes(7), bytes(7)])
        try store.setPassphrase(Self.right, strength: .interactive)
        for secret in try Self.secrets(home) {
            #expect(secret.count == 56 && secret.firstRange(of: bytes(7, 8)) == nil)
        }
        #expect(try store.channel(id: made.id)?.memberSecret.copied() == bytes(7))
        store.close()

        #expect(throws: ClientStoreError.passphraseNeeded) { _ = try home.open() }
        #expect(throws: ClientStoreError.wrongPassphrase) {
            _ = try ClientStore(home: home.path, passphrase: Self.wrong)
        }
        let again = try ClientStore(home: home.path, passphrase: Self.right)
        #expect(try again.channel(id: made.id)?.rootSecret?.copied() == bytes(7))
        _ = try again.makeChannel(8, name: "olds")
        #expect(try Self.secrets(home).allSatisfy { $0.count == 56 })
        try again.setPassphrase(nil)
        #expect(try Self.secrets(home) == [bytes(7), bytes(7), bytes(8), bytes(8)])
        again.close()
        #expect(try home.open().channels().count == 2)
    }

    @Test("a sealed key moved to another channel does not open")
    func moved() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        for n: UInt8 in [7, 8] { _ = try store.makeChannel(n) }
        try store.setPassphrase(Self.right, strength: .interactive)
        let other = try Database(path: home.path + "/client.db", mode: .readWrite)
        try other.execute(
            "UPDATE channel SET member_secret = (SELECT member_secret FROM channel WHERE id = 1)")
        #expect(throws: ClientStoreError.passphraseNeeded) { _ = try store.channels() }
    }

    @Test("a passphrase given for a home that has keys and no passphrase is refused")
    func notLocked() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        _ = try home.open().makeChannel()
        #expect(throws: ClientStoreError.noPassphrase) {
            _ = try ClientStore(home: home.path, passphrase: Self.right)
        }
    }

    @Test("leaves no key as it was in any file of the home")
    func nothingLeft() throws {
        let home = try TemporaryHome()
        defer { home.remove() }
        let store = try home.open()
        let secret = Sodium.random(32)
        _ = try store.insertChannel(
            channelID: bytes(7), displayName: "news", role: "owner", rootSecret: SecretBytes(secret),
            memberID: bytes(7, 16), memberName: "alice", memberSecret: SecretBytes(secret), record: [1],
            recordVersion: 1, now: 100)
        func holders() throws -> [String] {
            try Posix.list(home.path).filter {
                try Posix.readFile(home.path + "/" + $0).firstRange(of: secret) != nil
            }
        }
        #expect(try !holders().isEmpty)
        try store.setPassphrase(Self.right, strength: .interactive)
        #expect(try holders().isEmpty)
    }
}
