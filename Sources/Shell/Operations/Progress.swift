internal import Synchronization

/// One line that says what a long wait waits for: on a terminal's standard error, and nowhere else.
package final class Progress: Sendable {
    private struct State {
        var shown = false
        var step = 0
    }

    private let visible: Bool
    private let write: @Sendable (String) -> Void
    private let state = Mutex(State())

    package convenience init(json: Bool = false) {
        let visible = !json && Console.isTerminal(.error) && Console.environment("TERM") != "dumb"
        self.init(visible: visible) { Console.write($0, to: .error) }
    }

    package init(visible: Bool, write: @escaping @Sendable (String) -> Void) {
        self.visible = visible
        self.write = write
    }

    /// Shows the line, or replaces the one shown.
    package func show(_ text: String) {
        guard visible else { return }
        let marks = ["|", "/", "-", "\\"]
        state.withLock { state in
            state.shown = true
            state.step += 1
            write("\r\u{1B}[K\(marks[state.step % marks.count]) \(TerminalText.escaped(text))")
        }
    }

    /// Takes the line away, so that the answer starts on a clean one.
    package func clear() {
        guard visible else { return }
        state.withLock { state in
            if state.shown { write("\r\u{1B}[K") }
            state.shown = false
        }
    }
}
