internal import DataProtection
internal import Database
internal import RingwakeCore

/// Small rows of state, by path. Rows that were set aside have their own paths.
///
/// Each function is part of a transaction, or a read.
nonisolated struct StateTable {
    private let connection: Connection
    private let vault: RecordVault
    private let limits: JournalLimits
    private let sizeOfState: Statement
    private let writeState: Statement
    private let deleteState: Statement
    /// The number of rows and the bytes of their data, without rows that were set aside.
    private(set) var count = 0
    private var bytes = 0

    init(_ connection: Connection, _ vault: RecordVault, limits: JournalLimits) throws(SQLiteFailure) {
        self.connection = connection
        self.vault = vault
        self.limits = limits
        sizeOfState = try connection.keep("SELECT \(Self.size) FROM state WHERE path = ?1")
        writeState = try connection.keep(
            "INSERT INTO state (path, version, boot, written_boot, written_wall, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
                + "ON CONFLICT (path) DO UPDATE SET version = ?2, boot = ?3, written_boot = ?4, written_wall = ?5, "
                + "data = ?6")
        deleteState = try connection.keep("DELETE FROM state WHERE path = ?1")
        let select = try Statement(
            "SELECT count(*), ifnull(sum(\(Self.size)), 0) FROM state WHERE \(Self.isInUse)", on: connection.database)
        guard try select.next() else { return }
        (count, bytes) = (Int(clamping: select.integer()), Int(clamping: select.integer()))
        select.reset()
    }

    /// What counts of a row. Encryption adds a little, which isn't worth another count.
    static let size = "length(data) - \(RecordHeader.bytes)"

    private static let isInUse = "(path < '\(StatePath.aside)' OR path >= '\(StatePath.aboveAside)')"

    /// What a read of all rows has found.
    struct Rows {
        var rows: [StateRow] = []
        /// Rows that can't be read now.
        var locked: [String: ProtectionClass] = [:]
        /// Rows that can't be used, with the reason. No version writes such rows.
        var unfit: [String: String] = [:]
    }

    /// All rows, by path.
    func rows(_ times: BootTimes) throws(SQLiteFailure) -> Rows {
        let maximum = Int64(limits.maximumStateBytes + RecordVault.maximumOverhead)
        let select = try Statement(
            "SELECT path, length(data), version, boot, written_boot, written_wall, "
                + "CASE WHEN length(data) <= ?1 THEN data ELSE x'' END FROM state WHERE \(Self.isInUse) "
                + "ORDER BY path LIMIT ?2", on: connection.database)
        select.bind(maximum)
        select.bind(Int64(2 * limits.maximumStates))
        var found = Rows()
        var bytes = 0
        while try select.next() {
            let path = select.text()
            let size = select.integer()
            let version = Int(clamping: select.integer())
            let boot = select.integer()
            let arrival = times.arrival(
                boot: boot, receivedBoot: select.integer(), receivedWall: select.integer(), lastOffset: 0)
            if size > maximum {
                found.unfit[path] = "it has \(size) bytes; \(limits.maximumStateBytes) can be kept"
                continue
            }
            let record = select.bytes()
            guard found.rows.count + found.locked.count < limits.maximumStates,
                bytes + record.count <= limits.maximumStatesBytes + limits.maximumStates * RecordVault.maximumOverhead
            else {
                found.unfit[path] = "there is more state than can be kept"
                continue
            }
            bytes += record.count
            do throws(RecordFailure) {
                let data = try vault.open(record, StoreRecords.kind(ofState: path), place: path)
                guard data.count <= limits.maximumStateBytes else {
                    found.unfit[path] = "it has \(data.count) bytes; \(limits.maximumStateBytes) can be kept"
                    continue
                }
                let age = arrival.isKnown ? max(.zero, arrival.at.duration(to: times.now)) : nil
                found.rows.append(
                    StateRow(path: path, version: version, data: data, isOfThisBoot: boot == times.boot, age: age))
            } catch {
                switch error {
                case .locked(let protection): found.locked[path] = protection
                case .deleted(let protection):
                    found.unfit[path] = "the key of its protection class \(protection.rawValue) was deleted"
                case .damaged(let why): found.unfit[path] = why
                }
            }
        }
        return found
    }

    /// Writes or removes a row.
    /// - Returns: false if the store holds as much state as allowed; the row is then unchanged.
    mutating func keep(_ state: RevisedState, times: BootTimes) throws(SQLiteFailure) -> Bool {
        sizeOfState.bind(state.path)
        let known = try sizeOfState.number().map(Int.init(clamping:))
        guard let data = state.data else {
            guard known != nil else { return true }
            deleteState.bind(state.path)
            try deleteState.run()
            note(from: known, to: nil)
            return true
        }
        let rows = count + (known == nil ? 1 : 0)
        // A row may always shrink.
        guard
            known.map({ data.count <= $0 }) == true
                || (rows <= limits.maximumStates && bytes - (known ?? 0) + data.count <= limits.maximumStatesBytes)
        else { return false }
        let record = try vault.record(data, StoreRecords.kind(ofState: state.path), place: state.path)
        let statement = writeState
        statement.bind(state.path)
        statement.bind(Int64(state.version))
        statement.bind(times.boot)
        statement.bind(state.at.nanoseconds)
        statement.bind(times.wallClock(at: state.at))
        statement.bind(record)
        try statement.run()
        note(from: known, to: record.count - RecordHeader.bytes)
        return true
    }

    private mutating func note(from old: Int?, to new: Int?) {
        count += (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
        bytes += (new ?? 0) - (old ?? 0)
    }

    /// Moves a row of state to a path that is not read, or copies the snapshot of a call there. If there are too many
    /// such rows, removes the oldest.
    /// - Returns: false if there is no such row.
    mutating func setAside(_ path: String, reason: String, times: BootTimes) throws(SQLiteFailure) -> Bool {
        let plain = "x'\(encodeHex(RecordVault.plain([])))'"
        let source = StatePath.numberOfCall(path).map { number in
            "SELECT ?1, version, ?2, ?3, ?4, ?5, CAST(\(plain) || snapshot AS BLOB) FROM call WHERE number = \(number) "
                + "AND ?6 <> ''"
        }
        let copy = try Statement(
            "INSERT OR REPLACE INTO state (path, version, boot, written_boot, written_wall, reason, data) "
                + (source ?? "SELECT ?1, version, ?2, ?3, ?4, ?5, data FROM state WHERE path = ?6"),
            on: connection.database)
        copy.bind("\(StatePath.aside)\(times.wall)/\(path)")
        copy.bind(times.boot)
        copy.bind(times.now.nanoseconds)
        copy.bind(times.wall)
        copy.bind(reason)
        copy.bind(path)
        sizeOfState.bind(path)
        let size = try sizeOfState.number()
        try copy.run()
        guard connection.changes > 0 else { return false }
        if let size {
            deleteState.bind(path)
            try deleteState.run()
            note(from: Int(clamping: size), to: nil)
        }
        try removeAside("ORDER BY written_wall DESC, path DESC LIMIT -1 OFFSET \(limits.maximumAside)")
        return true
    }

    private func removeAside(_ selection: String) throws(SQLiteFailure) {
        try connection.run(
            "DELETE FROM state WHERE path IN (SELECT path FROM state WHERE NOT \(Self.isInUse) \(selection))")
    }

    /// Removes rows that were set aside within a time by the wall clock, in milliseconds since 1970.
    /// - Returns: the number of removed rows.
    func removeAside(_ time: ClosedRange<Int64>) throws(SQLiteFailure) -> Int {
        try removeAside("AND written_wall BETWEEN \(time.lowerBound) AND \(time.upperBound)")
        return connection.changes
    }
}
