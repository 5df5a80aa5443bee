import FileSystem
import Glibc

/// A directory of its own for one test, gone with its owner.
final class TemporaryDirectory {
    struct Failure: Error {}

    let path: String

    init() throws {
        var template = Array("/tmp/ringwake-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure() }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        Self.removeAll(in: path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func read(_ name: String) throws -> [UInt8] {
        try FileSystem.read(file(name), maximumSize: 1_000_000)
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try FileSystem.replace(file(name), with: bytes, mode: 0o600)
    }

    func names(in directory: String? = nil) throws -> [String] {
        try FileSystem.entries(of: directory ?? path)
    }

    /// The permission bits of a file.
    static func mode(of path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    private static func removeAll(in path: String) {
        for name in (try? FileSystem.entries(of: path)) ?? [] {
            let child = "\(path)/\(name)"
            if unlink(child) != 0 { removeAll(in: child) }
        }
        rmdir(path)
    }
}
