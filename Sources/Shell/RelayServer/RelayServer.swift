internal import ChannelWire
internal import ControlWire
internal import LibeventLoop
internal import LinkRuntime
package import Operations
package import PosixKit
internal import RelayStore

/// A running relay.
///
/// ```
///  init ──▶ running ── stop (or a signal) ──▶ draining ── all links gone, or the time is up ──▶ stopped
///                                                └── stop again: at once
/// ```
/// Threads: the loops, the authority (the one writer) and the reader; RelayMessages.swift holds what they
/// say.
package final class RelayServer: Sendable {
    private let relay: RelayShared
    private let loops: [Mailbox<LoopMessage>]
    private let loopThreads: [PosixThread]
    private let storeThreads: [PosixThread]
    private let lifecycle: Mailbox<LifecycleMessage>

    /// The address that the relay listens on, with the port it got.
    package var listening: SocketAddress { relay.listening }
    /// The `r` link for owners.
    package var address: String { relay.address }
    /// Shape: the 32 bytes of the identity key that the address names.
    package var identity: [UInt8] { relay.identityKey.raw }

    /// Opens the state, starts the threads and listens.
    ///
    /// `readSettings`: what a reload reads the settings with. With `ownsProcess` the relay is what its
    /// process is for: it takes the signals (TERM and INT stop it, HUP reads the settings anew), speaks to
    /// the service manager, and listens where that one does. `keyClock` is another one than the machine's in
    /// tests only.
    ///
    /// **Throws** what an operator can act on, each with its exit code.
    package init(
        _ configuration: RelayConfiguration, log: Log, readSettings: SettingsReader? = nil,
        ownsProcess: Bool = false, keyClock: KeyClock = KeyClock()
    ) throws(OperatorError) {
        Posix.ignoreSIGPIPE()
        // A relay inside another program leaves that program's service manager alone.
        let service =
            ownsProcess
            ? Supervisor(environment: { Posix.environment($0) }, processID: Posix.processID)
            : Supervisor()
        let startup = Mailbox<StartupMessage>()
        let authority = Mailbox<AuthorityMessage>()
        let lifecycle = Mailbox<LifecycleMessage>()
        self.lifecycle = lifecycle

        try Console.requireDescriptors(RelayServer.descriptorsMin(loops: configuration.loops))
        // The store first: what cannot be opened is refused before anything is written or listened on.
        let identityPath = configuration.state + "/relay.identity"
        let known = try RelayServer.readIdentity(identityPath)
        let authorityThread = RelayServer.startAuthority(
            configuration, authority, identity: known?.publicKey, startup)
        try RelayServer.wait(startup)
        do throws(OperatorError) {
            let identity = try RelayServer.useIdentity(known, identityPath, log, keyClock.nowSeconds())
            if known == nil { authority.post(.claim(identity.publicKey)) }
            let socket = try RelayServer.listen(configuration, mayInherit: ownsProcess)
            guard let listening = Posix.localAddress(socket.raw), let key = PublicKey(raw: identity.publicKey)
            else {
                throw OperatorError(.internalDefect, "the listening socket has no address")
            }
            let relay = RelayShared(
                configuration: configuration, log: log, identityKey: key, identitySecret: identity.identity,
                listening: listening, authority: authority,
                connectionsMax: RelayServer.connectionsMax(configuration), service: service)
            self.relay = relay
            if relay.connections.totalMax < configuration.connectionsMax {
                log.write(
                    relay.connections.totalMax < 1024 ? .warning : .info, "descriptors.few",
                    [
                        "wanted": .count(configuration.connectionsMax),
                        "connections": .count(relay.connections.totalMax),
                    ])
            }
            var loops: [Mailbox<LoopMessage>] = []
            var threads: [PosixThread] = []
            for index in 0..<configuration.loops {
                threads.append(RelayServer.startLoop(index, relay, identity.link, lifecycle, startup))
                if let mailbox = try RelayServer.wait(startup) { loops.append(mailbox) }
            }
            self.loops = loops
            loopThreads = threads
            authority.post(.begin(relay, loops))
            let readerThread = RelayServer.startReader(relay, loops, startup)
            try RelayServer.wait(startup)
            storeThreads = [authorityThread, readerThread]
            loops[0].post(
                .openFrontDoor(
                    FrontDoorPlan(
                        loops: loops, socket: socket.release(), identity: identity,
                        identityPath: identityPath, keyClock: keyClock,
                        readSettings: readSettings, takesSignals: ownsProcess, startup: startup)))
            try RelayServer.wait(startup)
        } catch {
            // The process ends; the state is closed cleanly all the same.
            authority.post(.stop)
            authorityThread.join()
            throw error
        }
        service.ready("listening on \(listening)")
        log.info(
            "relay.ready",
            [
                "address": .text(relay.address), "listen": .text(listening.description),
                "state": .text(configuration.state), "version": .text(Version.number),
            ])
    }

    /// Reads the settings anew, on a loop: what is in force then, or what is wrong.
    package typealias SettingsReader = @Sendable () -> Result<FreshSettings, OperatorError>

    /// Settings that were read while the relay runs.
    package struct FreshSettings: Sendable {
        package var configuration: RelayConfiguration
        /// The file they were read from; nil: none was found.
        package var file: String?
        /// The settings with a new value: `[limits] channels`.
        package var changed: [String]
        /// The settings that differ from those at the start and can only change with a restart.
        package var needRestart: [String]

        package init(
            configuration: RelayConfiguration, file: String?, changed: [String], needRestart: [String]
        ) {
            self.configuration = configuration
            self.file = file
            self.changed = changed
            self.needRestart = needRestart
        }
    }

    /// As many connections as are wanted and as the limit of descriptors lets in; raises that where it can.
    /// With few descriptors half are kept for the relay itself, so that its operator and its database have
    /// theirs.
    static func connectionsMax(_ configuration: RelayConfiguration) -> Int {
        let wanted = configuration.connectionsMax
        let own = max(256, descriptorsMin(loops: configuration.loops))
        let limit = Int(clamping: Posix.raiseDescriptorLimit(to: UInt64(wanted + own)))
        return max(1, min(wanted, limit - min(own, limit / 2)))
    }

    /// Descriptors for files, wake-ups, the control socket and a few links.
    private static func descriptorsMin(loops: Int) -> Int { 24 + 4 * loops }

    // MARK: Stopping

    /// Asks the relay to stop; a second time: at once. Returns without waiting.
    package func stop() { lifecycle.post(.stopRequested) }

    /// Waits until the relay was asked to stop and has said goodbye to everybody.
    package func waitUntilStopped() {
        var drained = 0
        var isDraining = false
        while drained < loops.count {
            for message in lifecycle.waitDrain(timeoutMilliseconds: 60_000) {
                switch message {
                case .stopRequested where !isDraining:
                    isDraining = true
                    relay.log.info("relay.draining", ["links": .count(relay.counters.links.now)])
                    let seconds = relay.configuration.drainSeconds
                    relay.service.stopping(
                        "saying goodbye on \(relay.counters.links.now) links", seconds: seconds + 30)
                    tell(.drain(milliseconds: seconds * 1000))
                case .stopRequested: tell(.hurry)
                case .loopDrained: drained += 1
                }
            }
        }
        // No link is left, so nobody asks any more: what was asked is in the boxes, before this.
        relay.reader.post(.stop)
        relay.authority.post(.stop)
        for thread in storeThreads { thread.join() }
        tell(.stop)
        for thread in loopThreads { thread.join() }
        relay.log.info("relay.stopped")
        relay.log.flushSuppressed(all: true)
    }

    private func tell(_ message: LoopMessage) { for loop in loops { loop.post(message) } }
}

/// What the threads tell the one that stops the relay.
enum LifecycleMessage: Sendable {
    case stopRequested
    case loopDrained(Int)
}

/// What the threads tell the one that starts the relay.
enum StartupMessage: Sendable {
    case ready
    case loop(Mailbox<LoopMessage>)
    case failed(OperatorError)
}

/// What loop 0 needs to open the front door. Who gets it owns the socket.
struct FrontDoorPlan: Sendable {
    let loops: [Mailbox<LoopMessage>]
    let socket: Int32
    let identity: RelayIdentity
    let identityPath: String
    let keyClock: KeyClock
    /// How to read the settings anew; nil: there are none to read.
    let readSettings: RelayServer.SettingsReader?
    let takesSignals: Bool
    let startup: Mailbox<StartupMessage>
}
