internal import CRingwakeSQLite
internal import FileSystem
internal import Glibc
internal import RingwakeCore

/// Opens the store: creates a missing one, upgrades an older one, and rejects files that are not stores of this
/// program.
nonisolated enum StoreOpening {
    /// The size of SQLite's page cache in kilobytes.
    private static let cacheKilobytes = 1_024

    /// An open store, with its contents.
    struct Opened {
        let store: Store
        let contents: StoreReader.Contents
        /// How far the file was committed.
        let found: StorePosition
        /// What was found damaged or lost, for a person.
        var damage: [String] = []
    }

    /// Why a store can't be opened.
    struct Failure: Error {
        let error: RingwakeError
        /// What is wrong with the file itself; nil if another cause may pass, or if the file is good for another
        /// version.
        var damage: String?
        /// If the store was replaced before this: what happened to the damaged one, for a person. The new one must not be
        /// replaced again because of it.
        var replacement: String?
        /// Whether the disk is full.
        private(set) var isFull = false
        /// The `errno` behind it; 0 if there is none.
        private var errno: Int32 = 0

        init(_ error: RingwakeError) { self.error = error }

        init(_ failure: SQLiteFailure, path: String) {
            error = StoreError.of(failure, path: path)
            if failure.isDamage { damage = failure.text }
            isFull = failure.isFull
            // After other failures it may be that of an earlier system call.
            if failure.code == SQLITE_CANTOPEN { errno = failure.errno }
        }

        init(_ failure: FileSystemError) {
            error = StoreError.of(failure)
            errno = failure.errno
            if errno == EISDIR { damage = "it is not a file" }
            isFull = errno == ENOSPC || errno == EDQUOT
        }

        /// A store that SQLite could open for reading only.
        init(readOnly path: String) {
            error = StoreError.readOnly(path)
            errno = access(path, W_OK) == 0 ? EACCES : Glibc.errno
        }

        /// Whether a start has to be refused: a person made the fault, and another attempt finds the same until a person
        /// mends it. A newer version's store, one in use by another process, a path that leads to no store, or files of
        /// another owner. Every other fault is the disk's and may pass: the daemon starts, and its calls ring from
        /// memory.
        var refusesStart: Bool {
            error.code == .conflict || error.code == .inUse
                || [EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EINVAL].contains(errno)
        }
    }

    /// Opens the store in `directory`, or creates one. A damaged store is set aside, and what can be read of it is
    /// copied into a new one.
    /// - Parameters:
    ///   - vfs: the name of SQLite's file layer; nil for the default.
    ///   - damage: what the running daemon found wrong with the store; nil at a start.
    /// - Throws: `system`, `conflict` or `inUse`. A rejected store is unchanged.
    static func open(
        directory: String, vfs: String?, limits: JournalLimits, clocks: JournalClocks, damage: String? = nil
    ) throws(Failure) -> Opened {
        do throws(Failure) {
            return try attempt(directory: directory, vfs: vfs, limits: limits, clocks: clocks, damage: damage)
        } catch let first {
            guard first.isFull, StoreReserve(inDirectory: directory).giveUp() else { throw first }
            return try adding(first.replacement) { () throws(Failure) in
                try attempt(
                    directory: directory, vfs: vfs, limits: limits, clocks: clocks,
                    damage: first.replacement == nil ? damage : nil)
            }
        }
    }

    private static func attempt(
        directory: String, vfs: String?, limits: JournalLimits, clocks: JournalClocks, damage: String?
    ) throws(Failure) -> Opened {
        let seal = StoreSeal(inDirectory: directory)
        var order = Order(
            directory: directory, vfs: vfs, limits: limits, clocks: clocks, seal: seal, sealed: seal.read())
        let isCompleted = try mapping { () throws(FileSystemError) in
            try StoreReplacement(inDirectory: directory).complete()
        }
        if isCompleted {
            let why = "\(order.path) was damaged and is set aside; its replacement was interrupted, and is complete now"
            return try openNew(order, why)
        }
        var found = damage
        if found == nil {
            do throws(Failure) {
                var opened = try openFile(order)
                if let sealed = order.sealed?.position, opened.found.lacks(sealed) {
                    opened.damage.append(try noteLoss(opened.found, sealed, in: directory))
                }
                opened.store.writeSeal()
                return opened
            } catch {
                guard error.damage != nil else { throw error }
                found = error.damage
            }
        }
        let why = try replace(order, damage: found ?? "")
        order.sealed = seal.read()
        return try openNew(order, why)
    }

    /// What all parts of an opening need.
    private struct Order {
        let directory: String
        let vfs: String?
        let limits: JournalLimits
        let clocks: JournalClocks
        let seal: StoreSeal
        /// As a former run left it.
        var sealed: StoreSeal.Contents?

        var path: String { StoreFile.path(inDirectory: directory) }
    }

    // MARK: - Replacing

    /// Makes a new store of what can be read, sets the damaged one aside, and puts the new one in its place.
    /// - Returns: what happened, for a person.
    private static func replace(_ order: Order, damage: String) throws(Failure) -> String {
        let replacement = StoreReplacement(inDirectory: order.directory)
        var isAside = false
        var why = ""
        do throws(Failure) {
            let (position, copied) = try make(order, at: replacement.new)
            let lost = (order.sealed?.position.newestPush ?? position.newestPush) - position.newestPush
            why =
                "\(order.path) was damaged (\(damage)) and is set aside; \(copied)"
                + (lost > 0 ? "; its newest \(lost) pushes are lost, although they were answered 200" : "")
            try mapping { () throws(FileSystemError) in
                let stamp = try replacement.finishNew()
                try StoreFile.setAside(inDirectory: order.directory, why: why)
                isAside = true
                order.seal.write(StoreSeal.Contents(position: position, stamp: stamp))
                try replacement.putInPlace()
            }
            return why
        } catch {
            var failure = error
            // The next attempt puts the new store in place.
            if isAside { failure.replacement = why } else { replacement.removeRemains() }
            throw failure
        }
    }

    /// Makes a new store of what can be read of the damaged one, which stays as it is.
    /// - Returns: how far it is committed, and what was copied.
    private static func make(_ order: Order, at path: String) throws(Failure) -> (StorePosition, copied: String) {
        try mapping { () throws(FileSystemError) in try FileSystem.create(path, mode: 0o600) }
        // Errors name the store: nobody knows the other file.
        let connection = try mapping(order.path) { () throws(SQLiteFailure) in
            try Connection(path: path, vfs: order.vfs)
        }
        do throws(Failure) {
            _ = try check(connection, path: order.path)
            return try mapping(order.path) { () throws(SQLiteFailure) in
                try configure(connection, isNew: true, limits: order.limits)
                try upgrade(connection, from: 0)
                let copied = try StoreSalvage.copy(order.path, vfs: order.vfs, into: connection)
                try connection.checkpoint()
                return (try position(of: connection, logPages: 0), copied)
            }
        } catch {
            connection.leaveLogAtClose()
            throw error
        }
    }

    /// Opens the store that has replaced a damaged one.
    private static func openNew(_ order: Order, _ why: String) throws(Failure) -> Opened {
        let opened = try adding(why) { () throws(Failure) in try openFile(order) }
        opened.store.writeSeal()
        return opened
    }

    /// Adds to the result or the failure that the store was replaced before.
    private static func adding(
        _ replacement: String?, _ body: () throws(Failure) -> Opened
    ) throws(Failure) -> Opened {
        do throws(Failure) {
            var opened = try body()
            if let replacement { opened.damage.insert(replacement, at: 0) }
            return opened
        } catch {
            var failure = error
            failure.replacement = failure.replacement ?? replacement
            throw failure
        }
    }

    /// Reports committed data that isn't in the store.
    private static func noteLoss(
        _ found: StorePosition, _ sealed: StorePosition, in directory: String
    ) throws(Failure) -> String {
        let lost = sealed.newestPush - found.newestPush
        let what =
            lost > 0
            ? "its newest \(lost) pushes are lost, although they were answered 200"
            : "changes of calls or settings are lost"
        let name = "\(directory)/\(StoreFile.name)"
        let how = found.store == sealed.store ? "lacks what was committed" : "is not the store that was written to last"
        let why =
            "\(name) \(how): it or \(StoreFile.name)-wal was removed, cut or replaced by a former copy, or the disk lost "
            + "what it had confirmed; \(what)"
        _ = try mapping { () throws(FileSystemError) in
            try DamageFolder(stateDirectory: directory).add([], why: why)
        }
        return why
    }

    // MARK: - Opening

    private static func openFile(_ order: Order) throws(Failure) -> Opened {
        let file = try mapping { () throws(FileSystemError) in try StoreFile(inDirectory: order.directory) }
        let path = file.path
        let connection = try mapping(path) { () throws(SQLiteFailure) in try Connection(path: path, vfs: order.vfs) }
        do throws(Failure) {
            guard !connection.isReadOnly else { throw Failure(readOnly: path) }
            let version = try check(connection, path: path)
            try mapping(path) { () throws(SQLiteFailure) in
                try configure(connection, isNew: version == 0, limits: order.limits)
            }
            return try mapping(path) { () throws(SQLiteFailure) in
                try connection.rewriteLog()
                // Reading all takes long, and is needed only if somebody else may have written to it.
                if version > 0, order.sealed?.stamp != file.stamp { try StoreCheck.all(connection) }
                let logPages = try connection.checkpoint()
                if version < Schema.version {
                    try upgrade(connection, from: version)
                    try connection.checkpoint()
                }
                let found = try position(of: connection, logPages: logPages)
                let boot = try boot(named: order.clocks.bootID, on: connection)
                let store = try Store(
                    path: path, connection: connection, statements: StoreStatements(connection), clocks: order.clocks,
                    limits: order.limits, boot: boot, file: file, seal: order.seal)
                return Opened(store: store, contents: try StoreReader(store: store).contents(), found: found)
            }
        } catch {
            connection.leaveLogAtClose()
            throw error
        }
    }

    private static func position(
        of connection: Connection, logPages: Int64
    ) throws(SQLiteFailure) -> StorePosition {
        StorePosition(
            store: try connection.number("SELECT store FROM epoch"),
            epoch: try connection.successor("SELECT number FROM epoch") - 1, logPages: logPages,
            newestPush: try connection.successor("SELECT max(sequence) FROM push") - 1)
    }

    /// Takes the lock for the lifetime of the connection, and checks what the file is.
    /// - Returns: its version; 0 if it is empty.
    private static func check(_ connection: Connection, path: String) throws(Failure) -> Int64 {
        let (application, version, objects) = try mapping(path) { () throws(SQLiteFailure) in
            try connection.run("PRAGMA locking_mode = EXCLUSIVE")
            return (
                try connection.number("PRAGMA application_id"), try connection.number("PRAGMA user_version"),
                try connection.number("SELECT count(*) FROM sqlite_schema")
            )
        }
        if application == 0, version == 0, objects == 0 { return 0 }
        guard version <= Schema.version || application != Schema.applicationID else {
            throw Failure(StoreError.newer(path, version: version))
        }
        guard application == Schema.applicationID, version > 0 else {
            throw Failure(.damaged("it is a database of another program"), path: path)
        }
        return version
    }

    private static func configure(
        _ connection: Connection, isNew: Bool, limits: JournalLimits
    ) throws(SQLiteFailure) {
        // This must come before the file's first page. Free pages can then be released one by one.
        if isNew { try connection.run("PRAGMA auto_vacuum = INCREMENTAL") }
        let mode = try Statement("PRAGMA journal_mode = WAL", on: connection.database)
        guard try mode.next(), mode.text() == "wal" else {
            throw SQLiteFailure(
                extendedCode: SQLITE_ERROR, text: "its file system does not allow a write-ahead log", errno: 0)
        }
        mode.reset()
        for setting in [
            // A commit is durable when it returns. The answer 200 depends on this.
            "PRAGMA synchronous = FULL",
            "PRAGMA cache_size = -\(cacheKilobytes)",
            "PRAGMA mmap_size = 0",
            "PRAGMA temp_store = MEMORY",
            // The log's file keeps its length when the log starts again: writing to allocated blocks needs no change of
            // the file system's metadata.
            "PRAGMA journal_size_limit = \((limits.largeLogPages + limits.largeLogPages / 4) * 4_096)",
            "PRAGMA trusted_schema = OFF",
            "PRAGMA cell_size_check = ON",
            // Deleted payloads are overwritten if that needs no additional page.
            "PRAGMA secure_delete = FAST",
        ] {
            try connection.run(setting)
        }
    }

    /// Creates the tables that `version` lacks, and marks the file as a store of this program, all or nothing: after a
    /// failure, closing the connection rolls it back.
    private static func upgrade(_ connection: Connection, from version: Int64) throws(SQLiteFailure) {
        try connection.run("BEGIN IMMEDIATE")
        for step in SchemaSteps.all.dropFirst(Int(clamping: version)) {
            for statement in step.statements { try connection.run(statement) }
            try step.convert?(connection)
            for statement in step.after { try connection.run(statement) }
        }
        try connection.run("PRAGMA application_id = \(Schema.applicationID)")
        try connection.run("PRAGMA user_version = \(Schema.version)")
        try connection.run("COMMIT")
        // Pages of dropped tables would make each reuse of a page among them change another page.
        try connection.run("PRAGMA incremental_vacuum")
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

    private static func mapping<Value>(
        _ path: String, _ body: () throws(SQLiteFailure) -> Value
    ) throws(Failure) -> Value {
        do throws(SQLiteFailure) {
            return try body()
        } catch {
            throw Failure(error, path: path)
        }
    }

    private static func mapping<Value>(
        _ body: () throws(FileSystemError) -> Value
    ) throws(Failure) -> Value {
        do throws(FileSystemError) {
            return try body()
        } catch {
            throw Failure(error)
        }
    }
}
