import FoundationEssentials
import Glibc
import Testing

/// A directory that goes with all files in it at the end of the test.
nonisolated final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        // In memory where that is possible: what a disk does to a journal, `FaultyDisk` does.
        let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/ringwake-journal.XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var store: String { path + "/store.db" }
    /// An index of callers.
    var index: String { path + "/callers" }
}
