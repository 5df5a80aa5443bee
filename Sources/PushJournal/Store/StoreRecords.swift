internal import CRingwakeSQLite
internal import DataProtection
internal import Database
internal import FoundationEssentials
internal import RingwakeCore
internal import StoreMigration

/// The protected columns of the store: what their records are bound to, and how those of version 7 became records.
nonisolated enum StoreRecords {
    // MARK: - Places

    static func payload(call: Int64, push: Int64) -> String { "\(call)/\(push)" }

    static func caller(call: Int64) -> String { "\(call)" }

    /// The kind of a row of state; nil for those of the daemon, which it needs while the device is locked.
    static func kind(ofState path: String) -> ProtectedKind? {
        path.hasPrefix("app/") && (path.hasSuffix("/state") || path.hasSuffix("/restoration")) ? .appState : nil
    }

    // MARK: - From version 7

    /// How rows without records become such with records.
    static let policies: [MigrationPolicy] = [
        records(of: "payload", "bytes", isEmptyKept: true), records(of: "state", "data"), listEntries,
        MigrationPolicy(
            "call",
            makeRows: { (old) throws(MigrationFailure) in
                guard case .text(let snapshot)? = old["snapshot"], let (rest, caller) = parts(of: snapshot) else {
                    // It can't be decoded, and is set aside at the start.
                    return [old]
                }
                var new = old
                new["snapshot"] = .text(rest)
                if let caller { new["caller"] = .blob(RecordVault.plain(caller)) }
                return [new]
            },
            validate: { (context) throws(MigrationFailure) in
                try context.requireEqual(
                    "SELECT count(*) FROM main.call", "SELECT count(*) FROM new.call", "calls")
                try context.requireEqual(
                    "SELECT sum(number) FROM main.call", "SELECT sum(number) FROM new.call", "the numbers of calls")
                // Without those that can't be decoded, which stay as they are.
                let changed =
                    "FROM main.call AS old JOIN new.call AS new USING (number) WHERE new.snapshot <> old.snapshot"
                let members = CallerSnapshot.members.map { "json_extract(old.snapshot, '$.\($0)')" }
                try context.requireEqual(
                    "SELECT count(*) \(changed) AND coalesce(\(members.joined(separator: ", "))) IS NOT NULL",
                    "SELECT count(*) FROM new.call WHERE caller IS NOT NULL", "calls with a caller")
                for member in CallerSnapshot.members {
                    try context.requireEqual(
                        "SELECT ifnull(sum(length(json_extract(old.snapshot, '$.\(member)'))), 0) \(changed)",
                        "SELECT ifnull(sum(length(json_extract(CAST(substr(caller, \(RecordHeader.bytes + 1)) AS TEXT), '$.\(member)'))), 0) "
                            + "FROM new.call WHERE caller IS NOT NULL", "characters of '\(member)' of calls")
                }
            }),
    ]

    private static let listEntries = MigrationPolicy(
        "list_entry",
        makeRows: { (old) throws(MigrationFailure) in
            var new: [String: StoreValue] = ["generation": old["generation"] ?? .null, "key": .null]
            if let pattern = bytes(old["pattern"]) { new["key"] = .blob(pattern) }
            new["entry"] = .blob(RecordVault.plain(bytes(old["label"]).map { [0] + $0 } ?? []))
            return [new]
        },
        validate: { (context) throws(MigrationFailure) in
            try context.requireEqual(
                "SELECT count(*) FROM main.list_entry", "SELECT count(*) FROM new.list_entry", "entries of lists")
            try context.requireEqual(
                "SELECT ifnull(sum(length(CAST(pattern AS BLOB))), 0) FROM main.list_entry",
                "SELECT ifnull(sum(length(key)), 0) FROM new.list_entry", "bytes of patterns in lists")
            try context.requireEqual(
                "SELECT ifnull(sum(length(CAST(label AS BLOB)) + 1), 0) + \(RecordHeader.bytes) * count(*) "
                    + "FROM main.list_entry",
                "SELECT ifnull(sum(length(entry)), 0) FROM new.list_entry", "bytes of labels in lists")
        })

    /// The bytes of a text; also of one that a damaged store says is a blob.
    private static func bytes(_ value: StoreValue?) -> [UInt8]? {
        switch value {
        case .text(let text): Array(text.utf8)
        case .blob(let bytes): bytes
        case .integer, .null, nil: nil
        }
    }

    /// A column whose bytes get a header, of a table that stays as it is otherwise.
    /// - Parameter isEmptyKept: whether no bytes mean that there is no content yet.
    private static func records(of table: String, _ column: String, isEmptyKept: Bool = false) -> MigrationPolicy {
        MigrationPolicy(
            table,
            makeRows: { (old) throws(MigrationFailure) in
                guard case .blob(let bytes)? = old[column], !(bytes.isEmpty && isEmptyKept) else { return [old] }
                var new = old
                new[column] = .blob(RecordVault.plain(bytes))
                return [new]
            },
            validate: { (context) throws(MigrationFailure) in
                let header =
                    "CASE WHEN typeof(\(column)) = 'blob' AND \(isEmptyKept ? "length(\(column)) > 0" : "1") "
                    + "THEN \(RecordHeader.bytes) ELSE 0 END"
                try context.requireEqual(
                    "SELECT count(*) FROM main.\(table)", "SELECT count(*) FROM new.\(table)", "rows of '\(table)'")
                try context.requireEqual(
                    "SELECT sum(length(\(column)) + \(header)) FROM main.\(table)",
                    "SELECT sum(length(\(column))) FROM new.\(table)", "bytes of '\(table).\(column)'")
            })
    }

    /// A snapshot of version 7 without who called, and who called; nil if it is no object in JSON.
    private static func parts(of snapshot: String) -> (rest: String, caller: [UInt8]?)? {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(snapshot.utf8)),
            case .object(var members) = value
        else { return nil }
        var caller: [String: JSONValue] = [:]
        for name in CallerSnapshot.members {
            guard let member = members.removeValue(forKey: name) else { continue }
            if case .null = member { continue }
            caller[name] = member
        }
        // A number in a fact that has no class: the pattern of an entry that blocked the call.
        if case .text(let detail)? = members["detail"], detail.hasPrefix("blocked by the list '"),
            let end = detail.lastIndex(of: "("), detail[..<end].hasSuffix("' ")
        {
            members["detail"] = .text(String(detail[..<end].dropLast()))
        }
        guard let rest = JSONValue.object(members).bytes, let bytes = JSONValue.object(caller).bytes else { return nil }
        return (String(decoding: rest, as: UTF8.self), caller.isEmpty ? nil : bytes)
    }
}

nonisolated extension RecordVault {
    /// The record to store.
    func record(_ content: [UInt8], _ kind: ProtectedKind?, place: String) throws(SQLiteFailure) -> [UInt8] {
        do throws(RingwakeError) {
            return try seal(content, kind, place: place)
        } catch {
            throw SQLiteFailure(extendedCode: SQLITE_ERROR, text: error.message, errno: 0)
        }
    }
}
