/// The eight bytes that each side says first, in the clear. Source: link.md, "Preface".
package enum LinkPreface {
    package static let byteCount = 8
    package static let version: UInt8 = 1
    private static let magic = Array("ANTN".utf8)

    /// The suites a side can do, as the bits of the preface.
    package struct Suites: OptionSet, Sendable, Equatable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let chaChaPoly = Suites(rawValue: 1)
        package static let aesGCM = Suites(rawValue: 2)
        package static let all: Suites = [.chaChaPoly, .aesGCM]
    }

    package struct Client: Equatable, Sendable {
        package let versionMin: UInt8
        package let versionMax: UInt8
        package let suites: Suites

        package init(versionMin: UInt8 = version, versionMax: UInt8 = version, suites: Suites) {
            self.versionMin = versionMin
            self.versionMax = versionMax
            self.suites = suites
        }

        package var bytes: [UInt8] { magic + [versionMin, versionMax, suites.rawValue, 0] }

        /// Shape: exactly 8 bytes; nil when they are no preface of ours.
        package init?(bytes: some Collection<UInt8>) {
            let bytes = Array(bytes)
            guard bytes.count == byteCount, bytes.starts(with: magic) else { return nil }
            self.init(
                versionMin: bytes[4], versionMax: bytes[5],
                suites: Suites(rawValue: bytes[6]).intersection(.all))
        }

        /// What the relay answers: AESGCM where both can do it. Nil when there is no common version or suite.
        package func answer(_ ours: Suites) -> Relay? {
            guard versionMin <= version, version <= versionMax else { return nil }
            let common = suites.intersection(ours)
            if common.contains(.aesGCM) { return .chosen(version: version, suite: .aesGCM) }
            if common.contains(.chaChaPoly) { return .chosen(version: version, suite: .chaChaPoly) }
            return nil
        }
    }

    package enum Relay: Equatable, Sendable {
        case chosen(version: UInt8, suite: Suites)
        /// An error number of errors.md; the relay closes after it.
        case refusal(UInt16)

        package var bytes: [UInt8] {
            switch self {
            case .chosen(let version, let suite): magic + [version, suite.rawValue, 0, 0]
            case .refusal(let code):
                magic + [0, 0, UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)]
            }
        }

        package init?(bytes: some Collection<UInt8>) {
            let bytes = Array(bytes)
            guard bytes.count == byteCount, bytes.starts(with: magic) else { return nil }
            let refusal = UInt16(bytes[6]) << 8 | UInt16(bytes[7])
            self =
                refusal == 0
                ? .chosen(version: bytes[4], suite: Suites(rawValue: bytes[5])) : .refusal(refusal)
        }
    }
}
