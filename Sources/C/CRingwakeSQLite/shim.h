// SQLite as Swift sees it: its header, and what of it Swift cannot call.
#ifndef RINGWAKE_SQLITE_SHIM_H
#define RINGWAKE_SQLITE_SHIM_H

#include <sqlite3.h>
#include <stdint.h>

// sqlite3_db_config is variadic. A connection that was refused must leave the file as it found it: closing it must
// not move the write-ahead log into it.
static inline int ringwake_sqlite_keep_log_at_close(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// SQLITE_TRANSIENT, which lets SQLite copy the bytes, is a cast in a macro. An empty buffer may be a null pointer in
// Swift, which SQLite would take for NULL.
static inline int ringwake_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, uint64_t length) {
    return sqlite3_bind_text64(statement, index, text ? text : "", length, SQLITE_TRANSIENT, SQLITE_UTF8);
}
static inline int ringwake_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, uint64_t length) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", length, SQLITE_TRANSIENT);
}

// The result codes with more detail are macros that compute, which Swift does not import.
static const int RINGWAKE_SQLITE_IOERR_FSYNC = SQLITE_IOERR_FSYNC;
static const int RINGWAKE_SQLITE_IOERR_DIR_FSYNC = SQLITE_IOERR_DIR_FSYNC;
static const int RINGWAKE_SQLITE_IOERR_READ = SQLITE_IOERR_READ;
static const int RINGWAKE_SQLITE_IOERR_SHORT_READ = SQLITE_IOERR_SHORT_READ;

#endif
