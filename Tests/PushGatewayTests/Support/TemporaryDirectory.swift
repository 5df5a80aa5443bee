import FileSystem
import Glibc
import Testing

/// A new directory, removed with all that is in it when nobody holds this any more.
nonisolated final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/ringwake-gateway-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        TemporaryDirectory.remove(path)
    }

    private static func remove(_ path: String) {
        for name in (try? FileSystem.entries(of: path)) ?? [] {
            remove(path + "/" + name)
        }
        if rmdir(path) != 0 {
            unlink(path)
        }
    }

    func text(of name: String) throws -> String {
        String(decoding: try FileSystem.read(path + "/" + name, maximumSize: 1 << 24), as: UTF8.self)
    }

    func write(_ text: String, to name: String) throws {
        try FileSystem.replace(path + "/" + name, with: Array(text.utf8), mode: 0o600)
    }

    func has(_ name: String) -> Bool {
        FileSystem.exists(path + "/" + name)
    }
}
