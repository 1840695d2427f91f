internal import ChannelWire
internal import ClientCore
internal import ClientStore
internal import LibeventLoop

/// How a reader gets from relays that are gone to those that came after.
///
/// A record comes with a link that works, so a reader who was away while all relays changed has none: the
/// relays of before are asked now and then, and a newer link of the channel leads on.
extension Engine {
    /// A join by somebody who is a member: where the link's relays have a newer record, the membership goes
    /// on at its relays; else there is nothing to do.
    func moveOn(_ known: StoredChannel, link: String, _ milliseconds: Int64, _ reply: Reply<JoinReport>) {
        let began = loop.nowMonotonicMilliseconds
        fetchRecord(link: link, milliseconds: milliseconds) { [weak self] result in
            guard let self else { return }
            do throws(ChannelClientError) {
                guard case .success(let record) = result, !record.content.relays.isEmpty,
                    let runtime = try self.runtime(known.id), self.takes(record, runtime)
                else { throw Self.alreadyMember(known) }
                let remaining = milliseconds - (self.loop.nowMonotonicMilliseconds - began)
                self.waitForJoin(runtime, before: .current, milliseconds: max(1, remaining), reply)
            } catch {
                reply.fail(error)
            }
        }
    }

    private func takes(_ record: VerifiedRecord, _ runtime: ChannelRuntime) -> Bool {
        runtime.reloadRecord()
        guard record.version > runtime.record.version, runtime.adopt(record) else { return false }
        runtime.followRecord()
        return true
    }

    /// Asks the former relays of every reader's channel that has none any more; then calls `done`.
    func findLostRelays(only channel: String?, milliseconds: Int64, _ done: @escaping () -> Void) {
        let stored = background { try store.channels() } ?? []
        let chosen = channel.flatMap { try? findChannel($0) }
        let lost = stored.filter { chosen?.id ?? $0.id == $0.id && $0.state == .current }
            .compactMap { (try? runtime($0.id)) ?? nil }.filter(\.isLost)
        guard !lost.isEmpty else { return done() }
        var open = lost.count
        for runtime in lost {
            findRelays(of: runtime, milliseconds: milliseconds) {
                open -= 1
                if open == 0 { done() }
            }
        }
    }

    func findRelays(of runtime: ChannelRuntime, milliseconds: Int64, _ done: @escaping () -> Void) {
        let hosts = runtime.relayRows().compactMap { row -> AntennaLink.Host? in
            guard case .relayChannel(_, let host) = try? AntennaLink.parse(row.address) else { return nil }
            return host
        }
        guard !hosts.isEmpty else { return done() }
        let link = AntennaLink.channel(runtime.channelID, hosts: Array(hosts.suffix(Limits.linkHostsMax)))
        fetchRecord(link: link.text(), milliseconds: milliseconds) { [weak self, weak runtime] result in
            if let self, let runtime, case .success(let record) = result { _ = self.takes(record, runtime) }
            done()
        }
    }

    /// For a reader who waits: looks again after a pause.
    func findRelaysInTime(of runtime: ChannelRuntime) {
        let now = loop.nowMonotonicMilliseconds
        guard now >= runtime.nextSearch, runtime.isLost else { return }
        let pause = min(Self.searchMilliseconds, max(1000, options.retryMaximum.clampedMilliseconds))
        runtime.nextSearch = now + pause
        findRelays(of: runtime, milliseconds: pause) {}
    }

    private static let searchMilliseconds: Int64 = 30_000
}

extension ChannelRuntime {
    /// Whether a reader knows of no relay that carries the channel.
    var isLost: Bool { isCurrent && !isOwner && !relayRows().contains(where: \.relay.takesMessages) }
}
