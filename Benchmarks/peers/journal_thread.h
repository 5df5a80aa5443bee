/* The second thread of the C server: takes what waits, makes it durable in one commit, hands it back. */
#ifndef JOURNAL_THREAD_H
#define JOURNAL_THREAD_H

#include <stddef.h>
#include <stdint.h>

#include "store.h"

/* A push that waits for the disk, and where its answer goes. */
struct waiting_push {
    void *connection;
    int32_t stream;
    struct stored_push push;
};

/* Opens the store and starts the thread. Returns a descriptor that is readable when pushes have become durable. */
int journal_start(const char *path);

/* Hands pushes over; all of one turn of the loop at once. Exits when more wait than the server is made for. */
void journal_hand_over(const struct waiting_push *pushes, size_t count);

/* Takes what has become durable: at most `room`. Call it until it returns 0. */
size_t journal_take(struct waiting_push *pushes, size_t room);

#endif
