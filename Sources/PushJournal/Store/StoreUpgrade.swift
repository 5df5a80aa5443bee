internal import CRingwakeLinux
internal import Database
internal import FileSystem
internal import Glibc
internal import RingwakeCore
internal import RunLoop
internal import StoreMigration

/// The files of a migration. A kill or a power cut at any moment leaves the old store or the new one, whole:
///
///     store.db --migrated--> store.new --whole, and renamed--> store.migrated
///     store.db --renamed--> store.version-7
///     store.migrated --renamed--> store.db
///     store.version-7 is removed when the new store has been opened
///
/// If a `store.migrated` is found without a `store.db`, the third step is completed. Otherwise the migration begins
/// again.
nonisolated struct StoreUpgrade {
    private static let keptPrefix = "store.version-"

    private let directory: String
    private let folder: String
    private let store: String
    private let new: String
    private let migrated: String

    init(inDirectory directory: String) {
        self.directory = directory
        store = StoreFile.path(inDirectory: directory)
        folder = FileSystem.split(store).directory
        new = folder + "/store.new"
        migrated = folder + "/store.migrated"
    }

    // MARK: - At a start

    /// Completes a migration that was interrupted, and removes what others left.
    func complete() throws(FileSystemError) {
        if !FileSystem.exists(store), FileSystem.exists(migrated) {
            try FileSystem.move(migrated, to: store)
        } else {
            for file in [migrated, "\(migrated)-journal", new, "\(new)-journal"] { unlink(file) }
        }
    }

    /// The store of the version before, if the new one has never been opened; nil if there is none.
    func kept() throws(FileSystemError) -> String? {
        try FileSystem.entries(of: folder).filter { $0.hasPrefix(Self.keptPrefix) }.map { "\(folder)/\($0)" }
            .filter { !$0.hasSuffix("-wal") }.sorted().last
    }

    /// The new store has been opened. That the old one is kept longer than needed harms nobody.
    func removeKept() {
        while let path = try? kept(), unlink(path) == 0 {}
    }

    /// Puts the old store in the place of the new one, which can't be opened and is set aside.
    /// - Returns: what happened, for a person.
    func putBack(_ kept: String, damage: String) throws(FileSystemError) -> String {
        let why =
            "\(store), which was just migrated, was damaged (\(damage)) and is set aside; the former store is used"
        try StoreFile.setAside(inDirectory: directory, why: why)
        try FileSystem.move(kept, to: store)
        return why
    }

    // MARK: - Migrating

    /// Makes a store of the next version beside the present one.
    /// - Parameters:
    ///   - connection: the present store, whose log has been moved into it.
    ///   - report: called now and then.
    func make(
        _ step: MigrationStep, on connection: Connection, report: @escaping (MigrationProgress) -> Void
    ) throws(StoreOpeningFailure) {
        // A disk that has no room must not be filled again with each attempt.
        let needed = try withStore(store) { () throws(SQLiteFailure) in try connection.size(.store) }
        let free = FileSystem.freeBytes(of: folder) ?? 0
        guard free > needed else {
            throw StoreOpeningFailure(noRoomToMigrate: store, needed: needed, free: free)
        }
        _ = try build(step, on: connection, limit: nil, report: report)
    }

    /// Migrates the first rows of each table, and removes what was made.
    /// - Returns: the seconds that all rows take, if they take as long as these.
    func rehearse(
        _ step: MigrationStep, on connection: Connection, rows: Int64
    ) throws(StoreOpeningFailure) -> Double {
        let begun = BootClock.now()
        let progress = try build(step, on: connection, limit: rows) { _ in }
        unlink(new)
        let seconds = Double(begun.duration(to: BootClock.now()).milliseconds) / 1_000
        return seconds * Double(progress.allRows) / Double(max(progress.rows, 1))
    }

    private func build(
        _ step: MigrationStep, on connection: Connection, limit: Int64?, report: @escaping (MigrationProgress) -> Void
    ) throws(StoreOpeningFailure) -> MigrationProgress {
        unlink(new)
        try withStoreFiles { () throws(FileSystemError) in try FileSystem.create(new, mode: 0o600) }
        do throws(MigrationFailure) {
            var migrator = try Migrator(step, on: connection, limit: limit, report: report)
            // A seal that a power cut left behind then says nothing about it.
            let epoch = "UPDATE \(MigrationContext.schema).epoch SET number = number + 1"
            try migrator.make(new, applicationID: StoreSettings.applicationID, finally: epoch)
            return migrator.progress
        } catch {
            unlink(new)
            throw StoreOpeningFailure(error, path: store)
        }
    }

    /// The new store is whole.
    /// - Returns: its stamp.
    func finish() throws(StoreOpeningFailure) -> StoreFile.Stamp {
        try withStoreFiles { () throws(FileSystemError) in
            try FileSystem.move(new, to: migrated)
            var status = stat()
            guard stat(migrated, &status) == 0 else {
                throw FileSystemError(operation: "open", path: migrated, errno: errno)
            }
            return StoreFile.Stamp(status)
        }
    }

    /// Puts the new store in the place of the old one, which is closed.
    /// - Parameter version: of the old one.
    func swap(version: Int64) throws(StoreOpeningFailure) {
        try withStoreFiles { () throws(FileSystemError) in
            // All of it is in the store. SQLite would write it into the new one.
            if unlink("\(store)-wal") != 0, errno != ENOENT {
                throw FileSystemError(operation: "remove", path: "\(store)-wal", errno: errno)
            }
            try FileSystem.move(store, to: "\(folder)/\(Self.keptPrefix)\(version)")
            try FileSystem.move(migrated, to: store)
        }
    }
}
