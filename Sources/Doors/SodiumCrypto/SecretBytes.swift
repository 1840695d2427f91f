internal import CSodium

/// Bytes that are overwritten when the last reference to them goes.
///
/// The content never changes, so threads may share it. It shows neither in descriptions nor in the timing
/// of `==`.
@safe
package final class SecretBytes: @unchecked Sendable {
    // SAFETY: the memory is written in `init` only, and freed in `deinit` only.
    private let base: UnsafeMutablePointer<UInt8>
    package let count: Int

    /// Takes a copy. The array given remains, so wipe it where it was more than passing through.
    package convenience init(_ bytes: [UInt8]) {
        unsafe self.init(count: bytes.count) { out in
            for index in bytes.indices { unsafe out[index] = bytes[index] }
        }
    }

    /// Takes a copy and wipes the original.
    package convenience init(moving bytes: inout [UInt8]) {
        self.init(bytes)
        Sodium.wipe(&bytes)
    }

    /// Secrets made in place by `fill`; bytes that it leaves are zero.
    init(count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        // Never of size 0, so that there is always an address to hand to C.
        unsafe base = .allocate(capacity: max(count, 1))
        unsafe base.initialize(repeating: 0, count: max(count, 1))
        self.count = count
        unsafe fill(base)
    }

    deinit {
        unsafe sodium_memzero(base, count)
        unsafe base.deallocate()
    }

    /// Fresh random bytes.
    package static func random(_ count: Int) -> SecretBytes {
        Sodium.requireReady()
        return unsafe SecretBytes(count: count) { out in unsafe randombytes_buf(out, count) }
    }

    /// A copy outside the wiped memory, for writing to a key file or for an API that takes arrays.
    package func copied() -> [UInt8] {
        unsafe [UInt8](UnsafeBufferPointer(start: base, count: count))
    }

    @unsafe
    package func withUnsafeBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        try unsafe body(UnsafeRawBufferPointer(start: base, count: count))
    }

    /// The bytes for a C call.
    func withPointer<T>(_ body: (UnsafePointer<UInt8>) -> T) -> T {
        unsafe body(base)
    }
}

extension SecretBytes: Equatable {
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe sodium_memcmp(left.base, right.base, left.count) == 0
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    package var description: String { "SecretBytes(\(count))" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
