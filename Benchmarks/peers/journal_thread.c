#include "journal_thread.h"

#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "stamps.h"

/* MAXIMUM_BATCH is that of ringwaked. */
enum { MAXIMUM_WAITING = 4096, MAXIMUM_BATCH = 256 };

struct queue {
    struct waiting_push pushes[MAXIMUM_WAITING];
    size_t count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue waiting, durable; /* under `lock` */
static int work_bell, durable_bell;

static void append(struct queue *queue, const struct waiting_push *pushes, size_t count) {
    if (queue->count + count > MAXIMUM_WAITING)
        fail("more pushes wait than the C server is made for");
    memcpy(queue->pushes + queue->count, pushes, count * sizeof *pushes);
    queue->count += count;
}

static size_t take(struct queue *queue, struct waiting_push *pushes, size_t room) {
    size_t count = queue->count < room ? queue->count : room;
    memcpy(pushes, queue->pushes, count * sizeof *pushes);
    memmove(queue->pushes, queue->pushes + count, (queue->count - count) * sizeof *pushes);
    queue->count -= count;
    return count;
}

static void hand_in(struct queue *queue, int bell, const struct waiting_push *pushes, size_t count) {
    pthread_mutex_lock(&lock);
    int was_empty = queue->count == 0;
    append(queue, pushes, count);
    pthread_mutex_unlock(&lock);
    if (was_empty)
        eventfd_write(bell, 1);
}

static void *work(void *unused) {
    (void)unused;
    static struct waiting_push batch[MAXIMUM_BATCH];
    static struct stored_push rows[MAXIMUM_BATCH];
    for (;;) {
        pthread_mutex_lock(&lock);
        size_t count = take(&waiting, batch, MAXIMUM_BATCH);
        pthread_mutex_unlock(&lock);
        store_checkpoint(count == 0);
        if (count == 0) {
            eventfd_t value;
            if (eventfd_read(work_bell, &value) != 0)
                fail("eventfd");
            continue;
        }
        for (size_t i = 0; i < count; i++)
            rows[i] = batch[i].push;
        store_commit(rows, count);
        hand_in(&durable, durable_bell, batch, count);
    }
    return NULL;
}

int journal_start(const char *path) {
    store_open(path);
    work_bell = eventfd(0, EFD_CLOEXEC);
    durable_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_t thread;
    if (work_bell < 0 || durable_bell < 0 || pthread_create(&thread, NULL, work, NULL) != 0)
        fail("the journal's thread");
    return durable_bell;
}

void journal_hand_over(const struct waiting_push *pushes, size_t count) {
    hand_in(&waiting, work_bell, pushes, count);
}

size_t journal_take(struct waiting_push *pushes, size_t room) {
    eventfd_t value;
    eventfd_read(durable_bell, &value);
    pthread_mutex_lock(&lock);
    size_t count = take(&durable, pushes, room);
    pthread_mutex_unlock(&lock);
    return count;
}
