/* The journal's store, written by hand: the same file, the same durability, and nothing that is not needed for it. */
#ifndef STORE_H
#define STORE_H

#include <stddef.h>
#include <stdint.h>

/* A push to make durable, already verified. */
struct stored_push {
    char apns_id[37];
    int64_t received_boot; /* CLOCK_BOOTTIME in nanoseconds */
    int64_t received_wall; /* milliseconds since 1970 */
};

/* Opens the store at `path`, which ringwaked has made, with the settings that ringwaked uses. Exits on failure. */
void store_open(const char *path);

/* Makes `count` pushes durable: one transaction with a row in `push` and a row in `call` for each. Exits on failure. */
void store_commit(const struct stored_push *pushes, size_t count);

/* Moves the log into the store when it has grown as large as ringwaked lets it, with or without pushes that wait. */
void store_checkpoint(int is_idle);

/* Bytes that were written to the log since the store was opened: pages, and the header that each has there. */
int64_t store_log_bytes(void);

/* A push that arrives now. */
struct stored_push store_push(const char apns_id[37]);

#endif
