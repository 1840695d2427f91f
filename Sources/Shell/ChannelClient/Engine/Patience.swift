internal import LibeventLoop

/// How long silent relays are waited for once one has answered: a silent one never delays the others.
final class Patience {
    private let engine: Engine
    private let milliseconds: Int64
    private var timer: LoopTimer?
    private(set) var isOver = false
    private let over: () -> Void

    /// `over` is called when the time is up; without one, waiting calls are looked at again.
    init(engine: Engine, milliseconds: Int64, over: (() -> Void)? = nil) {
        self.engine = engine
        self.milliseconds = milliseconds
        self.over = over ?? { [weak engine] in engine?.changed() }
    }

    /// Somebody answered: the time runs from the first one.
    func begin() {
        guard timer == nil else { return }
        timer = engine.loop.timer(afterMilliseconds: milliseconds) { [weak self] in
            guard let self else { return }
            self.isOver = true
            self.over()
        }
    }

    func end() { timer = nil }
}
