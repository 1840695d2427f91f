internal import FuzzTargets
internal import Glibc

/// What libFuzzer calls with each input. ANTENNA_FUZZ names the target.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    unsafe Driver.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

private enum Driver {
    // SAFETY: libFuzzer calls from one thread.
    nonisolated(unsafe) private static let bench = FuzzBench()

    private static let target: FuzzTarget = {
        let name = unsafe getenv("ANTENNA_FUZZ").map { unsafe String(cString: $0) } ?? ""
        guard let target = FuzzTarget(rawValue: name) else {
            preconditionFailure("ANTENNA_FUZZ is one of \(FuzzTarget.allCases.map(\.rawValue))")
        }
        return target
    }()

    static func run(_ input: [UInt8]) { unsafe bench.run(target, input) }
}
