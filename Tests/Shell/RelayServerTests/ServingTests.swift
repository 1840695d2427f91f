import ChannelWire
import LinkRuntime
import PosixKit
import RelayServer
import SodiumCrypto
import Testing

@Suite("A relay serving a channel")
struct ServingTests {
    @Test("takes a channel from invitation to delivery")
    func vertical() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        let control = try channel.serve(relay, net)
        let (reader, person, attached) = try channel.subscribe(relay, net)
        #expect(attached.head == 0)
        #expect(attached.role == "observer")
        guard case .memNew(let member) = try control.nextDirect().params else { throw TestFailure() }
        #expect(member.memberID == person.id)

        let writer = try channel.attachOwner(relay, net)
        let element = channel.owner.post(channel.id, "hello")
        #expect(try writer.publish(1, element) == [.stored(1)])
        let (sequence, inner) = try reader.nextDelivery()
        #expect(sequence == 1)
        #expect(inner == element, "the bytes that were signed are the bytes that arrive")
    }

    @Test("answers a repeated publish as the first one and delivers it once")
    func repeated() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let (reader, _, _) = try channel.subscribe(relay, net)
        let writer = try channel.attachOwner(relay, net)
        let element = channel.owner.post(channel.id, "once")
        #expect(try writer.publish(1, element) == [.stored(1)])
        #expect(try writer.publish(2, element) == [.repeated(1)])
        let other = try channel.attachOwner(relay, net)
        #expect(try other.publish(1, element) == [.repeated(1)])
        #expect(try other.publish(2, channel.owner.post(channel.id, "twice")) == [.stored(2)])
        #expect(try reader.nextDelivery().0 == 1)
        #expect(try reader.nextDelivery().0 == 2)
    }

    @Test("decides each element of a body for itself")
    func elements() throws {
        let relay = try TestRelay { $0.messageBytesMax = 1000 }
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let writer = try channel.attachOwner(relay, net)
        let good = channel.owner.post(channel.id, "good")
        var forged = channel.owner.post(channel.id, "forged")
        forged[forged.count - 3] ^= 1
        let long = channel.owner.post(channel.id, String(repeating: "x", count: 1000))
        let nameless = channel.owner.element(
            channel.id, Event(params: .msgNew(MessageContainer(content: MessageContent(text: "no id")))))
        let odd = channel.owner.element(
            channel.id, Event(messageID: MessageID(random: Sodium.random(12)), params: .ok))
        // What is too long is looked into no further.
        let longAndForged = Array(long.dropLast(3)) + [0, 0, 0]
        let foreign = TestPerson().post(channel.id, "by somebody else")
        let results = try writer.publish(
            7,
            Body.encodeBatch([good, forged, long, longAndForged, nameless, odd, foreign, Array("{}".utf8)]))
        #expect(
            results == [
                .stored(1), .refused(.badSignature), .refused(.messageTooLarge), .refused(.messageTooLarge),
                .refused(.missingMessageID), .refused(.unsupportedEvent), .refused(.badSignature),
                .refused(.malformedEvent),
            ])
    }

    @Test("resumes a reader at its position, from disk and from memory without a seam")
    func resume() throws {
        let relay = try TestRelay { $0.tailBytesMax = 64 << 10 }
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let (first, person, attached) = try channel.subscribe(relay, net)
        let writer = try channel.attachOwner(relay, net)
        writer.each { _ in }
        let text = String(repeating: "x", count: 1000)
        for number in 0..<400 {
            writer.send(.publish(request: UInt32(number + 1), body: channel.owner.post(channel.id, text)))
            try net.wait("room") { writer.link?.queuedBytes ?? 0 < 32 << 10 }
        }
        for sequence in Int64(1)...400 { #expect(try first.nextDelivery().0 == sequence) }
        for position in [Int64(0), 57, 399, 400] {
            let start = Frame.Start.cursor(epoch: attached.epoch, position: position)
            let (again, answer) = try channel.attach(person, relay, net, start)
            #expect(answer.resumeAfter == position)
            #expect(answer.head == 400)
            for sequence in position + 1..<401 { #expect(try again.nextDelivery().0 == sequence) }
            again.close()
        }
    }

    @Test("gives a new subscriber the last messages and pages through the past")
    func history() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let writer = try channel.attachOwner(relay, net)
        for number in 0..<30 {
            _ = try writer.publish(UInt32(number + 1), channel.owner.post(channel.id, "\(number)"))
        }
        let (reader, _, attached) = try channel.subscribe(relay, net, .last(10))
        #expect(attached.resumeAfter == 20)
        for sequence in Int64(21)...30 { #expect(try reader.nextDelivery().0 == sequence) }
        for (request, page) in [(5, 14...20), (6, 7...13)] as [(UInt32, ClosedRange<Int64>)] {
            reader.send(
                .historyGet(
                    request: request, mode: .beforeSequence, value: page.upperBound + 1, limit: 7))
            var sequences: [Int64] = []
            while true {
                let frame = try reader.next()
                if case .history(request, let sequence, _) = frame { sequences.append(sequence) }
                if case .historyEnd(request, let first, let more) = frame {
                    #expect(first == page.lowerBound)
                    #expect(more)
                    break
                }
            }
            #expect(sequences == Array(page))
        }
    }

    @Test("gives a new subscriber a hundred messages at most, however many it wants")
    func newest() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let writer = try channel.attachOwner(relay, net)
        for request in UInt32(1)...3 {
            let posts = (0..<35).map { channel.owner.post(channel.id, "\($0)") }
            _ = try writer.publish(request, Body.encodeBatch(posts))
        }
        #expect(try channel.subscribe(relay, net, .last(1000)).2.resumeAfter == 5)
    }

    @Test("tells a cursor of another log that it means nothing")
    func foreignCursor() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let writer = try channel.attachOwner(relay, net)
        _ = try writer.publish(1, channel.owner.post(channel.id, "one"))
        let start = Frame.Start.cursor(epoch: [UInt8](repeating: 0, count: 8), position: 17)
        let (reader, _, attached) = try channel.subscribe(relay, net, start)
        #expect(attached.resumeAfter == 0)
        #expect(try reader.next() == .gap(from: 0, to: 0, reason: .epoch))
        #expect(try reader.nextDelivery().0 == 1)
    }

    @Test("erases a deleted message for everybody who comes later")
    func deletion() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let (_, person, attached) = try channel.subscribe(relay, net)
        let writer = try channel.attachOwner(relay, net)
        let id = MessageID(random: Sodium.random(12))
        let element = channel.owner.post(channel.id, "secret", id: id)
        #expect(try writer.publish(1, element) == [.stored(1)])
        let deletion = channel.owner.element(
            channel.id,
            Event(
                messageID: MessageID(random: Sodium.random(12)),
                params: .msgDel(MessageDeletion(messageID: id))))
        #expect(try writer.publish(2, deletion) == [.stored(2)])
        #expect(try writer.publish(3, element) == [.refused(.messageDeleted)])
        let (late, _) = try channel.attach(
            person, relay, net, .cursor(epoch: attached.epoch, position: 0))
        #expect(try late.next() == .gap(from: 1, to: 1, reason: .erased))
        #expect(try late.nextDelivery().0 == 2)
    }

    @Test("pushes a newer record to attached members and serves it to anybody")
    func records() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        let control = try channel.serve(relay, net)
        let (reader, _, attached) = try channel.subscribe(relay, net)
        #expect(attached.recordVersion == 2)
        _ = try control.next()
        channel.version = 3
        let record = try channel.record()
        control.send(.recordPut(request: 9, record: record))
        #expect(try control.next() == .recordStored(request: 9, version: 3))
        #expect(try reader.next() == .record(request: 0, record: record))
        channel.version = 2
        control.send(.recordPut(request: 10, record: try channel.record()))
        guard case .error(let error) = try control.next() else { throw TestFailure() }
        #expect(error.request == 10)
        #expect(error.known == .recordStale)

        let anonymous = try net.connect(relay).opened()
        anonymous.send(.recordGet(request: 1, channel: channel.id))
        #expect(try anonymous.next() == .record(request: 1, record: record))
    }

    @Test("proves its identity to anybody who asks")
    func identityTest() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let client = try net.connect(relay).opened()
        let challenge = Sodium.random(32)
        client.send(.direct(body: Event(params: .relayTest(RelayTest(challenge: challenge))).encode()))
        guard case .relayTest(let answer) = try client.nextDirect().params, let signature = answer.signature
        else {
            throw TestFailure()
        }
        #expect(
            Ed25519.verify(
                signature: signature.bytes, message: challenge, publicKey: relay.server.identity))
    }

    @Test("counts the links of a channel's members as they come and go")
    func attached() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let (first, person, _) = try channel.subscribe(relay, net)
        let others = try (0..<3).map { _ in try channel.attach(person, relay, net).0 }
        #expect(relay.operate("channels", "--json").output.contains("\"attached\":4,"))
        first.close()
        try net.wait("the end to be seen") {
            relay.operate("channels", "--json").output.contains("\"attached\":3,")
        }
        // It makes room for another one.
        _ = try channel.attach(person, relay, net)
        #expect(relay.operate("channels", "--json").output.contains("\"attached\":4,"))
        #expect(others.allSatisfy { $0.closed == nil })
    }

    @Test("closes the oldest link when a member has five")
    func fiveLinks() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        try channel.serve(relay, net)
        let (first, person, _) = try channel.subscribe(relay, net)
        var others: [TestClient] = []
        for _ in 0..<3 { others.append(try channel.attach(person, relay, net).0) }
        #expect(first.closed == nil)
        others.append(try channel.attach(person, relay, net).0)
        #expect(try first.ended() == .replaced)
        #expect(others.allSatisfy { $0.closed == nil })
    }

    @Test("lists its members to an owner, page by page")
    func members() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        let control = try channel.serve(relay, net)
        var people: Set<MemberID> = [channel.owner.id]
        for _ in 0..<5 { people.insert(try channel.subscribe(relay, net).1.id) }
        for _ in 0..<5 { _ = try control.next() }
        var listed: [MemberID] = []
        while true {
            control.send(.membersGet(request: 3, after: listed.last, limit: 4))
            guard case .members(let page) = try control.next() else { throw TestFailure() }
            listed += page.rows.map(\.member)
            if !page.more { break }
        }
        #expect(Set(listed) == people)
        #expect(listed.count == people.count)
    }
}
