/* The floors of a durable answer, without a network.
 *
 *     commit_floor store FILE          commits to the journal's store, one push at a time
 *     commit_floor write FILE BYTES    writes as many bytes to a plain file, and fdatasync
 *
 * For each line on stdin it makes one commit or one write, and prints its nanoseconds and the bytes that it wrote.
 * The plain file is 4 MB large and is written over and over, as SQLite writes its log: a file that grows would cost a
 * change of its metadata for each fdatasync.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "uuid.h"
#include "stamps.h"
#include "store.h"

enum { FILE_BYTES = 4 << 20 };

static char block[FILE_BYTES];

static int open_plain(const char *path) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0 || write(descriptor, block, FILE_BYTES) != FILE_BYTES || fsync(descriptor) != 0)
        fail(path);
    return descriptor;
}

int main(int count, char **arguments) {
    int is_store = count == 3 && strcmp(arguments[1], "store") == 0;
    if (!is_store && !(count == 4 && strcmp(arguments[1], "write") == 0)) {
        fprintf(stderr, "usage: commit_floor store FILE | write FILE BYTES\n");
        return 2;
    }
    long bytes = is_store ? 0 : atol(arguments[3]);
    if (!is_store && (bytes < 1 || bytes > FILE_BYTES)) {
        fprintf(stderr, "commit_floor: 1 to %d bytes\n", FILE_BYTES);
        return 2;
    }
    int descriptor = -1;
    off_t offset = 0;
    if (is_store)
        store_open(arguments[2]);
    else
        descriptor = open_plain(arguments[2]);

    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        int64_t before = is_store ? store_log_bytes() : 0, start = now_ns(), took;
        if (is_store) {
            char apns_id[37];
            make_uuid(apns_id);
            struct stored_push push = store_push(apns_id);
            store_commit(&push, 1);
            took = now_ns() - start;
            bytes = (long)(store_log_bytes() - before);
            store_checkpoint(1);
        } else {
            offset = offset + bytes > FILE_BYTES ? 0 : offset;
            if (pwrite(descriptor, block, (size_t)bytes, offset) != bytes || fdatasync(descriptor) != 0)
                fail(arguments[2]);
            took = now_ns() - start;
            offset += bytes;
        }
        printf("%lld %ld\n", (long long)took, bytes);
        fflush(stdout);
    }
    return 0;
}
