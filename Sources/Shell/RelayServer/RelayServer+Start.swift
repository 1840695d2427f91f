internal import ChannelWire
internal import ControlWire
internal import LibeventLoop
internal import LinkRuntime
internal import Operations
internal import PosixKit
internal import RelayCore
internal import RelayStore

// The threads of a relay, each told of its start by a message.
extension RelayServer {
    /// Waits for one thread to be ready.
    @discardableResult
    static func wait(_ startup: Mailbox<StartupMessage>) throws(OperatorError) -> Mailbox<LoopMessage>? {
        while true {
            // One message a thread, and the threads start one after the other.
            for message in startup.waitDrain(timeoutMilliseconds: 60_000) {
                switch message {
                case .ready: return nil
                case .loop(let mailbox): return mailbox
                case .failed(let error): throw error
                }
            }
        }
    }

    // MARK: The store

    /// Opens the state and waits to hear who the loops are.
    ///
    /// `identity`: the key of the relay that worked here before; nil where its file is not there.
    static func startAuthority(
        _ configuration: RelayConfiguration, _ mailbox: Mailbox<AuthorityMessage>, identity: [UInt8]?,
        _ startup: Mailbox<StartupMessage>
    ) -> PosixThread {
        PosixThread.start(name: "authority") {
            let ledger: RelayLedger
            do throws(RelayStoreError) {
                ledger = try RelayLedger(directory: configuration.state, options: options(configuration))
            } catch {
                startup.post(.failed(storeError(error)))
                return
            }
            do throws(RelayStoreError) {
                if let identity {
                    try ledger.claim(for: identity)
                } else if let owner = try ledger.owner() {
                    ledger.close()
                    return startup.post(.failed(identityIsMissing(configuration.state, owner)))
                }
            } catch {
                ledger.close()
                return startup.post(.failed(storeError(error)))
            }
            startup.post(.ready)
            // Where the kernel does not know them, the loops' giving way has to do.
            _ = PosixThread.takeShortTurns(nanoseconds: Authority.processorTurnNanoseconds)
            Authority(mailbox: mailbox, ledger: ledger).run()
        }
    }

    private static func identityIsMissing(_ state: String, _ owner: [UInt8]) -> OperatorError {
        OperatorError(
            .databaseCorrupt,
            "\(state)/relay.identity is missing, and the database is that of the relay with the key "
                + Base64URL.encode(owner, padded: false),
            hint: "restore the file; to begin anew under another address, take relay.db away too")
    }

    static func startReader(
        _ relay: RelayShared, _ loops: [Mailbox<LoopMessage>], _ startup: Mailbox<StartupMessage>
    ) -> PosixThread {
        PosixThread.start(name: "reader") {
            let reader: RelayReader
            do throws(RelayStoreError) {
                reader = try RelayReader(directory: relay.configuration.state)
            } catch {
                startup.post(.failed(storeError(error)))
                return
            }
            startup.post(.ready)
            DiskReader(relay: relay, reader: reader, loops: loops).run()
        }
    }

    static func options(_ configuration: RelayConfiguration) -> LedgerOptions {
        var options = LedgerOptions()
        options.admission =
            switch configuration.admission {
            case .open: .open
            case .manual: .manual
            case .closed: .closed
            }
        options.channelsMax = Int64(configuration.channelsMax)
        options.pendingInvitationsMax = Int64(configuration.pendingInvitationsMax)
        options.invitationsPerSourceMax = Int64(configuration.invitationsPerAddressMax)
        options.membersPerChannelMax = Int64(configuration.subscribersPerChannelMax)
        options.messageBytesMax = configuration.messageBytesMax
        options.retention = Retention(
            messages: configuration.logMessagesMax, bytes: configuration.logBytesMax)
        options.walBytesMax = configuration.walBytesMax
        options.quotaBytes = configuration.databaseBytesMax > 0 ? configuration.databaseBytesMax : nil
        options.relayName = configuration.name
        return options
    }

    static func storeError(_ error: RelayStoreError) -> OperatorError {
        switch error {
        case .inUse:
            OperatorError(
                .stateLocked, error.description, hint: "stop the other relay, or use another --state")
        case .foreign: OperatorError(.foreignDatabase, error.description, hint: "it was not touched")
        case .tooNew:
            OperatorError(
                .databaseTooNew, error.description, hint: "it was not touched; use the newer program")
        case .corrupt, .missing: OperatorError(.databaseCorrupt, error.description)
        case .cannotCreate:
            OperatorError(.stateNotWritable, error.description, hint: "name another one with --state")
        case .full: OperatorError(.storageFull, error.description)
        case .failed: OperatorError(.inputOutput, error.description)
        }
    }

    // MARK: The loops

    static func startLoop(
        _ index: Int, _ relay: RelayShared, _ link: RelayLinkIdentity, _ lifecycle: Mailbox<LifecycleMessage>,
        _ startup: Mailbox<StartupMessage>
    ) -> PosixThread {
        PosixThread.start(name: "loop-\(index)") {
            do throws(LoopError) {
                let loop = try RelayLoop(index: index, relay: relay, link: link, lifecycle: lifecycle)
                startup.post(.loop(loop.mailbox))
                loop.run()
            } catch {
                startup.post(
                    .failed(OperatorError(.inputOutput, "the event loop could not be made: \(error)")))
            }
        }
    }

    // MARK: The identity and the listening socket

    /// The keys of the relay as the file has them; nil where there is no file.
    static func readIdentity(_ path: String) throws(OperatorError) -> RelayIdentity? {
        guard let status = Posix.status(path) else { return nil }
        guard status.isRegular else {
            throw OperatorError(
                .databaseCorrupt, "\(path) is not a file",
                hint: "restore the file; without it the address is lost")
        }
        let bytes: [UInt8]
        do throws(PosixError) {
            bytes = try Posix.readFile(path, limit: 64 << 10)
        } catch {
            throw OperatorError(error.isPermission ? .notPermitted : .inputOutput, error.description)
        }
        do throws(RelayIdentity.FileProblem) {
            return try RelayIdentity.decode(bytes)
        } catch {
            throw OperatorError(
                .databaseCorrupt, "\(path): \(error.description)",
                hint: "restore the file; without it the address is lost")
        }
    }

    /// The keys to serve with: those of the file, renewed where that is due, or new ones at the first start.
    static func useIdentity(
        _ known: RelayIdentity?, _ path: String, _ log: Log, _ nowSeconds: Int64
    ) throws(OperatorError) -> RelayIdentity {
        guard let known else {
            let fresh = RelayIdentity.create(nowSeconds: nowSeconds)
            try write(fresh, path)
            log.info("relay.created", ["identity": .text(path)])
            return fresh
        }
        return fresh(known, path, log, nowSeconds) ?? known
    }

    /// A certificate that is about to end, or whose time has not come, is replaced where that can be done
    /// here; nil where nothing is to be done, or nothing can be.
    static func fresh(
        _ identity: RelayIdentity, _ path: String, _ log: Log, _ nowSeconds: Int64
    ) -> RelayIdentity? {
        guard identity.shouldRotate(nowSeconds: nowSeconds) else { return nil }
        guard let fresh = identity.rotated(nowSeconds: nowSeconds) else {
            log.warning(
                "key.ends",
                [
                    "until": .text(TimeText.readable(seconds: identity.link.certificate.notAfter)),
                    "hint": "the identity's secret key is not on this machine: bring a new certificate",
                ])
            return nil
        }
        do throws(OperatorError) {
            try write(fresh, path)
            log.info("key.rotated")
        } catch {
            // It serves until the next start; a relay that nobody can reach serves nobody.
            log.error("key.not-written", ["reason": .text(error.message)])
        }
        return fresh
    }

    private static func write(_ identity: RelayIdentity, _ path: String) throws(OperatorError) {
        do throws(PosixError) {
            try Posix.writeFileAtomically(path, identity.encode(), mode: 0o600)
        } catch {
            throw OperatorError(.stateNotWritable, error.description)
        }
    }

    /// The socket of the service manager where it opened one, else one of our own.
    static func listen(
        _ configuration: RelayConfiguration, mayInherit: Bool
    ) throws(OperatorError) -> FileDescriptor {
        if mayInherit {
            do throws(PosixError) {
                if let inherited = try Posix.inheritedListener() { return inherited }
            } catch {
                throw OperatorError(
                    .badConfiguration, "cannot listen on \(error.call): \(error.reason)",
                    hint: "give one ListenStream= of TCP")
            }
        }
        do throws(PosixError) {
            return try Posix.listen(tcp: configuration.listen)
        } catch {
            let address = configuration.listen
            if error.isAddressInUse {
                throw OperatorError(
                    .badConfiguration, "cannot listen on \(address): the address is in use",
                    hint: "another relay may be running; choose another port with --listen",
                    exitCode: .temporary)
            }
            if error.isPermission {
                throw OperatorError(
                    .notPermitted, "cannot listen on \(address): \(error.reason)",
                    hint: "use a port above 1023")
            }
            throw OperatorError(.badConfiguration, "cannot listen on \(address): \(error.reason)")
        }
    }
}
