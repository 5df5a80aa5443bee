// Records what programs do to a SQLite store or to a folder, and what leaves them on TLS connections and on unix sockets,
// in one total order. Load it with LD_PRELOAD; Tests/integration/support/recording.py reads the record.
//
// Each call that changes something has two entries: one before it begins, with all that it may bring about, and one
// after it returned. So "the answer left after the sync returned" is a comparison of two places in one file.
//
// Environment, besides that of watched_files.h:
//   RECORDER_LOG          the record; must not exist
//   RECORDER_SHARED       for a record of several programs, one of which starts the others: a file that they count in;
//                         must not exist
//   RECORDER_SYNCHRONOUS  "OFF" or "NORMAL": what the program's `PRAGMA synchronous=FULL` is turned into

#define _GNU_SOURCE
#include "record.h"

#include <strings.h>
#include <sys/socket.h>

// Of each descriptor: the opening of a store's file, or the connection that accept(2) made; 0 for neither.
static _Atomic uint64_t opening_of[DESCRIPTORS], connection_of[DESCRIPTORS];

static uint64_t look_up(_Atomic uint64_t *table, int descriptor) {
    return is_watching && descriptor >= 0 && descriptor < DESCRIPTORS ? table[descriptor] : 0;
}

// Opening and closing

static int opened(int descriptor, int flags, bool was_there) {
    char path[PATH_MAX];
    int saved = errno;
    bool is_known = descriptor >= 0 && descriptor < DESCRIPTORS;
    // The C library may have closed another one of this number.
    if (is_known) opening_of[descriptor] = 0;
    // A file of O_TMPFILE has no name, nor has one that was removed, and opened again by its number in /proc.
    struct stat status;
    bool is_named = is_known && fstat(descriptor, &status) == 0 && status.st_nlink > 0;
    const char *name = is_named ? watched_name(descriptor, path) : NULL;
    if (name) {
        uint64_t opening = ++counters->openings;
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

// The name within the watched folder, for example "store.db" or "apps/a.json"; empty for a path that leads elsewhere.
static const char *name_within(int folder, const char *path, char buffer[static PATH_MAX]) {
    if (*path == '/') {
        if (snprintf(buffer, PATH_MAX, "%s", path) >= PATH_MAX) return "";
    } else {
        char link[64];
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, buffer, PATH_MAX - 1);
        if (length < 0) return "";
        if (snprintf(buffer + length, PATH_MAX - (size_t)length, "/%s", path) >= PATH_MAX - length) return "";
    }
    size_t length = strlen(watched_folder);
    bool is_within = strncmp(buffer, watched_folder, length) == 0 && buffer[length] == '/';
    return is_within && strncmp(buffer, watched_store, strlen(watched_store)) == 0 ? buffer + length + 1 : "";
}

#define RECORDED_OF_NAME(kind, folder, path, call)                                      \
    do {                                                                                \
        char buffer_[PATH_MAX];                                                         \
        const char *name_ = is_watching ? name_within(folder, path, buffer_) : "";      \
        if (!*name_) return (call);                                                     \
        RECORDED(int, note_bytes(kind, 0, 0, name_, strlen(name_)), call);              \
    } while (0)

#define RECORDED_OF_NAMES(kind, old_folder, old_path, new_folder, new_path, call)                       \
    do {                                                                                                \
        char old_buffer_[PATH_MAX], new_buffer_[PATH_MAX];                                              \
        const char *old_ = is_watching ? name_within(old_folder, old_path, old_buffer_) : "";           \
        const char *new_ = is_watching ? name_within(new_folder, new_path, new_buffer_) : "";           \
        if (!*old_ && !*new_) return (call);                                                            \
        struct iovec parts_[] = {{(void *)old_, strlen(old_) + 1}, {(void *)new_, strlen(new_)}};       \
        RECORDED(int, note(kind, 0, 0, 0, parts_, 2), call);                                            \
    } while (0)

int unlink(const char *path) { RECORDED_OF_NAME(UNLINK, AT_FDCWD, path, REAL(unlink)(path)); }

int unlinkat(int folder, const char *path, int flags) {
    RECORDED_OF_NAME(flags & AT_REMOVEDIR ? RMDIR : UNLINK, folder, path, REAL(unlinkat)(folder, path, flags));
}

int mkdir(const char *path, mode_t mode) { RECORDED_OF_NAME(MKDIR, AT_FDCWD, path, REAL(mkdir)(path, mode)); }

int mkdirat(int folder, const char *path, mode_t mode) {
    RECORDED_OF_NAME(MKDIR, folder, path, REAL(mkdirat)(folder, path, mode));
}

int rmdir(const char *path) { RECORDED_OF_NAME(RMDIR, AT_FDCWD, path, REAL(rmdir)(path)); }

// mkdtemp(3) calls mkdir(2) where this can't see it.
char *mkdtemp(char *template) {
    char *made = REAL(mkdtemp)(template), buffer[PATH_MAX];
    const char *name = is_watching && made ? name_within(AT_FDCWD, made, buffer) : "";
    if (*name) note_return(note_bytes(MKDIR, 0, 0, name, strlen(name)), 0);
    return made;
}

int rename(const char *from, const char *to) {
    RECORDED_OF_NAMES(RENAME, AT_FDCWD, from, AT_FDCWD, to, REAL(rename)(from, to));
}

int renameat(int old_folder, const char *from, int new_folder, const char *to) {
    RECORDED_OF_NAMES(RENAME, old_folder, from, new_folder, to, REAL(renameat)(old_folder, from, new_folder, to));
}

int link(const char *from, const char *to) {
    RECORDED_OF_NAMES(LINK, AT_FDCWD, from, AT_FDCWD, to, REAL(link)(from, to));
}

int linkat(int old_folder, const char *from, int new_folder, const char *to, int flags) {
    RECORDED_OF_NAMES(LINK, old_folder, from, new_folder, to, REAL(linkat)(old_folder, from, new_folder, to, flags));
}

// What leaves on the control socket

static int accepted(int descriptor) {
    int saved = errno, domain = 0;
    socklen_t size = sizeof domain;
    if (is_watching && descriptor >= 0 && descriptor < DESCRIPTORS &&
        getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX) {
        connection_of[descriptor] = ++counters->connections;
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
