/// One handshake, seen from one side. Source: The Noise Protocol Framework, revision 34, section 5.3.
///
/// ```
///  initiator   write ──▶ read ──▶ … ──▶ finished ──▶ split
///  responder   read ──▶ write ──▶ … ──▶ finished ──▶ split
/// ```
/// It wipes what it knows when it ends.
package final class HandshakeState {
    package enum Role: Sendable, Equatable { case initiator, responder }

    /// What the handshake was for.
    package struct Split: Sendable {
        package var sending: CipherState
        package var receiving: CipherState
        /// Names this handshake and no other; both sides have the same. Shape: HASHLEN bytes.
        package let handshakeHash: [UInt8]
    }

    /// Everything that a message changes, in one value that can be kept and put back.
    private struct Progress {
        var symmetricState: SymmetricState
        var e: DHKeyPair?
        var rs: [UInt8]?
        var re: [UInt8]?
        var messageIndex = 0
    }

    package let role: Role
    package let pattern: HandshakePattern
    package let protocolName: String

    private let primitives: NoisePrimitives
    private let s: DHKeyPair?
    private var progress: Progress
    private var isSplit = false

    /// Begins a handshake.
    ///
    /// `s` is our static key where the pattern has one, `rs` the other's where the pattern knows it
    /// beforehand. A preset `e` is used instead of a fresh one: who sends the public key of `e` before the
    /// prologue is known makes the state afterwards, writes the message again and drops it. Such a key must
    /// serve one handshake only.
    package init(
        pattern: HandshakePattern, role: Role, prologue: [UInt8], s: DHKeyPair? = nil, e: DHKeyPair? = nil,
        rs: [UInt8]? = nil, primitives: NoisePrimitives
    ) {
        self.pattern = pattern
        self.role = role
        self.primitives = primitives
        self.s = s
        protocolName =
            "Noise_\(pattern.name)_\(primitives.dh.name)_\(primitives.cipher.name)_\(primitives.hash.name)"
        var symmetricState = SymmetricState(protocolName: protocolName, primitives: primitives)
        symmetricState.mixHash(prologue)
        for (owner, tokens) in [
            (Role.initiator, pattern.initiatorPreMessage), (.responder, pattern.responderPreMessage),
        ] {
            for token in tokens {
                precondition(token == .s, "an ephemeral key that is known beforehand is not supported")
                guard let key = owner == role ? s?.publicKey : rs else {
                    preconditionFailure("the pattern \(pattern.name) needs a static key that was not given")
                }
                symmetricState.mixHash(key)
            }
        }
        progress = Progress(symmetricState: symmetricState, e: e, rs: rs)
    }

    deinit { progress.symmetricState.wipe() }

    package var isFinished: Bool { progress.messageIndex == pattern.messages.count }

    /// Whether the next message is ours to write.
    package var isOurTurn: Bool {
        !isFinished && (progress.messageIndex.isMultiple(of: 2)) == (role == .initiator)
    }

    /// The other side's static key, once it is known.
    package var remoteStatic: [UInt8]? { progress.rs }

    // MARK: Messages

    /// The next message to send, carrying `payload`.
    ///
    /// Throws: `unusableKey` when the other's key was of small order, `tooLong`. Nothing has changed then.
    package func writeMessage(_ payload: [UInt8]) throws(NoiseError) -> [UInt8] {
        precondition(isOurTurn, "a handshake message was written out of turn")
        return try attempt { (next) throws(NoiseError) in
            var message: [UInt8] = []
            for token in pattern.messages[next.messageIndex] {
                switch token {
                case .e:
                    let e = next.e ?? primitives.dh.generateKeyPair()
                    next.e = e
                    message += e.publicKey
                    next.symmetricState.mixHash(e.publicKey)
                case .s:
                    guard let s else {
                        preconditionFailure("the pattern \(pattern.name) needs our static key")
                    }
                    message += try next.symmetricState.encryptAndHash(s.publicKey)
                case .ee, .es, .se, .ss:
                    try mixSharedSecret(token, &next)
                }
            }
            message += try next.symmetricState.encryptAndHash(payload)
            guard message.count <= messageByteCountMax else { throw .tooLong(message.count) }
            return message
        }
    }

    /// Reads the other side's message and answers its payload.
    ///
    /// Throws: any `NoiseError`. Nothing has changed then.
    package func readMessage(_ message: [UInt8]) throws(NoiseError) -> [UInt8] {
        precondition(!isFinished && !isOurTurn, "a handshake message was read out of turn")
        guard message.count <= messageByteCountMax else { throw .tooLong(message.count) }
        return try attempt { (next) throws(NoiseError) in
            var rest = message[...]
            for token in pattern.messages[next.messageIndex] {
                switch token {
                case .e:
                    let re = try take(primitives.dh.keyByteCount, from: &rest)
                    next.re = re
                    next.symmetricState.mixHash(re)
                case .s:
                    let tag = next.symmetricState.hasKey ? tagByteCount : 0
                    let sealed = try take(primitives.dh.keyByteCount + tag, from: &rest)
                    next.rs = try next.symmetricState.decryptAndHash(sealed)
                case .ee, .es, .se, .ss:
                    try mixSharedSecret(token, &next)
                }
            }
            return try next.symmetricState.decryptAndHash(Array(rest))
        }
    }

    /// Ends the handshake. The state is of no use afterwards.
    package func split() -> Split {
        precondition(isFinished && !isSplit, "a handshake was split before its end, or twice")
        isSplit = true
        let (c1, c2) = progress.symmetricState.split()
        let hash = progress.symmetricState.getHandshakeHash()
        progress.symmetricState.wipe()
        progress.e = nil
        return role == .initiator
            ? Split(sending: c1, receiving: c2, handshakeHash: hash)
            : Split(sending: c2, receiving: c1, handshakeHash: hash)
    }

    // MARK: Helpers

    /// Works on a copy and keeps it only when all went well; wipes the one that is dropped.
    private func attempt(
        _ body: (inout Progress) throws(NoiseError) -> [UInt8]
    ) throws(NoiseError) -> [UInt8] {
        var next = progress
        do {
            let result = try body(&next)
            next.messageIndex += 1
            swap(&progress, &next)
            next.symmetricState.wipe()
            return result
        } catch {
            next.symmetricState.wipe()
            throw error
        }
    }

    private func take(_ count: Int, from rest: inout ArraySlice<UInt8>) throws(NoiseError) -> [UInt8] {
        guard rest.count >= count else { throw .truncated(needed: count, have: rest.count) }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Mixes in the secret that a token names: first letter initiator's key, second letter responder's.
    private func mixSharedSecret(_ token: HandshakePattern.Token, _ next: inout Progress) throws(NoiseError) {
        let ours: DHKeyPair?
        let theirs: [UInt8]?
        switch (token, role) {
        case (.ee, _): (ours, theirs) = (next.e, next.re)
        case (.ss, _): (ours, theirs) = (s, next.rs)
        case (.es, .initiator), (.se, .responder): (ours, theirs) = (next.e, next.rs)
        case (.es, .responder), (.se, .initiator): (ours, theirs) = (s, next.re)
        case (.e, _), (.s, _): preconditionFailure("a public key is no shared secret")
        }
        guard let ours, let theirs else {
            preconditionFailure("the pattern \(pattern.name) uses a key that it does not have yet")
        }
        guard var secret = ours.sharedSecret(theirs) else { throw .unusableKey }
        next.symmetricState.mixKey(secret)
        primitives.wipe(&secret)
    }
}

@available(*, unavailable)
extension HandshakeState: Sendable {}

private let messageByteCountMax = 65535
private let tagByteCount = 16
