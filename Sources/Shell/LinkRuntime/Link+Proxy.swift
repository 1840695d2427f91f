internal import LibeventLoop
package import PosixKit

/// A SOCKS5 proxy and who we are to it.
package struct LinkProxy: Equatable, Sendable {
    /// Where it is; tried in order.
    package let addresses: [SocketAddress]
    /// Connections with other credentials share no circuit, where the proxy has circuits.
    package let credentials: SOCKS5Credentials

    package init(addresses: [SocketAddress], credentials: SOCKS5Credentials) {
        self.addresses = addresses
        self.credentials = credentials
    }
}

/// What a link through a proxy knows until the connection stands.
struct ProxyStage {
    let targets: [SOCKS5Target]
    let credentials: SOCKS5Credentials
    var nextTarget = 0
    var handshake: SOCKS5Handshake?
}

extension Link {
    /// The client's end of a connection that a proxy is to make: the targets are tried in order, each on a
    /// connection of its own. Nothing is connected to but the proxy, and no name is resolved here.
    package static func connect(
        to targets: [SOCKS5Target], through proxy: LinkProxy, context: LinkLoopContext,
        settings: LinkSettings, expectedIdentity: [UInt8]? = nil, delegate: any LinkDelegate
    ) -> Link {
        let link = Link(.client, .connecting, context, settings, delegate)
        let handshake = LinkHandshake(addresses: proxy.addresses, expectedIdentity: expectedIdentity)
        handshake.proxy = ProxyStage(targets: targets, credentials: proxy.credentials)
        link.handshake = handshake
        link.tryNextTarget(after: .refused(8))
        return link
    }

    private func tryNextTarget(after problem: SOCKS5Problem) {
        dropDescriptor()
        inbound = []
        guard let handshake, let proxy = handshake.proxy, proxy.nextTarget < proxy.targets.count else {
            return finish(.proxyFailed(problem))
        }
        handshake.proxy?.handshake = SOCKS5Handshake(
            target: proxy.targets[proxy.nextTarget], credentials: proxy.credentials)
        handshake.proxy?.nextTarget += 1
        handshake.nextAddress = 0
        connectNext(after: nil)
    }

    /// The connection to the proxy stands.
    func beginProxying() {
        enter(.proxying)
        adopt(descriptor)
        if phase == .proxying { transmit(SOCKS5Handshake.greeting) }
    }

    /// Takes one answer of the proxy from the front of `bytes`; returns how many bytes it was.
    func advanceProxy(_ bytes: [UInt8]) -> Int {
        guard writing == nil else {
            // An answer to what has not been asked yet.
            proxyFailed(.malformed)
            return 0
        }
        guard let answer = handshake?.proxy?.handshake?.received(bytes) else { return 0 }
        switch answer.step {
        case .wait: break
        case .send(let message): transmit(message)
        case .connected: beginClientHandshake()
        case .failed(let problem): proxyFailed(problem)
        }
        return answer.used
    }

    /// This target cannot be had; the next one, unless the trouble is the proxy itself.
    func proxyFailed(_ problem: SOCKS5Problem) {
        guard problem.isAboutTarget else { return finish(.proxyFailed(problem)) }
        tryNextTarget(after: problem)
    }
}
