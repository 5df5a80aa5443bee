package import DataProtection
internal import Database
internal import FileSystem
internal import Glibc
package import RingwakeCore

/// Builds a ``CallerIndex`` from entries in any order: one file, which replaces the old one atomically.
///
/// Entries in the order of their patterns, as in the journal, fill page after page; other orders need more writes. The
/// builder uses about 5 MiB of memory for any number of entries. It belongs to the thread that made it.
///
///     let builder = try CallerIndexBuilder(replacing: "/var/lib/ringwake/callers.index", generation: 7, rules: rules)
///     try builder.beginList("spam", kind: .block)
///     try builder.add(CallerEntry(pattern: CallerPattern("+49900*"), label: "Premium numbers"))
///     let entries = try builder.finish()
package nonisolated final class CallerIndexBuilder {
    private let target: String
    private let temporary: String
    private let rules: DiallingRules
    private let generation: UInt64
    private let records: IndexRecords
    private let connection: Connection
    private let insert: Statement
    private var lists: [CallerListKind] = []
    private var entries = 0
    private var prefixLengths: Int64 = 0
    private var isFinished = false

    private static let cacheKilobytes = 4_096

    /// - Parameters:
    ///   - path: the index. The temporary file is in the same folder, and its name begins with a dot.
    ///   - generation: a number that identifies this version of the lists.
    ///   - rules: convert the lists' national numbers to E.164.
    ///   - keys: what the entries are protected with.
    /// - Throws: `system` if the folder is not writable.
    package init(replacing path: String, generation: UInt64, rules: DiallingRules = .none, keys: KeyRing = .off)
        throws(RingwakeError)
    {
        (target, self.generation, self.rules) = (path, generation, rules)
        records = IndexRecords(vault: RecordVault(keys))
        let (directory, name) = FileSystem.split(path)
        let number = UInt64.random(in: .min ... .max)
        let temporary = "\(directory)/.\(name).\(getpid()).\(String(number, radix: 36)).tmp"
        self.temporary = temporary
        Self.removeLeftovers(of: name, in: directory)
        do {
            try FileSystem.create(temporary, mode: 0o600)
            connection = try Connection(path: temporary)
            // Nothing reads the file before it is complete, so it needs no journal. Only the commit syncs it to disk.
            for setting in ["journal_mode = OFF", "synchronous = FULL", "cache_size = -\(Self.cacheKilobytes)"] {
                try connection.run("PRAGMA \(setting)")
            }
            try connection.run("BEGIN EXCLUSIVE")
            for table in IndexSchema.tables { try connection.run(table) }
            insert = try connection.keep(
                "INSERT OR IGNORE INTO caller (key, kind, list, label) VALUES (?1, ?2, ?3, ?4)")
        } catch {
            try? FileSystem.remove(temporary)
            throw Self.problem(error, path)
        }
    }

    deinit {
        if !isFinished { try? FileSystem.remove(temporary) }
    }

    /// Removes the files of a build whose process was killed. Only one process builds an index, and one at a time.
    private static func removeLeftovers(of name: Substring, in directory: String) {
        // A file that cannot be removed only takes up space.
        for file in (try? FileSystem.entries(of: directory)) ?? []
        where file.hasPrefix(".\(name).") && file.hasSuffix(".tmp") {
            try? FileSystem.remove("\(directory)/\(file)")
        }
    }

    /// Begins a list: the following entries belong to it. If two lists of one kind match a caller, the earlier one
    /// counts.
    /// - Throws: `system` if the disk fails.
    package func beginList(_ name: String, kind: CallerListKind) throws(RingwakeError) {
        try writing {
            try connection.run("INSERT INTO list VALUES (?1, ?2, ?3)", lists.count, name, kind.number)
        }
        lists.append(kind)
    }

    /// Adds an entry to the current list. Of two with the same pattern, the first one counts.
    /// - Throws: `system` if the disk fails.
    package func add(_ entry: CallerEntry) throws(RingwakeError) {
        guard let kind = lists.last, !isFinished else { preconditionFailure("an entry without a list") }
        let pattern = entry.pattern.applying(rules)
        if case .numberPrefix(let prefix) = pattern.kind { prefixLengths |= 1 << Int64(prefix.utf8.count) }
        try writing {
            let key = try records.key(of: IndexSchema.key(of: pattern))
            try insert.run(key, kind.number, lists.count - 1, records.seal(entry.label, key: key))
        }
        entries += connection.changes
    }

    /// Writes the index, syncs it to disk and replaces the old one.
    /// - Returns: the number of entries. An entry in several lists of one kind counts once.
    /// - Throws: `system` if that fails; the old index then stays.
    @discardableResult
    package func finish() throws(RingwakeError) -> Int {
        precondition(!isFinished, "an index is finished once")
        try writing {
            try connection.run(
                "INSERT INTO built VALUES (?1, ?2, ?3, ?4)", Int64(bitPattern: generation),
                IndexSchema.stamp(of: rules), prefixLengths, records.stamp())
            try connection.run("COMMIT")
            try FileSystem.move(temporary, to: target)
        }
        isFinished = true
        return entries
    }

    private func writing(_ body: () throws -> Void) throws(RingwakeError) {
        do {
            try body()
        } catch {
            throw Self.problem(error, target)
        }
    }

    private static func problem(_ error: any Error, _ path: String) -> RingwakeError {
        RingwakeError(
            .system, "cannot write the caller index \(path): \((error as? SQLiteFailure)?.reason ?? "\(error)")")
    }
}
