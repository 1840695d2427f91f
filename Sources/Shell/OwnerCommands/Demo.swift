internal import ChannelClient
internal import Operations
internal import PosixKit

/// The demonstration behind `scripts/run`: one owner and two subscribers, each with a home of its own, on one
/// relay.
///
/// Every line of standard input is published; what both subscribers received, and how long it took, is
/// printed.
enum Demo {
    private struct Reader: Sendable {
        let name: String
        let client: ChannelClient
        let task: Task<Void, Never>
    }

    static func run(_ command: ParsedCommand, _ output: Output, _ timeout: Duration) async throws -> ExitCode
    {
        let home = try OwnerProgram.home(command)
        let input = InputLines()
        Interrupt.whenAsked { input.stop() }

        let owner = try ChannelClient(home: "\(home)/owner")
        try await owner.setProfile(displayName: "owner")
        try await owner.addRelay(name: "relay", address: command.arguments[0])
        let made = try await owner.createChannel(name: "news", relays: ["relay"], timeout: timeout)
        output.text(
            "channel   #news, created by its owner; the relay says: \(Present.row(made.relays[0])[1])\n")
        output.text("link      \(made.link)\n")

        let arrivals = Arrivals()
        var readers: [Reader] = []
        for name in ["reader-1", "reader-2"] {
            readers.append(try await join(name, "\(home)/\(name)", made.link, arrivals, timeout))
            output.text("joined    \(name)\n")
        }
        if Console.inputIsTerminal { output.text("\nType a line and press Enter; Ctrl-D or Ctrl-C ends.\n") }
        output.text("\n")

        input.start()
        var delivered: [Double] = []
        var failed = 0
        var published = 0
        var next = await input.next()
        // Nothing typed and nothing piped: one message of our own still shows what happens.
        if next == nil, !input.wasStopped { next = "Hello from Antenna" }
        while let line = next {
            if !line.isEmpty {
                published += 1
                if let slowest = try await publish(
                    line, owner, readers.map(\.name), arrivals, output, timeout)
                {
                    delivered.append(slowest)
                } else {
                    failed += 1
                }
            }
            next = await input.next()
        }

        for reader in readers {
            reader.task.cancel()
            await reader.client.shutdown()
        }
        await owner.shutdown()
        output.text(summary(published, delivered, failed))
        return failed == 0 ? .ok : .unavailable
    }

    private static func join(
        _ name: String, _ home: String, _ link: String, _ arrivals: Arrivals, _ timeout: Duration
    ) async throws -> Reader {
        var options = ChannelClient.Options()
        options.background = .always
        let client = try ChannelClient(home: home, options: options)
        try await client.setProfile(displayName: name)
        let channel = try await client.join(link: link, timeout: timeout).channel
        let stream = client.follow(channel.id, since: .beginning)
        let task = Task {
            do {
                for try await item in stream {
                    guard case .message(let message) = item.kind else { continue }
                    await arrivals.record(name, message.id, message.text, Clock.monotonicNanoseconds())
                }
            } catch {
                Console.write("antenna: \(name): \(TerminalText.escaped("\(error)"))\n", to: .error)
            }
        }
        return Reader(name: name, client: client, task: task)
    }

    /// Publishes one line and prints what became of it; the slowest reader's milliseconds, nil when one
    /// missed it.
    private static func publish(
        _ line: String, _ owner: ChannelClient, _ readers: [String], _ arrivals: Arrivals, _ output: Output,
        _ timeout: Duration
    ) async throws -> Double? {
        let started = Clock.monotonicNanoseconds()
        let receipt: PublishReceipt
        do throws(ChannelClientError) {
            receipt = try await owner.publish(line, to: "news", timeout: timeout)
        } catch {
            output.text("owner     \(TerminalText.escaped(line))\n")
            output.text("  not published: \(TerminalText.escaped(error.message))\n")
            return nil
        }
        let stored = milliseconds(since: started)
        output.text("owner     \(TerminalText.escaped(line))\n")
        for part in receipt.relays {
            let row = Present.row(part)
            output.text("  \(row[0])    \(row[1]) (\(row[2])) after \(format(stored)) ms\n")
        }
        let found = await arrivals.wait(receipt.messageID, readers: readers.count, atMost: timeout)
        var slowest = 0.0
        for reader in readers {
            guard let arrival = found[reader] else {
                output.text("  \(reader) did not receive it\n")
                continue
            }
            let took = Double(arrival.nanoseconds &- started) / 1_000_000
            slowest = max(slowest, took)
            output.text(
                "  \(reader) received ‘\(TerminalText.escaped(arrival.text))’ after \(format(took)) ms\n")
        }
        return found.count == readers.count ? slowest : nil
    }

    private static func summary(_ published: Int, _ delivered: [Double], _ failed: Int) -> String {
        guard published > 0 else { return "\nNothing was published.\n" }
        var text = "\n\(published) published, \(delivered.count) received by both subscribers"
        if failed > 0 { text += ", \(failed) not" }
        let sorted = delivered.sorted()
        if let slowest = sorted.last {
            text +=
                "; from post to delivery: median \(format(sorted[(sorted.count - 1) / 2])) ms, "
                + "slowest \(format(slowest)) ms"
        }
        return text + "\n"
    }

    private static func milliseconds(since start: UInt64) -> Double {
        Double(Clock.monotonicNanoseconds() &- start) / 1_000_000
    }

    /// One digit after the point.
    private static func format(_ milliseconds: Double) -> String {
        let tenths = Int64((milliseconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

/// When each reader received which message.
private actor Arrivals {
    struct Arrival: Sendable {
        let text: String
        let nanoseconds: UInt64
    }

    private var found: [String: [String: Arrival]] = [:]
    private var waiting: (id: String, readers: Int, continuation: CheckedContinuation<Void, Never>)?

    func record(_ reader: String, _ id: String, _ text: String, _ nanoseconds: UInt64) {
        found[id, default: [:]][reader] = Arrival(text: text, nanoseconds: nanoseconds)
        guard let waiting, waiting.id == id, found[id]?.count == waiting.readers else { return }
        wake()
    }

    /// Returns when all readers have the message, or when the time is up, with what is there.
    func wait(_ id: String, readers: Int, atMost: Duration) async -> [String: Arrival] {
        if found[id]?.count ?? 0 < readers {
            let deadline = Task {
                try? await Task.sleep(for: atMost)
                if !Task.isCancelled { self.wake() }
            }
            await withCheckedContinuation { waiting = (id, readers, $0) }
            deadline.cancel()
        }
        return found.removeValue(forKey: id) ?? [:]
    }

    private func wake() {
        waiting?.continuation.resume()
        waiting = nil
    }
}
