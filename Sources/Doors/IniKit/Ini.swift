internal import CInih

/// Configuration text of the form `[section]`, `key = value`, read by libinih.
///
/// `;` and `#` begin a comment line, ` ;` a comment after a value. Indentation means nothing. A key may
/// come twice.
package enum Ini {
    /// One `key = value`. Units: `line` counts from 1.
    package struct Entry: Equatable, Sendable {
        package let section: String
        package let key: String
        package let value: String
        package let line: Int

        package init(section: String, key: String, value: String, line: Int) {
            self.section = section
            self.key = key
            self.value = value
            self.line = line
        }
    }

    package enum Failure: Error, Equatable, Sendable {
        /// Neither a section, nor a key with a value, nor a comment.
        case syntax(line: Int)
        case lineTooLong(line: Int)
        /// A section's name is longer than libinih keeps (49 bytes).
        case sectionTooLong(line: Int)
        /// A NUL byte, or bytes that are not UTF-8.
        case notText(line: Int)
        case fileTooLarge(byteCount: Int)

        /// The line to look at, where there is one.
        package var line: Int? {
            switch self {
            case .syntax(let line), .lineTooLong(let line), .sectionTooLong(let line), .notText(let line):
                line
            case .fileTooLarge: nil
            }
        }
    }

    /// Units: bytes.
    package static let fileByteCountMax = 1 << 20
    /// Units: bytes, without the line's end.
    package static let lineByteCountMax = 4096

    package static func parse(text: String) throws(Failure) -> [Entry] {
        try parse(bytes: [UInt8](text.utf8))
    }

    /// All entries in their order. The first fault ends it.
    package static func parse(bytes: [UInt8]) throws(Failure) -> [Entry] {
        _ = longLinesAllowed
        guard bytes.count <= fileByteCountMax else { throw .fileTooLarge(byteCount: bytes.count) }
        let reading = Reading(bytes)
        let code = withExtendedLifetime(reading) {
            let context = unsafe Unmanaged.passUnretained(reading).toOpaque()
            return unsafe ini_parse_stream(
                { buffer, capacity, context in
                    guard let buffer = unsafe buffer, let context = unsafe context else { return nil }
                    let reading = unsafe Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue()
                    return unsafe reading.nextLine(into: buffer, capacity: Int(capacity)) ? buffer : nil
                }, context,
                { context, section, name, value in
                    guard let context = unsafe context else { return 0 }
                    let reading = unsafe Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue()
                    return unsafe reading.found(section, name, value) ? 1 : 0
                }, context)
        }
        if let failure = reading.failure, code <= 0 || (failure.line ?? 0) <= Int(code) { throw failure }
        if code != 0 { throw .syntax(line: max(Int(code), 1)) }
        return reading.entries
    }

    // libinih's buffer holds the line, its end and a NUL.
    private static let longLinesAllowed: Void = antenna_inih_allow_lines(Int32(lineByteCountMax + 3))
}

/// The text being read, and what was found in it.
private final class Reading {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 0
    private(set) var entries: [Ini.Entry] = []
    private(set) var failure: Ini.Failure?

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Copies the next line without its indentation, which libinih would read as a value going on.
    func nextLine(into buffer: UnsafeMutablePointer<CChar>, capacity: Int) -> Bool {
        guard failure == nil, position < bytes.count else { return false }
        line += 1
        let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        var text = bytes[position..<end]
        position = end + 1
        if text.last == UInt8(ascii: "\r") { text = text.dropLast() }
        guard text.count <= Ini.lineByteCountMax else {
            failure = .lineTooLong(line: line)
            return false
        }
        guard !text.contains(0), String(validating: text, as: UTF8.self) != nil else {
            failure = .notText(line: line)
            return false
        }
        text = text.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard text.count + 2 <= capacity else {
            failure = .lineTooLong(line: line)
            return false
        }
        for (offset, byte) in text.enumerated() { unsafe buffer[offset] = CChar(bitPattern: byte) }
        unsafe buffer[text.count] = CChar(bitPattern: UInt8(ascii: "\n"))
        unsafe buffer[text.count + 1] = 0
        return true
    }

    func found(
        _ section: UnsafePointer<CChar>?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
    ) -> Bool {
        guard failure == nil, let section = unsafe section, let name = unsafe name, let value = unsafe value
        else {
            return false
        }
        let entry = unsafe Ini.Entry(
            section: String(cString: section), key: String(cString: name), value: String(cString: value),
            line: line)
        guard entry.section.utf8.count < sectionByteCountMax else {
            failure = .sectionTooLong(line: line)
            return false
        }
        entries.append(entry)
        return true
    }
}

/// libinih cuts a section's name to this many bytes without a word.
private let sectionByteCountMax = 49

extension Ini.Failure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .syntax(let line): "line \(line) is no section, no setting and no comment"
        case .lineTooLong(let line): "line \(line) is too long"
        case .sectionTooLong(let line): "the name in line \(line) is too long"
        case .notText(let line): "line \(line) is not text"
        case .fileTooLarge(let byteCount): "the file is too large: \(byteCount) bytes"
        }
    }
}
