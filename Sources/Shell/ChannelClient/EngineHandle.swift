/// The door between the calling tasks and the thread that owns the links and the database.
final class EngineHandle: Sendable {
    static func start(home: String, options: ChannelClient.Options) throws(ChannelClientError) -> EngineHandle {
        throw .notYet
    }
    func shutdown() async {}
    func abandon() {}
    func events() -> AsyncStream<ClientEvent> { AsyncStream { $0.finish() } }
    func follow(_ channel: String, since: FollowStart) -> AsyncThrowingStream<FollowItem, any Error> {
        AsyncThrowingStream { $0.finish(throwing: ChannelClientError.notYet) }
    }
}
