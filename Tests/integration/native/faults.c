// A disk that fails, or takes its time, for the files of one SQLite store. Load it with LD_PRELOAD.
//
// Environment, besides that of watched_files.h:
//   FAULTS_CONTROL  a file with what is wrong now, read at each call: lines of a word and a number. Missing or empty:
//                   nothing is wrong.
//                     write E   writing and changing a length fail with errno E
//                     sync E    fsync and fdatasync fail with errno E
//                     open E    opening for writing fails with errno E
//                     stall T   fsync and fdatasync take T more milliseconds
//                     hang 1    fsync and fdatasync do not return as long as this line stands there
//                   `write@store.db E` and `sync@store.db E` concern that file alone.
//   FAULTS_LOG      one line for each call that was made to fail, to stall or to hang, written as that begins

#define _GNU_SOURCE
#include "watched_files.h"

#include <time.h>

// How often a call that hangs looks whether it still has to.
#define LOOK_AGAIN_MS 5

__attribute__((constructor)) static void begin_faults(void) {
    if (begin_watching() && (!getenv("FAULTS_CONTROL") || !getenv("FAULTS_LOG"))) give_up("FAULTS_... are not set");
}

// The number that stands behind `word` in the control file; 0 when the word is not there.
static int wrong(const char *word) {
    char text[256] = "\n";
    int file = (int)syscall(SYS_openat, AT_FDCWD, getenv("FAULTS_CONTROL"), O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return 0;
    ssize_t count = syscall(SYS_read, file, text + 1, sizeof text - 2);
    syscall(SYS_close, file);
    if (count <= 0) return 0;
    text[1 + count] = 0;
    char line[80];
    snprintf(line, sizeof line, "\n%s ", word);
    char *found = strstr(text, line);
    return found ? atoi(found + strlen(line)) : 0;
}

static void say(const char *what, const char *name) {
    char line[128];
    int length = snprintf(line, sizeof line, "%s %s\n", what, name);
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    int file = (int)syscall(SYS_openat, AT_FDCWD, getenv("FAULTS_LOG"), flags, 0600);
    if (file < 0 || syscall(SYS_write, file, line, length) != length) give_up("cannot write FAULTS_LOG");
    syscall(SYS_close, file);
}

static void pause_for(int milliseconds) {
    struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    nanosleep(&time, NULL);
}

// True, with errno set, when a call on this descriptor has to fail.
static bool fails(const char *what, int descriptor) {
    char path[PATH_MAX];
    int saved = errno;
    const char *name = is_watching ? watched_name(descriptor, path) : NULL;
    char one[64];
    if (name) snprintf(one, sizeof one, "%s@%s", what, name);
    int error = name ? wrong(what) : 0;
    if (name && !error) error = wrong(one);
    if (error) say(what, name);
    errno = error ? error : saved;
    return error != 0;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return fails("write", descriptor) ? -1 : REAL(pwrite)(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    return fails("write", descriptor) ? -1 : REAL(write)(descriptor, bytes, count);
}

int ftruncate(int descriptor, off_t length) {
    return fails("write", descriptor) ? -1 : REAL(ftruncate)(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

// What a sync waits for before the real one.
static void stall(int descriptor) {
    char path[PATH_MAX];
    const char *name = is_watching ? watched_name(descriptor, path) : NULL;
    if (!name) return;
    if (wrong("hang")) {
        say("hang", name);
        while (wrong("hang")) pause_for(LOOK_AGAIN_MS);
    }
    int milliseconds = wrong("stall");
    if (milliseconds) {
        say("stall", name);
        pause_for(milliseconds);
    }
}

int fsync(int descriptor) {
    stall(descriptor);
    return fails("sync", descriptor) ? -1 : REAL(fsync)(descriptor);
}

int fdatasync(int descriptor) {
    stall(descriptor);
    return fails("sync", descriptor) ? -1 : REAL(fdatasync)(descriptor);
}

// True, with errno set, when this opening has to fail.
static bool open_fails(const char *path, int flags) {
    if (!is_watching || (flags & O_ACCMODE) == O_RDONLY) return false;
    if (strncmp(path, watched_store, strlen(watched_store)) != 0) return false;
    int error = wrong("open");
    if (!error) return false;
    say("open", strrchr(path, '/') + 1);
    errno = error;
    return true;
}

#define STAND_IN_FOR_OPEN(function)                                       \
    int function(const char *path, int flags, ...) {                      \
        va_list arguments;                                                \
        va_start(arguments, flags);                                       \
        mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;    \
        va_end(arguments);                                                \
        return open_fails(path, flags) ? -1 : REAL(function)(path, flags, mode); \
    }

STAND_IN_FOR_OPEN(open)
STAND_IN_FOR_OPEN(open64)
