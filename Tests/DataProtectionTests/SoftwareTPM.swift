import CRingwakeLinux
import Cryptography
import FileSystem
import Glibc

/// A directory that is removed with this object.
final class TemporaryDirectory {
    struct Failure: Error {}

    let root: String

    init() throws {
        var template = Array("/tmp/ringwake-protection-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure() }
        root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileSystem.removeTree(root) }

    func path(_ name: String) -> String { root + "/" + name }

    @discardableResult
    func write(_ name: String, _ contents: [UInt8], mode: UInt32 = 0o600) throws -> String {
        try FileSystem.replace(path(name), with: contents, mode: mode)
        return path(name)
    }

    func read(_ name: String) throws -> [UInt8] { try FileSystem.read(path(name), maximumSize: 1 << 20) }
}

/// A TPM in a process of its own, by swtpm: each has another seed. Tests use one at a time, because all are reached in the
/// same way, which is said once for the process.
final class SoftwareTPM {
    struct Failure: Error { let text: String }

    private static let socket: String = {
        let path = "/tmp/ringwake-tpm-\(getpid())"
        TPM.prepare(interface: "swtpm:path=\(path)")
        return path
    }()

    private let state: TemporaryDirectory

    /// - Parameter state: the TPM that there was; nil for a new one.
    init(_ state: TemporaryDirectory? = nil) throws {
        self.state = try state ?? TemporaryDirectory()
        // With --daemon, it has its sockets when the command has ended.
        let arguments = [
            "swtpm", "socket", "--tpm2", "--daemon", "--pid", "file=\(self.state.path("pid"))", "--tpmstate",
            "dir=\(self.state.root)", "--server", "type=unixio,path=\(Self.socket)", "--ctrl",
            "type=unixio,path=\(Self.socket).ctrl", "--flags", "not-need-init,startup-clear",
        ]
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for argument in argv { free(argument) } }
        var (pid, status): (pid_t, Int32) = (0, 0)
        guard posix_spawnp(&pid, "swtpm", nil, nil, &argv, ringwake_environment()) == 0 else {
            throw Failure(text: "no swtpm: install the packages of the group 'test'")
        }
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw Failure(text: "swtpm ended with \(status)") }
    }

    deinit { if FileSystem.exists(state.path("pid")) { _ = try? stop() } }

    /// - Returns: what starts the same TPM again.
    @discardableResult
    func stop() throws -> TemporaryDirectory {
        let text = String(decoding: try state.read("pid"), as: UTF8.self)
        guard let pid = pid_t(text.filter(\.isNumber)), pid > 1 else { throw Failure(text: "swtpm's pid is '\(text)'") }
        // It is no child of this process. Its pidfd becomes readable when it has ended.
        let process = ringwake_pidfd_open(pid)
        guard process >= 0 else { throw Failure(text: "swtpm has ended by itself") }
        defer { close(process) }
        // As a power cut.
        kill(pid, SIGKILL)
        var end = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
        guard poll(&end, 1, 20_000) == 1 else { throw Failure(text: "swtpm doesn't end") }
        for path in [state.path("pid"), Self.socket, Self.socket + ".ctrl"] where FileSystem.exists(path) {
            try FileSystem.remove(path)
        }
        return state
    }
}
