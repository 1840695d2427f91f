import LibeventLoop
import PosixKit
import Synchronization
import Testing

@Suite struct EventLoopTests {
    @Test func `a readable descriptor calls its handler until it is removed`() throws {
        let loop = try EventLoop()
        let (a, b) = try Posix.socketPair()
        defer {
            Posix.closeRaw(a)
            Posix.closeRaw(b)
        }
        var calls = 0
        let event = loop.watch(a, .read, persist: true) { calls += 1 }
        loop.runOnce(waiting: false)
        #expect(calls == 0)
        event.add()
        #expect(Posix.send(b, [1]) == .done(1))
        loop.runOnce()
        loop.runOnce()
        #expect(calls == 2, "level triggered: the byte is still there")
        event.remove()
        loop.runOnce(waiting: false)
        #expect(calls == 2)
    }

    @Test func `a one-shot event fires once and can be added again`() throws {
        let loop = try EventLoop()
        let (a, b) = try Posix.socketPair()
        defer {
            Posix.closeRaw(a)
            Posix.closeRaw(b)
        }
        var calls = 0
        let event = loop.watch(a, .write, persist: false) { calls += 1 }
        event.add()
        loop.runOnce()
        loop.runOnce(waiting: false)
        #expect(calls == 1)
        #expect(!event.isAdded)
        event.add()
        loop.runOnce()
        #expect(calls == 2)
    }

    @Test func `an event may be let go of inside its own handler`() throws {
        let loop = try EventLoop()
        let (a, b) = try Posix.socketPair()
        defer {
            Posix.closeRaw(a)
            Posix.closeRaw(b)
        }
        var calls = 0
        var event: LoopEvent?
        event = loop.watch(a, .write, persist: true) {
            calls += 1
            event = nil
        }
        event?.add()
        loop.runOnce()
        loop.runOnce(waiting: false)
        #expect(calls == 1)
        #expect(event == nil)
    }

    @Test func `an owner is told what its descriptor is ready for, is not kept, and may let go meanwhile`()
        throws
    {
        final class Owner: DescriptorOwner {
            var seen: [EventLoop.Interest] = []
            var watch: DescriptorWatch?
            func descriptorReady(_ interest: EventLoop.Interest) {
                seen.append(interest)
                if seen.count == 2 { watch = nil }
            }
        }
        let loop = try EventLoop()
        let (a, b) = try Posix.socketPair()
        defer {
            Posix.closeRaw(a)
            Posix.closeRaw(b)
        }
        var owner: Owner? = Owner()
        weak let watched = owner
        owner?.watch = loop.watch(a, .write, owner: try #require(owner))
        loop.runOnce(waiting: false)
        #expect(owner?.seen == [], "nothing is watched before it is added")
        #expect(owner?.watch?.add() == true)
        loop.runOnce()
        #expect(owner?.watch?.isAdded == true, "it stays")
        owner?.watch?.remove()
        loop.runOnce(waiting: false)
        #expect(owner?.seen == [.write])
        #expect(owner?.watch?.add() == true)
        loop.runOnce()
        loop.runOnce(waiting: false)
        #expect(owner?.seen == [.write, .write], "it was let go of while it was told")
        owner?.watch = loop.watch(b, .read, owner: try #require(owner))
        _ = owner?.watch?.add()
        #expect(Posix.send(a, [1]) == .done(1))
        loop.runOnce()
        #expect(owner?.seen == [.write, .write, .read])
        owner = nil
        #expect(watched == nil)
    }

    @Test func `timers fire in the order of their delays and a repeating one goes on`() throws {
        let loop = try EventLoop()
        var order: [String] = []
        let late = loop.timer(afterMilliseconds: 20) { order.append("late") }
        let early = loop.timer(afterMilliseconds: 1) { order.append("early") }
        while late.isRunning { loop.runOnce() }
        #expect(order == ["early", "late"])
        #expect(!early.isRunning)

        var ticks = 0
        let ticker = loop.timer(afterMilliseconds: 1, repeating: true) { ticks += 1 }
        while ticks < 3 { loop.runOnce() }
        #expect(ticker.isRunning)
        ticker.stop()
        loop.runOnce(waiting: false)
        #expect(ticks == 3)
    }

    @Test func `a timer that was let go of does not fire`() throws {
        let loop = try EventLoop()
        var fired = false
        var timer: LoopTimer? = loop.timer(afterMilliseconds: 0) { fired = true }
        #expect(timer != nil)
        timer = nil
        var other = false
        let second = loop.timer(afterMilliseconds: 2) { other = true }
        while !other { loop.runOnce() }
        #expect(!fired)
        #expect(!second.isRunning)
    }

    @Test func `a mailbox wakes the loop of another thread, and stop ends run`() {
        let sum = Mutex(0)
        let ready = Mailbox<Mailbox<Int>>()
        let thread = PosixThread.start(name: "loop") {
            guard let loop = try? EventLoop() else { return }
            let waker = loop.waker
            let box = Mailbox<Int> { waker.wake() }
            loop.onWake {
                for message in box.drain() {
                    if message < 0 { loop.stop() } else { sum.withLock { $0 += message } }
                }
            }
            ready.post(box)
            loop.run()
        }
        let box = ready.waitDrain(timeoutMilliseconds: 10_000).first
        for number in 1...1000 { box?.post(number) }
        box?.post(-1)
        thread.join()
        #expect(sum.withLock { $0 } == 500_500)
    }

    @Test func `a signal is handled on the loop`() throws {
        let loop = try EventLoop()
        var count = 0
        let event = loop.onSignal(Signal.user2) { count += 1 }
        #expect(Posix.kill(Posix.processID, Signal.user2))
        while count == 0 { loop.runOnce() }
        #expect(count == 1)
        event.remove()
    }

    @Test func `libevent is the version the shim was written for`() {
        #expect(EventLoop.libeventVersion.hasPrefix("2.1."))
    }
}
