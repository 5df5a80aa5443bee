internal import Database

/// The frequent statements, prepared once.
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
    let setEpoch: Statement

    init(_ connection: Connection) throws(SQLiteFailure) {
        begin = try connection.keep("BEGIN IMMEDIATE")
        commit = try connection.keep("COMMIT")
        rollback = try connection.keep("ROLLBACK")
        insertPush = try connection.keep(Schema.insertPush)
        insertCall = try connection.keep(Schema.insertCall)
        upsertCall = try connection.keep(Schema.upsertCall)
        updateCall = try connection.keep(Schema.updateCall)
        callOfPush = try connection.keep(
            "SELECT call_id FROM push WHERE lower(push_id) = lower(?1) AND app = ?2 AND door = ?3 AND sender = ?4")
        numberOfCall = try connection.keep("SELECT number FROM call WHERE id = ?1 AND app = ?2 AND sender = ?3")
        insertPayload = try connection.keep(Schema.insertPayload)
        setEpoch = try connection.keep("UPDATE epoch SET number = ?1")
        deletePayloads = try connection.keep("DELETE FROM payload WHERE call = ?1 AND push >= ?2 AND push < ?3")
    }
}
