import CRingwakeLinux
import Glibc
import RunLoop

extension RunLoop {
    /// Turns the loop until the condition holds; false when it does not within the limit.
    func drive(limit: Duration = .seconds(300), until condition: () -> Bool) -> Bool {
        let end = BootClock.now().advanced(by: limit)
        while !condition() {
            if BootClock.now() > end { return false }
            runOnce(timeout: .milliseconds(5))
        }
        return true
    }

    /// Turns the loop for so long.
    func drive(for duration: Duration) {
        let end = BootClock.now().advanced(by: duration)
        _ = drive { BootClock.now() > end }
    }

    /// Whether at last a time of this length passes in which nothing wakes the loop.
    func comesToRest(for duration: Duration) -> Bool {
        for _ in 0..<4 {
            let before = statistics.caused
            let end = BootClock.now().advanced(by: duration)
            while BootClock.now() < end { runOnce(timeout: BootClock.now().duration(to: end)) }
            if statistics.caused == before { return true }
        }
        return false
    }
}

/// A program that runs beside the test's loop. It dies with the test.
final class TestProgram {
    private(set) var output = ""
    private(set) var exit: ChildExit?
    let pid: pid_t
    private let runLoop: RunLoop
    private let readEnd: Int32
    private let writeEnd: Int32
    private var source: ReadinessSource?
    private var isStopped = false

    /// - Parameters:
    ///   - arguments: The first is the program's path.
    ///   - environment: `NAME=value`; there is nothing else but PATH and LANG.
    init(_ arguments: [String], environment: [String], _ runLoop: RunLoop) throws {
        self.runLoop = runLoop
        var output: [Int32] = [-1, -1]
        var input: [Int32] = [-1, -1]
        _ = ringwake_pipe(&output, 0)
        _ = ringwake_pipe(&input, 0)
        readEnd = output[0]
        writeEnd = input[1]
        _ = ringwake_set_nonblocking(readEnd)
        // Killed by the kernel when the test's main thread ends in whatever way.
        let bound = ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--"] + arguments
        var pointers: [UnsafeMutablePointer<CChar>?] = bound.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            (["PATH=/usr/bin:/bin", "LANG=C.UTF-8"] + environment).map { strdup($0) } + [nil]
        defer { for pointer in pointers + variables { free(pointer) } }
        var process: pid_t = 0
        let result = ringwake_spawn(&process, &pointers, &variables, input[0], output[1], output[1])
        Glibc.close(input[0])
        Glibc.close(output[1])
        pid = process
        guard result == 0 else { throw RunLoopError(operation: "spawn", errno: result) }
        source = try runLoop.watch(readEnd, for: .read, cause: .child) { [weak self] _ in self?.readOutput() }
        try runLoop.watchChild(pidfd: ringwake_pidfd_open(process)) { [weak self] in self?.exit = $0 }
    }

    private func readOutput() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = read(readEnd, &buffer, buffer.count)
        if count > 0 {
            output += String(decoding: buffer[..<count], as: UTF8.self)
        } else if count == 0 {
            source?.cancel()
            source = nil
        }
    }

    /// Its output is whole.
    var isAtEnd: Bool { exit != nil && source == nil }

    func tell(_ line: String) {
        _ = Array((line + "\n").utf8).withUnsafeBytes { write(writeEnd, $0.baseAddress, $0.count) }
    }

    func send(_ signal: Int32) {
        if exit == nil { kill(pid, signal) }
    }

    /// Kills it and waits until it is gone. Idempotent.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        send(SIGKILL)
        _ = runLoop.drive { exit != nil }
        source?.cancel()
        source = nil
        Glibc.close(readEnd)
        Glibc.close(writeEnd)
    }
}
