// Copies lines from its input to its output, each with the time before it at which its first byte came: nanoseconds of
// CLOCK_MONOTONIC. It stands behind every program whose delay is measured, so that its own cost is the same for all.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    static char buffer[1 << 16];
    int at_start = 1;
    for (;;) {
        ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (count <= 0) return count < 0;
        for (char *next = buffer, *end = buffer + count; next < end;) {
            char *newline = memchr(next, '\n', (size_t)(end - next));
            size_t length = newline ? (size_t)(newline - next) + 1 : (size_t)(end - next);
            if (at_start) printf("%" PRId64 " ", (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
            fwrite(next, 1, length, stdout);
            at_start = newline != NULL;
            next += length;
        }
        fflush(stdout);
    }
}
