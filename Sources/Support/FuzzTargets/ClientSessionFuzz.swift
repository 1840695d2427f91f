internal import ChannelClient
internal import ChannelWire
internal import PosixKit
internal import PuppetRelay
internal import Synchronization

/// A real owner and a real reader, and a relay that says the steps of the input in place of its answers.
final class ClientSessionFuzz {
    /// What the relay will say; shared with its thread.
    private final class Script: Sendable {
        private let steps = Mutex(Steps([]))

        func begin(_ input: [UInt8]) { steps.withLock { $0 = Steps(input) } }

        func answer(_ frame: Frame, _ honest: [Frame]) -> [PuppetRelay.Word] {
            steps.withLock { steps in
                guard !steps.isOver else { return honest.map { .frame($0) } }
                return Script.lie(&steps, honest)
            }
        }

        /// What a relay says instead of one answer.
        private static func lie(_ steps: inout Steps, _ honest: [Frame]) -> [PuppetRelay.Word] {
            let truth = honest.map { PuppetRelay.Word.frame($0) }
            switch steps.octet() % 8 {
            case 0: return truth
            case 1: return []
            case 2: return truth + truth
            case 3: return Array(truth.reversed())
            case 4:
                // The honest answers with some bytes changed.
                var bytes = honest.flatMap { $0.encode() }
                guard !bytes.isEmpty, bytes.count <= Limits.frameBodyMax else { return truth }
                for _ in 0..<(1 + steps.octet() % 4) {
                    let place = (Int(steps.octet()) << 8 | Int(steps.octet())) % bytes.count
                    bytes[place] = steps.octet()
                }
                return [.record(bytes)]
            case 5:
                let type = steps.octet()
                let body = steps.bytes(atMost: Limits.frameBodyMax - 3)
                let head = [type, UInt8(body.count >> 8), UInt8(truncatingIfNeeded: body.count)]
                return truth + [.record(head + body)]
            case 6:
                // Any element, as if somebody had published it.
                let sequence = steps.number()
                let time = steps.number()
                let forward = ForwardElement(
                    sender: .channel, timestamp: time,
                    inner: [UInt8(ascii: "{")] + steps.bytes(atMost: 12_000))
                return truth + [
                    .frame(.deliver(sequence: sequence, batch: Body.encodeBatch([forward.bytes])))
                ]
            default: return steps.octet() & 7 == 0 ? [.hangUp] : truth
            }
        }
    }

    private let script = Script()
    private let relay: PuppetRelay
    private let homes: [String]
    private let owner: ChannelClient
    private let reader: ChannelClient

    init() {
        do {
            let script = script
            relay = try PuppetRelay(rawLie: { script.answer($0, $1) })
            homes = try ["owner", "reader"].map { try Posix.makeTemporaryDirectory(prefix: "antenna-\($0)-") }
            var options = ChannelClient.Options()
            options.background = .none
            options.connectTimeout = .seconds(2)
            options.retryMinimum = .milliseconds(1)
            options.retryMaximum = .milliseconds(2)
            options.connectionSpread = .zero
            options.randomSeed = 42
            owner = try ChannelClient(home: homes[0], options: options)
            reader = try ChannelClient(home: homes[1], options: options)
            let (owner, reader, address) = (owner, reader, relay.address)
            Self.wait {
                do {
                    try await owner.setProfile(displayName: "alice")
                    try await owner.addRelay(name: "r", address: address)
                    let made = try await owner.createChannel(
                        name: "news", relays: ["r"], signMessages: false, timeout: .seconds(20))
                    _ = try await reader.join(link: made.link, timeout: .seconds(20))
                } catch {
                    preconditionFailure("an honest puppet carries a channel: \(error)")
                }
            }
        } catch {
            preconditionFailure("a puppet and two homes can be made: \(error)")
        }
    }

    deinit { for home in homes { Posix.removeTree(home) } }

    func run(_ input: [UInt8]) {
        relay.hangUp()
        script.begin(input)
        let (owner, reader) = (owner, reader)
        Self.wait {
            async let publishing: Void = {
                _ = try? await owner.publish("x", to: "news", timeout: Self.patience)
            }()
            async let members: Void = { _ = try? await owner.members(of: "news", timeout: Self.patience) }()
            _ = try? await reader.synchronize("news", timeout: Self.patience)
            let messages = try? await reader.messages(in: "news", limit: 5)
            if let last = messages?.first {
                _ = try? await reader.history(
                    of: "news", before: last.id, limit: 5, timeout: Self.patience)
            }
            _ = await (publishing, members)
        }
        script.begin([])
    }

    private static let patience = Duration.milliseconds(40)

    /// Runs `body` to its end on another thread.
    private static func wait(_ body: @escaping @Sendable () async -> Void) {
        let done = Mailbox<Bool>()
        Task {
            await body()
            done.post(true)
        }
        precondition(
            !done.waitDrain(timeoutMilliseconds: 300_000).isEmpty, "a client comes back within its timeout")
    }
}
