import CRingwakeSQLite

/// A store that is looked at, and spoiled, from outside.
final class StoreProbe {
    struct Failure: Error {
        let text: String
    }

    private var database: OpaquePointer?

    init(_ path: String) throws(Failure) {
        guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil) == SQLITE_OK else {
            throw Failure(text: String(cString: sqlite3_errmsg(database)))
        }
    }

    isolated deinit {
        sqlite3_close(database)
    }

    func run(_ sql: String) throws(Failure) {
        guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
            throw Failure(text: String(cString: sqlite3_errmsg(database)))
        }
    }

    private func value<Value>(_ sql: String, _ read: (OpaquePointer?) -> Value) throws(Failure) -> Value {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { throw Failure(text: String(cString: sqlite3_errmsg(database))) }
        return read(statement)
    }

    func number(_ sql: String) throws(Failure) -> Int64 {
        try value(sql) { sqlite3_column_int64($0, 0) }
    }

    func text(_ sql: String) throws(Failure) -> String {
        try value(sql) { String(cString: sqlite3_column_text($0, 0)) }
    }
}
