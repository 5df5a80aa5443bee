internal import DataProtection
internal import Database
internal import FileSystem
internal import Glibc
internal import RingwakeCore
internal import StoreMigration

/// Opens the store: creates a missing one, migrates an older one, replaces a damaged one, and rejects files that are not
/// stores of this program.
nonisolated struct StoreOpening {
    /// An open store, with its contents.
    struct Opened {
        let store: Store
        let contents: StoreReader.Contents
        /// How far the file was committed.
        var found: StorePosition
        /// What was found damaged or lost, for a person.
        var damage: [String] = []
    }

    /// What is opened, and how.
    struct Order {
        let directory: String
        /// The name of SQLite's file layer; nil for the default.
        let vfs: String?
        let limits: JournalLimits
        let clocks: JournalClocks
        let versions: StoreVersions
        let vault: RecordVault
        /// Called now and then during a migration.
        let report: (MigrationProgress) -> Void

        var path: String { StoreFile.path(inDirectory: directory) }
    }

    private let order: Order
    private let seal: StoreSeal
    /// As a former run left it.
    private var sealed: StoreSeal.Contents?

    private init(_ order: Order) {
        self.order = order
        seal = StoreSeal(inDirectory: order.directory)
        sealed = seal.read()
    }

    /// Opens the store, or creates one. A damaged store is set aside, and what can be read of it is copied into a new one.
    /// - Parameter damage: what the running daemon found wrong with the store; nil at a start.
    /// - Throws: `system`, `conflict` or `inUse`. A rejected store is unchanged.
    static func open(_ order: Order, damage: String? = nil) throws(StoreOpeningFailure) -> Opened {
        do throws(StoreOpeningFailure) {
            var opening = StoreOpening(order)
            return try opening.attempt(damage)
        } catch let first {
            guard first.isFull, StoreReserve(inDirectory: order.directory).giveUp() else { throw first }
            return try adding(first.replacement) { () throws(StoreOpeningFailure) in
                var opening = StoreOpening(order)
                return try opening.attempt(first.replacement == nil ? damage : nil)
            }
        }
    }

    private mutating func attempt(_ damage: String?) throws(StoreOpeningFailure) -> Opened {
        let upgrade = StoreUpgrade(inDirectory: order.directory)
        let isCompleted = try withStoreFiles { () throws(FileSystemError) in
            try upgrade.complete()
            return try StoreReplacement(inDirectory: order.directory).complete()
        }
        if isCompleted {
            return try openReplaced(
                "\(order.path) was damaged and is set aside; its replacement was interrupted, and is complete now")
        }
        guard let damage else { return try openPresent(upgrade) }
        let why = try replace(damage)
        return try openReplaced(why)
    }

    /// Opens the store that is there. A damaged one is replaced, by the former one if it was just migrated.
    private mutating func openPresent(_ upgrade: StoreUpgrade) throws(StoreOpeningFailure) -> Opened {
        do throws(StoreOpeningFailure) {
            let position = sealed?.position
            var opened = try openFile()
            if let position, opened.found.lacks(position) {
                opened.damage.append(try noteLoss(opened.found, position))
            }
            opened.store.writeSeal()
            return opened
        } catch {
            guard let damage = error.damage else { throw error }
            if let kept = try withStoreFiles({ () throws(FileSystemError) in try upgrade.kept() }) {
                let why = try withStoreFiles { () throws(FileSystemError) in try upgrade.putBack(kept, damage: damage) }
                return try openReplaced(why)
            }
            let why = try replace(damage)
            return try openReplaced(why)
        }
    }

    /// Opens the store that has replaced a damaged one.
    private mutating func openReplaced(_ why: String) throws(StoreOpeningFailure) -> Opened {
        sealed = seal.read()
        do throws(StoreOpeningFailure) {
            var opened = try openFile()
            opened.damage.insert(why, at: 0)
            opened.store.writeSeal()
            return opened
        } catch {
            throw error.adding(why)
        }
    }

    /// Adds to the result or the failure that the store was replaced before.
    private static func adding(
        _ replacement: String?, _ body: () throws(StoreOpeningFailure) -> Opened
    ) throws(StoreOpeningFailure) -> Opened {
        do throws(StoreOpeningFailure) {
            var opened = try body()
            if let replacement { opened.damage.insert(replacement, at: 0) }
            return opened
        } catch {
            throw error.adding(replacement)
        }
    }

    private mutating func replace(_ damage: String) throws(StoreOpeningFailure) -> String {
        try StoreRebuild(order: order, seal: seal, sealed: sealed?.position).replace(damage)
    }

    /// Reports committed data that isn't in the store.
    private func noteLoss(
        _ found: StorePosition, _ sealed: StorePosition
    ) throws(StoreOpeningFailure) -> String {
        let lost = sealed.newestPush - found.newestPush
        let what =
            lost > 0
            ? "its newest \(lost) pushes are lost, although they were answered 200"
            : "changes of calls or settings are lost"
        let name = "\(order.directory)/\(StoreFile.name)"
        let how = found.store == sealed.store ? "lacks what was committed" : "is not the store that was written to last"
        let why =
            "\(name) \(how): it or \(StoreFile.name)-wal was removed, cut or replaced by a former copy, or the disk lost "
            + "what it had confirmed; \(what)"
        _ = try withStoreFiles { () throws(FileSystemError) in
            try DamageFolder(stateDirectory: order.directory).add([], why: why)
        }
        return why
    }

    // MARK: - Opening

    /// What was done with the store's file.
    private enum Outcome {
        case opened(Opened)
        /// A store of the next version is beside it, and the file is closed.
        case upgraded(from: Int64, found: StorePosition)
    }

    /// Opens the file, and migrates it version by version.
    private mutating func openFile() throws(StoreOpeningFailure) -> Opened {
        let upgrade = StoreUpgrade(inDirectory: order.directory)
        var first: StorePosition?
        while true {
            switch try openOnce(upgrade) {
            case .opened(var opened):
                if let first { opened.found = first }
                upgrade.removeKept()
                return opened
            case .upgraded(let version, let found):
                first = first ?? found
                var position = found.withoutLog
                position.epoch += 1
                let stamp = try upgrade.finish()
                try upgrade.swap(version: version)
                // Not before: a seal never leads.
                seal.write(StoreSeal.Contents(position: position, stamp: stamp))
                sealed = seal.read()
            }
        }
    }

    private func openOnce(_ upgrade: StoreUpgrade) throws(StoreOpeningFailure) -> Outcome {
        var file = try withStoreFiles { () throws(FileSystemError) in try StoreFile(inDirectory: order.directory) }
        let path = file.path
        let connection = try withStore(path) { () throws(SQLiteFailure) in try Connection(path: path, vfs: order.vfs) }
        do throws(StoreOpeningFailure) {
            guard !connection.isReadOnly else { throw StoreOpeningFailure(readOnly: path) }
            let version = try withStore(path) { () throws(SQLiteFailure) in try StoreSettings.lock(connection) }
            let steps = try steps(from: version)
            try withStore(path) { () throws(SQLiteFailure) in
                try StoreSettings.configure(connection, isNew: version == 0, limits: order.limits)
                try connection.rewriteLog()
            }
            let found = try check(connection, version, file)
            if let step = steps.first {
                // Its log is removed soon, and a seal that counts the log's pages would say that they are lost.
                if sealed.map({ !found.lacks($0.position) }) ?? true, file.noteWork(isInStore: true) {
                    seal.write(StoreSeal.Contents(position: found.withoutLog, stamp: file.stamp), isDurable: true)
                }
                try upgrade.make(step, on: connection, report: order.report)
                return .upgraded(from: version, found: found)
            }
            return try withStore(path) { () throws(SQLiteFailure) in
                let boot = try Self.boot(named: order.clocks.bootID, on: connection)
                let store = try Store(
                    path: path, connection: connection, statements: StoreStatements(connection), clocks: order.clocks,
                    limits: order.limits, versions: order.versions, vault: order.vault, boot: boot, file: file,
                    seal: seal)
                return .opened(Opened(store: store, contents: try StoreReader(store: store).contents(), found: found))
            }
        } catch {
            connection.leaveLogAtClose()
            throw error
        }
    }

    private func steps(from version: Int64) throws(StoreOpeningFailure) -> [MigrationStep] {
        guard version > 0 else { return [] }
        do throws(MigrationFailure) {
            return try order.versions.steps(from: version)
        } catch {
            throw StoreOpeningFailure(error, path: order.path)
        }
    }

    /// Checks what the file contains, and moves its log into it; creates the tables of an empty one.
    private func check(
        _ connection: Connection, _ version: Int64, _ file: StoreFile
    ) throws(StoreOpeningFailure) -> StorePosition {
        try withStore(file.path) { () throws(SQLiteFailure) in
            if version == 0 {
                try StoreSettings.create(order.versions.current, on: connection)
            } else {
                // Reading all takes long, and is needed only if somebody else may have written to it.
                if sealed?.stamp != file.stamp { try StoreCheck.all(connection) }
                if let model = order.versions.model(version) {
                    let differences = try ModelDifference.all(of: connection, from: model)
                    if !differences.isEmpty { throw .damaged(StoreError.describe(differences, version: version)) }
                }
            }
            let logPages = try connection.checkpoint()
            return try StoreSettings.position(of: connection, logPages: logPages)
        }
    }

    /// The row of this boot. Removes the rows of boots that nothing refers to any more.
    private static func boot(
        named name: String, on connection: Connection
    ) throws(SQLiteFailure) -> Int64 {
        let find = try Statement("SELECT id FROM boot WHERE name = ?1", on: connection.database)
        find.bind(name)
        if let id = try find.number() { return id }
        let next = try connection.successor("SELECT max(id) FROM boot")
        // All or nothing: after a failure, closing the connection rolls it back.
        try connection.run("BEGIN IMMEDIATE")
        try connection.run("INSERT INTO boot (id, name) VALUES (?1, ?2)", next, name)
        try connection.run("UPDATE epoch SET number = number + 1")
        // Pushes and calls are written in the order of boots, so the oldest row of each has the oldest boot.
        let oldest = [
            "(SELECT boot FROM push ORDER BY sequence LIMIT 1)", "(SELECT boot FROM call ORDER BY number LIMIT 1)",
            "(SELECT min(boot) FROM state)", "(SELECT boot FROM mail ORDER BY number LIMIT 1)",
        ]
        let kept = oldest.map { "ifnull(\($0), \(next))" }.joined(separator: ", ")
        try connection.run("DELETE FROM boot WHERE id < min(\(kept))")
        try connection.run("COMMIT")
        return next
    }
}
