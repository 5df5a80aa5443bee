import CRingwakeLinux
import DBus
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
    let activator: HandlerActivator
    /// Both buses.
    let bus: DBusService
    let log = LogLines()
    let directory: String

    /// - Parameter busAt: The socket of a bus that another harness has started.
    init(
        in parent: String = "/tmp", environment: [String: String] = ["PATH": "/usr/bin:/bin"], busAt: String? = nil
    ) throws {
        loop = try RunLoop()
        var template = Array("\(parent)/ringwake-test.XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        let lines = log
        let logger = Logger(label: "test") { _ in LogRecorder(lines: lines) }
        // Nobody listens there, unless the test starts a bus.
        let address = DBusAddress.address("unix:path=\(busAt ?? "\(directory)/bus")")
        bus = DBusService(address: address, environment: [:], runLoop: loop, logger: logger, label: "test")
        activator = HandlerActivator(
            runLoop: loop, logger: logger, runtimeDirectory: directory, baseEnvironment: environment,
            socketPath: "/run/ringwake/control.sock", systemBus: bus, sessionBus: bus)
    }

    isolated deinit {
        bus.close()
        _ = try? TestProcess(["/bin/rm", "-rf", directory]).waitForEnd()
    }

    /// Of the last wake. Each has another one: by it the processes of a handler are found.
    var secret: String { "s3cret\(directory)-\(wakes)" }
    private var wakes = 0

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    func wake(
        _ command: [String], call: String = "call-1", payload: [UInt8] = Array("{}".utf8),
        onExit: @escaping (HandlerExit) -> Void
    ) throws -> StartedProcess {
        var pid: Int32?
        wakes += 1
        let events = HandlerEvents(
            started: { pid = $0 }, failed: { Issue.record("told by an event: \($0)") }, ended: onExit)
        let lease = try activator.wake(
            makeRequest(call: call, payload: payload), way: .exec(command), secret: secret, events: events)
        #expect(lease.pid == pid)
        return StartedProcess(lease: lease, pid: try #require(pid, "told before wake returns"))
    }

    /// Starts a command and runs the loop until it has ended.
    func run(_ command: [String], call: String = "call-1", payload: [UInt8] = Array("{}".utf8)) throws -> HandlerExit? {
        var exit: HandlerExit?
        _ = try wake(command, call: call, payload: payload) { exit = $0 }
        runUntil { exit != nil }
        return exit
    }

    func runShell(_ script: String) throws -> HandlerExit? { try run(["/bin/sh", "-c", script]) }

    /// Turns the loop until the condition holds; a test that waits for five minutes hangs.
    func runUntil(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        let end = BootClock.now().advanced(by: .seconds(300))
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
    func program(_ text: String, named name: String = "program", mode: mode_t = 0o755) throws -> String {
        try write(name, text)
        chmod(path(name), mode)
        return path(name)
    }

    func write(_ name: String, _ text: String) throws {
        let descriptor = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        try #require(Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count)
        close(descriptor)
    }

    /// A file that a handler wrote, once it has an end of line.
    func line(in name: String) -> String? {
        guard let bytes = contents(of: path(name)), bytes.last == UInt8(ascii: "\n") else { return nil }
        return String(decoding: bytes.dropLast(), as: UTF8.self)
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

/// A handler that was started by `exec`.
struct StartedProcess {
    let lease: any HandlerLease
    let pid: Int32

    var isRunning: Bool { lease.isRunning }

    func stop(grace: Duration) { lease.stop(grace: grace) }
    func expectExit(within patience: Duration, grace: Duration) { lease.expectExit(within: patience, grace: grace) }
    func keep() { lease.keep() }
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
