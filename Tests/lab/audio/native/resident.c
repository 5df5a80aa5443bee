/* A client of an audio server that stays connected and knows what to change: the least that any program can take.
 *
 *     resident SOURCE
 *
 * For each line `0` or `1` with the indexes of streams on stdin it mutes those streams and opens the microphone SOURCE
 * (1), or puts both back (0). All commands are sent at once. Prints the nanoseconds from the first command to the
 * server's last acknowledgement, and the nanoseconds that it ran on a processor.
 */
#include <pulse/pulseaudio.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stamps.h"

static pa_mainloop *loop;
static int open_answers;

static void acknowledged(pa_context *context, int success, void *data) {
    (void)context, (void)data;
    if (!success)
        fail("the server refuses a change");
    open_answers--;
}

static void begun(pa_operation *operation) {
    if (!operation)
        fail("a command cannot be sent");
    pa_operation_unref(operation);
    open_answers++;
}

static void iterate(void) {
    if (pa_mainloop_iterate(loop, true, NULL) < 0)
        fail("the main loop has ended");
}

static int64_t processor_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: resident SOURCE\n");
        return 2;
    }
    loop = pa_mainloop_new();
    pa_context *context = pa_context_new(pa_mainloop_get_api(loop), "resident");
    pa_context_connect(context, NULL, PA_CONTEXT_NOAUTOSPAWN, NULL);
    while (pa_context_get_state(context) != PA_CONTEXT_READY) {
        if (!PA_CONTEXT_IS_GOOD(pa_context_get_state(context)))
            fail("no audio server");
        iterate();
    }
    static char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        char *rest = line;
        bool begins = strtoul(rest, &rest, 10) == 1;
        int64_t start = now_ns(), processor = processor_ns();
        for (char *end; ; rest = end) {
            unsigned long stream = strtoul(rest, &end, 10);
            if (end == rest)
                break;
            begun(pa_context_set_sink_input_mute(context, (uint32_t)stream, begins, acknowledged, NULL));
        }
        begun(pa_context_set_source_mute_by_name(context, arguments[1], !begins, acknowledged, NULL));
        while (open_answers > 0)
            iterate();
        printf("%lld %lld\n", (long long)(now_ns() - start), (long long)(processor_ns() - processor));
        fflush(stdout);
    }
    return 0;
}
