import ChannelWire

extension VectorFile {
    static var frames: [Entry] {
        frameExamples.map { name, comment, frame in
            Entry(name: "frame.\(name)", value: hex(frame.encode()), comment: comment)
        }
    }

    private static let epoch: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    static let frameExamples: [(name: String, comment: String, frame: Frame)] = [
        (
            "ERROR", #"request 7, code 20, retryAfterMs 1000, text "gone""#,
            .error(LinkError(.unknownChannel, request: 7, retryAfterMs: 1000, text: "gone"))
        ),
        ("DRAIN", "delayMs 30000", .drain(delayMs: 30_000)),
        ("PING", "", .ping(epoch)),
        ("PONG", "", .pong(epoch)),
        ("RECORD_GET", "request 1, the channel", .recordGet(request: 1, channel: Fixture.channel)),
        ("RECORD", "request 0, record aabb (not a real one)", .record(request: 0, record: [0xaa, 0xbb])),
        ("RECORD_PUT", "request 2, record aabb", .recordPut(request: 2, record: [0xaa, 0xbb])),
        ("RECORD_STORED", "request 2, version 3", .recordStored(request: 2, version: 3)),
        (
            "CONTROL", "the channel, owner.id, control.signature, an invitation follows, record aabb",
            .control(
                .init(
                    channel: Fixture.channel, owner: Fixture.owner, signature: controlProof,
                    invitationFollows: true,
                    record: [0xaa, 0xbb]))
        ),
        ("CONTROLLED", "status active, recordVersion 3", .controlled(status: "active", recordVersion: 3)),
        ("DIRECT", "forward.channel.json", .direct(body: Fixture.hiJSON)),
        (
            "MEMBERS_GET", "request 3, from the start, limit 50",
            .membersGet(request: 3, after: nil, limit: 50)
        ),
        (
            "MEMBERS", "request 3, no more, total 1: member.id, observer, connected, bob, joined 1781000000",
            .members(
                .init(
                    request: 3, more: false, total: 1,
                    rows: [
                        .init(
                            member: Fixture.member, role: "observer", status: "connected", name: "bob",
                            joinedAt: Fixture.timestamp)
                    ]))
        ),
        ("JOIN", "the channel, element aabb", .join(channel: Fixture.channel, element: [0xaa, 0xbb])),
        ("JOINED", "batch aabb", .joined(batch: [0xaa, 0xbb])),
        (
            "ATTACH",
            "the channel, member.id, attach.signature, start 0, epoch 0102030405060708, position 12",
            .attach(
                .init(
                    channel: Fixture.channel, member: Fixture.member, signature: attachProof,
                    start: .cursor(epoch: epoch, position: 12)))
        ),
        (
            "ATTACHED",
            "epoch 0102030405060708, first 1, head 14, resumeAfter 12, role observer, recordVersion 3",
            .attached(
                .init(epoch: epoch, first: 1, head: 14, resumeAfter: 12, role: "observer", recordVersion: 3))
        ),
        (
            "DELIVER", "sequence 13, a batch of the forwarded forward.channel.json",
            .deliver(
                sequence: 13,
                batch: Body.encodeBatch([
                    ForwardElement(sender: .channel, timestamp: Fixture.timestamp, inner: Fixture.hiJSON)
                        .bytes
                ]))
        ),
        ("GAP", "from 1, to 9, reason 1", .gap(from: 1, to: 9, reason: .pruned)),
        ("PUBLISH", "request 4, forward.channel.json", .publish(request: 4, body: Fixture.hiJSON)),
        (
            "ACK", "request 4: stored 13, repeated 12, refused with 42",
            .ack(request: 4, results: [.stored(13), .repeated(12), .refused(.signatureRequired)])
        ),
        (
            "HISTORY_GET", "request 5, mode 1, value 1781000000, limit 20",
            .historyGet(request: 5, mode: .beforeTime, value: Fixture.timestamp, limit: 20)
        ),
        (
            "HISTORY", "request 5, sequence 13, batch aabb",
            .history(request: 5, sequence: 13, batch: [0xaa, 0xbb])
        ),
        ("HISTORY_END", "request 5, first 13, more", .historyEnd(request: 5, first: 13, more: true)),
    ]
}
