/// What every decoder of bytes from a peer must do with good bytes, with less and with more.
///
/// The checks give sentences about what failed, so that a test can expect the list to be empty.
package enum DecoderVerifier {
    /// What bytes after the end of a good encoding mean.
    package enum Trailing: Sendable {
        /// Later versions may add fields there.
        case ignored
        case refused
        /// The last field takes everything.
        case partOfTheTail
    }

    /// Decodes `bytes` whole, each proper prefix, and with one byte more.
    ///
    /// - Parameter shortest: the length from which on a prefix is complete, because the rest is a tail; nil:
    /// only the
    ///   whole is.
    package static func problems<Value: Equatable, Failure: Error>(
        of value: Value, bytes: [UInt8], shortest: Int? = nil, trailing: Trailing,
        decode: ([UInt8]) throws(Failure) -> Value
    ) -> [String] {
        var problems: [String] = []
        switch attempt(bytes, decode) {
        case .success(let decoded): if decoded != value { problems.append("whole: gives another value") }
        case .failure(let error): problems.append("whole: \(error)")
        }
        for length in 0..<bytes.count {
            let result = attempt(Array(bytes.prefix(length)), decode)
            let mayPass = length >= shortest ?? bytes.count
            switch result {
            case .success(let decoded):
                if !mayPass { problems.append("the first \(length) of \(bytes.count) bytes decode") }
                if decoded == value { problems.append("the first \(length) bytes decode as the whole") }
            case .failure(let error): if mayPass { problems.append("the first \(length) bytes: \(error)") }
            }
        }
        switch (attempt(bytes + [0x7e], decode), trailing) {
        case (.success(let decoded), .ignored):
            if decoded != value { problems.append("a byte after the end changes the value") }
        case (.success, .refused): problems.append("a byte after the end is not refused")
        case (.success(let decoded), .partOfTheTail):
            if decoded == value { problems.append("a byte more in the tail is lost") }
        case (.failure, .refused): break
        case (.failure(let error), _): problems.append("a byte after the end: \(error)")
        }
        return problems
    }

    private static func attempt<Value, Failure: Error>(
        _ bytes: [UInt8], _ decode: ([UInt8]) throws(Failure) -> Value
    ) -> Result<Value, Failure> {
        do throws(Failure) { return .success(try decode(bytes)) } catch { return .failure(error) }
    }
}

/// A small generator with a seed, so that a random test can be run again.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64
    package init(seed: UInt64) { state = seed }
    /// SplitMix64.
    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}

/// Damages good bytes in the ways that find mistakes in decoders.
package enum Mutation {
    package static func apply(to bytes: [UInt8], using random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let position = bytes.isEmpty ? 0 : Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0 where !bytes.isEmpty: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1 where !bytes.isEmpty:
                bytes[position] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &random) ?? 0
            case 2 where !bytes.isEmpty: bytes.remove(at: position)
            case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: position)
            case 4: bytes = Array(bytes.prefix(position))
            case 5:
                let end = min(bytes.count, position + Int.random(in: 0...64, using: &random))
                bytes.insert(contentsOf: Array(bytes[position..<end]), at: position)
            default:
                let token = [
                    "{", "}", "[", "]", "\"", "\\", ",", "null", "1e9", "=", ">", "/", "F", "X", "%2C", "#",
                ]
                bytes.insert(
                    contentsOf: Array((token.randomElement(using: &random) ?? "").utf8), at: position)
            }
        }
        return bytes
    }
}
