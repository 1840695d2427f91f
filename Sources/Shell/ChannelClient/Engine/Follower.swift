internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop
import Synchronization

/// One reader of a channel's journal.
///
/// It pulls: nothing is kept in memory for a reader who does not ask, because the journal is on the disk.
final class Follower {
    let runtime: ChannelRuntime
    var position: Int64
    var ready: [FollowItem] = []
    var waiting: Reply<FollowItem?>?

    init(runtime: ChannelRuntime, position: Int64) {
        self.runtime = runtime
        self.position = position
        runtime.followerCount += 1
    }

    func end() {
        runtime.followerCount -= 1
        waiting?.succeed(nil)
        waiting = nil
    }
}

/// Holds a follower from the outside; letting go of it ends it.
final class FollowToken: Sendable {
    private let handle: EngineHandle
    private let follower = Mutex<Result<Int64, ChannelClientError>?>(nil)

    /// The follower begins at once, not with the first item asked for: nothing that comes between is missed.
    init(handle: EngineHandle, channel: String, start: FollowStart) {
        self.handle = handle
        handle.post { engine in
            let begun = engine.beginFollow(channel, start)
            self.follower.withLock { $0 = begun }
        }
    }

    deinit {
        if case .success(let id) = follower.withLock({ $0 }) { handle.post { $0.endFollow(id) } }
    }

    /// The next item; nil at the end.
    func next() async throws(ChannelClientError) -> FollowItem? {
        do throws(ChannelClientError) {
            return try await handle.call { engine, reply in
                switch self.follower.withLock({ $0 }) {
                case .success(let id): engine.nextFollowItem(id, reply)
                case .failure(let error): reply.fail(error)
                case nil: reply.succeed(nil)
                }
            }
        } catch {
            if error.code == .cancelled || error.code == .shutDown { return nil }
            throw error
        }
    }
}

extension EngineHandle {
    func follow(_ channel: String, since start: FollowStart) -> AsyncThrowingStream<FollowItem, any Error> {
        let token = FollowToken(handle: self, channel: channel, start: start)
        return AsyncThrowingStream { try await token.next() }
    }
}

extension Engine {
    func beginFollow(_ name: String, _ start: FollowStart) -> Result<Int64, ChannelClientError> {
        do throws(ChannelClientError) {
            let runtime = try open(name)
            let position: Int64 = try attempt {
                switch start {
                case .now: return try store.lastJournalID(of: runtime.id)
                case .last(let count):
                    return try store.journalPosition(of: runtime.id, beforeLastMessages: max(0, count))
                case .after(let position): return position
                case .beginning: return 0
                }
            }
            let ticket = newTicket()
            followers[ticket] = Follower(runtime: runtime, position: position)
            return .success(ticket)
        } catch {
            return .failure(error)
        }
    }

    func nextFollowItem(_ id: Int64, _ reply: Reply<FollowItem?>) {
        guard let follower = followers[id] else { return reply.succeed(nil) }
        // A disk that fails behind our back must not look like a channel where nothing happens.
        if let failure = takeStoreFailure() { return reply.fail(failure) }
        follower.waiting?.succeed(nil)
        follower.waiting = reply
        pump(follower)
    }

    func endFollow(_ id: Int64) {
        followers.removeValue(forKey: id)?.end()
    }

    func pumpFollowers(of channel: Int64) {
        for follower in followers.values where follower.runtime.id == channel { pump(follower) }
        watchForeignWrites()
    }

    /// Gives a waiting reader its next item.
    private func pump(_ follower: Follower) {
        guard let reply = follower.waiting else { return }
        if !reply.isOpen {
            follower.waiting = nil
            return
        }
        while follower.ready.isEmpty {
            let entries: [StoredJournalEntry]
            do throws(ChannelClientError) {
                entries = try attempt {
                    try store.journal(
                        of: follower.runtime.id, after: follower.position, limit: Self.journalPageMax)
                }
            } catch {
                follower.waiting = nil
                return reply.fail(error)
            }
            guard let last = entries.last else {
                // The stream ends with the membership, once everything has been read.
                if !follower.runtime.isCurrent {
                    follower.waiting = nil
                    reply.succeed(nil)
                } else {
                    watchForeignWrites()
                }
                return
            }
            follower.position = last.id
            follower.ready = entries.compactMap { item($0, in: follower.runtime) }
        }
        follower.waiting = nil
        reply.succeed(follower.ready.removeFirst())
    }

    /// Another process may write to the same journal; nobody tells us, so it is looked at now and then.
    func watchForeignWrites() {
        guard followTimer == nil, followers.values.contains(where: { $0.waiting != nil }) else { return }
        followTimer = loop.timer(afterMilliseconds: Self.foreignWritesMilliseconds) { [weak self] in
            guard let self else { return }
            self.followTimer = nil
            for follower in self.followers.values {
                follower.runtime.reloadRecord()
                self.findRelaysInTime(of: follower.runtime)
                self.pump(follower)
            }
            self.watchForeignWrites()
        }
    }

    private func item(_ entry: StoredJournalEntry, in runtime: ChannelRuntime) -> FollowItem? {
        guard let kind = itemKind(entry, in: runtime) else { return nil }
        return FollowItem(position: entry.id, kind: kind)
    }

    private func itemKind(_ entry: StoredJournalEntry, in runtime: ChannelRuntime) -> FollowItem.Kind? {
        switch entry.kind {
        case "message", "edited", "deleted":
            guard let event = entry.event, let stored = background({ try store.message(event: event) }) ?? nil
            else {
                return nil
            }
            let message = publicMessage(stored, in: runtime)
            if entry.kind == "deleted" { return .deleted(message) }
            // What was deleted since is told by its own entry only.
            guard !message.deleted else { return nil }
            return entry.kind == "message" ? .message(message) : .edited(message)
        case "gap":
            return entry.detail.flatMap { JournalText.gap($0, channel: runtime.localName) }.map { .gap($0) }
        case "disagreement":
            return entry.detail.flatMap { JournalText.disagreement($0, channel: runtime.localName) }
                .map { .disagreement($0) }
        case "notice": return .notice(entry.detail ?? "")
        default: return nil
        }
    }

    private static let journalPageMax = 100
    private static let foreignWritesMilliseconds: Int64 = 500
}
