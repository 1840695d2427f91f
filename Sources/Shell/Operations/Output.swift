/// What a command tells its caller: text and tables for people, or one JSON document (or JSON lines) for
/// programs.
///
/// Standard output carries the answer and nothing else; everything else goes to standard error.
package struct Output: Sendable {
    package let json: Bool
    private let write: @Sendable (String, Console.Stream) -> Bool

    package init(json: Bool) {
        self.init(json: json) { text, stream in Console.write(text, to: stream) }
    }

    /// With a sink of one's own, for tests.
    package init(json: Bool, write: @escaping @Sendable (String, Console.Stream) -> Bool) {
        self.json = json
        self.write = write
    }

    /// The answer of a command: `document` for programs, `lines` for people.
    package func answer(_ document: @autoclosure () -> JSONValue, _ lines: @autoclosure () -> [String]) {
        let text = json ? document().text + "\n" : lines().map { $0 + "\n" }.joined()
        if !text.isEmpty { _ = write(text, .output) }
    }

    /// One piece of a stream: a JSON line or a line for people. False when nobody reads any more.
    @discardableResult
    package func item(_ document: @autoclosure () -> JSONValue, _ line: @autoclosure () -> String) -> Bool {
        return write((json ? document().text : line()) + "\n", .output)
    }

    /// Text as it is, for people (`--help`, a QR code).
    package func text(_ text: String) { _ = write(text, .output) }

    /// A remark for people on standard error.
    package func note(_ line: String) { _ = write(line + "\n", .error) }

    /// Prints a failure and gives the code to end with.
    ///
    /// **Shape** with `--json`: `{"error":{…}}` and the fields of `details` beside it, on standard output; in
    /// any case one line for people on standard error. `alreadyAnswered` keeps a second document from a
    /// caller that got one.
    package func failure(
        _ error: OperatorError, program: String, details: [(String, JSONValue)] = [],
        alreadyAnswered: Bool = false
    ) -> ExitCode {
        if json, !alreadyAnswered {
            _ = write(JSONValue.object([("error", error.json)] + details).text + "\n", .output)
        }
        if let title = error.title {
            _ = write("\(TerminalText.escaped(title))\n\(TerminalText.escaped(error.message))\n", .error)
            return error.exitCode
        }
        var line = "\(program): \(TerminalText.escaped(error.message))"
        if let hint = error.hint { line += " (\(TerminalText.escaped(hint)))" }
        _ = write(line + "\n", .error)
        return error.exitCode
    }

    /// Columns with two spaces between them, header in front, last column ragged. No rows: no header either.
    package static func table(_ header: [String], _ rows: [[String]]) -> [String] {
        guard !rows.isEmpty else { return [] }
        let safe = [header] + rows.map { row in row.map { TerminalText.escaped($0) } }
        let widths = header.indices.map { column in
            safe.map { column < $0.count ? TerminalText.columns($0[column]) : 0 }.max() ?? 0
        }
        return safe.map { row in
            var line = ""
            let shown = row.lastIndex { !$0.isEmpty }.map { row[...$0] } ?? []
            for (column, cell) in shown.enumerated() {
                line += cell
                guard column < shown.count - 1, column < widths.count else { continue }
                line += String(repeating: " ", count: widths[column] - TerminalText.columns(cell) + 2)
            }
            return line
        }
    }
}
