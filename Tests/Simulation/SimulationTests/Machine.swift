import CSimulatedMachine
import PosixKit
import TestKit

typealias Random = TestKit.SeededRandom

/// The machine that the parties of one simulation share: its clock, its disk, what happens when a loop waits.
///
/// One for a process, as what it stands in for is. Thread: the one that called `start`.
final class Machine {
    /// What a file holds on a disk that lost its power.
    typealias Image = [String: [UInt8]]

    static func start(seed: UInt64) {
        machine_seed(seed)
        unsafe skew = 0
        machine_forget_all()
        machine_set_fuse(-1)
        machine_disk_party(0)
        machine_start()
    }

    static func stop() {
        machine_disk_party(0)
        machine_stop()
    }

    /// The wall clock at the beginning. Units: seconds since 1970.
    static let wallStart: Int64 = 1_790_000_000

    /// How far the wall clock was put forth since the beginning. Units: seconds.
    nonisolated(unsafe) private static var skew: Int64 = 0
    nonisolated(unsafe) private static var now: Int64 = 0

    static func setTime(_ milliseconds: Int64) {
        unsafe now = milliseconds
        unsafe machine_set_time(milliseconds, wallStart + skew)
    }

    static func stepWallClock(_ seconds: Int64) {
        unsafe skew += seconds
        unsafe setTime(now)
    }

    // MARK: The disk

    /// What would be found in a directory if the power went now. Of what was not synced, a part drawn by
    /// `random` has reached the disk all the same, in no particular order.
    static func imageAfterPowerLoss(_ directory: String, using random: inout Random) -> Image {
        var image: Image = [:]
        for name in ((try? Posix.list(directory)) ?? []).sorted() {
            // Shared memory and locks do not outlive the process.
            guard !name.hasSuffix("-shm"), !name.hasSuffix(".lock"), !name.hasSuffix(".new") else { continue }
            let path = directory + "/" + name
            guard let status = Posix.status(path), status.isRegular,
                var bytes = try? Posix.readFile(path)
            else { continue }
            let survival: Double = [0, 0.5, 1].randomElement(using: &random) ?? 0
            for index in stride(from: Int(machine_unsynced(status.inode)) - 1, through: 0, by: -1) {
                guard Double.random(in: 0..<1, using: &random) >= survival else { continue }
                let count = Int64(bytes.count)
                let size = bytes.withUnsafeMutableBufferPointer {
                    machine_undo(status.inode, Int32(index), $0.baseAddress, count)
                }
                if size >= 0, size < bytes.count { bytes.removeSubrange(Int(size)...) }
            }
            image[name] = bytes
        }
        return image
    }

    /// Makes a directory hold an image and nothing else. Files that stay keep their inode, as on a real disk.
    static func put(_ image: Image, into directory: String) {
        for name in (try? Posix.list(directory)) ?? [] where image[name] == nil {
            try? Posix.removeFile(directory + "/" + name)
        }
        for (name, bytes) in image { overwrite(directory + "/" + name, bytes) }
    }

    static func overwrite(_ path: String, _ bytes: [UInt8]) {
        machine_replace_file(path, bytes, bytes.count)
    }

}
