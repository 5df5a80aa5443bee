import Glibc
import RunLoop
import Testing

/// A loop inside a program that has another: the program waits for the loop's descriptor.
@Suite struct DrivenLoopTests {
    private func isReadable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) == 1
    }

    @Test("The descriptor becomes readable when a timer is due, and stays silent before")
    func timer() throws {
        let loop = try RunLoop(wakingFromSuspend: false)
        var hasFired = false
        loop.schedule(at: loop.now.advanced(by: .milliseconds(30)), tolerance: .zero) { hasFired = true }
        #expect(loop.prepareToWait())
        #expect(!isReadable(loop.descriptor, within: 0))
        #expect(isReadable(loop.descriptor, within: 20_000))
        loop.runOnce(timeout: .zero)
        #expect(hasFired)
        #expect(loop.prepareToWait())
        #expect(!isReadable(loop.descriptor, within: 0))
    }

    @Test("The descriptor becomes readable when a source is ready")
    func source() throws {
        let loop = try RunLoop(wakingFromSuspend: false)
        let bell = try EventDescriptor(nonblocking: true)
        var heard = 0
        let source = try loop.watch(bell.number, for: .read, cause: .signal) { _ in
            bell.hear()
            heard += 1
        }
        #expect(loop.prepareToWait())
        bell.ring()
        bell.ring()
        #expect(isReadable(loop.descriptor, within: 20_000))
        loop.runOnce(timeout: .zero)
        #expect(heard == 1)
        #expect(!isReadable(loop.descriptor, within: 0))
        source.cancel()
    }

    @Test("With work to do there is nothing to wait for")
    func work() throws {
        let loop = try RunLoop(wakingFromSuspend: false)
        var runs = 0
        loop.enqueue { runs += 1 }
        #expect(!loop.prepareToWait())
        loop.runOnce(timeout: .zero)
        #expect(runs == 1)
        #expect(loop.prepareToWait())
        loop.schedule(at: loop.now, tolerance: .seconds(5)) { runs += 1 }
        #expect(!loop.prepareToWait())
    }
}
