/// The cryptography that decoding and checking need, handed in by the shell: Core links no library.
package struct ChannelCrypto: Sendable {
    /// Strict Ed25519 verification.
    package let verify: @Sendable (_ signature: Signature, _ message: [UInt8], _ key: PublicKey) -> Bool
    package let sha256: @Sendable ([UInt8]) -> [UInt8]
    package let sha512: @Sendable ([UInt8]) -> [UInt8]
    /// One zstd frame with its content size in the header; nil when it is not one or would pass the limit
    /// (bytes).
    package let decompress: @Sendable (_ frame: [UInt8], _ limit: Int) -> [UInt8]?
    package let compress: @Sendable ([UInt8]) -> [UInt8]

    package init(
        verify: @escaping @Sendable (Signature, [UInt8], PublicKey) -> Bool,
        sha256: @escaping @Sendable ([UInt8]) -> [UInt8],
        sha512: @escaping @Sendable ([UInt8]) -> [UInt8],
        decompress: @escaping @Sendable ([UInt8], Int) -> [UInt8]?,
        compress: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) {
        self.verify = verify
        self.sha256 = sha256
        self.sha512 = sha512
        self.decompress = decompress
        self.compress = compress
    }
}
