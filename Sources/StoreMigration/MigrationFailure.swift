package import Database

/// Why a store could not be migrated. It is unchanged then.
package enum MigrationFailure: Error, Equatable {
    /// A call of SQLite failed; the disk may be full.
    case database(SQLiteFailure)
    /// What was made does not fit what was there, or breaks a constraint of the new version: what, for a person.
    case wrongData(String)
    /// The version is older than the oldest one that this program reads.
    case tooOld(version: Int64, oldest: Int64)
    /// The version is newer than this program's.
    case tooNew(version: Int64, current: Int64)
}

/// Runs `body`, whose failures are those of the database.
func withDatabase<Value>(_ body: () throws(SQLiteFailure) -> Value) throws(MigrationFailure) -> Value {
    do throws(SQLiteFailure) {
        return try body()
    } catch {
        throw .database(error)
    }
}
