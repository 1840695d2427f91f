internal import ChannelClient
internal import Operations
internal import PosixKit

/// The passphrase that may lock a home's keys: from a file, or asked for on a terminal; never from the
/// command line, which others can read.
enum Passphrase {
    /// Opens the home; asks for the passphrase where it has one and none was given.
    static func open(
        home: String, options: ChannelClient.Options, command: ParsedCommand, json: Bool
    ) throws -> ChannelClient {
        var options = options
        options.passphrase = try fromFile(command)
        do throws(ChannelClientError) {
            return try ChannelClient(home: home, options: options)
        } catch {
            guard error.code == .wrongPassphrase, options.passphrase == nil, Console.canAsk, !json,
                let typed = Console.askSecret("passphrase of \(TerminalText.escaped(home)): "), !typed.isEmpty
            else { throw error }
            options.passphrase = typed
            return try ChannelClient(home: home, options: options)
        }
    }

    /// `passphrase`: sets, changes or, with `--remove`, takes away.
    static func run(_ session: Session, _ command: ParsedCommand) async throws -> ExitCode {
        if command.has("remove") {
            try await session.client.setPassphrase(nil)
            session.output.answer(["passphrase": false], ["the keys are not locked any more"])
            return .ok
        }
        try await session.client.setPassphrase(try newOne())
        session.output.answer(["passphrase": true], ["the keys are locked with the passphrase"])
        return .ok
    }

    private static func newOne() throws(OperatorError) -> String {
        let typed: String?
        if Console.canAsk {
            typed = Console.askSecret("new passphrase: ")
            guard typed == Console.askSecret("the same again: ") else {
                throw OperatorError(.badValue, "the two are not the same", hint: "nothing was changed")
            }
        } else {
            typed = readLine(strippingNewline: true)
        }
        guard let typed, !typed.isEmpty else {
            throw OperatorError(
                .missingArgument, "there is no passphrase",
                hint: "type it, or give it as a line of standard input")
        }
        return typed
    }

    /// The first line of the file that `--passphrase-file` or `$ANTENNA_PASSPHRASE_FILE` names.
    private static func fromFile(_ command: ParsedCommand) throws(OperatorError) -> String? {
        let named = command.value("passphrase-file") ?? Console.environment("ANTENNA_PASSPHRASE_FILE")
        guard let path = named, !path.isEmpty else { return nil }
        do throws(PosixError) {
            let text = String(decoding: try Posix.readFile(path, limit: 4096), as: UTF8.self)
            return text.split(separator: "\n", omittingEmptySubsequences: false).first.map(String.init)
        } catch {
            throw OperatorError(
                .badValue, "cannot read the passphrase from \(path): \(error.reason)",
                hint: "--passphrase-file names a file whose first line it is")
        }
    }
}
