import CRingwakeLinux
import CRingwakeNetlink
import Glibc
import RunLoop

/// Runs a body in a network namespace of its own: with a loopback interface that is down, and nothing else.
///
/// The namespace belongs to a thread that is made for it; sockets made there, and programs started there, are in it.
/// It ends with the last of them.
enum NetworkNamespace {
    /// Bytes of the thread's stack.
    private static let stackBytes = 1 << 20

    /// Whether this process may make one: it takes CAP_SYS_ADMIN, and `ip`.
    static let isAvailable: Bool = {
        do {
            try run { try $0.ip("link") }
            return true
        } catch {
            return false
        }
    }()

    /// Runs the body and waits for its end. What the body expects counts for the test that called this.
    static func run(_ body: @escaping @Sendable (Commands) throws -> Void) throws {
        let outcome = Outcome()
        let executor = ThreadExecutor()
        // A task carries the current test over to the thread, so that a failed expectation finds it. It has one job.
        Task(executorPreference: executor) {
            outcome.result = Result {
                guard ringwake_unshare_network() == 0 else { throw CommandFailure.system("unshare", errno) }
                try body(Commands())
            }
        }
        try WorkerThread(name: "namespace", stackBytes: stackBytes) { executor.work() }.join()
        try outcome.result.get()
    }

    // Written by the thread alone, read once it was joined.
    private final class Outcome: @unchecked Sendable {
        var result: Result<Void, any Error> = .failure(CommandFailure.system("task", ECANCELED))
    }

    // The one job comes in before the thread begins; the thread takes it and ends.
    private final class ThreadExecutor: TaskExecutor, @unchecked Sendable {
        private var jobs: [UnownedJob] = []

        func enqueue(_ job: consuming ExecutorJob) {
            jobs.append(UnownedJob(job))
        }

        func work() {
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}

/// A program, or what it takes to start one, failed.
enum CommandFailure: Error, CustomStringConvertible {
    case system(String, Int32)
    case status(command: String, status: Int32, error: String)

    var description: String {
        switch self {
        case .system(let call, let code): "\(call): \(String(cString: strerror(code)))"
        case .status(let command, let status, let error): "\(command): status \(status): \(error)"
        }
    }
}

/// Runs programs from the calling thread, and so in its namespace.
struct Commands: Sendable {
    private static let ipPath: String? = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"].first { path in
        access(path, X_OK) == 0
    }

    /// Runs `ip` with the arguments; its standard output.
    @discardableResult
    func ip(_ arguments: String...) throws -> String {
        try ip(arguments)
    }

    @discardableResult
    func ip(_ arguments: [String]) throws -> String {
        guard let path = Self.ipPath else { throw CommandFailure.system("ip", ENOENT) }
        return try run(path, arguments)
    }

    /// Runs many commands of `ip` at once: one a line, without the `ip`.
    func ipBatch(_ lines: [String]) throws {
        guard let path = Self.ipPath else { throw CommandFailure.system("ip", ENOENT) }
        try run(path, ["-batch", "-"], input: lines.joined(separator: "\n") + "\n")
    }

    /// Runs a program to its end; its standard output.
    /// - Throws: ``CommandFailure`` with its standard error when it does not end with status 0.
    @discardableResult
    func run(_ path: String, _ arguments: [String], input: String = "") throws -> String {
        let standard = try (Memory("stdin", holding: input), Memory("stdout"), Memory("stderr"))
        let process = try spawn(path, arguments, standard)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw CommandFailure.system("waitpid", errno) }
        }
        guard status == 0 else {
            let command = ([path] + arguments).joined(separator: " ")
            throw CommandFailure.status(command: command, status: status, error: standard.2.text())
        }
        return standard.1.text()
    }

    /// Starts a program that the caller ends and waits for. It leads a process group of its own.
    func start(_ path: String, _ arguments: [String]) throws -> pid_t {
        try spawn(path, arguments, (Memory("stdin"), Memory("stdout"), Memory("stderr")))
    }

    private func spawn(_ path: String, _ arguments: [String], _ standard: (Memory, Memory, Memory)) throws -> pid_t {
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let code = ringwake_spawn(
            &process, words, ringwake_environment(), standard.0.descriptor, standard.1.descriptor,
            standard.2.descriptor)
        guard code == 0 else { throw CommandFailure.system(path, code) }
        return process
    }

    /// A file in memory: takes any amount without a reader, unlike a pipe.
    private final class Memory {
        let descriptor: Int32

        init(_ name: String, holding text: String = "") throws {
            descriptor = ringwake_memfd(name)
            guard descriptor >= 0 else { throw CommandFailure.system("memfd_create", errno) }
            let bytes = Array(text.utf8)
            guard write(descriptor, bytes, bytes.count) == bytes.count, lseek(descriptor, 0, SEEK_SET) == 0 else {
                throw CommandFailure.system("write", errno)
            }
        }

        deinit { close(descriptor) }

        func text() -> String {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = pread(descriptor, &buffer, buffer.count, off_t(bytes.count))
                guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
                bytes += buffer[..<count]
            }
        }
    }
}
