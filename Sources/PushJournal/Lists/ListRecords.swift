internal import CRingwakeSQLite
internal import DataProtection
internal import Database
internal import RingwakeCore

/// How entries of lists of callers are stored: by a key that a locked device can find them with, and a record.
///
/// | | key | content of the record |
/// |---|---|---|
/// | without protection | the pattern in UTF-8 | nothing, or NUL and the label |
/// | with protection | the ``LookupKey``'s hash of the pattern | the pattern; NUL and the label if it has one |
nonisolated struct ListRecords {
    let vault: RecordVault

    /// Why entries can't be written now, and an index can't be built; nil if they can.
    var objection: RingwakeError? {
        vault.ring.areListsAvailable ? nil : ListError.locked(vault.ring.header(of: .lists).protection)
    }

    /// Whether keys are hashes.
    var isHashed: Bool { vault.ring.header(of: .lists).form != .plain }

    /// Whether rows can be written again, which a locked class doesn't prevent.
    var canMakeKeys: Bool { !isHashed || vault.ring.lookup != nil }

    // MARK: - Keys

    /// The key of the entry with this pattern.
    func key(ofPattern pattern: String) throws(SQLiteFailure) -> [UInt8] {
        guard isHashed else { return Array(pattern.utf8) }
        // Each caller looks at `objection` first.
        guard let lookup = vault.ring.lookup else { throw Self.failure("there is no key for look-ups") }
        do throws(RingwakeError) {
            return try lookup.hash(of: pattern)
        } catch {
            throw Self.failure(error.message)
        }
    }

    private static func failure(_ reason: String) -> SQLiteFailure {
        SQLiteFailure(extendedCode: SQLITE_ERROR, text: reason, errno: 0)
    }

    // MARK: - Rows

    /// The row of an entry. Its record is bound to its list and its key.
    func row(of entry: CallerEntry, in generation: Int64) throws(SQLiteFailure) -> Store.EntryRow {
        let pattern = entry.pattern.description
        let key = try key(ofPattern: pattern)
        let content = (isHashed ? Array(pattern.utf8) : []) + (entry.label.map { [0] + Array($0.utf8) } ?? [])
        return Store.EntryRow(
            key: key, record: try vault.record(content, .lists, place: Self.place(generation, key)))
    }

    /// The entry of a row.
    /// - Returns: nil if no version writes such a pattern.
    func entry(of row: Store.EntryRow, in generation: Int64) throws(RecordFailure) -> CallerEntry? {
        Self.entry(
            key: row.key, content: try vault.open(row.record, .lists, place: Self.place(generation, row.key)))
    }

    /// The entries of these rows, without those that nobody can read any more, or that no version writes.
    /// - Throws: `locked` if one can't be read now.
    func readable(_ rows: [Store.EntryRow], in generation: Int64) throws(RingwakeError) -> [CallerEntry] {
        var entries: [CallerEntry] = []
        for row in rows {
            do throws(RecordFailure) {
                if let entry = try entry(of: row, in: generation) { entries.append(entry) }
            } catch {
                if case .locked(let protection) = error { throw ListError.locked(protection) }
            }
        }
        return entries
    }

    static func place(_ generation: Int64, _ key: [UInt8]) -> String { "\(generation)/\(encodeHex(key))" }

    static func entry(key: [UInt8], content: [UInt8]) -> CallerEntry? {
        let parts = content.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        let bytes = parts.first.flatMap { $0.isEmpty ? nil : $0 } ?? key[...]
        guard let pattern = try? CallerPattern(String(decoding: bytes, as: UTF8.self)) else { return nil }
        return CallerEntry(pattern: pattern, label: parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : nil)
    }
}
