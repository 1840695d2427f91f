internal import CBench
internal import Operations
internal import PosixKit

/// `antenna-bench`: measures one relay and ends with an exit code.
enum BenchProgram {
    static func main() -> Never {
        Console.begin()
        let code = run(Posix.arguments)
        Posix.exit(Console.exitCode(after: code, program: "antenna-bench"))
    }

    private static func run(_ arguments: [String]) -> Int32 {
        let output = Output(json: CommandTable.wantsJSON(arguments))
        do throws(OperatorError) {
            switch try BenchOptions.table.parse(arguments) {
            case .help(let text): output.text(text)
            case .version:
                output.answer(
                    ["program": "antenna-bench", "version": .string(Version.number)],
                    [Version.line(program: "antenna-bench")])
            case .run(let command): return try measure(BenchOptions(command), output).rawValue
            }
            return ExitCode.ok.rawValue
        } catch {
            return output.failure(error, program: "antenna-bench").rawValue
        }
    }

    private static func measure(_ options: BenchOptions, _ output: Output) throws(OperatorError) -> ExitCode {
        let limit = Posix.raiseDescriptorLimit()
        guard limit > UInt64(options.subscribers) + 64 else {
            throw OperatorError(
                .badValue, "only \(limit) descriptors are allowed", hint: "raise the limit with ulimit -n")
        }
        var process: RelayProcess?
        let place: RelayPlace
        if let path = options.antennad {
            let started = try RelayProcess(
                path: path,
                settings: RelayProcess.settings(
                    subscribers: options.subscribers, loops: options.loops, more: options.settings),
                core: options.relayCore, keeps: options.keeps)
            process = started
            place = started.place
        } else {
            place = try RelayPlace(link: options.relay ?? "")
        }
        if let core = options.generatorCore {
            let result = bench_pin(Int32(core))
            guard result == 0 else { throw OperatorError(errno: -result, "sched_setaffinity") }
        }
        guard options.sources == 1 || place.isLoopback else {
            throw OperatorError(.badValue, "--sources is for a relay on loopback")
        }
        let account = (process?.pid ?? options.relayPID).map { ProcessAccount(pid: $0) }
        let report: BenchReport
        do throws(OperatorError) {
            let bench = try Bench(options, place, account) { output.note($0) }
            report = try bench.run()
        } catch {
            let log = process?.stop() ?? ""
            if let line = log.split(separator: "\n").last { output.note("the relay's log ends: \(line)") }
            throw error
        }
        process?.stop()
        output.answer(report.json, report.lines)
        return report.isGood ? .ok : .unexpected
    }
}
