import CRingwakeLinux
import Glibc
import HandlerActivation
import Logging
import RingwakeCore
import RunLoop
import Synchronization
import Testing

/// A loop, an activator and a log in memory, with a directory that goes at the end of the test.
final class Harness {
    let loop: RunLoop
    let activator: ExecHandlerActivator
    let log = LogLines()
    let directory: String

    init(in parent: String = "/tmp", environment: [String: String] = ["PATH": "/usr/bin:/bin"]) throws {
        loop = try RunLoop()
        var template = Array("\(parent)/ringwake-test.XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        let lines = log
        let logger = Logger(label: "test") { _ in LogRecorder(lines: lines) }
        activator = ExecHandlerActivator(
            runLoop: loop, logger: logger, runtimeDirectory: directory, baseEnvironment: environment,
            socketPath: "/run/ringwake/control.sock")
    }

    deinit {
        for name in ["out", "program"] { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    func wake(
        _ command: [String], call: String = "call-1", payload: [UInt8] = Array("{}".utf8),
        onExit: @escaping (ChildExit) -> Void
    ) throws -> RunningHandler {
        try activator.wake(
            makeRequest(call: call, payload: payload), command: command, secret: "s3cret", onExit: onExit)
    }

    /// Starts a command and runs the loop until it has ended.
    func run(_ command: [String], call: String = "call-1", payload: [UInt8] = Array("{}".utf8)) throws -> ChildExit? {
        var exit: ChildExit?
        _ = try wake(command, call: call, payload: payload) { exit = $0 }
        runUntil { exit != nil }
        return exit
    }

    func runShell(_ script: String) throws -> ChildExit? { try run(["/bin/sh", "-c", script]) }

    /// Turns the loop until the condition holds; a test that waits for half a minute has failed.
    func runUntil(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        let end = BootClock.now().advanced(by: .seconds(30))
        while !condition() {
            guard BootClock.now() < end else {
                Issue.record(
                    "the condition never held; log ends: \(log.messages.suffix(5))", sourceLocation: sourceLocation)
                return
            }
            loop.runOnce(timeout: .milliseconds(20))
        }
    }

    /// Writes a program and returns its path.
    func program(_ text: String, mode: mode_t = 0o755) throws -> String {
        let path = path("program")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        try #require(write(descriptor, text, text.utf8.count) == text.utf8.count)
        fchmod(descriptor, mode)
        close(descriptor)
        return path
    }

    /// The output files in the directory that this process holds open.
    var openOutputFiles: Int {
        (0..<Int32(1_024)).reduce(0) { count, descriptor in
            var target = [CChar](repeating: 0, count: 512)
            guard readlink("/proc/self/fd/\(descriptor)", &target, 511) > 0,
                String(decoding: target.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                    .hasPrefix(directory)
            else { return count }
            // Only the file that is kept ready for the next handler still has its writable descriptor here.
            return count + (fcntl(descriptor, F_GETFL) & O_ACCMODE == O_WRONLY ? -1 : 1)
        }
    }
}

func contents(of path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = read(descriptor, &bytes, bytes.count)
    return count < 0 ? nil : Array(bytes[..<count])
}

/// True when the process is gone, or waits as a zombie for whoever adopted it.
func hasEnded(_ pid: Int32) -> Bool {
    guard let status = contents(of: "/proc/\(pid)/stat"), !status.isEmpty else { return true }
    return String(decoding: status, as: UTF8.self).contains(") Z ")
}

nonisolated final class LogLines: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: [String: String]
    }

    private let state = Mutex<[Line]>([])

    var all: [Line] { state.withLock { $0 } }
    var messages: [String] { all.map(\.message) }

    func append(_ line: Line) {
        state.withLock { $0.append(line) }
    }
}

nonisolated struct LogRecorder: LogHandler {
    let lines: LogLines
    var logLevel: Logger.Level = .trace
    var metadata: Logger.Metadata = [:]

    init(lines: LogLines) {
        self.lines = lines
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        lines.append(
            .init(level: event.level, message: event.message.description, metadata: all.mapValues(\.description)))
    }
}
