package import ChannelWire
internal import LibeventLoop
internal import LinkRuntime
internal import PosixKit
internal import SodiumCrypto

/// A relay on a loopback port and a thread of its own that says what it is told to say.
package final class PuppetRelay: Sendable {
    /// Gets each frame of a client and what an honest relay would answer; gives what is answered instead.
    package typealias Lie = @Sendable (_ frame: Frame, _ honest: [Frame]) -> [Frame]
    /// The same, for what is no frame.
    package typealias RawLie = @Sendable (_ frame: Frame, _ honest: [Frame]) -> [Word]

    package enum Word: Sendable {
        case frame(Frame)
        /// One record of these bytes, 1 to 16384.
        case record([UInt8])
        case hangUp
    }

    /// As an owner adds it.
    package let address: String
    private let thread: PosixThread
    private let commands: Mailbox<Command>

    private enum Command {
        /// To every open link.
        case say([Frame])
        case hangUp
        case stop
    }
    private enum Started {
        case on(address: String, Mailbox<Command>)
        case failed
    }
    package struct CannotStart: Error {}

    package convenience init(lie: @escaping Lie = { $1 }) throws {
        try self.init(rawLie: { frame, honest in lie(frame, honest).map { .frame($0) } })
    }

    package init(rawLie lie: @escaping RawLie) throws {
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

    /// Closes every link.
    package func hangUp() { commands.post(.hangUp) }

    private static func run(_ lie: @escaping RawLie, _ started: Mailbox<Started>) {
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
                    case .hangUp: for link in puppet.links { link.close(after: false) }
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
    private let lie: PuppetRelay.RawLie

    init(answers: PuppetAnswers, lie: @escaping PuppetRelay.RawLie) {
        self.answers = answers
        self.lie = lie
    }

    func linkDidOpen(_ link: Link) {}
    func link(_ link: Link, didReceive frame: Frame) {
        for word in lie(frame, answers.answers(to: frame)) {
            switch word {
            case .frame(let frame): link.send(frame)
            case .record(let bytes): if link.canSendBulk { link.sendBulk(bytes) }
            case .hangUp: link.close(after: false)
            }
        }
    }
    func linkIsWritable(_ link: Link) {}
    func linkDidClose(_ link: Link, reason: LinkCloseReason) { links.removeAll { $0 === link } }
}
