internal import ChannelWire
internal import PosixKit

/// Turns host names into addresses, off the loop.
///
/// The system's resolver blocks, so each name gets a short-lived thread; numeric hosts need none.
final class Resolver {
    private unowned let engine: Engine

    init(engine: Engine) { self.engine = engine }

    /// The addresses of all hosts, in their order; a failure only where none has any.
    func resolve(
        _ hosts: [AntennaLink.Endpoint], _ done: @escaping (Result<[SocketAddress], ResolveError>) -> Void
    ) {
        let numeric = hosts.compactMap { SocketAddress.parse(host: $0.host, port: $0.port) }
        if numeric.count == hosts.count, !numeric.isEmpty {
            // Later, as the other way does.
            engine.later { done(.success(numeric)) }
            return
        }
        let ticket = engine.park(done)
        guard let handle = engine.handle else { return }
        _ = PosixThread.start(name: "antenna-resolve") { [weak handle] in
            let result = Self.blockingResolve(hosts)
            handle?.post { engine in engine.unpark(ticket)?(result) }
        }
    }

    private static func blockingResolve(_ hosts: [AntennaLink.Endpoint]) -> Result<
        [SocketAddress], ResolveError
    > {
        var found: [SocketAddress] = []
        var failure = ResolveError(host: hosts.first?.host ?? "", message: "no address")
        for host in hosts {
            do throws(ResolveError) {
                for address in try SocketAddress.resolve(host: host.host, port: host.port)
                where !found.contains(address) {
                    found.append(address)
                }
            } catch {
                failure = error
            }
        }
        return found.isEmpty ? .failure(failure) : .success(found)
    }
}
