import Foundation
import NoiseProtocol
import SodiumCrypto
import Testing

/// One published or computed handshake: all keys, and every message with its ciphertext.
struct NoiseVector: Decodable, Sendable, CustomTestStringConvertible {
    struct Message: Decodable, Sendable {
        let payload: String
        let ciphertext: String
    }

    let name: String
    var initPrologue = ""
    var initEphemeral: String?
    var initStatic: String?
    var initRemoteStatic: String?
    var respPrologue = ""
    var respEphemeral: String?
    var respStatic: String?
    var respRemoteStatic: String?
    var handshakeHash: String?
    var messages: [Message] = []

    var testDescription: String { "\(name), prologue \(initPrologue)" }

    /// The pattern's name and the suite, or nil for what this room was not made for.
    var kind: (pattern: String, suite: AEADSuite)? {
        let parts = name.split(separator: "_").map(String.init)
        guard parts.count == 5, parts[0] == "Noise", parts[2] == "25519", parts[4] == "BLAKE2b" else {
            return nil
        }
        switch parts[3] {
        case "AESGCM": return (parts[1], .aesGCM)
        case "ChaChaPoly": return (parts[1], .chaChaPoly)
        default: return nil
        }
    }

    enum CodingKeys: String, CodingKey {
        case name = "protocol_name"
        case initPrologue = "init_prologue"
        case initEphemeral = "init_ephemeral"
        case initStatic = "init_static"
        case initRemoteStatic = "init_remote_static"
        case respPrologue = "resp_prologue"
        case respEphemeral = "resp_ephemeral"
        case respStatic = "resp_static"
        case respRemoteStatic = "resp_remote_static"
        case handshakeHash = "handshake_hash"
        case messages
    }
}

// MARK: Where vectors come from

extension NoiseVector {
    private struct File: Decodable { let vectors: [Entry] }

    /// Lists of vectors also hold kinds that are shaped otherwise; those become nil.
    private struct Entry: Decodable {
        let vector: NoiseVector?
        init(from decoder: any Decoder) throws { vector = try? NoiseVector(from: decoder) }
    }

    /// The vectors of a file in the format of the projects cacophony and snow.
    static func load(json path: String) throws -> [NoiseVector] {
        try JSONDecoder().decode(File.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
            .vectors.compactMap(\.vector)
    }

    /// A file of `Tests/Vectors`.
    static func load(_ name: String) throws -> [NoiseVector] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Vectors")
        return try load(json: folder.appendingPathComponent(name).path)
    }

    /// Further files of published vectors, named by the person who runs the tests.
    static var namedFiles: [String] {
        (ProcessInfo.processInfo.environment["NOISE_VECTORS"] ?? "").split(separator: ":").map(String.init)
    }

    /// The vectors published with the Go package `noise`, where Debian's golang-github-flynn-noise-dev is
    /// installed.
    static let debianFile = "/usr/share/gocode/src/github.com/flynn/noise/vectors.txt"

    /// Shape: blocks of `name=hex` lines; the messages after the handshake begin with the initiator's.
    static func load(flynn path: String) throws -> [NoiseVector] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return text.components(separatedBy: "\n\n").compactMap { block in
            var fields: [String: String] = [:]
            for line in block.split(separator: "\n") {
                let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if parts.count == 2 { fields[String(parts[0])] = String(parts[1]) }
            }
            guard let name = fields["handshake"], fields["preshared_key"] == nil else { return nil }
            var vector = NoiseVector(name: name)
            vector.initPrologue = fields["prologue"] ?? ""
            vector.respPrologue = vector.initPrologue
            vector.initStatic = fields["init_static"]
            vector.respStatic = fields["resp_static"]
            vector.initEphemeral = fields["gen_init_ephemeral"]
            vector.respEphemeral = fields["gen_resp_ephemeral"]
            while let payload = fields["msg_\(vector.messages.count)_payload"],
                let ciphertext = fields["msg_\(vector.messages.count)_ciphertext"]
            {
                vector.messages.append(Message(payload: payload, ciphertext: ciphertext))
            }
            return vector
        }
    }
}

func bytes(hex: String) -> [UInt8] {
    var result: [UInt8] = []
    var high: UInt8?
    for digit in hex.compactMap({ $0.hexDigitValue }) {
        if let upper = high {
            result.append(upper << 4 | UInt8(digit))
            high = nil
        } else {
            high = UInt8(digit)
        }
    }
    return result
}
