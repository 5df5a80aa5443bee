internal import Database
internal import FileSystem
internal import StoreMigration

/// What a store is and holds.
package nonisolated struct StoreReport: Hashable, Sendable {
    package let path: String
    /// The version of its tables, the one that this program writes, and the oldest that it reads.
    package let version: Int64
    package let currentVersion: Int64
    package let oldestVersion: Int64
    /// The size of the file, and of the part of it that is unused, in bytes.
    package let bytes: Int64
    package let unusedBytes: Int64
    /// The bytes that may still be written on its disk; nil if unknown.
    package let freeBytes: Int64?
    /// Rows by table.
    package let rows: [String: Int64]

    /// Reads an open store.
    init(_ connection: Connection, path: String, versions: StoreVersions) throws(SQLiteFailure) {
        self.path = path
        version = try connection.number("PRAGMA user_version")
        currentVersion = versions.current.version
        oldestVersion = versions.oldest
        let pageBytes = try connection.number("PRAGMA page_size")
        bytes = try connection.number("PRAGMA page_count") * pageBytes
        unusedBytes = try connection.number("PRAGMA freelist_count") * pageBytes
        freeBytes = FileSystem.freeBytes(of: FileSystem.split(path).directory)
        var rows: [String: Int64] = [:]
        // A daemon that was killed in its first moment leaves a file without tables.
        for entity in version == 0 ? [] : (versions.model(version) ?? versions.current).entities {
            // Counting millions of entries would make pushes wait; each list knows how many it has.
            let count =
                entity.name == "list_entry" ? "ifnull(sum(entries), 0) FROM list" : "count(*) FROM \(entity.name)"
            rows[entity.name] = try connection.number("SELECT \(count)")
        }
        self.rows = rows
    }
}

/// What a migration to the present version does, how long it takes and how much room it needs.
package nonisolated struct StorePlan: Hashable, Sendable {
    /// One version to the next.
    package struct Step: Hashable, Sendable {
        package let from: Int64
        package let to: Int64
        /// The tables that change, each with how.
        package let changes: [String]
    }

    package let report: StoreReport
    /// None if the store has the present version.
    package let steps: [Step]
    /// How long it takes, from how long the first rows took; nil if it is not needed.
    package let seconds: Double?
    /// The room that it needs beside the store, in bytes.
    package let neededBytes: Int64
}
