#define _GNU_SOURCE
#include "stamps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int open_fifo(const char *path) {
    int fifo = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fifo < 0)
        fail(path);
    return fifo;
}

int64_t read_stamp(int fifo, int timeout_ms) {
    struct pollfd source = {.fd = fifo, .events = POLLIN};
    int64_t stamp;
    if (poll(&source, 1, timeout_ms) != 1 || read(fifo, &stamp, sizeof stamp) != sizeof stamp)
        return -1;
    return stamp;
}

void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}
