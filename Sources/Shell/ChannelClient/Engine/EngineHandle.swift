internal import ClientStore
internal import LibeventLoop
internal import PosixKit
import Synchronization

/// The door between the calling tasks and the thread that owns the loop, the links and the database.
///
/// Calls are closures in a mailbox; the engine itself never leaves its thread.
final class EngineHandle: Sendable {
    typealias Command = @Sendable (Engine) -> Void

    private struct State {
        var isClosed = false
        var nextStream = 0
        var streams: [Int: AsyncStream<ClientEvent>.Continuation] = [:]
        var closing: [CheckedContinuation<Void, Never>] = []
    }

    private let mailbox: Mailbox<Command>
    private let state = Mutex(State())

    private init(_ mailbox: Mailbox<Command>) { self.mailbox = mailbox }

    private enum StartResult: Sendable {
        case started(LoopWaker)
        case failed(ChannelClientError)
    }

    /// Starts the engine's thread and waits until the home is open.
    static func start(home: String, options: ChannelClient.Options) throws(ChannelClientError) -> EngineHandle
    {
        Posix.ignoreSIGPIPE()
        let results = Mailbox<StartResult>()
        let wakerBox = WakerBox()
        let mailbox = Mailbox<Command>(wake: { wakerBox.wake() })
        let handle = EngineHandle(mailbox)
        _ = PosixThread.start(name: "antenna-client") { [weak handle] in
            let engine: Engine
            do throws(ChannelClientError) {
                engine = try Engine(home: home, options: options)
            } catch {
                results.post(.failed(error))
                return
            }
            engine.handle = handle
            engine.drainCommands = { [weak engine] in
                guard let engine else { return }
                for command in mailbox.drain() { command(engine) }
            }
            results.post(.started(engine.loop.waker))
            engine.run()
            // Whoever is still waiting is answered by the replies being let go of.
            _ = mailbox.drain()
            engine.handle?.closed()
        }
        switch results.waitDrain(timeoutMilliseconds: 60_000).first {
        case .started(let waker): wakerBox.set(waker)
        case .failed(let error): throw error
        case nil: throw .init(.homeBusy, "The home did not open within a minute.")
        }
        return handle
    }

    /// Runs a command on the engine's thread; false where that has ended.
    @discardableResult
    func post(_ command: @escaping Command) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            mailbox.post(command)
            return true
        }
    }

    /// Asks the engine something and waits for the answer.
    func call<Value: Sendable>(
        _ body: @escaping @Sendable (Engine, Reply<Value>) -> Void
    ) async throws(ChannelClientError) -> Value {
        let box = CancelBox<Value>()
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let reply = Reply<Value> { continuation.resume(returning: $0) }
                box.set(reply)
                post { engine in body(engine, reply) }
            }
        } onCancel: {
            box.cancel()
        }
        return try outcome.get()
    }

    /// Asks the engine something that it can answer at once.
    func ask<Value: Sendable>(
        _ body: @escaping @Sendable (Engine) throws(ChannelClientError) -> Value
    ) async throws(ChannelClientError) -> Value {
        try await call { engine, reply in
            do throws(ChannelClientError) { reply.succeed(try body(engine)) } catch { reply.fail(error) }
        }
    }

    // MARK: Events

    func events() -> AsyncStream<ClientEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.eventsBufferedMax)) { continuation in
            let id = state.withLock { state -> Int? in
                guard !state.isClosed else { return nil }
                state.nextStream += 1
                state.streams[state.nextStream] = continuation
                return state.nextStream
            }
            guard let id else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.streams.removeValue(forKey: id) }
            }
        }
    }

    func emit(_ event: ClientEvent) {
        let streams = state.withLock { Array($0.streams.values) }
        for stream in streams { stream.yield(event) }
    }

    // MARK: The end

    func shutdown() async {
        await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                if !state.isClosed { state.closing.append(continuation) }
                return state.isClosed
            }
            if isClosed { continuation.resume() } else { post { $0.stop() } }
        }
    }

    /// The last user went without a shutdown.
    func abandon() {
        post { $0.stop() }
    }

    private func closed() {
        let (streams, waiting) = state.withLock { state in
            state.isClosed = true
            defer {
                state.streams = [:]
                state.closing = []
            }
            return (Array(state.streams.values), state.closing)
        }
        _ = mailbox.drain()
        for stream in streams { stream.finish() }
        for continuation in waiting { continuation.resume() }
    }

    static let eventsBufferedMax = 1024
}

/// Wakes a loop that is known only after its thread has started.
private final class WakerBox: Sendable {
    private let waker = Mutex<LoopWaker?>(nil)
    func set(_ waker: LoopWaker) {
        self.waker.withLock { $0 = waker }
        // What was posted before is looked at now.
        waker.wake()
    }
    func wake() { waker.withLock { $0 }?.wake() }
}

/// Lets a cancelled task answer its own call.
private final class CancelBox<Value: Sendable>: Sendable {
    private struct State {
        weak var reply: Reply<Value>?
        var isCancelled = false
    }
    private let state = Mutex(State())

    func set(_ reply: Reply<Value>) {
        let cancelled = state.withLock { state in
            state.reply = reply
            return state.isCancelled
        }
        if cancelled { reply.fail(.cancelled) }
    }

    func cancel() {
        let reply = state.withLock { state in
            state.isCancelled = true
            return state.reply
        }
        reply?.fail(.cancelled)
    }
}
