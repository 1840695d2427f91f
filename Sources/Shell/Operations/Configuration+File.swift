internal import IniKit
internal import PosixKit

extension Configuration {
    /// Reads a file, where one is named, and puts it together with environment and flags.
    ///
    /// **Throws** bad-configuration with file and line; also where a named file cannot be read.
    package static func load(
        options: [ConfigurationOption], file: String?, flags: [Flag] = [],
        environment: (String) -> String? = { Console.environment($0) }
    ) throws(OperatorError) -> Configuration {
        guard let file else {
            return try Configuration(options: options, environment: environment, flags: flags)
        }
        let entries = try entries(ofFile: file)
        return try Configuration(
            options: options, entries: entries, path: file, environment: environment, flags: flags)
    }

    private static func entries(ofFile path: String) throws(OperatorError) -> [FileEntry] {
        let bytes: [UInt8]
        do throws(PosixError) {
            bytes = try Posix.readFile(path, limit: Ini.fileByteCountMax + 1)
        } catch {
            throw OperatorError(
                .badConfiguration, "cannot read the configuration \(path): \(error.reason)",
                hint: "--config names the file")
        }
        do throws(Ini.Failure) {
            return try Ini.parse(bytes: bytes).map {
                FileEntry(section: $0.section, key: $0.key, value: $0.value, line: $0.line)
            }
        } catch {
            throw OperatorError(.badConfiguration, message(error, path), hint: hint(error))
        }
    }

    private static func message(_ failure: Ini.Failure, _ path: String) -> String {
        switch failure {
        case .syntax(let line): "\(path):\(line): this is neither a section, a setting nor a comment"
        case .lineTooLong(let line): "\(path):\(line): the line is longer than \(Ini.lineByteCountMax) bytes"
        case .sectionTooLong(let line): "\(path):\(line): the section's name is too long"
        case .notText(let line): "\(path):\(line): this is not UTF-8 text"
        case .fileTooLarge: "\(path): the file is larger than \(Ini.fileByteCountMax) bytes"
        }
    }

    private static func hint(_ failure: Ini.Failure) -> String? {
        if case .syntax = failure { "[section], key = value, ; comment" } else { nil }
    }
}
