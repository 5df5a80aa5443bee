// The record that recorder.c writes, for one program or for several.

#ifndef RECORD_H
#define RECORD_H

#include "watched_files.h"

#include <sys/file.h>
#include <sys/mman.h>

// The kinds of entries; recording.py has the same numbers.
enum kind {
    OPENED = 1,  // subject: this opening; first: flags; second: 1 if the file was there before; bytes: its name,
                 // relative to the watched folder, which is "."
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
    MKDIR,       // bytes: the name
    RMDIR,       // bytes: the name
    LINK,        // bytes: the present name, NUL, the new name; a name outside of the folder is empty
};

// Stands before the bytes of each entry. Its number is its place, from 0.
struct entry {
    uint32_t kind;
    uint32_t length;
    uint64_t subject;
    int64_t first;
    int64_t second;
};

// What all programs of a record count.
struct counters {
    pthread_mutex_t lock;
    uint64_t entries;
    _Atomic uint64_t openings, connections;
};

static struct counters own = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct counters *counters = &own;
static int record = -1;

// Opens the file that all programs of a record count in, and locks it: what the first one makes, which are the counters and
// the record, no other one sees half made. Raw system calls, here and below: the functions of these names are our own.
static int lock_shared(const char *path) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) give_up(path);
    while (syscall(SYS_flock, file, LOCK_EX) != 0) {
        if (errno != EINTR) give_up(path);
    }
    return file;
}

// Counts together with the other programs. Answers whether this is the first one.
static bool share_counters(int file, const char *path) {
    struct stat status;
    if (fstat(file, &status) != 0) give_up(path);
    bool is_first = status.st_size == 0;
    if (is_first && syscall(SYS_ftruncate, file, sizeof own) != 0) give_up(path);
    long address = syscall(SYS_mmap, NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (address == -1) give_up(path);
    counters = (struct counters *)address;
    if (is_first) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&counters->lock, &attributes);
    }
    return is_first;
}

__attribute__((constructor)) static void begin_recording(void) {
    if (!begin_watching()) return;
    const char *path = getenv("RECORDER_LOG"), *shared = getenv("RECORDER_SHARED");
    if (!path) give_up("RECORDER_LOG is not set");
    int file = shared ? lock_shared(shared) : -1;
    bool is_first = !shared || share_counters(file, shared);
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | (is_first ? O_CREAT | O_EXCL : 0);
    record = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    // Out of the way: tests compare which descriptors a daemon has.
    int high = record < 0 ? -1 : (int)syscall(SYS_fcntl, record, F_DUPFD_CLOEXEC, 900);
    if (high < 0) give_up(path);
    syscall(SYS_close, record);
    record = high;
    if (!shared) return;
    // Closing it would leave it locked: the memory that shows it holds it too.
    if (syscall(SYS_flock, file, LOCK_UN) != 0) give_up(shared);
    syscall(SYS_close, file);
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
    pthread_mutex_lock(&counters->lock);
    uint64_t number = counters->entries++;
    if (syscall(SYS_writev, record, all, 1 + count) != size) give_up("cannot write the record");
    pthread_mutex_unlock(&counters->lock);
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

#endif
