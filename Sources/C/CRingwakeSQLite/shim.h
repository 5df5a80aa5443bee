// SQLite for Swift: its header, and wrappers for what Swift can't call.
#ifndef RINGWAKE_SQLITE_SHIM_H
#define RINGWAKE_SQLITE_SHIM_H

#include <sqlite3.h>
#include <stdint.h>

// Keeps the write-ahead log when the connection is closed: if opening was refused, the file must not change.
// sqlite3_db_config is variadic.
static inline int ringwake_sqlite_keep_log_at_close(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// SQLITE_TRANSIENT makes SQLite copy the bytes; it is a cast in a macro. For an empty buffer Swift may pass a null
// pointer, which SQLite would treat as NULL.
static inline int ringwake_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, uint64_t length) {
    return sqlite3_bind_text64(statement, index, text ? text : "", length, SQLITE_TRANSIENT, SQLITE_UTF8);
}
static inline int ringwake_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, uint64_t length) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", length, SQLITE_TRANSIENT);
}

// The extended result codes are computed macros, which Swift doesn't import.
static const int RINGWAKE_SQLITE_IOERR_FSYNC = SQLITE_IOERR_FSYNC;
static const int RINGWAKE_SQLITE_IOERR_DIR_FSYNC = SQLITE_IOERR_DIR_FSYNC;
static const int RINGWAKE_SQLITE_IOERR_READ = SQLITE_IOERR_READ;
static const int RINGWAKE_SQLITE_IOERR_SHORT_READ = SQLITE_IOERR_SHORT_READ;

#endif
