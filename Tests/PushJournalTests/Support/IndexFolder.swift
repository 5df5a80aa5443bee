import FileSystem
import Glibc
import PushJournal
import RingwakeCore

/// A folder for an index of callers, removed with this object.
nonisolated final class IndexFolder {
    let path: String

    init() throws {
        var template = Array("\(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")/ringwake-index.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw FileSystemError(operation: "mkdtemp", path: "/tmp", errno: errno)
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in (try? FileSystem.entries(of: path)) ?? [] { try? FileSystem.remove("\(path)/\(name)") }
        rmdir(path)
    }

    /// How many entries the index has that was built last.
    private(set) var entries = 0

    /// What is in it.
    var names: [String] { (try? FileSystem.entries(of: path)) ?? [] }

    /// Where its index is.
    var index: String { "\(path)/callers.index" }

    /// Builds an index of lists, each with its entries as `pattern` or `pattern=label`.
    func build(
        _ lists: [(name: String, kind: CallerListKind, entries: [String])], rules: DiallingRules = .none
    ) throws -> CallerIndex {
        let builder = try CallerIndexBuilder(replacing: index, generation: 7, rules: rules)
        for list in lists {
            try builder.beginList(list.name, kind: list.kind)
            for entry in list.entries {
                let parts = entry.split(separator: "=", maxSplits: 1)
                let label = parts.count > 1 ? String(parts[1]) : nil
                try builder.add(CallerEntry(pattern: CallerPattern(String(parts[0])), label: label))
            }
        }
        entries = try builder.finish()
        return try CallerIndex(index)
    }
}

/// A generator that gives the same numbers in each run.
nonisolated struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
