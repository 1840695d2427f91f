internal import ChannelWire
internal import ControlWire
internal import LibeventLoop
internal import LinkRuntime
internal import Operations
internal import PosixKit

/// What only loop 0 has: the listener, the control socket, the relay's keys, the signals.
final class FrontDoor {
    private let relay: RelayShared
    private let loops: [Mailbox<LoopMessage>]
    private let identityPath: String
    private var identity: RelayIdentity
    private var listener: LinkListener?
    private(set) var control: ControlServer?
    private var signals: [LoopEvent] = []
    private var nextLoop = 0
    private let readSettings: RelayServer.SettingsReader?
    private var watchdogTimer: LoopTimer?
    private let keyClock: KeyClock
    private var keyTimer: LoopTimer?

    init(
        loop: RelayLoop, plan: FrontDoorPlan, listening socket: consuming FileDescriptor,
        lifecycle: Mailbox<LifecycleMessage>
    ) throws(PosixError) {
        let relay = loop.relay
        self.relay = relay
        loops = plan.loops
        identity = plan.identity
        identityPath = plan.identityPath
        readSettings = plan.readSettings
        keyClock = plan.keyClock
        control = try ControlServer(
            loop: loop.loop, mailbox: loop.mailbox, relay: relay,
            path: ControlPaths.socket(inState: relay.configuration.state),
            isDraining: { [unowned loop] in loop.isDraining },
            rotateKey: { [unowned self] in self.rotateKey() }, reload: { [unowned self] in self.reload() })
        listener = LinkListener(
            loop: loop.loop, socket: socket,
            admit: { peer in
                if relay.connections.enter(peer) { return nil }
                relay.counters.refused.add(1)
                return .tooManyConnections
            },
            trouble: { error in relay.log.error("accept.failed", ["reason": .text(error.description)]) },
            pace: LinkListener.pace / UInt64(max(1, loops.count / 2)),
            take: { [unowned self, unowned loop] connection, peer in self.take(connection, peer, loop) })
        if let watchdog = relay.service.watchdogMilliseconds {
            watchdogTimer = loop.loop.timer(afterMilliseconds: watchdog / 4, repeating: true) {
                [unowned self] in self.giveSign(within: watchdog / 2)
            }
        }
        keyTimer = loop.loop.timer(afterMilliseconds: keyClock.checkMilliseconds, repeating: true) {
            [unowned self] in self.renewKeyIfDue()
        }
        if plan.takesSignals { watchSignals(loop.loop, lifecycle) }
    }

    private func take(_ connection: consuming FileDescriptor, _ peer: SocketAddress?, _ loop: RelayLoop) {
        relay.counters.accepted.add(1)
        if relay.configuration.logAddresses, let peer {
            relay.log.debug("link.accepted", ["address": .text(peer.hostText)])
        }
        let target = nextLoop
        nextLoop = (nextLoop + 1) % loops.count
        if target == loop.index {
            loop.accept(connection, peer)
        } else {
            loops[target].post(.accepted(descriptor: connection.release(), peer))
        }
    }

    private func watchSignals(
        _ loop: EventLoop, _ lifecycle: Mailbox<LifecycleMessage>
    ) {
        for number in [Signal.terminate, Signal.interrupt] {
            signals.append(loop.onSignal(number) { lifecycle.post(.stopRequested) })
        }
        signals.append(loop.onSignal(Signal.hangup) { [unowned self] in _ = self.reload() })
    }

    func stopAccepting() {
        listener?.stop()
        listener = nil
    }

    func close() {
        stopAccepting()
        control?.close()
        control = nil
        signals = []
        watchdogTimer = nil
        keyTimer = nil
    }

    /// A sign of life for the service manager, while every thread that serves goes round.
    private func giveSign(within milliseconds: Int64) {
        if relay.goesRound(within: milliseconds) { relay.service.alive(serving) }
    }

    private var serving: String {
        "listening on \(relay.listening), \(relay.counters.links.now) links"
    }

    // MARK: Settings

    /// Reads the settings anew and puts in force what can be. What is wrong changes nothing.
    private func reload() -> Result<ReloadReport, ControlError> {
        guard let readSettings else {
            return .failure(ControlError(.badConfiguration, "This relay has no settings to read anew."))
        }
        let now = Clock.nowSeconds()
        relay.service.reloading()
        switch readSettings() {
        case .failure(let error):
            relay.service.ready("\(serving); last reload failed: \(error.message)")
            relay.lastReload = StatusReport.Reload(reloadedAt: now, ok: false, problem: error.message)
            relay.log.error(
                "reload.failed", ["reason": .text(error.message), "hint": .text(error.hint ?? "")])
            return .failure(ControlError(.badConfiguration, error.message))
        case .success(let fresh):
            apply(fresh.configuration)
            relay.service.ready(serving)
            relay.lastReload = StatusReport.Reload(reloadedAt: now, ok: true, problem: nil)
            let report = ReloadReport(
                changed: fresh.changed, needRestart: fresh.needRestart, file: fresh.file)
            relay.log.notice(
                "reload.done",
                [
                    "changed": .text(listed(report.changed)),
                    "needs-restart": .text(listed(report.needRestart)),
                    "file": .text(report.file ?? "none"),
                ])
            return .success(report)
        }
    }

    private func apply(_ fresh: RelayConfiguration) {
        let configuration = fresh.keepingFixed(of: relay.configuration)
        relay.configuration = configuration
        relay.connections.setLimits(
            totalMax: RelayServer.connectionsMax(configuration),
            perAddressMax: configuration.connectionsPerAddressMax)
        relay.authority.post(.settingsChanged(RelayServer.options(configuration)))
        for loop in loops { loop.post(.settingsChanged) }
    }

    private func listed(_ names: [String]) -> String {
        names.isEmpty ? "nothing" : names.joined(separator: ", ")
    }

    // MARK: Keys

    /// A relay may run for longer than its certificate is good for, and its clock may have been put right
    /// since the start.
    private func renewKeyIfDue() {
        if let fresh = RelayServer.fresh(identity, identityPath, relay.log, keyClock.nowSeconds()) {
            use(fresh)
        }
    }

    private func use(_ fresh: RelayIdentity) {
        identity = fresh
        for loop in loops { loop.post(.newLinkKey(fresh.link)) }
    }

    /// A new static key with a certificate by the identity; the address stays. Links that are open go on.
    private func rotateKey() -> Result<KeyReport, ControlError> {
        guard let fresh = identity.rotated(nowSeconds: keyClock.nowSeconds()) else {
            return .failure(ControlError(.internalError, "The identity's secret key is not on this machine."))
        }
        do throws(PosixError) {
            try Posix.writeFileAtomically(identityPath, fresh.encode(), mode: 0o600)
        } catch {
            relay.log.error("key.not-written", ["reason": .text(error.description)])
            return .failure(
                ControlError(.internalError, "The new key could not be written: \(error.reason)."))
        }
        use(fresh)
        relay.log.notice("key.rotated")
        let certificate = fresh.link.certificate
        return .success(KeyReport(notBeforeAt: certificate.notBefore, notAfterAt: certificate.notAfter))
    }
}

/// When the relay looks whether its link key is still good, and by which clock.
package struct KeyClock: Sendable {
    package var nowSeconds: @Sendable () -> Int64
    package var checkMilliseconds: Int64

    package init(
        nowSeconds: @escaping @Sendable () -> Int64 = { Clock.nowSeconds() },
        checkMilliseconds: Int64 = 60_000
    ) {
        self.nowSeconds = nowSeconds
        self.checkMilliseconds = checkMilliseconds
    }
}

@available(*, unavailable)
extension FrontDoor: Sendable {}
