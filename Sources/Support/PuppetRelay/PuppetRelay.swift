package import ChannelWire
internal import LibeventLoop
internal import LinkRuntime
internal import PosixKit
internal import SodiumCrypto

/// A relay on a loopback port and a thread of its own that says what it is told to say.
package final class PuppetRelay: Sendable {
    /// Gets each frame of a client and what an honest relay would answer; gives what is answered instead.
    package typealias Lie = @Sendable (_ frame: Frame, _ honest: [Frame]) -> [Frame]

    /// As an owner adds it.
    package let address: String
    private let thread: PosixThread
    private let commands: Mailbox<Command>

    private enum Command {
        /// To every open link.
        case say([Frame])
        case stop
    }
    private enum Started {
        case on(address: String, Mailbox<Command>)
        case failed
    }
    package struct CannotStart: Error {}

    package init(lie: @escaping Lie = { $1 }) throws {
        let started = Mailbox<Started>()
        thread = PosixThread.start(name: "puppet") { PuppetRelay.run(lie, started) }
        guard case .on(let address, let commands)? = started.waitDrain(timeoutMilliseconds: 10_000).first
        else {
            throw CannotStart()
        }
        self.address = address
        self.commands = commands
    }

    deinit {
        commands.post(.stop)
        thread.join()
    }

    /// Says something that nobody asked for, to every link that is open.
    package func say(_ frames: Frame...) { commands.post(.say(frames)) }

    private static func run(_ lie: @escaping Lie, _ started: Mailbox<Started>) {
        guard let loop = try? EventLoop(), let socket = try? Posix.listen(tcp: .loopback(port: 0)),
            let port = Posix.localAddress(socket.raw)?.port
        else { return started.post(.failed) }
        let identity = RelayIdentity.create(nowSeconds: Clock.nowSeconds())
        guard let key = PublicKey(raw: identity.publicKey), let member = PublicKey(raw: Sodium.random(32))
        else {
            return started.post(.failed)
        }
        let endpoint = AntennaLink.Endpoint(host: "127.0.0.1", port: port)
        let own = AntennaLink.relayChannel(
            key: member, host: AntennaLink.Host(endpoint: endpoint, identity: key))
        let waker = loop.waker
        let commands = Mailbox<Command> { waker.wake() }
        let context = LinkLoopContext(loop: loop)
        let puppet = Puppet(answers: PuppetAnswers(link: own.text()), lie: lie)
        let settings = LinkSettings.relay(identity.link)
        let listener = LinkListener(loop: loop, socket: socket, trouble: { _ in }) { connection, peer in
            let link = Link.accept(
                connection, peer: peer, context: context, settings: settings, delegate: puppet)
            puppet.links.append(link)
        }
        loop.onWake {
            context.run {
                for command in commands.drain() {
                    switch command {
                    case .say(let frames): for link in puppet.links { frames.forEach(link.send) }
                    case .stop: loop.stop()
                    }
                }
            }
        }
        started.post(
            .on(address: AntennaLink.relayAddress(identity: key, hosts: [endpoint]).text(), commands))
        loop.run()
        listener.stop()
        context.closeAll()
    }
}

/// The state of a puppet, on its thread.
private final class Puppet: LinkDelegate {
    var links: [Link] = []
    private var answers: PuppetAnswers
    private let lie: PuppetRelay.Lie

    init(answers: PuppetAnswers, lie: @escaping PuppetRelay.Lie) {
        self.answers = answers
        self.lie = lie
    }

    func linkDidOpen(_ link: Link) {}
    func link(_ link: Link, didReceive frame: Frame) {
        for answer in lie(frame, answers.answers(to: frame)) { link.send(answer) }
    }
    func linkIsWritable(_ link: Link) {}
    func linkDidClose(_ link: Link, reason: LinkCloseReason) { links.removeAll { $0 === link } }
}
