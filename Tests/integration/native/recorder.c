// Records what a program does to its SQLite store, and what leaves it on TLS connections and on unix sockets, in one
// total order. Load it with LD_PRELOAD; Tests/integration/support/recording.py reads the record.
//
// Each call that changes something has two entries: one before it begins, with all that it may bring about, and one
// after it returned. So "the answer left after the sync returned" is a comparison of two places in one file.
//
// Environment, besides that of watched_files.h:
//   RECORDER_LOG          the record; must not exist
//   RECORDER_SYNCHRONOUS  "OFF" or "NORMAL": what the program's `PRAGMA synchronous=FULL` is turned into

#define _GNU_SOURCE
#include "watched_files.h"

#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>

// The kinds of entries; recording.py has the same numbers.
enum kind {
    OPENED = 1,  // subject: this opening; first: flags; second: 1 if the file was there before; bytes: its name
    WRITE,       // subject: the opening; first: offset; bytes: what is written
    TRUNCATE,    // subject: the opening; first: the new length
    SYNC,        // subject: the opening
    UNLINK,      // bytes: the name
    RENAME,      // bytes: the old name, NUL, the new name; a name outside of the folder is empty
    RETURNED,    // subject: number of the entry that began; first: its result, or -errno
    TLS,         // subject: the connection; bytes: plaintext that the program wants to send
    TLS_ENDED,   // subject: the connection
    CONTROL,     // subject: the connection; bytes: what the program wants to send
    MAPPED,      // subject: the opening; the program may write to it without a call
    WEAKENED,    // bytes: SQL that was changed before SQLite saw it
};

// Stands before the bytes of each entry. Its number is its place, from 0.
struct entry {
    uint32_t kind;
    uint32_t length;
    uint64_t subject;
    int64_t first;
    int64_t second;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int record = -1;
static uint64_t entries;
static _Atomic uint64_t openings, connections;
// Of each descriptor: the opening of a store's file, or the connection that accept(2) made; 0 for neither.
static _Atomic uint64_t opening_of[DESCRIPTORS], connection_of[DESCRIPTORS];

__attribute__((constructor)) static void begin_recording(void) {
    if (!begin_watching()) return;
    const char *path = getenv("RECORDER_LOG");
    if (!path) give_up("RECORDER_LOG is not set");
    // Raw system calls, here and below: the functions of these names are our own.
    record = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    // Out of the way: tests compare which descriptors a daemon has.
    int high = record < 0 ? -1 : (int)syscall(SYS_fcntl, record, F_DUPFD_CLOEXEC, 900);
    if (high < 0) give_up(path);
    syscall(SYS_close, record);
    record = high;
}

// Writes one entry and answers its number. Keeps errno.
static uint64_t note(enum kind kind, uint64_t subject, int64_t first, int64_t second, const struct iovec *parts,
                     int count) {
    int saved = errno;
    struct iovec all[1 + 64];
    struct entry entry = {.kind = kind, .subject = subject, .first = first, .second = second};
    if (count > 64) give_up("more than 64 parts in one call");
    for (int index = 0; index < count; index++) {
        all[1 + index] = parts[index];
        entry.length += (uint32_t)parts[index].iov_len;
    }
    all[0] = (struct iovec){&entry, sizeof entry};
    ssize_t size = (ssize_t)(sizeof entry + entry.length);
    pthread_mutex_lock(&lock);
    uint64_t number = entries++;
    if (syscall(SYS_writev, record, all, 1 + count) != size) give_up("cannot write the record");
    pthread_mutex_unlock(&lock);
    errno = saved;
    return number;
}

static uint64_t note_bytes(enum kind kind, uint64_t subject, int64_t first, const void *bytes, size_t length) {
    struct iovec part = {(void *)bytes, length};
    return note(kind, subject, first, 0, &part, 1);
}

static void note_return(uint64_t begun, int64_t result) {
    note(RETURNED, begun, result < 0 ? -errno : result, 0, NULL, 0);
}

static uint64_t look_up(_Atomic uint64_t *table, int descriptor) {
    return is_watching && descriptor >= 0 && descriptor < DESCRIPTORS ? table[descriptor] : 0;
}

// Opening and closing

static int opened(int descriptor, int flags, bool was_there) {
    char path[PATH_MAX];
    int saved = errno;
    const char *name = descriptor >= 0 && descriptor < DESCRIPTORS ? watched_name(descriptor, path) : NULL;
    if (name) {
        uint64_t opening = ++openings;
        opening_of[descriptor] = opening;
        struct iovec part = {(void *)name, strlen(name)};
        note(OPENED, opening, flags, was_there, &part, 1);
    }
    errno = saved;
    return descriptor;
}

#define STAND_IN_FOR_OPEN(function, folder, parameters, arguments)                          \
    int function parameters {                                                               \
        va_list rest;                                                                       \
        va_start(rest, flags);                                                              \
        mode_t mode = flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                                       \
        bool was_there = is_watching && syscall(SYS_faccessat, folder, path, F_OK) == 0;    \
        int descriptor = REAL(function) arguments;                                          \
        return is_watching ? opened(descriptor, flags, was_there) : descriptor;             \
    }

STAND_IN_FOR_OPEN(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
STAND_IN_FOR_OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
STAND_IN_FOR_OPEN(openat, folder, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
STAND_IN_FOR_OPEN(openat64, folder, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

int close(int descriptor) {
    if (is_watching && descriptor >= 0 && descriptor < DESCRIPTORS) {
        opening_of[descriptor] = 0;
        connection_of[descriptor] = 0;
    }
    return REAL(close)(descriptor);
}

// Writing, and making it last

#define RECORDED(result_type, begun, call)   \
    do {                                     \
        uint64_t number_ = (begun);          \
        result_type result_ = (call);        \
        note_return(number_, (int64_t)result_); \
        return result_;                      \
    } while (0)

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    uint64_t opening = look_up(opening_of, descriptor);
    if (!opening) return REAL(pwrite)(descriptor, bytes, count, offset);
    RECORDED(ssize_t, note_bytes(WRITE, opening, offset, bytes, count),
             REAL(pwrite)(descriptor, bytes, count, offset));
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    uint64_t opening = look_up(opening_of, descriptor), connection = look_up(connection_of, descriptor);
    if (opening) {
        RECORDED(ssize_t, note(WRITE, opening, lseek(descriptor, 0, SEEK_CUR), 0, parts, count),
                 REAL(writev)(descriptor, parts, count));
    }
    if (!connection) return REAL(writev)(descriptor, parts, count);
    RECORDED(ssize_t, note(CONTROL, connection, 0, 0, parts, count), REAL(writev)(descriptor, parts, count));
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    uint64_t opening = look_up(opening_of, descriptor), connection = look_up(connection_of, descriptor);
    if (opening) {
        RECORDED(ssize_t, note_bytes(WRITE, opening, lseek(descriptor, 0, SEEK_CUR), bytes, count),
                 REAL(write)(descriptor, bytes, count));
    }
    if (!connection) return REAL(write)(descriptor, bytes, count);
    RECORDED(ssize_t, note_bytes(CONTROL, connection, 0, bytes, count), REAL(write)(descriptor, bytes, count));
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    uint64_t opening = look_up(opening_of, descriptor);
    if (!opening) return REAL(pwritev)(descriptor, parts, count, offset);
    RECORDED(ssize_t, note(WRITE, opening, offset, 0, parts, count), REAL(pwritev)(descriptor, parts, count, offset));
}

int ftruncate(int descriptor, off_t length) {
    uint64_t opening = look_up(opening_of, descriptor);
    if (!opening) return REAL(ftruncate)(descriptor, length);
    RECORDED(int, note(TRUNCATE, opening, length, 0, NULL, 0), REAL(ftruncate)(descriptor, length));
}

int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

int fsync(int descriptor) {
    uint64_t opening = look_up(opening_of, descriptor);
    if (!opening) return REAL(fsync)(descriptor);
    RECORDED(int, note(SYNC, opening, 0, 0, NULL, 0), REAL(fsync)(descriptor));
}

int fdatasync(int descriptor) {
    uint64_t opening = look_up(opening_of, descriptor);
    if (!opening) return REAL(fdatasync)(descriptor);
    RECORDED(int, note(SYNC, opening, 0, 0, NULL, 0), REAL(fdatasync)(descriptor));
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
    uint64_t opening = look_up(opening_of, descriptor);
    if (opening && (protection & PROT_WRITE) && (flags & MAP_SHARED)) note(MAPPED, opening, 0, 0, NULL, 0);
    return (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
    return mmap(address, length, protection, flags, descriptor, offset);
}

// Names

// The name within the store's folder; empty for a path that leads elsewhere.
static const char *name_within(const char *path) {
    size_t length = strlen(watched_folder);
    bool is_within = strncmp(path, watched_folder, length) == 0 && path[length] == '/';
    return is_within && strncmp(path, watched_store, strlen(watched_store)) == 0 ? path + length + 1 : "";
}

int unlink(const char *path) {
    const char *name = is_watching ? name_within(path) : "";
    if (!*name) return REAL(unlink)(path);
    RECORDED(int, note_bytes(UNLINK, 0, 0, name, strlen(name)), REAL(unlink)(path));
}

int rename(const char *from, const char *to) {
    const char *old = is_watching ? name_within(from) : "", *new = is_watching ? name_within(to) : "";
    if (!*old && !*new) return REAL(rename)(from, to);
    struct iovec parts[] = {{(void *)old, strlen(old) + 1}, {(void *)new, strlen(new)}};
    RECORDED(int, note(RENAME, 0, 0, 0, parts, 2), REAL(rename)(from, to));
}

// What leaves on the control socket

static int accepted(int descriptor) {
    int saved = errno, domain = 0;
    socklen_t size = sizeof domain;
    if (is_watching && descriptor >= 0 && descriptor < DESCRIPTORS &&
        getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX) {
        connection_of[descriptor] = ++connections;
    }
    errno = saved;
    return descriptor;
}

int accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accepted(REAL(accept)(listener, address, length));
}

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
    return accepted(REAL(accept4)(listener, address, length, flags));
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
    uint64_t connection = look_up(connection_of, descriptor);
    if (!connection) return REAL(send)(descriptor, bytes, count, flags);
    RECORDED(ssize_t, note_bytes(CONTROL, connection, 0, bytes, count), REAL(send)(descriptor, bytes, count, flags));
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    uint64_t connection = look_up(connection_of, descriptor);
    if (!connection) return REAL(sendmsg)(descriptor, message, flags);
    RECORDED(ssize_t, note(CONTROL, connection, 0, 0, message->msg_iov, (int)message->msg_iovlen),
             REAL(sendmsg)(descriptor, message, flags));
}

// What leaves on TLS connections; OpenSSL's types are not needed, so neither are its headers

// A connection's address may be used again, so the record says when it ends.
int SSL_write_ex(void *ssl, const void *bytes, size_t count, size_t *written);
int SSL_write_ex(void *ssl, const void *bytes, size_t count, size_t *written) {
    if (!is_watching) return REAL(SSL_write_ex)(ssl, bytes, count, written);
    uint64_t begun = note_bytes(TLS, (uintptr_t)ssl, 0, bytes, count);
    int result = REAL(SSL_write_ex)(ssl, bytes, count, written);
    note_return(begun, result == 1 ? (int64_t)*written : 0);
    return result;
}

int SSL_write(void *ssl, const void *bytes, int count);
int SSL_write(void *ssl, const void *bytes, int count) {
    if (!is_watching) return REAL(SSL_write)(ssl, bytes, count);
    uint64_t begun = note_bytes(TLS, (uintptr_t)ssl, 0, bytes, (size_t)count);
    int result = REAL(SSL_write)(ssl, bytes, count);
    note_return(begun, result > 0 ? result : 0);
    return result;
}

void SSL_free(void *ssl);
void SSL_free(void *ssl) {
    if (is_watching && ssl) note(TLS_ENDED, (uintptr_t)ssl, 0, 0, NULL, 0);
    REAL(SSL_free)(ssl);
}

// A store that does not wait for the disk, to see that the tests notice

// The statement as SQLite is to see it: in `changed`, when it asks for what RECORDER_SYNCHRONOUS replaces.
static const char *weakened(const char *sql, size_t length, char changed[static 4096]) {
    const char *mode = is_watching ? getenv("RECORDER_SYNCHRONOUS") : NULL;
    if (!mode || !sql || length >= 4096) return sql;
    memcpy(changed, sql, length);
    changed[length] = 0;
    bool found = false;
    for (char *place = changed; (place = strcasestr(place, "synchronous")); place += strlen("synchronous")) {
        char *value = place + strlen("synchronous");
        value += strspn(value, " =(");
        if (strncasecmp(value, "FULL", 4) != 0) continue;
        // As long as what it replaces: lengths that the caller knows stay right. An integer, for the short one.
        memcpy(value, strcasecmp(mode, "OFF") == 0 ? "0   " : "1   ", 4);
        found = true;
    }
    if (found) note_bytes(WEAKENED, 0, 0, changed, length);
    return found ? changed : sql;
}

int sqlite3_exec(void *database, const char *sql, void *callback, void *context, char **message);
int sqlite3_exec(void *database, const char *sql, void *callback, void *context, char **message) {
    char changed[4096];
    return REAL(sqlite3_exec)(database, sql ? weakened(sql, strlen(sql), changed) : sql, callback, context, message);
}

// Compiles the statement as SQLite is to see it, and tells the caller of the rest in its own text.
static int prepared(void *database, const char *sql, int count, unsigned flags, void **statement, const char **tail) {
    int (*real)(void *, const char *, int, unsigned, void **, const char **) = real_function("sqlite3_prepare_v3");
    char changed[4096];
    const char *rest = NULL;
    const char *seen = sql ? weakened(sql, count < 0 ? strlen(sql) : strnlen(sql, (size_t)count), changed) : sql;
    int result = real(database, seen, count, flags, statement, &rest);
    if (tail) *tail = rest ? sql + (rest - seen) : NULL;
    return result;
}

int sqlite3_prepare_v2(void *database, const char *sql, int count, void **statement, const char **tail);
int sqlite3_prepare_v2(void *database, const char *sql, int count, void **statement, const char **tail) {
    return prepared(database, sql, count, 0, statement, tail);
}

int sqlite3_prepare_v3(void *database, const char *sql, int count, unsigned flags, void **statement, const char **tail);
int sqlite3_prepare_v3(void *database, const char *sql, int count, unsigned flags, void **statement,
                       const char **tail) {
    return prepared(database, sql, count, flags, statement, tail);
}
