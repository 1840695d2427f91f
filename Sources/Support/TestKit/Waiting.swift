internal import PosixKit

/// Runs what waits on a thread of its own, since each thread of the pool that waits is one less for all other
/// tests: on two processors two of them would stop everything that is asynchronous.
package func waiting<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        _ = PosixThread.start(name: "waiting") { continuation.resume(with: Result { try body() }) }
    }
}
