/// `GET /v1/store`, and what `ringwake store` prints: what the store is and holds.
package struct StoreMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var file: String
    /// The version of its tables, the one that this program writes, and the oldest that it reads.
    package var version: Int64
    package var currentVersion: Int64
    package var oldestVersion: Int64
    /// Size of the file, the unused part of it, and what may still be written on its disk, in bytes.
    package var bytes: Int64
    package var unusedBytes: Int64
    package var freeBytes: Int64?
    /// Rows by table.
    package var rows: [String: Int64]
    /// What the next start of the daemon does to an older store; nil for a store of the present version, and in the answer of
    /// a running daemon, whose store is never older.
    package var migration: Migration?
    /// What was found damaged or lost when it was opened.
    package var damage: [String]?

    /// How the store becomes one of the present version.
    package struct Migration: Codable, Equatable, Sendable {
        package var steps: [Step]
        /// How long it takes, in seconds: an estimate from the first rows.
        package var seconds: Double
        /// The room that it needs on the disk, in bytes.
        package var neededBytes: Int64

        package init(steps: [Step], seconds: Double, neededBytes: Int64) {
            self.steps = steps
            self.seconds = seconds
            self.neededBytes = neededBytes
        }
    }

    /// One version to the next.
    package struct Step: Codable, Equatable, Sendable {
        package var from: Int64
        package var to: Int64
        package var changes: [String]

        package init(from: Int64, to: Int64, changes: [String]) {
            self.from = from
            self.to = to
            self.changes = changes
        }
    }

    package init(
        file: String, version: Int64, currentVersion: Int64, oldestVersion: Int64, bytes: Int64, unusedBytes: Int64,
        freeBytes: Int64?, rows: [String: Int64]
    ) {
        self.file = file
        self.version = version
        self.currentVersion = currentVersion
        self.oldestVersion = oldestVersion
        self.bytes = bytes
        self.unusedBytes = unusedBytes
        self.freeBytes = freeBytes
        self.rows = rows
    }
}

/// One line of what `ringwaked --store` prints: how far it is, and last the store.
package struct StoreLine: Codable, Equatable, Sendable {
    package var progress: Progress?
    package var store: StoreMessage?
    /// What an import has added and left out, in records by kind.
    package var added: [String: Int]?
    package var skipped: [String: Int]?

    /// How far a migration is.
    package struct Progress: Codable, Equatable, Sendable {
        /// The version that is being made.
        package var version: Int64
        package var rows: Int64
        package var allRows: Int64

        package init(version: Int64, rows: Int64, allRows: Int64) {
            self.version = version
            self.rows = rows
            self.allRows = allRows
        }
    }

    package init(
        progress: Progress? = nil, store: StoreMessage? = nil, added: [String: Int]? = nil,
        skipped: [String: Int]? = nil
    ) {
        self.progress = progress
        self.store = store
        self.added = added
        self.skipped = skipped
    }
}

/// One line of the answer to `POST /v1/store/copy`.
package struct StoreCopyLine: Codable, Equatable, Sendable {
    /// How much has been copied.
    package var percent: Int?
    /// The copy, when it is complete, and its size in bytes. It is removed when the client closes the connection.
    package var file: String?
    package var bytes: Int64?
    /// Why there is none; the last line then.
    package var error: ErrorMessage?

    package init(percent: Int? = nil, file: String? = nil, bytes: Int64? = nil, error: ErrorMessage? = nil) {
        self.percent = percent
        self.file = file
        self.bytes = bytes
        self.error = error
    }
}
