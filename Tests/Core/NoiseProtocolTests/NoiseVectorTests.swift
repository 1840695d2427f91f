import Foundation
import NoiseProtocol
import SodiumCrypto
import Testing

@Suite struct NoiseVectorTests {
    @Test(arguments: try NoiseVector.load("noise-nx.json"))
    func `the pattern NX writes and reads the bytes that an independent implementation writes`(
        vector: NoiseVector
    ) throws {
        try play(vector)
    }

    @Test(arguments: try NoiseVector.load("noise-patterns.json"))
    func `other patterns run through the same interpreter`(vector: NoiseVector) throws {
        try play(vector)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: NoiseVector.debianFile)))
    func `the published vectors of NX hold`() throws {
        let vectors = try NoiseVector.load(flynn: NoiseVector.debianFile).filter { $0.kind?.pattern == "NX" }
        #expect(vectors.count >= 6, "both suites, with and without prologue and payloads")
        for vector in vectors { try play(vector) }
    }

    @Test(.enabled(if: !NoiseVector.namedFiles.isEmpty), arguments: NoiseVector.namedFiles)
    func `the published vectors in a file given by name hold`(path: String) throws {
        let vectors = try NoiseVector.load(json: path).filter { vector in
            vector.kind.map { patterns[$0.pattern] != nil } ?? false
        }
        #expect(vectors.contains { $0.kind?.pattern == "NX" && $0.kind?.suite == .aesGCM })
        #expect(vectors.contains { $0.kind?.pattern == "NX" && $0.kind?.suite == .chaChaPoly })
        for vector in vectors { try play(vector) }
    }

    /// Both sides at once, message by message, with every byte compared.
    private func play(_ vector: NoiseVector) throws {
        let (patternName, suite) = try #require(vector.kind)
        if suite == .aesGCM && !AEADSuite.aesAvailable { return }
        let pattern = try #require(patterns[patternName])
        func pair(_ hex: String?) -> DHKeyPair? { hex.map { TestPrimitives.keyPair(secret: bytes(hex: $0)) } }
        let primitives = TestPrimitives.make(suite)
        let initiator = HandshakeState(
            pattern: pattern, role: .initiator, prologue: bytes(hex: vector.initPrologue),
            s: pair(vector.initStatic), e: pair(vector.initEphemeral),
            rs: vector.initRemoteStatic.map(bytes(hex:)), primitives: primitives)
        let responder = HandshakeState(
            pattern: pattern, role: .responder, prologue: bytes(hex: vector.respPrologue),
            s: pair(vector.respStatic), e: pair(vector.respEphemeral),
            rs: vector.respRemoteStatic.map(bytes(hex:)), primitives: primitives)
        #expect(initiator.protocolName == vector.name)

        #expect(vector.messages.count > pattern.messages.count)
        for (index, message) in vector.messages.prefix(pattern.messages.count).enumerated() {
            let (writer, reader) = index.isMultiple(of: 2) ? (initiator, responder) : (responder, initiator)
            #expect(try writer.writeMessage(bytes(hex: message.payload)) == bytes(hex: message.ciphertext))
            #expect(try reader.readMessage(bytes(hex: message.ciphertext)) == bytes(hex: message.payload))
        }
        #expect(initiator.isFinished && responder.isFinished)
        var first = initiator.split()
        var second = responder.split()
        #expect(first.handshakeHash == second.handshakeHash)
        if let hash = vector.handshakeHash { #expect(first.handshakeHash == bytes(hex: hash)) }

        for (index, message) in vector.messages.enumerated().dropFirst(pattern.messages.count) {
            let (payload, ciphertext) = (bytes(hex: message.payload), bytes(hex: message.ciphertext))
            if index.isMultiple(of: 2) {
                #expect(try first.sending.encryptWithAd([], payload) == ciphertext)
                #expect(try second.receiving.decryptWithAd([], ciphertext) == payload)
            } else {
                #expect(try second.sending.encryptWithAd([], payload) == ciphertext)
                #expect(try first.receiving.decryptWithAd([], ciphertext) == payload)
            }
        }
    }
}

/// The patterns that vectors are there for; the product has NX alone. Source: revision 34, section 7.5.
private let patterns: [String: HandshakePattern] = Dictionary(
    uniqueKeysWithValues: [
        .nx,
        HandshakePattern(name: "NN", messages: [[.e], [.e, .ee]]),
        HandshakePattern(name: "NK", responderPreMessage: [.s], messages: [[.e, .es], [.e, .ee]]),
        HandshakePattern(name: "XX", messages: [[.e], [.e, .ee, .s, .es], [.s, .se]]),
        HandshakePattern(
            name: "XK", responderPreMessage: [.s], messages: [[.e, .es], [.e, .ee], [.s, .se]]),
        HandshakePattern(
            name: "IK", responderPreMessage: [.s], messages: [[.e, .es, .s, .ss], [.e, .ee, .se]]),
        HandshakePattern(name: "IX", messages: [[.e, .s], [.e, .ee, .se, .s, .es]]),
        HandshakePattern(
            name: "KK", initiatorPreMessage: [.s], responderPreMessage: [.s],
            messages: [[.e, .es, .ss], [.e, .ee, .se]]),
        HandshakePattern(name: "KX", initiatorPreMessage: [.s], messages: [[.e], [.e, .ee, .se, .s, .es]]),
    ].map { ($0.name, $0) })
