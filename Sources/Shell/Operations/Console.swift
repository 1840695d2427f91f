internal import PosixKit
internal import Synchronization

/// Where a program's words go: its standard streams, whether a person looks at them, and its environment.
package enum Console {
    package enum Stream: Int32, Sendable {
        case output = 1
        case error = 2
    }

    /// What every program does first.
    package static func begin() {
        Posix.ignoreSIGPIPE()
        Posix.holdStandardDescriptors()
    }

    /// Refuses to begin what so few descriptors would end in the middle. Units: open files of the process.
    package static func requireDescriptors(_ needed: Int) throws(OperatorError) {
        let limit = Posix.raiseDescriptorLimit(to: UInt64(needed))
        guard limit < UInt64(needed) else { return }
        throw OperatorError(
            .inputOutput, "only \(limit) files may be open at once, and \(needed) are needed",
            hint: "raise the limit, as with ulimit -n")
    }

    /// Writes all of it; a closed or full stream is not worth dying for, so failures are reported as `false`.
    ///
    /// Whoever reads it slowly is waited for, until `stopWaiting`.
    @discardableResult
    package static func write(_ text: String, to stream: Stream) -> Bool {
        do throws(PosixError) {
            let bytes = Array(text.utf8)
            for start in stride(from: 0, to: bytes.count, by: Posix.takenByteCount) {
                while !Posix.takesMore(stream.rawValue, withinMilliseconds: 100) {
                    if waitsNoMore.load(ordering: .relaxed) { return false }
                }
                let end = min(start + Posix.takenByteCount, bytes.count)
                try Posix.writeAll(stream.rawValue, Array(bytes[start..<end]))
            }
            return true
        } catch {
            // Who closes a pipe has read enough.
            if stream == .output, !error.isClosedPipe { outputProblem.withLock { $0 = $0 ?? error } }
            return false
        }
    }

    /// Writes a line where it is taken at once; false where it would have to be waited for.
    ///
    /// For what many threads write while others wait for them.
    package static func writeAtOnce(_ line: String, to stream: Stream) -> Bool {
        guard Posix.takesMore(stream.rawValue) else { return false }
        return write(TerminalText.cut(line, bytesMax: Posix.takenByteCount - 8), to: stream)
    }

    /// The program was asked to end: nobody who does not read is waited for any more.
    package static func stopWaiting() { waitsNoMore.store(true, ordering: .relaxed) }

    private static let waitsNoMore = Atomic(false)

    /// Why an answer did not get to where it should have.
    private static let outputProblem = Mutex<PosixError?>(nil)

    /// The code to end with: an answer that could not be written is no success.
    package static func exitCode(after code: Int32, program: String) -> Int32 {
        guard let problem = outputProblem.withLock({ $0 }) else { return code }
        write("\(program): standard output: \(problem.reason)\n", to: .error)
        return code == ExitCode.ok.rawValue ? ExitCode.inputOutput.rawValue : code
    }

    package static func isTerminal(_ stream: Stream) -> Bool { Posix.isTerminal(stream.rawValue) }

    package static var inputIsTerminal: Bool { Posix.isTerminal(Posix.standardInput) }

    package static func environment(_ name: String) -> String? { Posix.environment(name) }

    /// Colour only for people, and only for those who did not say no.
    package static func wantsColour(_ stream: Stream) -> Bool {
        isTerminal(stream) && (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
    }

    package static var nowMilliseconds: Int64 { Clock.nowMilliseconds() }

    /// Asks a yes-or-no question on standard error. Only for a terminal: ask ``canAsk`` before.
    package static func confirm(_ question: String) -> Bool {
        write("\(question) [y/N] ", to: .error)
        guard let answer = readLine() else { return false }
        return ["y", "yes"].contains(answer.lowercased())
    }

    /// Asks for a secret without showing what is typed; nil at the end of the input. Ask ``canAsk`` before.
    package static func askSecret(_ prompt: String) -> String? {
        let secret = Posix.readSecretLine { write(prompt, to: .error) }
        write("\n", to: .error)
        return secret
    }

    /// Whether somebody is there to answer a question.
    package static var canAsk: Bool { inputIsTerminal && isTerminal(.error) }
}
