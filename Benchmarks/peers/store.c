#define _GNU_SOURCE
#include "store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Sizes of Sources/PushJournal: pages of the log, and the header of a page in it (sqlite.org/fileformat2.html). */
enum { SMALL_LOG_PAGES = 256, LARGE_LOG_PAGES = 2048, LOG_PAGE_BYTES = 4096 + 24 };

static sqlite3 *database;
static sqlite3_stmt *begin, *commit, *insert_push, *insert_call;
static sqlite3_int64 sequence, boot;
static int log_pages;

static _Noreturn void fail_store(const char *what) {
    fprintf(stderr, "%s: %s\n", what, database ? sqlite3_errmsg(database) : "no memory");
    exit(1);
}

static void run(const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_store(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK)
        fail_store(sql);
    return statement;
}

static void step(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE)
        fail_store(sqlite3_sql(statement));
    sqlite3_reset(statement);
}

static sqlite3_int64 number(const char *sql) {
    sqlite3_stmt *statement = prepare(sql);
    if (sqlite3_step(statement) != SQLITE_ROW)
        fail_store(sql);
    sqlite3_int64 value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static int note_log_pages(void *unused, sqlite3 *connection, const char *name, int pages) {
    (void)unused, (void)connection, (void)name;
    log_pages = pages;
    return SQLITE_OK;
}

/* What every push has in common is in the statements, and is bound to nothing. */
#define APP "'com.example.phone'"
#define TOPIC "'com.example.phone.voip'"
#define TEAM "'DEVTEAM001'"
#define COMMON APP ", " TOPIC ", 'development', " TEAM

void store_open(const char *path) {
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        fail_store(path);
    run("PRAGMA locking_mode = EXCLUSIVE");
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("PRAGMA cache_size = -512");
    run("PRAGMA mmap_size = 0");
    run("PRAGMA temp_store = MEMORY");
    run("PRAGMA journal_size_limit = 4194304");
    run("PRAGMA trusted_schema = OFF");
    run("PRAGMA cell_size_check = ON");
    run("PRAGMA secure_delete = FAST");
    /* Takes the place of SQLite's own checkpoints, which would be made within a commit. */
    sqlite3_wal_hook(database, note_log_pages, NULL);
    begin = prepare("BEGIN IMMEDIATE");
    commit = prepare("COMMIT");
    insert_push = prepare(
        "INSERT INTO push (sequence, push_id, app, topic, door, sender, priority, collapse_id, call_id, outcome, "
        "boot, received_boot, received_wall, journaled) VALUES (?1, ?2, " COMMON
        ", 10, NULL, ?2, 'expired', ?3, ?4, ?5, NULL) "
        "ON CONFLICT (lower(push_id), app, door, sender) DO NOTHING");
    insert_call = prepare(
        "INSERT INTO call (number, id, app, sender, boot, received_boot, received_wall, state, is_missed, version, "
        "snapshot) VALUES (?1, ?2, " APP ", " TEAM ", ?3, ?4, ?5, 'ended', 1, 1, "
        "'{\"attempt\":1,\"detail\":\"its push came after its expiration\",\"environment\":\"development\","
        "\"one_attempt\":false,\"push\":\"' || ?2 || '\",\"reason\":\"expired\",\"ring_before\":-1000000000,"
        "\"ring_time\":45000000000,\"times\":{\"ended\":20000,\"verified\":20000},\"topic\":\"' || " TOPIC " || '\"}') "
        "ON CONFLICT DO NOTHING");
    sequence = number("SELECT max(sequence) FROM push");
    boot = number("SELECT max(id) FROM boot");
}

static void insert(sqlite3_stmt *statement, const struct stored_push *push) {
    sqlite3_bind_int64(statement, 1, sequence);
    sqlite3_bind_text(statement, 2, push->apns_id, 36, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, boot);
    sqlite3_bind_int64(statement, 4, push->received_boot);
    sqlite3_bind_int64(statement, 5, push->received_wall);
    step(statement);
}

void store_commit(const struct stored_push *pushes, size_t count) {
    step(begin);
    for (size_t i = 0; i < count; i++) {
        sequence += 1;
        insert(insert_push, &pushes[i]);
        insert(insert_call, &pushes[i]);
    }
    step(commit);
}

void store_checkpoint(int is_idle) {
    if (log_pages < (is_idle ? SMALL_LOG_PAGES : LARGE_LOG_PAGES))
        return;
    if (sqlite3_wal_checkpoint_v2(database, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) != SQLITE_OK)
        fail_store("checkpoint");
    log_pages = 0;
}

int64_t store_log_bytes(void) {
    int pages = 0, highest;
    if (sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, 0) != SQLITE_OK)
        fail_store("SQLITE_DBSTATUS_CACHE_WRITE");
    return (int64_t)pages * LOG_PAGE_BYTES;
}

struct stored_push store_push(const char apns_id[37]) {
    struct stored_push push;
    struct timespec boot_time, wall;
    clock_gettime(CLOCK_BOOTTIME, &boot_time);
    clock_gettime(CLOCK_REALTIME, &wall);
    memcpy(push.apns_id, apns_id, sizeof push.apns_id);
    push.received_boot = (int64_t)boot_time.tv_sec * 1000000000 + boot_time.tv_nsec;
    push.received_wall = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
    return push;
}
