import CRingwakeLinux
import Glibc
import RunLoop

/// A program that runs beside the test's loop, with what it wrote.
@MainActor final class TestChild {
    private(set) var output = ""
    private(set) var exit: ChildExit?
    private var source: ReadinessSource?

    /// - Parameter arguments: the first is the program's path.
    init(_ arguments: [String], _ loop: TestLoop) throws {
        var ends: [Int32] = [-1, -1]
        _ = ringwake_pipe(&ends, 0)
        let readEnd = ends[0]
        _ = ringwake_set_nonblocking(readEnd)
        let null = ringwake_open("/dev/null", O_RDONLY, 0)
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        let path = strdup("PATH=/usr/bin:/bin")
        defer { free(path) }
        var process: pid_t = 0
        let result = ringwake_spawn(&process, &pointers, [path, nil], null, ends[1], ends[1])
        Glibc.close(null)
        Glibc.close(ends[1])
        guard result == 0 else {
            Glibc.close(readEnd)
            throw RunLoopError(operation: "spawn", errno: result)
        }
        source = try loop.runLoop.watch(readEnd, for: .read, cause: .child) { [weak self] _ in
            var buffer = [UInt8](repeating: 0, count: 65536)
            let count = read(readEnd, &buffer, buffer.count)
            if count > 0 {
                self?.output += String(decoding: buffer[..<count], as: UTF8.self)
            } else if count == 0 {
                self?.source?.cancel()
                self?.source = nil
                Glibc.close(readEnd)
            }
        }
        try loop.runLoop.watchChild(pidfd: ringwake_pidfd_open(process)) { [weak self] exit in
            self?.exit = exit
        }
    }

    /// It has exited and all of its output is there.
    var isDone: Bool { exit != nil && source == nil }
}
