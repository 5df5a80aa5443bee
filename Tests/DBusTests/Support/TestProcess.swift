import CRingwakeLinux
import Glibc
import RunLoop

/// A program that runs beside the test's loop, with the lines that it wrote. It dies with the test.
final class TestProcess {
    private(set) var output = ""
    private(set) var exit: ChildExit?
    let pid: pid_t
    private let loop: TestLoop
    private let readEnd: Int32
    private var source: ReadinessSource?

    /// - Parameter arguments: The first is the program's path.
    init(_ arguments: [String], _ loop: TestLoop) throws {
        self.loop = loop
        var ends: [Int32] = [-1, -1]
        _ = ringwake_pipe(&ends, 0)
        readEnd = ends[0]
        _ = ringwake_set_nonblocking(readEnd)
        let null = ringwake_open("/dev/null", O_RDONLY, 0)
        // Killed by the kernel when the test's main thread ends in whatever way.
        let bound = ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--"] + arguments
        var pointers: [UnsafeMutablePointer<CChar>?] = bound.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        let path = strdup("PATH=/usr/bin:/bin")
        defer { free(path) }
        var process: pid_t = 0
        let result = ringwake_spawn(&process, &pointers, [path, nil], null, ends[1], ends[1])
        Glibc.close(null)
        Glibc.close(ends[1])
        pid = process
        guard result == 0 else { throw RunLoopError(operation: "spawn", errno: result) }
        source = try loop.runLoop.watch(readEnd, for: .read, cause: .child) { [weak self] _ in self?.readOutput() }
        try loop.runLoop.watchChild(pidfd: ringwake_pidfd_open(process)) { [weak self] in self?.exit = $0 }
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

    /// The whole lines so far.
    var lines: [String] { output.split(separator: "\n").map(String.init) }

    func kill(_ signal: Int32 = SIGKILL) {
        if exit == nil { _ = Glibc.kill(pid, signal) }
    }

    /// Kills it and waits until it is gone.
    func stop() {
        kill()
        _ = loop.drive { exit != nil }
        source?.cancel()
        source = nil
        Glibc.close(readEnd)
    }
}
