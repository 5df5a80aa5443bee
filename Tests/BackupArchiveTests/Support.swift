import BackupArchive
import CRingwakeLinux
import Cryptography
import FileSystem
import Glibc
import RingwakeCore
import Testing

/// A directory that is removed with this object.
final class TemporaryDirectory {
    let root: String

    init() throws {
        var template = Array("/tmp/ringwake-backup-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw ToolFailure(text: "mkdtemp") }
        root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileSystem.removeTree(root) }

    func path(_ name: String) -> String { root + "/" + name }

    @discardableResult
    func write(_ name: String, _ contents: [UInt8], mode: UInt32 = 0o600) throws -> String {
        try FileSystem.createDirectory(FileSystem.split(path(name)).directory, mode: 0o700)
        try FileSystem.replace(path(name), with: contents, mode: mode)
        return path(name)
    }

    func read(_ name: String) throws -> [UInt8] { try FileSystem.read(path(name), maximumSize: 64 << 20) }

    /// All files, with the paths below the root.
    func files(_ folder: String = "") throws -> [String] {
        try FileSystem.entries(of: path(folder)).flatMap { name -> [String] in
            let child = folder.isEmpty ? name : folder + "/" + name
            return (try? FileSystem.size(ofFile: path(child))) != nil ? [child] : [child + "/"] + (try files(child))
        }
    }
}

struct ToolFailure: Error { let text: String }

/// Runs a program. Throws if it fails.
@discardableResult
func run(_ arguments: String..., input: String = "/dev/null", output: String = "/dev/null") throws -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    argv.append(nil)
    defer { for argument in argv { free(argument) } }
    var pid: pid_t = 0
    guard posix_spawnp(&pid, arguments[0], &actions, nil, argv, Glibc.environ) == 0 else {
        throw ToolFailure(text: arguments[0])
    }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    guard status == 0 else { throw ToolFailure(text: "\(arguments) ended with \(status)") }
    return status
}

/// A small state directory, and its backup.
struct Sample {
    static let cheap = ScryptParameters(n: 16, r: 1, p: 1) ?? .standard
    static let description = BackupManifest(
        created: BackupTime(secondsSince1970: 1_795_802_400), program: "0.1.0", host: "gateway", device: "abcdef12",
        kind: .raw, store: .init(version: 7, bytes: 5000))

    let directory: TemporaryDirectory
    let sources: [ArchiveWriter.Source]
    let keys: [ArchiveWriter.Source]
    var target: String { directory.path("out/backup.tar.zst") }

    init(storeBytes: Int = 5000) throws {
        directory = try TemporaryDirectory()
        try FileSystem.createDirectory(directory.path("out"), mode: 0o700)
        let store = (0..<storeBytes).map { UInt8(truncatingIfNeeded: $0 &* $0 / 7) }
        let (empty, sound) = (try directory.write("empty", []), try directory.write("ring.wav", [1, 2, 3]))
        sources = [
            .init(try name("store/store.db"), path: try directory.write("store.db", store, mode: 0o640)),
            .init(try name("state/calls/empty"), path: empty),
            .init(
                try name("configuration/ringwaked.toml"),
                path: try directory.write("ringwaked.toml", Array("role = \"gateway\"\n".utf8), mode: 0o644),
                origin: "/etc/ringwake/ringwaked.toml"),
            .init(try name("files/1"), path: sound, origin: "/usr/share/sounds/klingelt ä.wav"),
        ]
        keys = [
            .init(try name("state/identity.key"), path: try directory.write("identity.key", Array("secret".utf8))),
            .init(
                try name("files/2"), path: try directory.write("server.key", Array("another".utf8), mode: 0o640),
                origin: "/etc/ringwake/server.key"),
        ]
    }

    @discardableResult
    func write(passphrase text: String? = "correct horse", progress: @escaping ArchiveProgress = { _, _ in true })
        throws
        -> BackupManifest
    {
        let policy: ArchiveWriter.Keys = try text.map { .sealed(keys, try passphrase($0)) } ?? .leftOut
        return try ArchiveWriter.write(
            target, Self.description, sources, keys: policy, cost: Self.cheap, progress: progress)
    }

    var reader: ArchiveReader { ArchiveReader(target) }
}

func name(_ text: String) throws -> MemberName { try #require(MemberName(text)) }

func passphrase(_ text: String) throws -> Passphrase {
    var bytes = Array(text.utf8)
    return try Passphrase(wiping: &bytes)
}

/// The error of a call that must fail.
func failure(_ body: () throws -> Void) throws -> RingwakeError {
    try #require(#expect(throws: RingwakeError.self) { try body() })
}
