@preconcurrency import Dispatch
import Glibc

/// A running baresip, and the connection to its `ctrl_tcp`.
final class BaresipClient: Sendable {
    let messages: AsyncStream<BaresipMessage>
    private let descriptor: Int32

    /// - Throws: If no client listens there.
    init(_ folder: BaresipFolder) throws {
        descriptor = try Self.connect(folder)
        let (messages, continuation) = AsyncStream.makeStream(of: BaresipMessage.self)
        self.messages = messages
        let descriptor = descriptor
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "baresip"))
        // Sound: the source's handlers alone touch it, one after another on their queue.
        nonisolated(unsafe) var reader = NetstringReader()
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 16_384)
            let count = read(descriptor, &bytes, bytes.count)
            do {
                guard count > 0 else { return source.cancel() }
                for message in try reader.read(bytes.prefix(count)) { continuation.yield(try BaresipMessage(message)) }
            } catch {
                source.cancel()
            }
        }
        source.setCancelHandler { continuation.finish() }
        source.activate()
    }

    // Not when the other side has closed: another thread may be sending.
    deinit { close(descriptor) }

    private static func connect(_ folder: BaresipFolder) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw BaresipError("no socket: errno \(errno)") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = folder.port.bigEndian
        guard inet_pton(AF_INET, folder.address, &address.sin_addr) == 1 else {
            close(descriptor)
            throw BaresipError("\(folder.address) is no IPv4 address")
        }
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            throw BaresipError("baresip does not listen on \(folder.address):\(folder.port)")
        }
        return descriptor
    }

    func send(_ command: BaresipCommand) throws {
        var rest = try command.netstring()[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 || errno == EINTR else { throw BaresipError("baresip has gone") }
            rest = rest.dropFirst(max(0, count))
        }
    }

    /// Starts baresip, whose output goes to the folder's `log`.
    static func start(_ folder: BaresipFolder) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, folder.path + "/log", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        let words = ["baresip", "-f", folder.path]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        // It outlives this handler, so it gets a session of its own and no secret: ringwaked kills the rest.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // POSIX_SPAWN_SETSID, which Swift doesn't import (_GNU_SOURCE).
        posix_spawnattr_setflags(&attributes, 0x80)
        var environment: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let variable = next.pointee {
            if !String(cString: variable).hasPrefix("RINGWAKE_WAKE_SECRET=") { environment.append(variable) }
            next += 1
        }
        environment.append(nil)
        var process = pid_t()
        let result = posix_spawnp(&process, "baresip", &actions, &attributes, &arguments, &environment)
        guard result == 0 else { throw BaresipError("baresip cannot be started: errno \(result)") }
        folder.process = process
    }
}
