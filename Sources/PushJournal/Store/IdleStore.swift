internal import CRingwakeSQLite
package import DataProtection
internal import Database
internal import FileSystem
package import RingwakeCore
internal import RunLoop
package import StoreMigration

/// A store that no daemon has open: it is looked at, and migrated before the daemon starts.
///
/// The caller holds the lock of the state directory.
package nonisolated struct IdleStore {
    /// Rows of each table that a plan takes to see how long the migration takes.
    private static let rehearsedRows: Int64 = 20_000
    /// Pages between two reports of a copy.
    private static let copiedPages: Int32 = 1_024

    private let directory: String
    private let limits: JournalLimits
    private let clocks: JournalClocks
    private let versions: StoreVersions
    package var path: String { Self.path(inDirectory: directory) }

    /// Where the store of a state directory is.
    package static func path(inDirectory directory: String) -> String { StoreFile.path(inDirectory: directory) }

    /// - Parameter versions: nil for this program's. For tests.
    /// - Throws: `notFound` if there is none.
    package init(
        inDirectory directory: String, limits: JournalLimits, clocks: JournalClocks, versions: StoreVersions? = nil
    ) throws(RingwakeError) {
        self.directory = directory
        self.limits = limits
        self.clocks = clocks
        self.versions = versions ?? StoreModels.all
        do throws(FileSystemError) {
            // A kill between two renames leaves no store for a moment.
            try StoreUpgrade(inDirectory: directory).complete()
            _ = try StoreReplacement(inDirectory: directory).complete()
        } catch {
            throw RingwakeError(.system, "\(error.description); the state directory has to be writable")
        }
        guard FileSystem.exists(path) else {
            throw RingwakeError(.notFound, "there is no store \(path); start the daemon, which makes one")
        }
    }

    /// Looks at the store, and leaves it as it is.
    package func report() throws(RingwakeError) -> StoreReport {
        try looking { (connection, _) throws(StoreOpeningFailure) in
            try withStore(path) { () throws(SQLiteFailure) in
                try StoreReport(connection, path: path, versions: versions)
            }
        }
    }

    /// Says what a migration does, and leaves the store as it is. It migrates the first rows into a file that it removes.
    package func plan() throws(RingwakeError) -> StorePlan {
        try looking { (connection, steps) throws(StoreOpeningFailure) in
            let report = try withStore(path) { () throws(SQLiteFailure) in
                try StoreReport(connection, path: path, versions: versions)
            }
            let upgrade = StoreUpgrade(inDirectory: directory)
            let seconds: Double? =
                if let first = steps.first {
                    try upgrade.rehearse(first, on: connection, rows: Self.rehearsedRows) * Double(steps.count)
                } else { nil }
            return StorePlan(
                report: report, steps: steps.map(StorePlan.Step.init), seconds: seconds,
                neededBytes: steps.isEmpty ? 0 : report.bytes)
        }
    }

    /// Migrates the store to the present version, as a start of the daemon does.
    /// - Returns: what was found damaged or lost, for a person.
    package func migrate(report: @escaping (MigrationProgress) -> Void) throws(RingwakeError) -> [String] {
        let order = StoreOpening.Order(
            directory: directory, vfs: nil, limits: limits, clocks: clocks, versions: versions, vault: RecordVault(),
            report: report)
        do throws(StoreOpeningFailure) {
            let opened = try StoreOpening.open(order)
            try withStore(path) { () throws(SQLiteFailure) in try opened.store.checkpoint() }
            return opened.damage
        } catch {
            throw error.error
        }
    }

    /// The records of the store, with those that are in its log only.
    /// - Parameters:
    ///   - keys: what is locked is left out.
    ///   - members: writes more members of the first record.
    package func export(
        keys: KeyRing, header members: (inout JSONWriter) -> Void
    ) throws(RingwakeError) -> PortableExport {
        let connection = try looking { (connection, _) throws(StoreOpeningFailure) in connection }
        return try PortableExport(connection, path: path, keys: keys, header: members)
    }

    /// Copies the store into an empty file.
    /// - Parameter report: called with the percentage.
    package func copy(to target: String, report: (Int) -> Void) throws(RingwakeError) {
        try looking { (connection, _) throws(StoreOpeningFailure) in
            let free = FileSystem.freeBytes(of: directory) ?? .max
            try withStore(path) { () throws(SQLiteFailure) in
                let needed = try connection.size(.store)
                guard free > needed else { throw SQLiteFailure(extendedCode: SQLITE_FULL, text: "no room for a copy") }
                let copy = try OnlineCopy(of: connection, to: target)
                var reported = -1
                while try copy.step(pages: Self.copiedPages) {
                    let percent = 100 - copy.remainingPages * 100 / max(copy.allPages, 1)
                    if percent != reported { report(percent) }
                    reported = percent
                }
            }
        }
    }

    /// Makes everything that has not ended part of a former boot, as a restart of the machine would: the store of a backup
    /// may be of this boot, and its calls must not go on.
    package func endBoots() throws(RingwakeError) {
        try looking { (connection, _) throws(StoreOpeningFailure) in
            try withStore(path) { () throws(SQLiteFailure) in
                try connection.run("UPDATE boot SET name = 'restored-' || id || '-' || name")
            }
        }
    }

    private func looking<Value>(
        _ body: (Connection, [MigrationStep]) throws(StoreOpeningFailure) -> Value
    ) throws(RingwakeError) -> Value {
        do throws(StoreOpeningFailure) {
            let connection = try withStore(path) { () throws(SQLiteFailure) in try Connection(path: path) }
            connection.leaveLogAtClose()
            let version = try withStore(path) { () throws(SQLiteFailure) in try StoreSettings.lock(connection) }
            return try body(connection, try steps(from: version))
        } catch {
            throw error.error
        }
    }

    private func steps(from version: Int64) throws(StoreOpeningFailure) -> [MigrationStep] {
        guard version > 0 else { return [] }
        do throws(MigrationFailure) {
            return try versions.steps(from: version)
        } catch {
            throw StoreOpeningFailure(error, path: path)
        }
    }
}

nonisolated extension StorePlan.Step {
    init(_ step: MigrationStep) {
        let changed = step.mappings.filter { !$0.changes.isEmpty }
        self.init(
            from: step.old.version, to: step.new.version,
            changes: changed.flatMap { mapping in mapping.changes.map { "\(mapping.name): \($0)" } }
                + step.dropped.map { "\($0): is dropped" })
    }
}
