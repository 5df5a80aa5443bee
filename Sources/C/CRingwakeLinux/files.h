#ifndef RINGWAKE_LINUX_FILES_H
#define RINGWAKE_LINUX_FILES_H

#include <stdint.h>

// Declared again, identically: it needs _GNU_SOURCE, as the names of its flags do.
extern int sync_file_range(int descriptor, int64_t offset, int64_t length, unsigned int flags);

// Writes a part of a file to the disk, and waits for that. It makes nothing durable: fsync does.
static inline int ringwake_write_back(int descriptor, int64_t offset, int64_t length) {
    enum { wait_before = 1, write = 2, wait_after = 4 };
    return sync_file_range(descriptor, offset, length, wait_before | write | wait_after);
}

#endif
