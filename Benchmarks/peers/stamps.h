/* Time stamps that a handler sends through a FIFO. */
#ifndef STAMPS_H
#define STAMPS_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t now_ns(void);

/* Opens the FIFO that handlers write to; keeps it open for writing too, so that it never ends. Exits on failure. */
int open_fifo(const char *path);

/* The next stamp, or -1 when none comes within `timeout_ms`. */
int64_t read_stamp(int fifo, int timeout_ms);

/* Prints what failed with errno's reason, and exits with 1. */
_Noreturn void fail(const char *what);

#endif
