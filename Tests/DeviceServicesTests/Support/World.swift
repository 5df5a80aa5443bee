import CRingwakeLinux
import DBus
import DeviceServices
import Glibc
import Logging
import RingwakeCore
import RunLoop
import Synchronization
import Testing

/// A loop, a directory and a log of their own; and, where a test wants one, a message bus with services on it. All of
/// it goes at the end of the test.
final class World {
    let loop: RunLoop
    let log = LogLines()
    let directory: String
    private var children: [Int32] = []
    private var controls: DBusService?

    init() throws {
        loop = try RunLoop()
        var template = Array("/tmp/ringwake-services.XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    isolated deinit {
        controls?.close()
        for child in children.reversed() { end(child) }
        for name in entries(of: directory) { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    var logger: Logger {
        let lines = log
        return Logger(label: "test") { _ in LogRecorder(lines: lines) }
    }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    func write(_ text: String, to name: String) throws {
        let file = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        try #require(Glibc.write(file, text, text.utf8.count) == text.utf8.count)
    }

    func text(of name: String) -> String { contents(of: path(name)) ?? "" }

    func lines(of name: String) -> [String] { text(of: name).split(separator: "\n").map(String.init) }

    /// Turns the loop until the condition holds; a test that waits for five minutes hangs.
    func runUntil(
        _ what: String = "the condition", sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
    ) {
        let end = BootClock.now().advanced(by: .seconds(300))
        while !condition() {
            guard BootClock.now() < end else {
                Issue.record("\(what) never held; log ends: \(log.all.suffix(5))", sourceLocation: sourceLocation)
                return
            }
            loop.runOnce(timeout: .milliseconds(20))
        }
    }

    /// Turns the loop a few times, for what must not happen.
    func settle() {
        for _ in 0..<10 { loop.runOnce(timeout: .milliseconds(10)) }
    }

    // MARK: - Processes

    /// Starts a program; it is killed at the end of the test.
    func start(_ command: [String], environment: [String: String] = [:]) throws -> Int32 {
        let sink = open(path("stderr"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer {
            close(sink)
            close(null)
        }
        var arguments = command.map { strdup($0) } + [nil]
        var variables =
            environment.merging(["PATH": "/usr/bin:/bin"]) { own, _ in own }.map { strdup("\($0)=\($1)") } + [nil]
        defer { for string in arguments + variables { free(string) } }
        var pid: pid_t = 0
        try #require(ringwake_spawn(&pid, &arguments, &variables, null, null, sink) == 0)
        children.append(pid)
        return pid
    }

    /// Kills a program that `start` started, and waits for its end.
    func end(_ pid: Int32) {
        guard let index = children.firstIndex(of: pid) else { return }
        children.remove(at: index)
        kill(pid, SIGKILL)
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
    }

    // MARK: - The bus

    var busAddress: String { "unix:path=\(path("bus"))" }

    /// Starts a message bus of this test's own.
    /// - Parameter services: What the bus starts for a name: the name and the command.
    @discardableResult
    func startBus(services: [String: String] = [:]) throws -> Int32 {
        for (name, command) in services {
            try write("[D-BUS Service]\nName=\(name)\nExec=\(command)\n", to: "\(name).service")
        }
        try write(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>\(busAddress)</listen>
              <servicedir>\(directory)</servicedir>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
              </policy>
            </busconfig>
            """, to: "bus.conf")
        unlink(path("bus"))
        let pid = try start(["/usr/bin/dbus-daemon", "--nofork", "--nopidfile", "--config-file=\(path("bus.conf"))"])
        runUntil("the bus listens") { isListening(path("bus")) }
        return pid
    }

    /// The file is there a moment before somebody listens, and who connects in between is refused.
    private func isListening(_ path: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// The bus, as the daemon would have it.
    func service(_ label: String = "test") -> DBusService {
        DBusService(address: .address(busAddress), environment: [:], runLoop: loop, logger: logger, label: label)
    }

    /// A bus that is not there.
    func absentService() -> DBusService {
        DBusService(
            address: .address("unix:path=\(path("absent"))"), environment: [:], runLoop: loop, logger: logger,
            label: "absent")
    }

    /// The test's own connection, beside that of what is tested.
    var control: DBusService {
        if let controls { return controls }
        let made = service("control")
        controls = made
        return made
    }

    /// Starts a python-dbusmock with these arguments, and waits until it has the name.
    func startMock(_ arguments: [String], name: String, path: String) throws -> Mock {
        let former = owner(of: name)
        let pid = try start(
            ["/usr/bin/python3", "-m", "dbusmock", "--session"] + arguments,
            environment: ["DBUS_SESSION_BUS_ADDRESS": busAddress])
        runUntil("\(name) is there") { owner(of: name).map { $0 != former } ?? false }
        return Mock(world: self, pid: pid, name: name, path: path, owner: owner(of: name) ?? "")
    }

    /// Calls a method and waits for the answer.
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [DBusValue] = []
    ) -> Result<[DBusValue], DBusError> {
        var answer: Result<[DBusValue], DBusError>?
        control.call(
            destination: destination, path: path, interface: interface, member: member, arguments: arguments,
            allowAutoStart: false, timeout: .seconds(20)
        ) { answer = $0 }
        runUntil("\(member) is answered") { answer != nil }
        return answer ?? .failure(DBusError(name: DBusError.noReply, message: "the test gave up"))
    }

    func owner(of name: String) -> String? {
        let bus = "org.freedesktop.DBus"
        return try? call(bus, "/org/freedesktop/DBus", bus, "GetNameOwner", [.string(name)]).get().first?.text
    }
}

/// A service by python-dbusmock, told over the bus what to do.
final class Mock {
    private unowned let world: World
    let pid: Int32
    let name: String
    let path: String
    /// Its unique name.
    let owner: String

    init(world: World, pid: Int32, name: String, path: String, owner: String) {
        self.world = world
        self.pid = pid
        self.name = name
        self.path = path
        self.owner = owner
    }

    func end() {
        world.end(pid)
    }

    @discardableResult
    func mock(_ member: String, _ arguments: [DBusValue] = [], at path: String? = nil) -> [DBusValue] {
        let result = world.call(owner, path ?? self.path, "org.freedesktop.DBus.Mock", member, arguments)
        if case .failure(let error) = result { Issue.record("\(member): \(error)") }
        return (try? result.get()) ?? []
    }

    func ask(_ interface: String, _ member: String) -> Result<[DBusValue], DBusError> {
        world.call(owner, path, interface, member)
    }

    /// The arguments of each call of a method, in order.
    func calls(of method: String) -> [[DBusValue]] {
        mock("GetMethodCalls", [.string(method)]).first?.elements?.compactMap {
            $0.elements?.last?.elements?.map(\.unwrapped)
        }
            ?? []
    }

    /// Makes a method do what this Python says.
    func define(_ method: String, _ interface: String, takes: String, gives: String, _ code: String) {
        mock("AddMethod", [.string(interface), .string(method), .string(takes), .string(gives), .string(code)])
    }

    /// - Parameter path: The object that it seems to come from.
    func emit(
        _ signal: String, _ interface: String, _ signature: String, _ arguments: [DBusValue], at path: String? = nil
    ) {
        mock(
            "EmitSignalDetailed",
            [
                .string(interface), .string(signal), .string(signature), .array("v", arguments.map { .variant($0) }),
                .properties(["path": .objectPath(path ?? self.path)]),
            ])
    }
}

func contents(of path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(file, &bytes, bytes.count)
    return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
}

func entries(of directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

/// True when the process is gone, or waits as a zombie for whoever adopted it.
func hasEnded(_ pid: Int32) -> Bool {
    guard let status = contents(of: "/proc/\(pid)/stat"), !status.isEmpty else { return true }
    return status.contains(") Z ")
}

func makeCall(
    _ id: String = "call-1", title: String = "Anna", detail: String? = nil, hasVideo: Bool = false,
    canAnswer: Bool = true, isWaiting: Bool = false, ringtone: String? = nil
) throws -> AlertCall {
    let app = try #require(AppID("com.example.phone"))
    return AlertCall(
        key: CallKey(app: app, id: CallID(id)), app: app, title: title, detail: detail, hasVideo: hasVideo,
        canAnswer: canAnswer, isWaiting: isWaiting, ringtone: ringtone)
}

nonisolated final class LogLines: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: [String: String]
    }

    private let state = Mutex<[Line]>([])

    var all: [Line] { state.withLock { $0 } }

    func count(of message: String) -> Int { all.filter { $0.message == message }.count }

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
