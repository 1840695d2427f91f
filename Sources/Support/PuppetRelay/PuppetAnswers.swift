package import ChannelWire
internal import SodiumCrypto

/// What an honest relay would answer, for one channel, kept in memory and unchecked.
package struct PuppetAnswers {
    private let link: String
    private var record: [UInt8] = []
    private var version: Int64 = 0
    /// The batches of the log, the first with sequence 1.
    private var log: [[UInt8]] = []
    private var isCarried = false
    private let epoch = Sodium.random(8)

    /// `link`: the relay's own link in the channel, as an acceptance gives it.
    package init(link: String) { self.link = link }

    /// The answers to one frame, in order.
    package mutating func answers(to frame: Frame) -> [Frame] {
        switch frame {
        case .control(let control):
            keep(control.record)
            return [.controlled(status: isCarried ? "active" : "", recordVersion: version)]
        case .direct(let body): return direct(body)
        case .recordPut(let request, let bytes):
            keep(bytes)
            return [.recordStored(request: request, version: version)]
        case .recordGet(let request, _): return [.record(request: request, record: record)]
        case .membersGet(let request, _, _):
            return [.members(Frame.MembersPage(request: request, more: false, total: 0, rows: []))]
        case .join:
            let greeting = Event(params: .other(tag: .ok, json: Array("{}".utf8))).encode()
            return [.joined(batch: Body.encodeBatch([greeting]))]
        case .attach(let attach): return self.attach(attach)
        case .publish(let request, let body):
            guard let forward = forwarded(body) else {
                return [.ack(request: request, results: [.refused(.malformedEvent)])]
            }
            log.append(forward)
            let sequence = Int64(log.count)
            return [
                .ack(request: request, results: [.stored(sequence)]),
                .deliver(sequence: sequence, batch: forward),
            ]
        case .historyGet(let request, _, _, let limit):
            let all = log.enumerated().suffix(Int(limit))
            let told = all.map {
                Frame.history(request: request, sequence: Int64($0.offset) + 1, batch: $0.element)
            }
            return told + [
                .historyEnd(request: request, first: all.first.map { Int64($0.offset) + 1 } ?? 0, more: false)
            ]
        default: return []
        }
    }

    private mutating func keep(_ bytes: [UInt8]) {
        guard let decoded = try? ChannelRecord.decode(bytes) else { return }
        record = bytes
        version = decoded.content.version
    }

    private mutating func direct(_ body: [UInt8]) -> [Frame] {
        guard let elements = try? Body.decode(body, crypto: .unverified) else { return [] }
        var answers: [Frame] = []
        for case .success(let element) in elements {
            guard let json = element.json, let event = try? Event.decode(json: json) else { continue }
            switch event.params {
            case .relayInv:
                isCarried = true
                answers.append(
                    .direct(body: Event(params: .relayAcpt(RelayAcceptance(relayLink: link))).encode()))
            case .roster(let header):
                let acknowledgement = RosterAcknowledgement(version: header.version, error: nil)
                answers.append(.direct(body: Event(params: .rosterAck(acknowledgement)).encode()))
            case .relayTest(let test): answers.append(.direct(body: Event(params: .relayTest(test)).encode()))
            default: continue
            }
        }
        return answers
    }

    private func attach(_ attach: Frame.Attach) -> [Frame] {
        let head = Int64(log.count)
        var after: Int64 = 0
        var isLost = false
        switch attach.start {
        case .cursor(let epoch, let position):
            if epoch == self.epoch, position <= head { after = position } else { isLost = true }
        case .last(let count): after = max(0, head - count)
        case .live: after = head
        }
        let attached = Frame.Attached(
            epoch: epoch, first: 1, head: head, resumeAfter: after, role: "observer", recordVersion: version)
        let old = log.enumerated().dropFirst(Int(after))
        return [.attached(attached)] + (isLost ? [.gap(from: 0, to: 0, reason: .epoch)] : [])
            + old.map { .deliver(sequence: Int64($0.offset) + 1, batch: $0.element) }
    }

    /// The batch that an honest relay would keep of a body; nil where it is more than one element.
    private func forwarded(_ body: [UInt8]) -> [UInt8]? {
        guard case .success(let element)? = try? Body.decode(body, crypto: .unverified).first else {
            return nil
        }
        return Body.encodeBatch([
            ForwardElement(sender: .channel, timestamp: 1_800_000_000, inner: element.bytes).bytes
        ])
    }
}

extension ChannelCrypto {
    /// Takes every signature for good and opens nothing that is compressed.
    package static let unverified = ChannelCrypto(
        verify: { _, _, _ in true }, sha256: { Sodium.sha256($0) }, sha512: { Sodium.sha512($0) },
        decompress: { _, _ in nil }, compress: { $0 })
}
