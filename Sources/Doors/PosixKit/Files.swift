import Glibc

/// What `Posix.status` tells of a file.
package struct FileStatus: Equatable, Sendable {
    package let size: Int64
    /// The permission bits, as in 0o600.
    package let mode: UInt32
    package let owner: UInt32
    package let isDirectory: Bool
    package let isRegular: Bool
    /// A named pipe, or one of a process: opening it waits for whoever writes, and what was read is gone.
    package let isPipe: Bool
    /// The file's number on its volume: a copy has another one.
    package let inode: UInt64
    package let volume: UInt64

    package func isSameFile(as other: FileStatus) -> Bool { inode == other.inode && volume == other.volume }
}

extension Posix {
    /// Reads a whole file of at most `limit` bytes.
    /// Throws: EFBIG beyond the limit, or what the kernel said.
    package static func readFile(_ path: String, limit: Int = 64 << 20) throws(PosixError) -> [UInt8] {
        let raw = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard raw >= 0 else { throw PosixError.last("open \(path)") }
        let file = FileDescriptor(owning: raw)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe Glibc.read(file.raw, &chunk, chunk.count)
            if count < 0 {
                if Glibc.errno == EINTR { continue }
                throw PosixError.last("read \(path)")
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else { throw PosixError(errno: EFBIG, call: "read \(path)") }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// Replaces a file whole: readers see the old bytes or the new ones, also after a crash.
    package static func writeFileAtomically(
        _ path: String, _ bytes: [UInt8], mode: UInt32 = 0o600, fsync: Bool = true
    ) throws(PosixError) {
        let temporary = "\(path).new-\(getpid())"
        // A file of this name can only be left over from a process of our number that died in here.
        _ = unsafe Glibc.unlink(temporary)
        let raw = unsafe Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard raw >= 0 else { throw PosixError.last("create \(path)") }
        let file = FileDescriptor(owning: raw)
        do throws(PosixError) {
            try writeAll(file.raw, bytes, path)
            if fsync, Glibc.fsync(file.raw) != 0 { throw PosixError.last("fsync \(path)") }
            guard unsafe Glibc.rename(temporary, path) == 0 else { throw PosixError.last("rename \(path)") }
        } catch {
            _ = unsafe Glibc.unlink(temporary)
            throw error
        }
        if fsync { try syncDirectory(of: path) }
    }

    /// Writes all bytes to a blocking descriptor (a file, a pipe, a terminal).
    package static func writeAll(_ raw: Int32, _ bytes: [UInt8], _ name: String = "descriptor")
        throws(PosixError)
    {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(raw, $0.baseAddress! + offset, bytes.count - offset)
            }
            if count < 0 {
                if Glibc.errno == EINTR { continue }
                throw PosixError.last("write \(name)")
            }
            offset += count
        }
    }

    /// Whether a pipe, terminal or socket takes 4,096 bytes now, or within so long; a file always does, and
    /// so does what would fail.
    package static func takesMore(_ raw: Int32, withinMilliseconds patience: Int32 = 0) -> Bool {
        var entry = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
        return unsafe Glibc.poll(&entry, 1, patience) != 0
    }

    /// What `takesMore` speaks of: the kernel's PIPE_BUF.
    package static let takenByteCount = 4096

    /// Makes a directory, and those above it; one that is there already is fine.
    package static func createDirectory(_ path: String, mode: UInt32 = 0o700) throws(PosixError) {
        if unsafe Glibc.mkdir(path, mode) == 0 { return }
        switch Glibc.errno {
        case EEXIST where status(path)?.isDirectory == true: return
        case ENOENT:
            let parent = directory(of: path)
            guard parent != path, parent != ".", parent != "/" else { throw PosixError.last("mkdir \(path)") }
            try createDirectory(parent, mode: mode)
            guard unsafe Glibc.mkdir(path, mode) == 0 || Glibc.errno == EEXIST else {
                throw PosixError.last("mkdir \(path)")
            }
        default: throw PosixError.last("mkdir \(path)")
        }
    }

    package static func exists(_ path: String) -> Bool { unsafe Glibc.access(path, F_OK) == 0 }
    package static func isWritable(_ path: String) -> Bool { unsafe Glibc.access(path, W_OK) == 0 }
    package static func isReadable(_ path: String) -> Bool { unsafe Glibc.access(path, R_OK) == 0 }

    /// Follows symbolic links; nil when there is no such file.
    package static func status(_ path: String) -> FileStatus? {
        var raw = stat()
        guard unsafe stat(path, &raw) == 0 else { return nil }
        return FileStatus(
            size: Int64(raw.st_size), mode: raw.st_mode & 0o7777, owner: raw.st_uid,
            isDirectory: raw.st_mode & S_IFMT == S_IFDIR, isRegular: raw.st_mode & S_IFMT == S_IFREG,
            isPipe: raw.st_mode & S_IFMT == S_IFIFO,
            inode: UInt64(raw.st_ino), volume: UInt64(raw.st_dev))
    }

    /// Gives a file a second name; false when something of that name is there already.
    package static func link(_ path: String, as name: String) throws(PosixError) -> Bool {
        if unsafe Glibc.link(path, name) == 0 { return true }
        if Glibc.errno == EEXIST { return false }
        throw PosixError.last("link \(name)")
    }

    /// Makes a symbolic link.
    package static func makeLink(_ path: String, to target: String) throws(PosixError) {
        guard unsafe Glibc.symlink(target, path) == 0 else { throw PosixError.last("symlink \(path)") }
    }

    /// A symbolic link whose target does not exist.
    package static func isDanglingLink(_ path: String) -> Bool {
        var raw = stat()
        guard unsafe lstat(path, &raw) == 0, raw.st_mode & S_IFMT == S_IFLNK else { return false }
        return unsafe stat(path, &raw) != 0
    }

    /// The first bytes of a file: fewer than `count` only where the file ends.
    package static func readPrefix(_ path: String, count: Int) throws(PosixError) -> [UInt8] {
        let raw = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard raw >= 0 else { throw PosixError.last("open \(path)") }
        let file = FileDescriptor(owning: raw)
        var bytes = [UInt8](repeating: 0, count: count)
        var have = 0
        while have < count {
            let part = unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.read(file.raw, $0.baseAddress! + have, count - have)
            }
            if part < 0 {
                if Glibc.errno == EINTR { continue }
                throw PosixError.last("read \(path)")
            }
            if part == 0 { break }
            have += part
        }
        return Array(bytes[..<have])
    }

    package static func changeMode(_ path: String, _ mode: UInt32) throws(PosixError) {
        guard unsafe Glibc.chmod(path, mode) == 0 else { throw PosixError.last("chmod \(path)") }
    }

    /// Removes a file; one that is not there is fine.
    package static func removeFile(_ path: String) throws(PosixError) {
        guard unsafe Glibc.unlink(path) == 0 || Glibc.errno == ENOENT else {
            throw PosixError.last("unlink \(path)")
        }
    }

    /// Removes an empty directory; false when it is not empty or not there.
    @discardableResult
    package static func removeDirectory(_ path: String) -> Bool { unsafe Glibc.rmdir(path) == 0 }

    /// Removes a file, a link or a directory with all that is in it, as far as that can be done. What a link
    /// leads to stays.
    package static func removeTree(_ path: String) {
        // Linux unlinks no directory, whoever asks (unlink(2), EISDIR).
        if (try? removeFile(path)) != nil { return }
        for name in (try? list(path)) ?? [] { removeTree(path + "/" + name) }
        removeDirectory(path)
    }

    package static func rename(_ from: String, to: String) throws(PosixError) {
        guard unsafe Glibc.rename(from, to) == 0 else { throw PosixError.last("rename \(from)") }
    }

    /// The directory that relative paths start from; nil when it has no name any more.
    package static var currentDirectory: String? {
        guard let path = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// The names in a directory, sorted, without `.` and `..`.
    package static func list(_ path: String) throws(PosixError) -> [String] {
        guard let handle = unsafe opendir(path) else { throw PosixError.last("opendir \(path)") }
        defer { unsafe _ = closedir(handle) }
        var names: [String] = []
        while let entry = unsafe readdir(handle) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// A fresh directory under the temporary one, for tests and short-lived files.
    package static func makeTemporaryDirectory(prefix: String) throws(PosixError) -> String {
        let base = environment("TMPDIR") ?? "/tmp"
        var template = Array("\(base)/\(prefix)XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw PosixError.last("mkdtemp \(base)") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Bytes an unprivileged process can still write on the volume that holds `path`.
    package static func freeBytes(_ path: String) throws(PosixError) -> UInt64 {
        var raw = statvfs()
        guard unsafe statvfs(path, &raw) == 0 else { throw PosixError.last("statvfs \(path)") }
        return UInt64(raw.f_bavail) * UInt64(raw.f_frsize)
    }

    /// Makes a rename in the directory of `path` durable.
    package static func syncDirectory(of path: String) throws(PosixError) {
        let parent = directory(of: path)
        let raw = unsafe Glibc.open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { throw PosixError.last("open \(parent)") }
        let handle = FileDescriptor(owning: raw)
        // Some file systems cannot sync a directory and say EINVAL; there is nothing more to do there.
        guard Glibc.fsync(handle.raw) == 0 || Glibc.errno == EINVAL else {
            throw PosixError.last("fsync \(parent)")
        }
    }

    /// The part of `path` before its last component: "." when there is none.
    package static func directory(of path: String) -> String {
        var trimmed = path[...]
        while trimmed.count > 1, trimmed.last == "/" { trimmed = trimmed.dropLast() }
        guard let slash = trimmed.lastIndex(of: "/") else { return "." }
        return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
    }
}

/// An exclusive lock on a file, held until the lock is let go or the process ends, however it ends.
package final class FileLock {
    private let file: FileDescriptor

    /// Takes the lock without waiting; nil when another process holds it.
    /// The file is created when missing, and holds the number of the process.
    package init?(path: String) throws(PosixError) {
        let raw = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard raw >= 0 else { throw PosixError.last("open \(path)") }
        file = FileDescriptor(owning: raw)
        guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
            if Glibc.errno == EWOULDBLOCK { return nil }
            throw PosixError.last("flock \(path)")
        }
        if Glibc.ftruncate(raw, 0) == 0 { try? Posix.writeAll(raw, Array("\(getpid())\n".utf8), path) }
    }

    /// Takes the lock of a directory itself, which stays whatever is deleted in it; nil when another process
    /// holds it.
    /// Throws: what the kernel said where a volume knows no such locks.
    package init?(directory: String) throws(PosixError) {
        let raw = unsafe Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { throw PosixError.last("open \(directory)") }
        file = FileDescriptor(owning: raw)
        guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
            if Glibc.errno == EWOULDBLOCK { return nil }
            throw PosixError.last("flock \(directory)")
        }
    }
}
