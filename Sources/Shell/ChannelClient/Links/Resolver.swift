internal import ChannelWire
internal import LinkRuntime
internal import PosixKit

/// The way to a relay: straight, or through the proxy.
enum Route: CustomStringConvertible {
    case direct([SocketAddress])
    case proxied([SOCKS5Target], LinkProxy)

    /// The one place where the client connects to anything.
    func connect(_ engine: Engine, expectedIdentity: PublicKey?, delegate: any LinkDelegate) -> Link {
        switch self {
        case .direct(let addresses):
            Link.connect(
                to: addresses, context: engine.context, settings: engine.linkSettings,
                expectedIdentity: expectedIdentity?.raw, delegate: delegate)
        case .proxied(let targets, let proxy):
            Link.connect(
                to: targets, through: proxy, context: engine.context, settings: engine.linkSettings,
                expectedIdentity: expectedIdentity?.raw, delegate: delegate)
        }
    }

    var description: String {
        switch self {
        case .direct(let addresses): addresses.map(\.description).joined(separator: ", ")
        case .proxied: "left to the proxy"
        }
    }
}

/// Finds the way to a relay's hosts.
///
/// With a proxy there is nothing to find: names go to it as they are, and no resolver of this machine hears
/// of them. Without one the system's resolver is asked off the loop; it blocks, so each question gets a
/// short-lived thread, and numeric hosts need none.
final class Resolver {
    private unowned let engine: Engine

    init(engine: Engine) { self.engine = engine }

    /// The way to all hosts, in their order; a failure only where none can be tried.
    func route(
        to hosts: [AntennaLink.Endpoint], on circuit: Circuit,
        _ done: @escaping (Result<Route, ConnectionFailure>) -> Void
    ) {
        if let proxy = engine.options.proxy {
            let targets = hosts.compactMap(Self.target)
            // Later, as the other ways do.
            engine.later {
                done(
                    targets.isEmpty
                        ? .failure(
                            ConnectionFailure(stage: .resolve, text: "the relay has no usable address"))
                        : .success(.proxied(targets, proxy.link(circuit))))
            }
            return
        }
        let numeric = hosts.compactMap { SocketAddress.parse(host: $0.host, port: $0.port) }
        if numeric.count == hosts.count, !numeric.isEmpty {
            engine.later { done(.success(.direct(numeric))) }
            return
        }
        let ticket = engine.park { (result: Result<[SocketAddress], ResolveError>) in
            done(
                result.map(Route.direct).mapError {
                    ConnectionFailure(stage: .resolve, text: $0.description)
                })
        }
        guard let handle = engine.handle else { return }
        _ = PosixThread.start(name: "antenna-resolve") { [weak handle] in
            let result = Self.blockingResolve(hosts)
            handle?.post { engine in engine.unpark(ticket)?(result) }
        }
    }

    private static func target(_ endpoint: AntennaLink.Endpoint) -> SOCKS5Target? {
        guard let numeric = SocketAddress.parse(host: endpoint.host, port: endpoint.port) else {
            return SOCKS5Target(.name(Array(endpoint.host.utf8)), port: endpoint.port)
        }
        let bytes = numeric.hostBytes
        return SOCKS5Target(numeric.isIPv6 ? .v6(bytes) : .v4(bytes), port: endpoint.port)
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
