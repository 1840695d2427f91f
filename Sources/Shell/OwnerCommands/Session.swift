internal import ChannelClient
internal import Operations

/// What one run of a command works with.
final class Session: Sendable {
    let client: ChannelClient
    let output: Output
    let progress: Progress
    /// How long the command may take; given on the command line or the default.
    let timeout: Duration
    let timeoutWasGiven: Bool

    init(client: ChannelClient, output: Output, timeout: Duration, timeoutWasGiven: Bool) {
        self.client = client
        self.output = output
        self.progress = Progress(json: output.json)
        self.timeout = timeout
        self.timeoutWasGiven = timeoutWasGiven
    }

    /// `3 s`, `0.25 s`.
    var timeoutText: String {
        let (seconds, rest) = timeout.components
        let milliseconds = rest / 1_000_000_000_000_000
        return milliseconds == 0
            ? "\(seconds) s" : "\(Double(seconds * 1000 + milliseconds) / 1000) s"
    }

    /// Runs a long wait with a line on a terminal that says what is waited for.
    func waiting<Result>(_ what: String, _ body: () async throws -> Result) async throws -> Result {
        let ticker = Task { [progress] in
            while !Task.isCancelled {
                progress.show(what)
                try? await Task.sleep(for: .milliseconds(150))
            }
        }
        do {
            let result = try await body()
            ticker.cancel()
            await ticker.value
            progress.clear()
            return result
        } catch {
            ticker.cancel()
            await ticker.value
            progress.clear()
            throw error
        }
    }

    /// Prints a receipt and gives the code that goes with it; the headline stands in for the message's id.
    func answer(_ receipt: PublishReceipt, minimum: Int = 0, headline: String? = nil) -> ExitCode {
        output.answer(Present.json(receipt), Present.lines(receipt, headline: headline))
        return Present.exitCode(receipt, minimum: minimum)
    }

    /// The receipt of a publish, also where too few relays took it: the receipt is the answer then, too.
    func publishing(
        _ what: String, minimum: Int = 0, headline: String? = nil, _ body: () async throws -> PublishReceipt
    ) async throws -> ExitCode {
        do {
            return answer(try await waiting(what, body), minimum: minimum, headline: headline)
        } catch let error as ChannelClientError {
            guard let receipt = error.receipt else { throw error }
            output.note("antenna: \(TerminalText.escaped(error.message))")
            _ = answer(receipt, minimum: minimum, headline: headline)
            return ClientFailure.exitCode(error)
        }
    }

    /// The full id of a message that is named by its id or by a unique beginning of four characters or more.
    func messageID(_ typed: String, in channel: String) async throws -> String {
        let messages = try await client.messages(in: channel, limit: 10_000)
        if messages.contains(where: { $0.id == typed }) { return typed }
        let found = messages.filter { $0.id.hasPrefix(typed) }
        if typed.count >= 4, let only = found.first, Set(found.map(\.id)).count == 1 { return only.id }
        if found.isEmpty {
            // Perhaps an older message than those looked at: the library knows all of them by their full id.
            if typed.count >= 16 { return typed }
            throw OperatorError(
                .notFound, "no message of \(Present.name(ChannelName.parse(channel))) begins with ‘\(typed)’",
                hint: "antenna history CHANNEL shows the ids")
        }
        guard typed.count >= 4 else {
            throw OperatorError(
                .badValue, "‘\(typed)’ is too short to name a message", hint: "give four characters or more")
        }
        throw OperatorError(
            .ambiguous, "‘\(typed)’ is the beginning of \(found.count) message ids",
            hint: "give more of the id")
    }

    /// All members, page after page, up to a limit.
    func members(of channel: String, limit: Int) async throws -> (
        members: [ChannelMember], total: Int64, more: Bool
    ) {
        var members: [ChannelMember] = []
        var next: String?
        repeat {
            let page = try await client.members(
                of: channel, after: next, limit: min(50, limit - members.count), timeout: timeout)
            members += page.members
            next = page.members.isEmpty ? nil : page.next
            if next == nil || members.count >= limit { return (members, page.total, next != nil) }
        } while true
    }

    /// The id of a member named by id, by a unique beginning of it, or by a name that only one member has.
    func memberID(_ typed: String, in channel: String) async throws -> String {
        let members = try await waiting("asking for the members") {
            try await self.members(of: channel, limit: 100_000).members
        }
        let exact = members.filter { $0.id == typed }
        let byName = exact.isEmpty ? members.filter { $0.name == typed } : exact
        let fitting = byName.isEmpty && typed.count >= 4 ? members.filter { $0.id.hasPrefix(typed) } : byName
        // Who left or was removed is still listed; whoever has the name now is meant.
        let found = fitting.filter { !Self.former.contains($0.status) }
        if found.count == 1, let only = found.first { return only.id }
        if found.isEmpty, let former = fitting.first {
            throw OperatorError(
                .wrongState, "‘\(typed)’ is not in the channel any more (\(former.status))",
                hint: "antenna members CHANNEL shows who is")
        }
        guard found.isEmpty else {
            throw OperatorError(
                .ambiguous, "‘\(typed)’ fits \(found.count) members",
                hint: "their ids: \(found.prefix(5).map(\.id).joined(separator: ", "))")
        }
        throw OperatorError(
            .notFound, "there is no member ‘\(typed)’", hint: "antenna members CHANNEL shows the ids")
    }

    /// What members are whose membership is over.
    static let former: Set<String> = ["left", "removed", "deleted"]
}
