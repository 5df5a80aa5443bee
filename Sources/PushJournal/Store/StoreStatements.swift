/// The statements that are run all the time, prepared once.
nonisolated struct StoreStatements {
    let begin: Statement
    let commit: Statement
    let rollback: Statement
    let insertPush: Statement
    let insertCall: Statement
    let upsertCall: Statement
    let updateCall: Statement
    let numberOfCall: Statement
    let callOfPush: Statement
    let insertPayload: Statement
    let deletePayloads: Statement
    let sizeOfState: Statement
    let writeState: Statement
    let deleteState: Statement

    init(_ connection: Connection) throws(SQLiteFailure) {
        begin = try connection.keep("BEGIN IMMEDIATE")
        commit = try connection.keep("COMMIT")
        rollback = try connection.keep("ROLLBACK")
        insertPush = try connection.keep(Schema.insertPush)
        insertCall = try connection.keep(Schema.insertCall)
        upsertCall = try connection.keep(Schema.upsertCall)
        updateCall = try connection.keep(Schema.updateCall)
        callOfPush = try connection.keep(
            "SELECT call_id FROM push WHERE lower(apns_id) = lower(?1) AND app = ?2 AND environment = ?3 AND team = ?4")
        numberOfCall = try connection.keep("SELECT number FROM call WHERE id = ?1 AND app = ?2 AND team = ?3")
        insertPayload = try connection.keep(Schema.insertPayload)
        deletePayloads = try connection.keep("DELETE FROM payload WHERE call = ?1 AND push >= ?2 AND push < ?3")
        sizeOfState = try connection.keep("SELECT length(data) FROM state WHERE path = ?1")
        writeState = try connection.keep(
            "INSERT INTO state (path, version, boot, written_boot, written_wall, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
                + "ON CONFLICT (path) DO UPDATE SET version = ?2, boot = ?3, written_boot = ?4, written_wall = ?5, "
                + "data = ?6")
        deleteState = try connection.keep("DELETE FROM state WHERE path = ?1")
    }
}
