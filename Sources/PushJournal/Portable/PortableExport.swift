package import DataProtection
internal import Database
internal import FoundationEssentials
package import RingwakeCore
internal import StoreMigration

/// Writes a store as records in JSON, one a line, which other programs and stores can read. Documentation/portable.md
/// describes them; ``PortableImport`` reads them.
///
///     var export = try PortableExport(copy: path) { $0.add("program", "ringwake 0.1.0") }
///     while let line = try export.next() { file.write(line) }
package nonisolated struct PortableExport {
    /// The version of the records.
    package static let schema = 1

    /// One kind of record: where its rows are, and how one is written.
    private struct Source: Sendable {
        let kind: String
        let sql: String
        /// - Returns: whether all of it could be read.
        let write: @Sendable (Statement, RecordVault, inout JSONWriter) -> Bool
    }

    private let connection: Connection
    private let path: String
    private let vault: RecordVault
    private var sources: ArraySlice<Source>
    private var select: Statement?
    private var header: [UInt8]?
    private var isAtEnd = false
    /// Records that were returned, and about how many there are in all.
    package private(set) var records: Int64 = 0
    /// Records that could not be opened, except those whose keys were deleted.
    package private(set) var locked: Int64 = 0
    /// Records that nobody can open any more, because their keys were deleted.
    package var deleted: Int64 { vault.deletedReads }
    package let expected: Int64

    /// A copy of a store, which has no log. For a store that no daemon has open there is ``IdleStore/export(header:)``.
    /// - Parameters:
    ///   - keys: of the store. What they don't open is said to be locked, and left out.
    ///   - members: writes more members of the first record.
    /// - Throws: `conflict` if it has another version than the present one, `system` if it can't be read.
    package init(
        copy path: String, keys: KeyRing, header members: (inout JSONWriter) -> Void
    ) throws(RingwakeError) {
        let connection: Connection
        do throws(SQLiteFailure) {
            connection = try Connection(path: path, access: .immutable)
        } catch {
            throw StoreError.of(error, path: path)
        }
        try self.init(connection, path: path, keys: keys, header: members)
    }

    /// An open store that nobody writes to.
    init(
        _ connection: Connection, path: String, keys: KeyRing, header members: (inout JSONWriter) -> Void
    ) throws(RingwakeError) {
        self.path = path
        vault = RecordVault(keys)
        self.connection = connection
        let current = StoreModels.all.current.version
        do throws(SQLiteFailure) {
            let report = try StoreReport(connection, path: path, versions: StoreModels.all)
            guard report.version == current else {
                throw SQLiteFailure(
                    extendedCode: 0, text: "it has store version \(report.version), and this program exports \(current)"
                )
            }
            expected = report.rows.values.reduce(0, +)
        } catch {
            throw RingwakeError(
                error.extendedCode == 0 ? .conflict : .system, "\(path) can't be exported: \(error.reason).")
        }
        sources = Self.all[...]
        header = Self.line("header") { line in
            line.add("schema", Self.schema)
            line.add("store", current)
            members(&line)
        }
    }

    /// The next line, with its end; nil after the last one.
    package mutating func next() throws(RingwakeError) -> [UInt8]? {
        if let first = header {
            header = nil
            return first
        }
        do throws(SQLiteFailure) {
            while let source = sources.first {
                if self.select == nil { self.select = try connection.statement(source.sql) }
                if let select, try select.next() {
                    records += 1
                    let former = deleted
                    var isWhole = true
                    let line = Self.line(source.kind) { isWhole = source.write(select, vault, &$0) }
                    if !isWhole, deleted == former { locked += 1 }
                    return line
                }
                self.select = nil
                sources.removeFirst()
            }
        } catch {
            throw RingwakeError(.system, "\(path) can't be read: \(error.reason).")
        }
        guard !isAtEnd else { return nil }
        isAtEnd = true
        return Self.line("end") { line in
            line.add("records", records)
            if locked > 0 { line.add("locked", locked) }
        }
    }

    private static func line(_ kind: String, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        JSONWriter { line in
            line.add("kind", kind)
            members(&line)
        }.bytes + [UInt8(ascii: "\n")]
    }

    // MARK: - Records

    /// In the order of an import: what others refer to comes first.
    private static let all = [
        Source(
            kind: "call",
            sql:
                "SELECT number, app, id, sender, received_wall, state, version, snapshot, caller FROM call ORDER BY number"
        ) { row, vault, line in
            let number = row.integer()
            line.add("number", number)
            line.add("app", row.text())
            line.add("id", row.text())
            line.add("sender", row.text())
            line.add("received_ms", row.integer())
            line.add("state", row.text())
            line.add("version", row.integer())
            let (snapshot, record) = (Array(row.text().utf8), row.optionalBytes())
            let place = StoreRecords.caller(call: number)
            let caller = record.flatMap { open($0, .callers, place: place, vault, &line) }
            if (try? JSONDecoder().decode(CallSnapshot.self, from: Data(snapshot))) != nil,
                let facts = joined(snapshot, caller)
            {
                line.add("facts", json: facts)
            } else {
                line.add("data", base64(snapshot))
            }
            return record == nil || caller != nil
        },
        Source(kind: "payload", sql: "SELECT call, push, bytes FROM payload ORDER BY call, push") { row, vault, line in
            let (call, push, record) = (row.integer(), row.integer(), row.bytes())
            line.add("call", call)
            line.add("push", push)
            if record.isEmpty {
                line.add("data", "")
                return true
            }
            let place = StoreRecords.payload(call: call, push: push)
            guard let bytes = open(record, .payloads, place: place, vault, &line) else { return false }
            line.add("data", base64(bytes))
            return true
        },
        Source(
            kind: "push",
            sql:
                "SELECT sequence, push_id, app, topic, door, sender, priority, collapse_id, call_id, outcome, received_wall, "
                + "journaled FROM push ORDER BY sequence"
        ) { row, _, line in
            line.add("number", row.integer())
            line.add("id", row.text())
            line.add("app", row.text())
            line.add("topic", row.text())
            line.add("environment", row.text())
            line.add("sender", row.text())
            line.add("priority", row.integer())
            line.add("collapse_id", row.optionalText())
            line.add("call", row.text())
            line.add("outcome", row.text())
            line.add("received_ms", row.integer())
            line.add("journaled_ns", row.optionalInteger())
            return true
        },
        // Handlers are of one boot, and what was set aside nobody can read.
        Source(
            kind: "state",
            sql: "SELECT path, version, written_wall, data FROM state WHERE path NOT LIKE 'aside/%' "
                + "AND path NOT LIKE 'app/%/handlers' ORDER BY path"
        ) { row, vault, line in
            let path = row.text()
            let isOfApp = path.hasPrefix("app/") && path.hasSuffix("/state")
            line.add("path", path)
            line.add("version", row.integer())
            line.add("written_ms", row.integer())
            // What an app keeps may be anything, and stays as it is.
            guard let bytes = open(row.bytes(), StoreRecords.kind(ofState: path), place: path, vault, &line) else {
                return false
            }
            if isOfApp { line.add("data", base64(bytes)) } else { add("json", bytes, to: &line) }
            return true
        },
        Source(kind: "list", sql: "SELECT name, kind, source, etag, updated_wall FROM list ORDER BY name") {
            row, _, line in
            line.add("name", row.text())
            line.add("type", row.text())
            line.add("source", row.optionalText())
            line.add("etag", row.optionalText())
            line.add("updated_ms", row.integer())
            return true
        },
        Source(
            kind: "list_entry",
            sql: "SELECT name, generation, key, entry FROM list JOIN list_entry USING (generation) ORDER BY name, key"
        ) { row, vault, line in
            line.add("list", row.text())
            let (generation, key) = (row.integer(), row.bytes())
            let place = ListRecords.place(generation, key)
            guard let content = open(row.bytes(), .lists, place: place, vault, &line) else { return false }
            guard let entry = ListRecords.entry(key: key, content: content) else {
                line.add("damaged", true)
                return false
            }
            line.add("pattern", entry.pattern.description)
            line.add("label", entry.label)
            return true
        },
        Source(kind: "device", sql: "SELECT id, version, data FROM device ORDER BY id") { row, _, line in
            line.add("id", row.text())
            line.add("version", row.integer())
            add("json", row.bytes(), to: &line)
            return true
        },
        Source(
            kind: "mail",
            sql: "SELECT device, run, sequence, received_wall, version, payload, facts FROM mail ORDER BY number"
        ) { row, _, line in
            line.add("device", row.text())
            // Texts: they may have more digits than a number of other programs.
            line.add("run", String(UInt64(bitPattern: row.integer())))
            line.add("sequence", String(UInt64(bitPattern: row.integer())))
            line.add("received_ms", row.integer())
            line.add("version", row.integer())
            line.add("payload", base64(row.bytes()))
            add("facts", row.bytes(), to: &line)
            return true
        },
    ]

    /// The content of a record. What can't be opened is left out, and the line says why.
    private static func open(
        _ record: [UInt8], _ kind: ProtectedKind?, place: String, _ vault: RecordVault, _ line: inout JSONWriter
    ) -> [UInt8]? {
        do throws(RecordFailure) {
            return try vault.open(record, kind, place: place)
        } catch {
            switch error {
            case .locked(let protection): line.add("locked", protection.rawValue)
            case .deleted(let protection): line.add("deleted", protection.rawValue)
            case .damaged: line.add("damaged", true)
            }
            return nil
        }
    }

    /// The facts of a call with who called, in the order of their names.
    private static func joined(_ snapshot: [UInt8], _ caller: [UInt8]?) -> [UInt8]? {
        guard let caller else { return snapshot }
        guard case .object(let facts)? = try? JSONDecoder().decode(JSONValue.self, from: Data(snapshot)),
            case .object(let members)? = try? JSONDecoder().decode(JSONValue.self, from: Data(caller))
        else { return nil }
        return JSONValue.object(facts.merging(members) { first, _ in first }).bytes
    }

    /// Adds bytes that are one JSON object as that, with its members in order; others as Base64 under `data`.
    private static func add(_ name: String, _ bytes: [UInt8], to line: inout JSONWriter) {
        if let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)), case .object = value,
            let json = value.bytes
        {
            line.add(name, json: json)
        } else {
            line.add("data", base64(bytes))
        }
    }

    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
