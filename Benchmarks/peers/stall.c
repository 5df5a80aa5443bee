/* LD_PRELOAD: a disk that is slow when it is told to be, and a count of what it is asked for.
 *
 *     RINGWAKE_STALL=FILE LD_PRELOAD=stall.so PROGRAM
 *
 * FILE holds two 64-bit numbers in the machine's order, which the measuring program maps too: the nanoseconds that
 * each fdatasync or fsync of the store's files takes in addition, and how many of the store's log there were. Handlers
 * are static and never see this. Without RINGWAKE_STALL it does nothing but pass on.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct control {
    _Atomic int64_t delay_ns, log_syncs;
};

static struct control *control;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("RINGWAKE_STALL");
    int descriptor = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0)
        return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (mapped != MAP_FAILED)
        control = mapped;
}

static void stall(int descriptor) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return;
    path[length] = '\0';
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name, "/store.db", 9) != 0)
        return;
    if (strcmp(name, "/store.db-wal") == 0)
        atomic_fetch_add_explicit(&control->log_syncs, 1, memory_order_relaxed);
    int64_t delay = atomic_load_explicit(&control->delay_ns, memory_order_relaxed);
    struct timespec left = {.tv_sec = delay / 1000000000, .tv_nsec = delay % 1000000000};
    if (delay > 0)
        nanosleep(&left, NULL);
}

int fdatasync(int descriptor) {
    if (control)
        stall(descriptor);
    return (int)syscall(SYS_fdatasync, descriptor);
}

int fsync(int descriptor) {
    if (control)
        stall(descriptor);
    return (int)syscall(SYS_fsync, descriptor);
}
