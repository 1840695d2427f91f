internal import CPosix
import Glibc

/// Reads a command line with glibc's `getopt_long`.
package enum CommandLineOptions {
    package struct Option: Sendable {
        package enum Argument: Int32, Sendable { case none = 0, required = 1, optional = 2 }
        package let long: String
        package let short: Character?
        package let argument: Argument

        package init(_ long: String, short: Character? = nil, argument: Argument = .none) {
            self.long = long
            self.short = short
            self.argument = argument
        }
    }

    package struct Result: Equatable, Sendable {
        /// In the order given, with long names; the value is nil for an option without one.
        package var options: [Pair]
        package var positionals: [String]

        package struct Pair: Equatable, Sendable {
            package let name: String
            package let value: String?
        }

        package func has(_ name: String) -> Bool { options.contains { $0.name == name } }
        /// The last value given for the option.
        package func value(_ name: String) -> String? { options.last { $0.name == name }?.value }
        package func values(_ name: String) -> [String] {
            options.filter { $0.name == name }.compactMap(\.value)
        }
    }

    package enum ParseError: Error, Equatable, CustomStringConvertible {
        case unknown(String)
        case missingValue(String)
        case unexpectedValue(String)

        package var description: String {
            switch self {
            case .unknown(let option): "unknown option \(option)"
            case .missingValue(let option): "option \(option) needs a value"
            case .unexpectedValue(let option): "option \(option) takes no value"
            }
        }
    }

    /// Parses `arguments` (without the program's name).
    /// With `stopAtPositional` everything from the first positional on is positional, as a command with
    /// sub-commands needs it. `--` always ends the options.
    package static func parse(
        _ arguments: [String], _ known: [Option], stopAtPositional: Bool = false
    ) throws(ParseError) -> Result {
        // getopt keeps its state in globals.
        guardian.lock()
        defer { guardian.unlock() }

        var vector: [UnsafeMutablePointer<CChar>?] = unsafe (["program"] + arguments).map {
            unsafe strdup($0)
        }
        unsafe vector.append(nil)
        let owned = unsafe vector  // getopt permutes `vector`
        let names = unsafe known.map { unsafe strdup($0.long) }
        defer {
            unsafe owned.forEach { unsafe free($0) }
            unsafe names.forEach { unsafe free($0) }
        }
        var longs: [antenna_option] = unsafe []
        for index in known.indices {
            unsafe longs.append(
                antenna_option(
                    name: UnsafePointer(names[index]), has_arg: known[index].argument.rawValue, flag: nil,
                    val: firstLongValue + Int32(index)))
        }
        unsafe longs.append(antenna_option(name: nil, has_arg: 0, flag: nil, val: 0))
        // ":" makes getopt tell a missing value from an unknown option.
        var shorts = stopAtPositional ? "+:" : ":"
        for option in known {
            guard let short = option.short else { continue }
            shorts.append(short)
            shorts += String(repeating: ":", count: Int(option.argument.rawValue))
        }

        antenna_getopt_reset()
        var result = Result(options: [], positionals: [])
        while true {
            let value = unsafe CPosix.getopt_long(Int32(vector.count - 1), &vector, shorts, longs, nil)
            if value == -1 { break }
            if value == 63 || value == 58 {  // "?" and ":"
                throw unsafe failure(value, known, vector)
            }
            let option =
                value >= firstLongValue
                ? known[Int(value - firstLongValue)]
                : known.first { $0.short == Character(UnicodeScalar(UInt8(truncatingIfNeeded: value))) }
            guard let option else { throw .unknown("-\(value)") }
            let text = unsafe antenna_optarg().map { unsafe String(cString: $0) }
            result.options.append(
                Result.Pair(name: option.long, value: option.argument == .none ? nil : text))
        }
        for index in Int(antenna_optind())..<(unsafe vector.count - 1) {
            if let text = unsafe vector[index] { result.positionals.append(unsafe String(cString: text)) }
        }
        return result
    }

    private static func failure(
        _ value: Int32, _ known: [Option], _ vector: [UnsafeMutablePointer<CChar>?]
    ) -> ParseError {
        let code = antenna_optopt()
        let index = Int(antenna_optind()) - 1
        var name = ""
        if code > 0, code < 128 {
            name = "-\(Character(UnicodeScalar(UInt8(code))))"
        } else if unsafe vector.indices.contains(index), let text = unsafe vector[index] {
            name = String(unsafe String(cString: text).prefix { $0 != "=" })
        }
        if value == 58 {
            if code >= firstLongValue { name = "--\(known[Int(code - firstLongValue)].long)" }
            return .missingValue(name)
        }
        return code >= firstLongValue
            ? .unexpectedValue("--\(known[Int(code - firstLongValue)].long)") : .unknown(name)
    }

    private static let guardian = Lock()
    private static let firstLongValue: Int32 = 1000
}
