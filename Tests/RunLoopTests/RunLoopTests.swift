import CRingwakeLinux
import Glibc
import RunLoop
import Testing

@Suite struct RunLoopTests {
    @Test("A source gets what its descriptor is ready for, in each turn, until it is cancelled")
    func readiness() throws {
        let loop = try RunLoop()
        let pair = SocketPair()
        var seen: [Readiness] = []
        let source = try loop.watch(pair.near, for: [.read, .write], cause: .test) { seen.append($0) }
        loop.runOnce(timeout: .zero)
        pair.send(1)
        loop.runOnce(timeout: .zero)
        try source.update(.read)
        loop.runOnce(timeout: .zero)
        source.cancel()
        source.cancel()
        loop.runOnce(timeout: .zero)
        #expect(seen == [.write, [.read, .write], .read])
    }

    @Test("What is postponed runs in the next turn, after the descriptors that are ready then")
    func postponed() throws {
        let loop = try RunLoop()
        let pair = SocketPair()
        var seen: [String] = []
        let source = try loop.watch(pair.near, for: .read, cause: .test) { _ in seen.append("ready") }
        loop.postpone {
            seen.append("first")
            loop.postpone { seen.append("second") }
        }
        loop.runOnce(timeout: .zero)
        #expect(seen == ["first"])
        pair.send(1)
        loop.runOnce(timeout: .seconds(60))
        #expect(seen == ["first", "ready", "second"])
        source.cancel()
    }

    @Test("A source that was cancelled in this turn gets no event, and neither does the one that took its slot")
    func cancelledSourceGetsNoStaleEvent() throws {
        let loop = try RunLoop()
        let pairs = [SocketPair(), SocketPair(), SocketPair()]
        var sources: [ReadinessSource] = []
        var calls: [Int] = []
        for index in 0..<2 {
            sources.append(
                try loop.watch(pairs[index].near, for: .read, cause: .test) { _ in
                    calls.append(index)
                    sources[1 - index].cancel()
                    // Takes the slot that has just become free; not ready for reading.
                    if let late = try? loop.watch(pairs[2].near, for: .read, cause: .test, { _ in calls.append(2) }) {
                        sources.append(late)
                    }
                })
            pairs[index].send(1)
        }
        loop.runOnce(timeout: .zero)
        #expect(calls.count == 1)
        #expect(sources.count == 3)
    }

    @Test("A source may cancel itself and add another in its own callback")
    func sourceReplacesItself() throws {
        let loop = try RunLoop()
        let pair = SocketPair()
        var calls: [String] = []
        var second: ReadinessSource?
        var first: ReadinessSource?
        first = try loop.watch(pair.near, for: .read, cause: .test) { _ in
            calls.append("first")
            first?.cancel()
            second = try? loop.watch(pair.near, for: .read, cause: .test) { _ in
                calls.append("second")
                second?.cancel()
            }
        }
        pair.send(1)
        for _ in 0..<4 { loop.runOnce(timeout: .zero) }
        #expect(calls == ["first", "second"])
    }

    @Test("A parked source sees nothing, not even a hang-up, and comes back")
    func parkedSource() throws {
        let loop = try RunLoop()
        let pair = SocketPair()
        var seen: [Readiness] = []
        let source = try loop.watch(pair.near, for: [], cause: .test) { seen.append($0) }
        pair.closeFar()
        loop.runOnce(timeout: .zero)
        #expect(seen.isEmpty)
        try source.update(.read)
        loop.runOnce(timeout: .zero)
        #expect(seen == [[.read, .hangup]])
        try source.update([])
        try source.update([])
        loop.runOnce(timeout: .milliseconds(1))
        #expect(seen.count == 1)
        #expect(loop.statistics.caused == 0)
    }

    @Test("A source that parks in this turn gets no event that was reported before")
    func parkedInTheSameTurn() throws {
        let loop = try RunLoop()
        let pairs = [SocketPair(), SocketPair()]
        var sources: [ReadinessSource] = []
        var calls = 0
        for index in 0..<2 {
            sources.append(
                try loop.watch(pairs[index].near, for: .read, cause: .test) { _ in
                    calls += 1
                    try? sources[1 - index].update([])
                })
            pairs[index].send(1)
            pairs[index].closeFar()
        }
        // An optimized build would close the sockets after their last use above.
        withExtendedLifetime(pairs) { loop.runOnce(timeout: .zero) }
        #expect(calls == 1)
    }

    @Test("A descriptor that cannot be watched is an error that says so, and leaves nothing behind")
    func unwatchableDescriptor() throws {
        let loop = try RunLoop()
        let error = #expect(throws: RunLoopError.self) {
            _ = try loop.watch(1_000_000, for: .read, cause: .test) { _ in }
        }
        #expect(error?.errno == EBADF)
        #expect(error?.description.hasPrefix("epoll_ctl failed: ") == true)
    }

    @Test("What is enqueued runs in the same turn, also what it enqueues, up to the bound of a turn")
    func enqueue() throws {
        let loop = try RunLoop()
        var order: [Int] = []
        loop.enqueue {
            order.append(1)
            loop.enqueue { order.append(3) }
        }
        loop.enqueue { order.append(2) }
        loop.runOnce(timeout: nil)
        #expect(order == [1, 2, 3])

        var rounds = 0
        func again() {
            rounds += 1
            loop.enqueue(again)
        }
        again()
        loop.runOnce(timeout: nil)
        #expect(rounds == 1_025)
        loop.runOnce(timeout: nil)
        #expect(rounds == 2_049)
        #expect(loop.statistics.total == 0, "work at hand is no reason to sleep")
    }

    @Test("More bodies than one turn takes run in order over several turns, without a sleep between")
    func enqueueManyAtOnce() throws {
        let loop = try RunLoop()
        var order: [Int] = []
        for number in 0..<3_000 { loop.enqueue { order.append(number) } }
        for _ in 0..<3 { loop.runOnce(timeout: nil) }
        #expect(order == Array(0..<3_000))
        #expect(loop.statistics.total == 0)
    }

    @Test("stop ends the run after this turn; before the run, it ends it at once")
    func stop() throws {
        let loop = try RunLoop()
        loop.stop()
        loop.run()
        var turns = 0
        func turn() {
            turns += 1
            if turns == 3 { loop.stop() }
            loop.schedule(at: loop.now, tolerance: .zero, turn)
        }
        loop.schedule(at: loop.now, tolerance: .zero, turn)
        loop.run()
        #expect(turns == 3)
    }

    @Test("Only a sleep counts as a wakeup, with the cause of the source that ended it")
    func statistics() throws {
        let loop = try RunLoop()
        let pair = SocketPair()
        _ = try loop.watch(pair.near, for: .read, cause: .test) { _ in pair.receive() }
        pair.send(1)
        loop.runOnce(timeout: nil)
        #expect(loop.statistics.total == 0, "it was ready: nothing slept")
        // Once more where the machine was so slow that it was written before the loop slept.
        while loop.statistics.caused == 0 {
            let writer = DelayedWriter(descriptor: pair.far)
            loop.runOnce(timeout: nil)
            writer.join()
        }
        #expect(loop.statistics.caused == 1)
        #expect(loop.statistics.byCause[.test] == 1)
    }

    @Test("A loop that is gone leaves its sources harmless")
    func sourceOutlivesLoop() throws {
        let pair = SocketPair()
        var loop: RunLoop? = try RunLoop()
        let source = try loop?.watch(pair.near, for: .read, cause: .test) { _ in }
        weak let gone = loop
        loop = nil
        #expect(gone == nil)
        try source?.update([.write])
        source?.cancel()
    }

    @Test("Every descriptor that a loop makes is closed on exec")
    func descriptorsAreCloseOnExec() throws {
        let loop = try RunLoop()
        try loop.onSignal(SIGWINCH) {}
        var kinds: Set<String> = []
        for descriptor in 0..<Int32(1_024) {
            var target = [CChar](repeating: 0, count: 256)
            guard readlink("/proc/self/fd/\(descriptor)", &target, 255) > 0 else { continue }
            let kind = String(decoding: target.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            guard ["[eventpoll]", "[timerfd]", "[signalfd]"].contains(where: kind.hasSuffix) else { continue }
            kinds.insert(kind)
            let flags = fcntl(descriptor, F_GETFD)
            #expect(flags < 0 || flags & FD_CLOEXEC != 0, "\(kind)")
        }
        #expect(kinds.count == 3)
    }
}

extension WakeupCause {
    static let test = WakeupCause("test")
}
