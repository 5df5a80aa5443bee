internal import CRingwakeSQLite
internal import Glibc

/// One prepared statement. Parameters are bound and columns are read in order, from the first on.
///
///     insert.bind("a"); insert.bind(Int64(1))
///     try insert.run()
package final class Statement {
    private let statement: OpaquePointer
    private let database: OpaquePointer
    private var nextParameter: Int32 = 1
    private var nextColumn: Int32 = 0
    /// The first failure to bind. The next step throws it.
    private var bindFailure: Int32 = SQLITE_OK

    /// - Parameter isKept: whether it is used often. SQLite then keeps it out of its short-term memory.
    /// - Throws: if the statement is wrong, the store is damaged, or a lock is held.
    package init(_ sql: String, on database: OpaquePointer, isKept: Bool = false) throws(SQLiteFailure) {
        var prepared: OpaquePointer?
        let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let code = sqlite3_prepare_v3(database, sql, -1, flags, &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw SQLiteFailure(code, database) }
        statement = prepared
        self.database = database
    }

    deinit {
        sqlite3_finalize(statement)
    }

    // MARK: - Binding

    package func bind(_ number: Int64) {
        note(sqlite3_bind_int64(statement, nextParameter, number))
    }

    package func bind(_ number: Int64?) {
        guard let number else { return note(sqlite3_bind_null(statement, nextParameter)) }
        bind(number)
    }

    /// Binds the text with its length: it may contain NUL.
    package func bind(_ text: String) {
        var text = text
        let code = text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { characters in
                ringwake_sqlite_bind_text(statement, nextParameter, characters.baseAddress, UInt64(characters.count))
            }
        }
        note(code)
    }

    package func bind(_ text: String?) {
        guard let text else { return note(sqlite3_bind_null(statement, nextParameter)) }
        bind(text)
    }

    /// Binds the values to the next parameters.
    package func bind(_ values: [any SQLiteValue]) {
        for value in values { value.bind(to: self) }
    }

    package func bind(_ bytes: [UInt8]) {
        let code = bytes.withUnsafeBytes {
            ringwake_sqlite_bind_blob(statement, nextParameter, $0.baseAddress, UInt64($0.count))
        }
        note(code)
    }

    /// Binds all columns of the present row of another statement, as they are.
    package func bind(rowOf other: Statement) {
        for column in 0..<Int32(other.columnCount) {
            note(sqlite3_bind_value(statement, nextParameter, sqlite3_column_value(other.statement, column)))
        }
    }

    /// The number of columns that it selects.
    package var columnCount: Int { Int(sqlite3_column_count(statement)) }

    private func note(_ code: Int32) {
        if code != SQLITE_OK, bindFailure == SQLITE_OK { bindFailure = code }
        nextParameter += 1
    }

    // MARK: - Running

    /// Steps to the next row.
    /// - Returns: false if there is none; the statement may then be bound and run again.
    /// - Throws: the error of SQLite. The statement may then be bound and run again.
    package func next() throws(SQLiteFailure) -> Bool {
        nextColumn = 0
        guard bindFailure == SQLITE_OK else {
            let failure = SQLiteFailure(bindFailure, database)
            reset()
            throw failure
        }
        // After a failure, `errno` is then from this step.
        errno = 0
        let code = sqlite3_step(statement)
        if code == SQLITE_ROW { return true }
        let failure = code == SQLITE_DONE ? nil : SQLiteFailure(code, database)
        reset()
        if let failure { throw failure }
        return false
    }

    /// Runs the statement to its end, with these values if any are given. Skips its rows.
    package func run(_ values: any SQLiteValue...) throws(SQLiteFailure) {
        bind(values)
        while try next() {}
    }

    /// Runs the statement, and returns the number in its first row; nil if there is no row, or if it is NULL.
    package func number() throws(SQLiteFailure) -> Int64? {
        guard try next() else { return nil }
        let number = optionalInteger()
        reset()
        return number
    }

    /// Drops unread rows and the bound values.
    package func reset() {
        // Both return the error of the last step, which has been thrown.
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
        nextParameter = 1
        nextColumn = 0
        bindFailure = SQLITE_OK
    }

    // MARK: - Reading

    package func integer() -> Int64 {
        defer { nextColumn += 1 }
        return sqlite3_column_int64(statement, nextColumn)
    }

    package func optionalInteger() -> Int64? {
        guard sqlite3_column_type(statement, nextColumn) != SQLITE_NULL else {
            nextColumn += 1
            return nil
        }
        return integer()
    }

    /// The complete text; it may contain NUL.
    package func text() -> String {
        defer { nextColumn += 1 }
        guard let bytes = sqlite3_column_text(statement, nextColumn) else { return "" }
        let count = Int(sqlite3_column_bytes(statement, nextColumn))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    package func optionalText() -> String? {
        guard sqlite3_column_type(statement, nextColumn) != SQLITE_NULL else {
            nextColumn += 1
            return nil
        }
        return text()
    }

    /// The next column, whatever its type. A number with a fraction is read as a text: stores have none.
    package func value() -> StoreValue {
        switch sqlite3_column_type(statement, nextColumn) {
        case SQLITE_INTEGER: return .integer(integer())
        case SQLITE_BLOB: return .blob(bytes())
        case SQLITE_NULL:
            nextColumn += 1
            return .null
        default: return .text(text())
        }
    }

    package func optionalBytes() -> [UInt8]? {
        guard sqlite3_column_type(statement, nextColumn) != SQLITE_NULL else {
            nextColumn += 1
            return nil
        }
        return bytes()
    }

    package func bytes() -> [UInt8] {
        defer { nextColumn += 1 }
        guard let bytes = sqlite3_column_blob(statement, nextColumn) else { return [] }
        let count = Int(sqlite3_column_bytes(statement, nextColumn))
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
    }
}

/// A value for a parameter of a statement.
package protocol SQLiteValue {
    func bind(to statement: Statement)
}

extension Int64: SQLiteValue {
    package func bind(to statement: Statement) { statement.bind(self) }
}

extension Int: SQLiteValue {
    package func bind(to statement: Statement) { statement.bind(Int64(self)) }
}

extension String: SQLiteValue {
    package func bind(to statement: Statement) { statement.bind(self) }
}

extension [UInt8]: SQLiteValue {
    package func bind(to statement: Statement) { statement.bind(self) }
}

extension Optional: SQLiteValue where Wrapped: SQLiteValue {
    package func bind(to statement: Statement) {
        if let self { self.bind(to: statement) } else { statement.bind(Int64?.none) }
    }
}
