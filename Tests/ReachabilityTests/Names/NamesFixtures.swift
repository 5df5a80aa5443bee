import Glibc
import RunLoop
import Synchronization

@testable import Reachability

/// A directory of one test, with its real path, removed with this object.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/ringwake-names-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CommandFailure.system("mkdtemp", errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { _ = try? Commands().run("/bin/rm", ["-rf", path]) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func makeDirectory(_ name: String) throws {
        guard mkdir(file(name), 0o755) == 0 else { throw CommandFailure.system("mkdir", errno) }
    }

    /// Writes in place, as a shell's redirection does.
    func write(_ text: String, to name: String) throws {
        // A program that another test starts meanwhile would keep it open, and so delay the event of its end.
        guard let stream = fopen(file(name), "we") else { throw CommandFailure.system("fopen", errno) }
        fputs(text, stream)
        fclose(stream)
    }

    /// Writes another file and gives it the name.
    func replace(_ name: String, with text: String) throws {
        try write(text, to: name + ".new")
        try move(name + ".new", to: name)
    }

    func link(_ name: String, to target: String) throws {
        guard symlink(target, file(name)) == 0 else { throw CommandFailure.system("symlink", errno) }
    }

    func move(_ name: String, to other: String) throws {
        guard rename(file(name), file(other)) == 0 else { throw CommandFailure.system("rename", errno) }
    }

    func remove(_ name: String) throws {
        guard unlink(file(name)) == 0 else { throw CommandFailure.system("unlink", errno) }
    }
}

extension RunLoop {
    /// Takes turns until the condition holds; five minutes are for a machine that is very busy.
    func turn(until condition: () -> Bool) -> Bool {
        let end = refreshNow().advanced(by: .seconds(300))
        while !condition() {
            guard refreshNow() < end else { return false }
            runOnce(timeout: .seconds(1))
        }
        return true
    }

    /// Whether a descriptor is ready at this moment.
    var isReady: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }
}

/// A look-up that blocks until the test lets it go on.
final class ScriptedLookup: Sendable {
    private struct State {
        var begun: [String] = []
        var threads: Set<String> = []
    }

    private let state = Mutex(State())
    private let began: EventDescriptor
    private let gates: [String: EventDescriptor]

    /// - Parameter blocked: Names whose look-up waits for `release`.
    init(blocked: [String] = []) throws {
        began = try EventDescriptor(nonblocking: false)
        var gates: [String: EventDescriptor] = [:]
        for name in blocked { gates[name] = try EventDescriptor(nonblocking: false) }
        self.gates = gates
    }

    /// Names, in the order in which their look-ups began.
    var begun: [String] { state.withLock { $0.begun } }

    /// The threads that did it, as directories of /proc.
    var threads: Set<String> { state.withLock { $0.threads } }

    func lookUp(_ host: String) -> Resolution {
        let count = state.withLock { state in
            state.begun.append(host)
            state.threads.insert(Self.currentThread)
            return state.begun.filter { $0 == host }.count
        }
        began.ring()
        gates[host]?.hear()
        return .addresses([IPAddress(ipv4: UInt32(count))])
    }

    func waitUntilBegun(_ count: Int) {
        while begun.count < count { began.hear() }
    }

    /// Lets one look-up of the name go on.
    func release(_ host: String) {
        gates[host]?.ring()
    }

    private static var currentThread: String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = buffer.withUnsafeMutableBytes { buffer in
            buffer.baseAddress.map { readlink("/proc/thread-self", $0, buffer.count) } ?? -1
        }
        return "/proc/" + String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
