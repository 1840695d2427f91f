internal import ChannelClient
internal import Operations
internal import PosixKit

/// `antenna`: the command line of owners and subscribers.
package enum OwnerProgram {
    /// Runs one command line (without the program's name) and gives the code to end with.
    package static func run(_ arguments: [String]) async -> Int32 {
        let output = Output(json: CommandTable.wantsJSON(arguments))
        do {
            switch try OwnerTable.table.parse(arguments) {
            case .help(let text):
                output.text(text)
            case .version:
                output.answer(
                    ["program": "antenna", "version": .string(Version.number)],
                    [Version.line(program: "antenna")])
            case .run(let command):
                return try await run(command, output).rawValue
            }
            return ExitCode.ok.rawValue
        } catch {
            return report(error, output).rawValue
        }
    }

    /// Runs the command line of this process and ends it.
    ///
    /// It is not asynchronous itself: the runtime would open descriptors before the first line.
    package static func main() -> Never {
        Console.begin()
        Task.detached {
            let code = await run(Posix.arguments)
            Posix.exit(Console.exitCode(after: code, program: "antenna"))
        }
        while true { Clock.pause(milliseconds: -1) }
    }

    private static func report(_ error: any Error, _ output: Output) -> ExitCode {
        switch error {
        case let error as OperatorError:
            return output.failure(error, program: "antenna")
        case let error as ChannelClientError:
            let outcomes = error.relays
            var details: [(String, JSONValue)] = []
            if !outcomes.isEmpty { details.append(("relays", .array(outcomes.map { Present.json($0) }))) }
            if let receipt = error.receipt { details.append(("receipt", Present.json(receipt))) }
            if !output.json { output.answer(.null, Present.columns(outcomes.map { Present.row($0) })) }
            return output.failure(ClientFailure.operatorError(error), program: "antenna", details: details)
        default:
            return output.failure(OperatorError(.internalDefect, "\(error)"), program: "antenna")
        }
    }

    // MARK: Home and session

    /// Descriptors for the standard streams, the home, the loop, and a link or two.
    private static let descriptors = 32

    private static func run(_ command: ParsedCommand, _ output: Output) async throws -> ExitCode {
        try Console.requireDescriptors(descriptors)
        let timeout = try timeout(command)
        guard let action = action(command.name) else {
            throw OperatorError(.internalDefect, "no action for ‘\(command.name)’")
        }
        if case .demo(let run) = action { return try await run(command, output, timeout.duration) }
        var options = ChannelClient.Options()
        options.proxy = try proxy(command)
        if case .local = action { options.background = .none }
        let client = try Passphrase.open(
            home: try home(command), options: options, command: command, json: output.json)
        let session = Session(
            client: client, output: output, timeout: timeout.duration, timeoutWasGiven: timeout.given)
        do {
            let code =
                switch action {
                case .local(let run), .network(let run): try await run(session, command)
                case .demo: ExitCode.unexpected
                }
            await client.shutdown()
            return code
        } catch {
            await client.shutdown()
            throw error
        }
    }

    private static func timeout(_ command: ParsedCommand) throws(OperatorError) -> (
        duration: Duration, given: Bool
    ) {
        guard let text = command.value("timeout") else { return (.seconds(30), false) }
        guard let seconds = Double(text), seconds > 0, seconds <= 86_400 else {
            throw OperatorError(
                .badValue, "--timeout cannot be ‘\(TerminalText.cut(text, bytesMax: 64))’",
                hint: "give seconds, more than 0 and at most 86400")
        }
        return (.milliseconds(Int64(seconds * 1000)), true)
    }

    /// `--proxy`, else `$ANTENNA_PROXY`; “none” for none.
    private static func proxy(_ command: ParsedCommand) throws(OperatorError) -> ProxyAddress? {
        let given = command.value("proxy")
        let text = given ?? Console.environment("ANTENNA_PROXY") ?? ""
        // An empty option is a mistake, perhaps of a script; the network is not told who it was.
        if given == nil, text.isEmpty { return nil }
        if text == "none" { return nil }
        do throws(ChannelClientError) {
            return try ProxyAddress(text)
        } catch {
            // Without what was typed: there may be a password in it.
            throw OperatorError(
                .badValue, "\(given == nil ? "ANTENNA_PROXY" : "--proxy") does not name a proxy",
                hint: "give socks5://HOST:PORT with an IP address or localhost, or none")
        }
    }

    /// `--home`, `$ANTENNA_HOME`, `$XDG_DATA_HOME/antenna`, `~/.local/share/antenna`.
    static func home(_ command: ParsedCommand) throws(OperatorError) -> String {
        if let home = command.value("home") {
            if home.isEmpty { throw OperatorError(.badValue, "--home is empty", hint: "give a directory") }
            return home
        }
        func set(_ name: String) -> String? {
            guard let value = Console.environment(name), !value.isEmpty else { return nil }
            return value
        }
        if let home = set("ANTENNA_HOME") { return home }
        // The XDG specification has relative paths ignored.
        if let data = set("XDG_DATA_HOME"), data.hasPrefix("/") { return "\(data)/antenna" }
        if let user = set("HOME") { return "\(user)/.local/share/antenna" }
        throw OperatorError(.usage, "there is no home directory", hint: "set HOME or give --home DIR")
    }

    // MARK: What does what

    /// Whether a command of this name is carried out.
    package static func knows(_ name: String) -> Bool { action(name) != nil }

    private typealias Body = @Sendable (Session, ParsedCommand) async throws -> ExitCode

    private enum Action {
        /// Works on the home alone: the client stays off the network.
        case local(Body)
        case network(Body)
        case demo(@Sendable (ParsedCommand, Output, Duration) async throws -> ExitCode)
    }

    private static func action(_ name: String) -> Action? {
        switch name {
        case "profile": .local(PeopleCommands.profile)
        case "passphrase": .local(Passphrase.run)
        case "relay add": .local(PeopleCommands.relayAdd)
        case "relay test": .network(PeopleCommands.relayTest)
        case "relay list": .local(PeopleCommands.relayList)
        case "relay remove": .local(PeopleCommands.relayRemove)
        case "channel create": .network(ChannelCommands.create)
        case "channel list": .local(ChannelCommands.list)
        case "channel set": .network(ChannelCommands.set)
        case "channel delete": .network(ChannelCommands.delete)
        case "channel forget": .local(ChannelCommands.forget)
        case "relays": .network(ChannelCommands.relays)
        case "link": .local(ChannelCommands.link)
        case "join": .network(ChannelCommands.join)
        case "leave": .network(ChannelCommands.leave)
        case "members": .network(MemberCommands.list)
        case "remove": .network(MemberCommands.remove)
        case "post": .network(MessageCommands.post)
        case "edit": .network(MessageCommands.edit)
        case "delete": .network(MessageCommands.delete)
        case "follow": .network(FollowCommand.run)
        case "history": .network(MessageCommands.history)
        case "outbox": .local(UpkeepCommands.outbox)
        case "outbox discard": .local(UpkeepCommands.discard)
        case "sync": .network(UpkeepCommands.sync)
        case "demo": .demo(Demo.run)
        default: nil
        }
    }
}
