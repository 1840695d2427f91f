import ChannelClient
import Operations
import OperatorCommands
import PosixKit
import RelayServer
import Testing

/// A real relay in this process, on a loopback port that stays the same over restarts.
final class TestRelay {
    let directory: String
    private var configuration: RelayConfiguration
    private var server: RelayServer?
    private(set) var address: String

    init(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
        directory = try Posix.makeTemporaryDirectory(prefix: "antenna-relay-")
        configuration = RelayConfiguration(state: directory + "/state")
        configuration.listen = .loopback(port: 0)
        configuration.drainSeconds = 0
        change(&configuration)
        let server = try RelayServer(configuration, log: Self.log)
        self.server = server
        address = server.address
        configuration.listen = server.listening
    }

    deinit {
        stop()
        Posix.removeTree(directory)
    }

    func stop() {
        server?.stop()
        server?.waitUntilStopped()
        server = nil
    }

    func start() throws {
        guard server == nil else { return }
        server = try RelayServer(configuration, log: Self.log)
    }

    /// Runs `antennactl` against this relay.
    @discardableResult
    func operate(_ words: String...) -> ExitCode {
        let output = Output(json: false) { _, _ in true }
        return OperatorProgram.run(
            words + ["--socket", configuration.state + "/control.sock"], output: output, input: { nil })
    }

    private static var log: Log {
        Log(
            format: .text, minimum: .error, underJournal: true, colour: false,
            repetition: Log.Repetition(burst: 1000),
            now: { Clock.nowMilliseconds() }, sink: { _ in })
    }
}

/// Something that takes connections and never says a word.
final class BlackHole {
    private let socket: FileDescriptor
    /// An address like a relay's.
    let address: String

    init() throws {
        socket = try Posix.listen(tcp: .loopback(port: 0))
        let port = try #require(Posix.localAddress(socket.raw)).port
        address = "https://127.0.0.1/r#\(String(repeating: "A", count: 42))E?p=\(port)"
    }
}

/// A home that goes away with the test, and clients on it.
final class Person: Sendable {
    let home: String
    let name: String
    let client: ChannelClient

    init(
        _ name: String, background: ChannelClient.Options.Background = .whenNeeded, spread: Duration? = nil,
        profile: Bool = true
    ) async throws {
        self.name = name
        home = try Posix.makeTemporaryDirectory(prefix: "antenna-\(name)-")
        var options = Self.options(background)
        options.connectionSpread = spread
        client = try ChannelClient(home: home, options: options)
        if profile { try await client.setProfile(displayName: name) }
    }

    deinit { Posix.removeTree(home) }

    /// Another client on the same home, as another process would be.
    func another(background: ChannelClient.Options.Background = .whenNeeded) throws -> ChannelClient {
        try ChannelClient(home: home, options: Self.options(background))
    }

    private static func options(_ background: ChannelClient.Options.Background) -> ChannelClient.Options {
        var options = ChannelClient.Options()
        options.background = background
        options.connectTimeout = .seconds(5)
        options.retryMinimum = .milliseconds(20)
        options.retryMaximum = .milliseconds(200)
        options.withholdingGrace = .milliseconds(200)
        options.randomSeed = 42
        return options
    }

    /// A channel on relays, which get the names `r0`, `r1` …
    func create(_ name: String, on relays: [TestRelay], signMessages: Bool = true) async throws
        -> ChannelCreation
    {
        for (index, relay) in relays.enumerated() {
            try await client.addRelay(name: "r\(index)", address: relay.address)
        }
        return try await client.createChannel(
            name: name, relays: relays.indices.map { "r\($0)" }, signMessages: signMessages,
            timeout: .seconds(20))
    }
}

struct DeadlinePassed: Error {}

/// Runs `body`; after so long the test fails instead of hanging.
func within<Value: Sendable>(
    _ deadline: Duration = .seconds(20), _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: deadline)
            throw DeadlinePassed()
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw DeadlinePassed() }
        return value
    }
}

extension AsyncStream where Element == ClientEvent {
    /// The first event that `pick` takes, within a deadline.
    func first<Value: Sendable>(
        _ deadline: Duration = .seconds(20), _ pick: @escaping @Sendable (ClientEvent) -> Value?
    ) async throws -> Value {
        try await within(deadline) {
            for await event in self {
                if let value = pick(event) { return value }
            }
            throw DeadlinePassed()
        }
    }
}

extension AsyncThrowingStream where Element == FollowItem, Failure == any Error {
    /// The next items of a stream, within a deadline.
    func items(_ count: Int, _ deadline: Duration = .seconds(20)) async throws -> [FollowItem] {
        try await within(deadline) {
            var items: [FollowItem] = []
            for try await item in self {
                items.append(item)
                if items.count == count { break }
            }
            return items
        }
    }
}

extension AsyncThrowingStream where Element == FollowItem, Failure == any Error {
    /// Everything up to the item that `isLast` takes, within a deadline.
    func items(
        _ deadline: Duration = .seconds(20), until isLast: @escaping @Sendable (FollowItem) -> Bool
    ) async throws -> [FollowItem] {
        try await within(deadline) {
            var items: [FollowItem] = []
            for try await item in self {
                items.append(item)
                if isLast(item) { break }
            }
            return items
        }
    }
}

extension FollowItem {
    /// One line for comparing.
    var line: String {
        switch kind {
        case .message(let message): "message \(message.text)"
        case .edited(let message): "edited \(message.text)"
        case .deleted(let message): "deleted \(message.id)"
        case .gap(let gap): "gap \(gap.reason.rawValue)"
        case .disagreement(let disagreement): "disagreement \(disagreement.kind.rawValue)"
        case .notice(let text): "notice \(text)"
        }
    }
}
