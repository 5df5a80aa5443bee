internal import Database
internal import RingwakeCore

/// The tables of a gateway: linked devices, and the pushes that wait for them. Belongs to the journal's thread.
nonisolated struct LinkTables {
    private let connection: Connection
    private let insertMail: Statement
    private let deleteMail: Statement
    private let putDevice: Statement
    private let deleteDevice: Statement
    private let boot: Int64

    /// The pushes that a start returns at most; more can't be there.
    private static let maximumMail: Int64 = 1_000_000

    init(_ connection: Connection, boot: Int64) throws(SQLiteFailure) {
        self.connection = connection
        self.boot = boot
        insertMail = try connection.keep(
            "INSERT INTO mail (run, sequence, device, boot, received_boot, received_wall, version, facts, payload) "
                + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING")
        deleteMail = try connection.keep("DELETE FROM mail WHERE run = ?1 AND sequence = ?2")
        putDevice = try connection.keep(
            "INSERT INTO device (id, version, data) VALUES (?1, ?2, ?3) "
                + "ON CONFLICT (id) DO UPDATE SET version = ?2, data = ?3")
        deleteDevice = try connection.keep("DELETE FROM device WHERE id = ?1")
    }

    /// Part of a transaction.
    func perform(_ work: LinkWork) throws(SQLiteFailure) {
        switch work {
        case .append(let row, let replaced):
            for key in replaced { try remove(key) }
            bind(row.key, to: insertMail)
            insertMail.bind(row.device)
            insertMail.bind(boot)
            insertMail.bind(row.receivedAt.nanoseconds)
            insertMail.bind(row.receivedWall)
            insertMail.bind(Int64(row.version))
            insertMail.bind(row.facts)
            insertMail.bind(row.payload)
            try insertMail.run()
        case .remove(let keys):
            for key in keys { try remove(key) }
        case .put(let device):
            putDevice.bind(device.id)
            putDevice.bind(Int64(device.version))
            putDevice.bind(device.data)
            try putDevice.run()
        case .removeDevice(let id):
            deleteDevice.bind(id)
            try deleteDevice.run()
            try connection.run("DELETE FROM mail WHERE device = ?1", id)
        }
    }

    private func remove(_ key: MailRowKey) throws(SQLiteFailure) {
        bind(key, to: deleteMail)
        try deleteMail.run()
    }

    /// SQLite's numbers are signed.
    private func bind(_ key: MailRowKey, to statement: Statement) {
        statement.bind(Int64(bitPattern: key.run))
        statement.bind(Int64(bitPattern: key.sequence))
    }

    private func key(in statement: Statement) -> MailRowKey {
        MailRowKey(
            run: UInt64(bitPattern: statement.integer()), sequence: UInt64(bitPattern: statement.integer()))
    }

    /// All devices.
    func devices() throws(SQLiteFailure) -> [DeviceRow] {
        let select = try Statement("SELECT id, version, data FROM device ORDER BY id", on: connection.database)
        var rows: [DeviceRow] = []
        while try select.next() {
            rows.append(
                DeviceRow(id: select.text(), version: Int(clamping: select.integer()), data: select.bytes()))
        }
        return rows
    }

    /// All waiting pushes without their payloads, in the order in which they were written.
    func mail(_ times: BootTimes) throws(SQLiteFailure) -> [StoredMail] {
        let select = try Statement(
            "SELECT run, sequence, device, boot, received_boot, received_wall, version, facts, length(payload) FROM mail "
                + "ORDER BY number LIMIT \(Self.maximumMail)",
            on: connection.database)
        var rows: [StoredMail] = []
        while try select.next() {
            let (key, device) = (key(in: select), select.text())
            let (boot, receivedBoot, wall) = (select.integer(), select.integer(), select.integer())
            let arrival = times.arrival(boot: boot, receivedBoot: receivedBoot, receivedWall: wall, lastOffset: 0)
            rows.append(
                StoredMail(
                    key: key, device: device, receivedAt: arrival.at, receivedWall: wall,
                    version: Int(clamping: select.integer()), facts: select.bytes(),
                    payloadBytes: Int(clamping: select.integer())))
        }
        return rows
    }

    /// The payloads of waiting pushes; those that are gone are left out.
    func payloads(_ keys: [MailRowKey]) throws(SQLiteFailure) -> MailPayloads {
        let select = try Statement(
            "SELECT facts, payload FROM mail WHERE run = ?1 AND sequence = ?2", on: connection.database)
        var found: MailPayloads = [:]
        for key in keys {
            bind(key, to: select)
            if try select.next() { found[key] = (select.bytes(), select.bytes()) }
            select.reset()
        }
        return found
    }
}
