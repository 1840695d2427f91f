import ChannelClient
import ChannelWire
import PosixKit
import PuppetRelay
import SQLiteKit
import SodiumCrypto
import Synchronization
import Testing

/// An owner who signs what a test wants, and a reader, on a relay that says what a test wants.
struct Stage {
    let relay: PuppetRelay
    let channel: ChannelID
    let owner: MemberID
    let keys: Ed25519.KeyPair
    let record: ChannelRecord
    let bob: Person
    let link: String

    /// `lie`: as of the relay. The owner is gone once the channel stands, and their keys are the test's.
    init(signMessages: Bool = false, lie: @escaping PuppetRelay.Lie = { $1 }) async throws {
        relay = try PuppetRelay(lie: lie)
        let alice = try await Person("alice")
        try await alice.client.addRelay(name: "r", address: relay.address)
        let creation = try await alice.client.createChannel(
            name: "news", relays: ["r"], signMessages: signMessages, timeout: .seconds(20))
        link = creation.link
        await alice.client.shutdown()
        let database = try Database(path: alice.home + "/client.db", mode: .readOnly)
        let row = try #require(
            try database.first("SELECT channel_id, member_id, member_secret, record FROM channel", []) {
                row in (0..<4).map { row.blob($0) }
            })
        database.close()
        channel = try #require(ChannelID(bytes: row[0]))
        owner = try #require(MemberID(bytes: row[1]))
        keys = Ed25519.KeyPair(seed: SecretBytes(row[2]))
        record = try ChannelRecord.decode(row[3])
        bob = try await Person("bob", background: .always)
    }

    /// The author's event in the relay's envelope; `signer`: nil for none.
    func delivery(
        _ sequence: Int64, _ id: UInt8, _ params: EventParams, by sender: ForwardElement.Sender,
        signer: Ed25519.KeyPair? = nil
    ) -> Frame {
        .deliver(
            sequence: sequence,
            batch: Body.encodeBatch([forward(id, params, by: sender, signer: signer).bytes]))
    }

    func forward(
        _ id: UInt8, _ params: EventParams, by sender: ForwardElement.Sender, signer: Ed25519.KeyPair? = nil
    ) -> ForwardElement {
        var inner = Event(messageID: MessageID(bytes: [id]), params: params).encode()
        if let signer, case .member(let member, _) = sender {
            inner = Signing.element(json: inner, channel: channel, member: member) {
                Signature(bytes: Ed25519.sign($0, with: signer))!
            }
        }
        return ForwardElement(sender: sender, timestamp: 1_800_000_000, inner: inner)
    }

    func text(_ text: String, asGroup: Bool = false) -> EventParams {
        .msgNew(MessageContainer(content: MessageContent(text: text), asGroup: asGroup))
    }

    /// The owner's record with something else in it.
    func record(_ change: (inout ChannelRecord.Content) -> Void) throws -> [UInt8] {
        var content = record.content
        change(&content)
        let made = ChannelRecord.make(content, signer: owner) {
            Signature(bytes: Ed25519.sign($0, with: keys))!
        }
        return try #require(made).bytes
    }

    /// The record of a channel that has nothing to do with this one.
    static func foreignRecord(version: Int64) throws -> [UInt8] {
        let (root, member) = (Ed25519.KeyPair.generate(), Ed25519.KeyPair.generate())
        func sign(_ message: [UInt8]) -> Signature { Signature(bytes: Ed25519.sign(message, with: root))! }
        let key = try #require(PublicKey(raw: root.publicKey))
        let channel = ChannelID(rootKey: key, sha256: { Sodium.sha256($0) })
        let profile = GroupProfile(
            displayName: "other",
            publicGroup: PublicGroup(
                groupLink: AntennaLink.channel(channel, hosts: []).text(), publicGroupID: channel))
        let owner = OwnerAuth(
            owner: try #require(MemberID(bytes: [1])), key: try #require(PublicKey(raw: member.publicKey)),
            sign: sign)
        let content = ChannelRecord.Content(
            rootKey: key, version: version, owners: [owner], relays: [], rosterVersion: 0,
            rosterDigest: Sodium.sha512(Roster().blob()), memberCount: 1, profile: profile.encode())
        return try #require(ChannelRecord.make(content, signer: nil, sign: sign)).bytes
    }
}

@Suite("What a relay makes up", .serialized)
struct HostileRelayTests {
    @Test("is not shown, changes nothing of somebody else's, and what was dealt with is not asked for again")
    func inventions() async throws {
        let starts = Mutex<[Frame.Start]>([])
        let stage = try await Stage { frame, honest in
            if case .attach(let attach) = frame { starts.withLock { $0.append(attach.start) } }
            return honest
        }
        let bob = stage.bob.client
        _ = try await bob.join(link: stage.link, timeout: .seconds(20))
        let owner = ForwardElement.Sender.member(stage.owner, name: "ali\u{1B}[31mce")
        let stream = bob.follow("news", since: .beginning)
        // Two messages under one sequence.
        let two = [1, 2].map { stage.forward($0, stage.text("two"), by: owner).bytes }
        stage.relay.say(.deliver(sequence: 1, batch: Body.encodeBatch(two)))
        #expect(try await stream.items(1).map(\.line) == ["disagreement unverifiable"])
        // A change by the channel, of the owner's own message that comes after it.
        let id = try #require(MessageID(bytes: [3]))
        let forged = EventParams.msgUpdate(
            MessageUpdate(messageID: id, content: MessageContent(text: "forged"), asGroup: true))
        stage.relay.say(
            stage.delivery(2, 4, forged, by: .channel),
            stage.delivery(3, 3, stage.text("true"), by: owner))
        #expect(try await stream.items(1).map(\.line) == ["message true"])
        stage.relay.say(.gap(from: 4, to: 6, reason: .pruned))
        #expect(try await stream.items(1).map(\.line) == ["gap pruned"])
        let shown = try await bob.messages(in: "news")
        #expect(shown.map(\.text) == ["true"] && shown.map(\.edited) == [false])
        #expect(shown.first?.authorName.unicodeScalars.contains("\u{1B}") == false)
        await bob.shutdown()
        let again = try stage.bob.another(background: .always)
        _ = try await again.synchronize(timeout: .seconds(20))
        guard case .cursor(_, 6) = starts.withLock({ $0.last }) else {
            Issue.record("the next link began at \(starts.withLock { $0.last.debugDescription })")
            return
        }
        #expect(try await again.follow("news", since: .beginning).items(3).count == 3)
        await again.shutdown()
    }

    @Test("of members makes no owner and no name that people cannot read")
    func introductions() async throws {
        let mallory = try #require(MemberID(bytes: [66]))
        let nobody = try #require(MemberID(bytes: [67]))
        let carl = try #require(MemberID(bytes: [68]))
        let stage = try await Stage { frame, honest in
            guard case .join = frame else { return honest }
            let introduced = [
                (mallory, Role.owner, "mallory"), (nobody, .member, "two\nlines"), (carl, .member, "carl"),
            ].map {
                Event(
                    params: .memIntro(
                        MemberInfo(
                            memberID: $0.0, role: $0.1, profile: ChannelWire.Profile(displayName: $0.2)))
                ).encode()
            }
            return [.joined(batch: Body.encodeBatch(introduced))]
        }
        let bob = stage.bob.client
        _ = try await bob.join(link: stage.link, timeout: .seconds(20))
        let stream = bob.follow("news", since: .beginning)
        let renamed = EventParams.info(ChannelWire.Profile(displayName: "two\nlines"))
        stage.relay.say(
            stage.delivery(1, 1, renamed, by: .member(mallory, name: "m"), signer: .generate()),
            stage.delivery(2, 3, renamed, by: .member(carl, name: "c"), signer: .generate()),
            stage.delivery(3, 2, stage.text("last"), by: .member(stage.owner, name: "alice")))
        _ = try await stream.items { $0.line == "message last" }
        let members = try await bob.members(of: "news").members
        let found = try #require(members.first { $0.id == mallory.text })
        #expect(found.role == .admin && found.name == "mallory")
        #expect(members.allSatisfy { !$0.name.contains("\n") })
        #expect(!members.contains { $0.id == nobody.text })
        #expect(members.first { $0.id == carl.text }?.name == "carl")
    }

    @Test("a record of another channel, a second one of a version, an old one: each is named, none is taken")
    func records() async throws {
        let stage = try await Stage()
        let bob = stage.bob.client
        _ = try await bob.join(link: stage.link, timeout: .seconds(20))
        let version = stage.record.content.version
        #expect(version > 1)
        let events = bob.events
        for (bytes, kind) in [
            (try Stage.foreignRecord(version: version + 5), RelayDisagreement.Kind.unverifiable),
            (try stage.record { $0.memberCount += 1 }, .conflictingRecord),
            (try stage.record { $0.version -= 1 }, .staleRecord),
        ] {
            stage.relay.say(.record(request: 0, record: bytes))
            #expect(try await events.first { LiarTests.disagreement($0) }.kind == kind)
        }
        let channel = try await bob.channel(named: "news")
        #expect(channel.recordVersion == version && channel.id == stage.channel.text)
        // A newer one is taken from whoever has it.
        let newer = try stage.record { $0.version += 3 }
        stage.relay.say(.record(request: 0, record: newer))
        let taken: Int64 = try await events.first {
            if case .recordUpdated("news", let version) = $0 { version } else { nil }
        }
        #expect(taken == version + 3)
    }

    @Test("what came with a newer record is judged by it, also where the record comes last")
    func recordFirst() async throws {
        let tells = Mutex<(attached: [Frame], record: [UInt8])?>(nil)
        let stage = try await Stage(signMessages: true) { frame, honest in
            guard let told = tells.withLock({ $0 }) else { return honest }
            switch frame {
            case .attach: return told.attached
            case .recordGet(let request, _): return [.record(request: request, record: told.record)]
            default: return honest
            }
        }
        let bob = stage.bob.client
        _ = try await bob.join(link: stage.link, timeout: .seconds(20))
        let stream = bob.follow("news", since: .beginning)
        var profile = try GroupProfile.decode(json: stage.record.content.profile)
        profile.preferences = GroupPreferences(signMessages: .off, history: .on)
        let newer = try stage.record {
            $0.version += 1
            $0.profile = profile.encode()
        }
        let attached = Frame.Attached(
            epoch: [1, 2, 3, 4, 5, 6, 7, 8], first: 1, head: 1, resumeAfter: 0, role: "observer",
            recordVersion: stage.record.content.version + 1)
        let plain = stage.delivery(1, 1, stage.text("plain"), by: .member(stage.owner, name: "alice"))
        tells.withLock { $0 = ([.attached(attached), plain], newer) }
        stage.relay.hangUp()
        #expect(try await stream.items(2).map(\.line) == ["gap epoch", "message plain"])
    }

    enum Claim: CaseIterable, Sendable { case rootKey, ownersKey, otherRelaysKey, otherIdentity }
    @Test(
        "a relay that accepts with a key or an identity that is not its own is not listed",
        arguments: Claim.allCases)
    func claims(claim: Claim) async throws {
        let first = try PuppetRelay()
        let rosters = Mutex(0)
        let record = Mutex<ChannelRecord?>(nil)
        let second = try PuppetRelay { frame, honest in
            if case .control(let control) = frame {
                record.withLock { $0 = try? ChannelRecord.decode(control.record) }
            }
            guard case .direct(let body) = frame else { return honest }
            if body.firstRange(of: Array("x.grp.roster".utf8)) != nil { rosters.withLock { $0 += 1 } }
            guard body.firstRange(of: Array("x.grp.relay.inv".utf8)) != nil,
                case .direct(let answer)? = honest.first,
                case .relayAcpt(let acceptance)? = try? Event.decode(json: answer).params,
                case .relayChannel(var key, var host)? = try? AntennaLink.parse(acceptance.relayLink),
                let content = record.withLock({ $0?.content })
            else { return honest }
            switch claim {
            case .rootKey: key = content.rootKey
            case .ownersKey: key = content.owners[0].key
            case .otherRelaysKey: key = content.relays[0].key
            case .otherIdentity:
                host = AntennaLink.Host(endpoint: host.endpoint, identity: content.relays[0].identity)
            }
            let claimed = AntennaLink.relayChannel(key: key, host: host).text()
            let lie = Event(params: .relayAcpt(RelayAcceptance(relayLink: claimed))).encode()
            return [.direct(body: lie)] + honest
        }
        let alice = try await Person("alice")
        for (name, relay) in [("first", first), ("second", second)] {
            try await alice.client.addRelay(name: name, address: relay.address)
        }
        _ = try await alice.client.createChannel(name: "news", relays: ["first"], timeout: .seconds(20))
        let outcome = try await alice.client.addRelays(["second"], to: "news", timeout: .seconds(20))
        // Only the true acceptance after it was answered.
        #expect(outcome.map(\.result) == [.active] && rosters.withLock { $0 } == 1)
    }

    @Test("a relay that does not sign the challenge is not said to be the one of its address")
    func challenge() async throws {
        let relay = try PuppetRelay { frame, honest in
            guard case .direct(let body) = frame,
                case .relayTest(let test)? = try? Event.decode(json: body).params
            else { return honest }
            let signature = Signature(bytes: [UInt8](repeating: 1, count: 64))
            let answer = RelayTest(challenge: test.challenge, signature: signature)
            return [.direct(body: Event(params: .relayTest(answer)).encode())]
        }
        let alice = try await Person("alice")
        let report = try await alice.client.testRelay(name: relay.address, timeout: .seconds(20))
        #expect(!report.ok && report.failedStep?.step == .verify)
    }

    @Test("a return that every relay refuses leaves the membership as it had ended")
    func refusedReturn() async throws {
        let refuses = Mutex(false)
        let stage = try await Stage { frame, honest in
            if case .join = frame, refuses.withLock({ $0 }) {
                return [.error(LinkError(.joinRefused))]
            }
            return honest
        }
        let bob = stage.bob.client
        _ = try await bob.join(link: stage.link, timeout: .seconds(20))
        _ = try await bob.leave("news", timeout: .seconds(20))
        refuses.withLock { $0 = true }
        let error = await #expect(throws: ChannelClientError.self) {
            _ = try await bob.join(link: stage.link, timeout: .seconds(20))
        }
        #expect(error?.code == .refused)
        #expect(try await bob.channel(named: "news").ending == .left)
    }

    @Test("a channel with a name that nobody could type gets another one here")
    func unreadableName() async throws {
        let served = Mutex<[UInt8]?>(nil)
        let stage = try await Stage { frame, honest in
            guard case .recordGet(let request, _) = frame, let record = served.withLock({ $0 }) else {
                return honest
            }
            return [.record(request: request, record: record)]
        }
        var profile = try GroupProfile.decode(json: stage.record.content.profile)
        profile.displayName = "two\nlines"
        let encoded = profile.encode()
        let record = try stage.record {
            $0.version += 1
            $0.profile = encoded
        }
        served.withLock { $0 = record }
        let preview = try await stage.bob.client.preview(link: stage.link, timeout: .seconds(20))
        #expect(!preview.displayName.contains("\n"))
        let joined = try await stage.bob.client.join(link: stage.link, timeout: .seconds(20))
        #expect(joined.channel.name == "channel")
    }

    @Test(
        "where others may write, a change that came first is of whom it names, and nobody changes the channel's"
    )
    func others() async throws {
        let stage = try await Stage()
        let bob = stage.bob.client
        _ = try await bob.join(link: stage.link, timeout: .seconds(20))
        let stream = bob.follow("news", since: .beginning)
        let events = bob.events
        let record = try stage.record {
            $0.version += 1
            $0.rosterVersion = 1
            $0.rosterDigest = Sodium.sha512([1])
        }
        stage.relay.say(.record(request: 0, record: record))
        _ = try await events.first { if case .recordUpdated = $0 { true } else { nil } }
        let writer = try #require(MemberID(bytes: [70]))
        let (carl, owner) = (
            ForwardElement.Sender.member(writer, name: "carl"),
            ForwardElement.Sender.member(stage.owner, name: "alice")
        )
        let ids = try [3, 5].map { try #require(MessageID(bytes: [$0])) }
        let hack = MessageUpdate(messageID: ids[1], content: MessageContent(text: "hacked"))
        stage.relay.say(
            stage.delivery(
                1, 1, .msgDel(MessageDeletion(messageID: ids[0], memberID: writer)), by: owner),
            stage.delivery(2, 3, stage.text("gone"), by: carl),
            stage.delivery(3, 5, stage.text("ours", asGroup: true), by: .channel),
            stage.delivery(4, 6, .msgUpdate(hack), by: carl),
            stage.delivery(5, 7, .msgDel(MessageDeletion(messageID: ids[1])), by: carl),
            stage.delivery(6, 8, stage.text("last"), by: owner))
        _ = try await stream.items { $0.line == "message last" }
        let shown = try await bob.messages(in: "news")
        #expect(shown.map(\.text) == ["", "ours", "last"])
        #expect(shown.map(\.deleted) == [true, false, false] && shown.allSatisfy { !$0.edited })
    }
}
