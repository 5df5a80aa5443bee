internal import CRingwakeSQLite
package import DataProtection
internal import Database
internal import FileSystem
internal import Glibc
package import RingwakeCore

/// The lists of callers as one read-only SQLite file, for lookups on the run loop.
///
/// A lookup is one query by primary key for the caller itself, one for each length of prefix in the lists, and one for
/// its host. Each reads at most one page that is not cached. The file is replaced, never changed: an open index keeps
/// its file.
package nonisolated final class CallerIndex {
    /// The generation that it was built with.
    package let generation: UInt64

    private let path: String
    private let rules: String
    /// Identifies the keys that it was built with; see ``IndexRecords``.
    private let protection: String
    private var records: IndexRecords
    private let lists: [(name: String, kind: CallerListKind)]
    /// In bytes, longest first.
    private let prefixLengths: [Int]
    private let connection: Connection
    private let select: Statement

    // 200 KiB hold the inner pages of 2,000,000 entries, and all pages of some thousand prefixes.
    private static let cacheKilobytes = 256
    /// The maximum length of a value or row in bytes. The builder writes no row of 1,000.
    private static let maximumValueBytes: Int32 = 4_096
    /// The maximum number of virtual machine steps for reading the schema: a hundred times what a valid index needs.
    private static let maximumOpeningSteps: Int32 = 10_000
    private static let maximumLists = 256

    /// Opens an index that ``CallerIndexBuilder`` wrote.
    /// - Parameter vault: has the present keys. They may change while the index is open.
    /// - Throws: `notFound` if there is none, `failed` if it is damaged or of another version, `system` if it cannot be
    ///   read. After each error, build it again.
    package init(_ path: String, _ vault: RecordVault = RecordVault()) throws(RingwakeError) {
        self.path = path
        records = IndexRecords(vault: vault)
        do {
            // Open only regular files: a pipe would block the daemon.
            let size = try FileSystem.size(ofFile: path)
            connection = try Connection(path: path, access: .immutable)
            connection.limitValues(Self.maximumValueBytes)
            connection.limitSteps(Self.maximumOpeningSteps)
            // No memory mapping: a read error of the disk must be an error, not a signal that ends the process.
            for setting in ["mmap_size = 0", "cache_size = -\(Self.cacheKilobytes)", "cell_size_check = ON"] {
                try connection.run("PRAGMA \(setting)")
            }
            let pages = try connection.number("PRAGMA page_count") * connection.number("PRAGMA page_size")
            guard pages == Int64(size), try connection.schema(limit: IndexSchema.tables.count + 1) == IndexSchema.tables
            else { throw SQLiteFailure.damaged("it is no index of this version, or cut") }
            let built = try connection.statement("SELECT * FROM built LIMIT 1")
            guard try built.next() else { throw SQLiteFailure.damaged("it was not finished") }
            generation = UInt64(bitPattern: built.integer())
            rules = built.text()
            let lengths = built.integer()
            protection = built.text()
            records.isFileHashed = protection != IndexRecords.unprotected
            // Without protection there may be no key ever; with it there will be one.
            guard protection == IndexRecords.unprotected || records.mayGetKey else {
                throw SQLiteFailure.damaged("it was built with keys that are not here")
            }
            built.reset()
            prefixLengths = (1...CallerPattern.maximumDigits + 1).reversed().filter { lengths >> Int64($0) & 1 == 1 }
            lists = try Self.lists(connection)
            select = try connection.keep("SELECT list, label FROM caller WHERE key = ?1 LIMIT 2")
            connection.limitSteps(nil)
        } catch {
            throw Self.problem(error, path)
        }
    }

    private static func lists(_ connection: Connection) throws(SQLiteFailure) -> [(name: String, kind: CallerListKind)]
    {
        let select = try connection.statement("SELECT name, kind FROM list ORDER BY number LIMIT ?1", maximumLists)
        var lists: [(name: String, kind: CallerListKind)] = []
        while try select.next() { lists.append((select.text(), select.integer() == 0 ? .block : .identify)) }
        return lists
    }

    /// The names of its lists.
    package var listNames: [String] { lists.map(\.name) }

    /// Whether it was built with these rules. With others, national numbers are not found.
    package func isBuilt(with rules: DiallingRules) -> Bool { self.rules == IndexSchema.stamp(of: rules) }

    /// Whether it was built with the present keys. Callers are found with others too, but names may not be readable.
    package var hasPresentKeys: Bool { protection == (try? records.stamp()) }

    /// The lists' result for a caller; nil if no list matches.
    /// - Throws: `failed` if the file is damaged, `system` if it cannot be read: then treat the caller as unknown, and
    ///   build the index again. `locked` if the key for look-ups isn't there yet.
    package func lookup(_ caller: CallerHandle) throws(RingwakeError) -> ListVerdict? {
        var (blocked, identified): (ListMatch?, ListMatch?)
        for text in keys(of: caller) where blocked == nil || identified == nil {
            let key = try records.key(of: text)
            do throws(SQLiteFailure) {
                select.bind(key)
                while try select.next() {
                    let (kind, match) = try self.match(ofKey: text, key)
                    if kind == .block { blocked = blocked ?? match } else { identified = identified ?? match }
                }
            } catch {
                throw Self.problem(error, path)
            }
        }
        return ListVerdict(blocked: blocked, identified: identified)
    }

    /// The keys of entries that match a caller, the most specific first.
    private func keys(of caller: CallerHandle) -> [String] {
        // Exact patterns contain no star, so the caller `*4989` must not match a prefix.
        var keys = caller.text.utf8.contains(UInt8(ascii: "*")) ? [] : [caller.text]
        if caller.kind == .number {
            for length in prefixLengths where length <= caller.text.utf8.count {
                keys.append(IndexSchema.key(ofPrefix: Substring(caller.text.utf8.prefix(length))))
            }
        }
        if let domain = caller.domain { keys.append("*@\(domain)") }
        return keys
    }

    /// The entry in the current row, and the kind of its list.
    private func match(ofKey text: String, _ key: [UInt8]) throws(SQLiteFailure) -> (CallerListKind, ListMatch) {
        guard let number = Int(exactly: select.integer()), lists.indices.contains(number),
            let pattern = try? CallerPattern(IndexSchema.pattern(ofKey: text))
        else {
            select.reset()
            throw SQLiteFailure.damaged("it names a list that it does not have")
        }
        // The label is limited like one from outside.
        let label = CallerEntry(pattern: pattern, label: records.open(select.optionalBytes(), key: key)).label
        return (lists[number].kind, ListMatch(list: lists[number].name, pattern: pattern, label: label))
    }

    private static func problem(_ error: any Error, _ path: String) -> RingwakeError {
        guard let failure = error as? SQLiteFailure else {
            return RingwakeError((error as? FileSystemError)?.errno == ENOENT ? .notFound : .system, "\(error)")
        }
        return [SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_NOMEM].contains(failure.code)
            ? RingwakeError(.system, "cannot read the caller index \(path): \(failure.reason)")
            : RingwakeError(.failed, "the caller index \(path) is damaged (\(failure.reason)): have it built again")
    }
}
