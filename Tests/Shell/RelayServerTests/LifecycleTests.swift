import ChannelWire
import ControlWire
import LinkRuntime
import Operations
import OperatorCommands
import PosixKit
import RelayServer
import SodiumCrypto
import Synchronization
import Testing

@Suite("A relay's operator")
struct LifecycleTests {
    @Test("leaves a channel, and only allow lets it come back")
    func leaveAndAllow() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let news = TestChannel("news")
        let other = TestChannel("other")
        let control = try news.serve(relay, net)
        try other.serve(relay, net)
        let (reader, person, _) = try news.subscribe(relay, net)
        _ = try control.next()

        let left = relay.operate("leave", "#news", "--reason", "too loud")
        #expect(left.code == .ok)
        #expect(
            left.output == """
                #news: you left the group (future invitations will be rejected)
                use /group allow #news to accept invitations again

                """)
        // The farewell is delivered, then the link is closed; the owner is told on the control link.
        #expect(try Event.decode(json: inner(reader.nextDelivery().1)).tag == .grpLeave)
        #expect(try reader.ended() == .channelRejected)
        #expect(try control.nextDirect().params == .relayReject(.rejoinRejected))
        #expect(try control.ended() == .channelRejected)

        for restarts in [false, true] {
            if restarts { try relay.restart() }
            let (again, answer) = try news.invite(relay, net)
            #expect(answer.params == .relayReject(.rejoinRejected))
            #expect(try again.ended() == .channelRejected)
            let late = try net.connect(relay).opened()
            late.send(person.attach(news.id, late))
            #expect(try late.ended() == .channelRejected)
            // Without an invitation the refusal comes at once.
            let asking = try net.connect(relay).opened()
            asking.send(try news.control(asking, invites: false))
            #expect(try asking.nextDirect().params == .relayReject(.rejoinRejected))
            #expect(try asking.ended() == .channelRejected)
        }
        #expect(relay.operate("channels").output.contains("[rejected]"))

        #expect(relay.operate("group", "allow", "#other").code == .unexpected)
        #expect(relay.operate("relay", "allow", "#news").output == "#news: relay rejection cleared\n")
        #expect(relay.operate("allow", "#news").code == .unexpected)
        news.relays = []
        try news.serve(relay, net)
        #expect(try other.attachOwner(relay, net).closed == nil)
    }

    @Test("decides about invitations where the policy is manual")
    func manual() throws {
        let relay = try TestRelay { $0.admission = .manual }
        let net = try TestNet()
        let good = TestChannel("good")
        let bad = TestChannel("bad")
        var clients: [TestClient] = []
        for channel in [good, bad] {
            let client = try net.connect(relay).opened()
            client.send(try channel.control(client, invites: true))
            client.send(channel.invitation())
            #expect(try client.next() == .controlled(status: "", recordVersion: 0))
            clients.append(client)
        }
        try net.wait("both invitations") {
            let listed = relay.operate("invitations").output
            return listed.contains("#good") && listed.contains("#bad")
        }
        #expect(relay.operate("accept", "#good").code == .ok)
        guard case .relayAcpt = try clients[0].nextDirect().params else { throw TestFailure() }
        #expect(relay.operate("reject", "#bad", "--reason", "no podcasts").code == .ok)
        #expect(try clients[1].nextDirect().params == .relayReject(RejectionReason(text: "no podcasts")))
        _ = try clients[1].ended()
        #expect(relay.operate("accept", "#bad").code == .usage)
    }

    @Test("reads commands from standard input and ends with the last failure")
    func piped() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel("my news")
        try channel.serve(relay, net)
        let result = relay.operate(
            input: [
                "/leave #'my news'", "", "/leave #nothing", "/group allow #'my news'", "/quit",
                "/leave #'my news'",
            ])
        #expect(result.code == .usage)
        #expect(
            result.output == """
                #'my news': you left the group (future invitations will be rejected)
                use /group allow #'my news' to accept invitations again
                #'my news': relay rejection cleared

                """)
        #expect(result.errors.contains("#nothing"))
    }

    @Test("gets JSON in success and in failure")
    func json() throws {
        let relay = try TestRelay()
        #expect(relay.operate("channels", "--json").output == "{\"channels\":[]}\n")
        let failed = relay.operate("leave", "#news", "--json")
        #expect(failed.code == .usage)
        #expect(failed.output.hasPrefix("{\"error\":{"))
        #expect(relay.operate("status", "--json").output.contains("\"state\":\"running\""))
        #expect(relay.operate("prune").code == .ok)
        #expect(relay.operate("rotate-key").code == .ok)
        #expect(relay.operate("version").code == .ok)
        #expect(relay.operate("address").output == relay.server.address + "\n")
    }

    @Test("lists all members, also beyond one page of the relay")
    func members() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        for _ in 0..<60 {
            let client = try net.connect(relay).opened()
            client.send(channel.join(TestPerson()))
            guard case .joined = try client.next() else { throw TestFailure() }
            client.close()
        }
        #expect(relay.operate("members", "#news").output.hasSuffix("\n61 members\n"))
        #expect(
            relay.operate("members", "#news", "--limit", "55").output.contains(
                "55 of 61 members\nmore with --after ")
        )
        #expect(relay.operate("members", "#nothing").code == .usage)
    }

    @Test("is the only one who may speak on the control socket")
    func socketMode() throws {
        let relay = try TestRelay()
        #expect(Posix.status(relay.socket)?.mode == 0o600)
        #expect(Posix.status(Posix.directory(of: relay.socket))?.mode == 0o700)
        #expect(Posix.status(Posix.directory(of: relay.socket) + "/relay.identity")?.mode == 0o600)
    }

    @Test("rotates the link key without changing the address or dropping a link")
    func rotation() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let before = try channel.attachOwner(relay, net)
        let address = relay.server.address
        let file = Posix.directory(of: relay.socket) + "/relay.identity"
        let written = try Posix.readFile(file)
        #expect(relay.operate("rotate-key").code == .ok)
        #expect(try Posix.readFile(file) != written)
        #expect(Posix.status(file)?.mode == 0o600)
        #expect(try before.publish(1, channel.owner.post(channel.id, "still here")) == [.stored(1)])
        let after = try channel.attachOwner(relay, net)
        #expect(try after.publish(1, channel.owner.post(channel.id, "new here")) == [.stored(2)])
        #expect(relay.server.address == address)
    }

    @Test("gets nothing on the terminal that a terminal obeys, whatever the database holds")
    func harmless() {
        let name = "#\u{1B}]0;title\u{07}\u{202E}news"
        for result in [
            ControlResult.forget(ChannelReport(id: "", channel: name)),
            .accept(ChannelReport(id: "", channel: name)), .reject(ChannelReport(id: "", channel: name)),
        ] {
            let text = OperatorText.lines(result).joined()
            #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E })
            #expect(text.contains("news"))
        }
    }

    @Test("makes a new link key by itself when its clock was put right, and when the old one is about to end")
    func renewal() throws {
        let time = Atomic<Int64>(Clock.nowSeconds() + 300 * 86_400)
        // The clock is ahead at the first start.
        let relay = try TestRelay(
            keyClock: KeyClock(nowSeconds: { time.load(ordering: .relaxed) }, checkMilliseconds: 5))
        let net = try TestNet()
        #expect(try net.connect(relay).opened().closed == .handshakeFailed(.certificate(.tooEarly)))
        time.store(Clock.nowSeconds(), ordering: .relaxed)
        try net.wait("a key for now") { relay.lines.text.contains("key.rotated") }
        let channel = TestChannel()
        try channel.serve(relay, net)
        let file = Posix.directory(of: relay.socket) + "/relay.identity"
        let before = try Posix.readFile(file)
        time.store(Clock.nowSeconds() + 250 * 86_400, ordering: .relaxed)
        try net.wait("a key for later") { relay.lines.text.split(separator: "key.rotated").count > 2 }
        #expect(try Posix.readFile(file) != before)
    }

    private func inner(_ element: [UInt8]) throws -> [UInt8] {
        try #require(Element.decode(element).json)
    }
}

@Suite("A relay that starts and stops")
struct StartingTests {
    @Test("keeps its identity, its channels and its log over a restart")
    func restart() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let (_, person, attached) = try channel.subscribe(relay, net)
        let writer = try channel.attachOwner(relay, net)
        #expect(try writer.publish(1, channel.owner.post(channel.id, "one")) == [.stored(1)])
        let identity = relay.server.identity
        try relay.restart()
        #expect(relay.server.identity == identity)
        let (again, answer) = try channel.attach(
            person, relay, net, .cursor(epoch: attached.epoch, position: 0))
        #expect(answer.epoch == attached.epoch)
        #expect(try again.nextDelivery().0 == 1)
    }

    @Test("tells every client to come back later, each at its own time, and loses no ack")
    func drain() throws {
        let relay = try TestRelay { $0.drainSeconds = 1 }
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let clients = try (0..<20).map { _ in try channel.subscribe(relay, net).0 }
        let writer = try channel.attachOwner(relay, net)
        #expect(try writer.publish(1, channel.owner.post(channel.id, "one")) == [.stored(1)])
        writer.send(.publish(request: 2, body: channel.owner.post(channel.id, "the last")))
        // On its way: what leaves later may come to a link that is closed already, and is sent again.
        try net.wait("the last message to leave") { writer.link?.queuedBytes == 0 }
        relay.beginStop()
        var delays: Set<UInt32> = []
        for client in clients {
            #expect(try client.ended() == .draining)
            guard case .peerError(let error) = client.closed else { throw TestFailure() }
            #expect(
                client.frames.contains(.drain(delayMs: error.retryAfterMs)),
                "the error repeats when to come back")
            for frame in client.frames { if case .drain(let delay) = frame { delays.insert(delay) } }
            #expect(client.frames.contains { if case .deliver(1, _) = $0 { true } else { false } })
        }
        #expect(delays.count > 10)
        _ = try writer.ended()
        #expect(writer.frames.contains(.ack(request: 2, results: [.stored(2)])))
    }

    @Test("opens no link while it says goodbye")
    func late() throws {
        let relay = try TestRelay {
            $0.drainSeconds = 3600
            $0.logAddresses = true
        }
        let net = try TestNet()
        let reader = try net.connect(relay).opened()
        // Its loop does not run until the relay drains, so its handshake waits.
        let laterNet = try TestNet()
        let later = laterNet.connect(relay)
        try net.wait("both connections") {
            relay.lines.text.split(separator: "link.accepted").count == 3
        }
        relay.beginStop()
        guard case .drain = try reader.next() else { throw TestFailure() }
        #expect(try later.ended() == .draining)
        #expect(reader.closed == nil)
        relay.server.stop()
    }

    @Test("writes the addresses of its clients into the log where that is wanted", arguments: [false, true])
    func addresses(wanted: Bool) throws {
        let relay = try TestRelay { $0.logAddresses = wanted }
        let net = try TestNet()
        try net.connect(relay).opened()
        #expect(relay.lines.text.contains("link.accepted") == wanted)
    }

    @Test("asked to stop a second time, closes at once")
    func hurry() throws {
        let relay = try TestRelay { $0.drainSeconds = 3600 }
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let clients = try (0..<5).map { _ in try channel.subscribe(relay, net).0 }
        relay.beginStop()
        for client in clients {
            guard case .drain = try client.next() else { throw TestFailure() }
        }
        relay.server.stop()
        relay.stop()
        for client in clients { _ = try client.ended() }
    }

    @Test("refuses a second relay on the same state")
    func locked() throws {
        let relay = try TestRelay()
        var configuration = RelayConfiguration(state: Posix.directory(of: relay.socket))
        configuration.listen = .loopback(port: 0)
        #expect {
            _ = try RelayServer(configuration, log: quiet)
        } throws: { error in
            (error as? OperatorError)?.exitCode == .temporary
        }
    }

    @Test("leaves a directory of somebody else as it is")
    func foreign() throws {
        let directory = try Posix.makeTemporaryDirectory(prefix: "antenna-foreign-")
        defer { Posix.removeTree(directory) }
        try Posix.writeFileAtomically(directory + "/relay.db", Array("not a database".utf8))
        #expect {
            _ = try RelayServer(RelayConfiguration(state: directory), log: quiet)
        } throws: { error in
            (error as? OperatorError)?.exitCode == .badData
        }
        #expect(try Posix.list(directory) == ["relay.db"])
    }

    @Test("says which setting is wrong, where, and what would be right")
    func settings() throws {
        let directory = try Posix.makeTemporaryDirectory(prefix: "antenna-settings-")
        defer { Posix.removeTree(directory) }
        let path = directory + "/antennad.ini"
        try Posix.writeFileAtomically(path, Array("[relay]\nname = mine\nlisten_ = 1\n".utf8))
        #expect {
            _ = try Configuration.load(options: RelayOptions.table, file: path, environment: { _ in nil })
        } throws: { error in
            let error = error as? OperatorError
            return error?.exitCode == .badConfiguration && error?.message.contains(":3:") == true
                && error?.hint?.contains("listen") == true
        }
        let flag = Configuration.Flag(name: "listen", section: "relay", key: "listen", value: "nowhere")
        #expect(throws: OperatorError.self) {
            _ = try RelayConfiguration(
                Configuration(options: RelayOptions.table, environment: { _ in nil }, flags: [flag]))
        }
    }

    @Test("reads what goes into links as host and port")
    func advertise() {
        func read(_ text: String) -> String? {
            RelayConfiguration.hostAndPort(text).map { "\($0.host) \($0.port.map(String.init) ?? "-")" }
        }
        #expect(read("relay.example") == "relay.example -")
        #expect(read("relay.example:5281") == "relay.example 5281")
        #expect(read("[::1]") == "::1 -")
        #expect(read("[::1]:80") == "::1 80")
        for wrong in [
            "", ":80", "a:b:c", "relay example", "relay.example:", "relay.example:0", "[relay]:1", "a/b",
        ] {
            #expect(read(wrong) == nil)
        }
    }

    private var quiet: Log {
        Log(
            format: .text, minimum: .error, underJournal: true, colour: false, repetition: Log.Repetition(),
            now: { 0 }, sink: { _ in })
    }
}
