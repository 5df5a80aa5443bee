/* Load: pushes to many device tokens in turn, on several connections, as many streams at a time on each.
 *
 *     token_load HOST PORT CA CERTIFICATE TOKENS TOPIC CONNECTIONS STREAMS ACKNOWLEDGED
 *
 * The file TOKENS has a token in each line. Each push has an apns-id of its own, and its number and time in its payload:
 * {"n":NUMBER,"at":NANOSECONDS of CLOCK_MONOTONIC,...}. Prints "ready". For each number on stdin it sends so many
 * pushes, and prints how many were answered with 200, the nanoseconds it took, and of the times from a push to its whole
 * answer the median and the 99th percentile. Writes the numbers of those with 200 to the file ACKNOWLEDGED. Connections
 * may end.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h2_client.h"
#include "stamps.h"
#include "uuid.h"

enum { MAXIMUM_CONNECTIONS = 64, MAXIMUM_PUSHES = 1 << 20, STALL_TIMEOUT_MS = 10000, BODIES = 1 << 12 };

static struct h2_client clients[MAXIMUM_CONNECTIONS];
static char bodies[MAXIMUM_CONNECTIONS][BODIES][96];
static long *numbers[MAXIMUM_CONNECTIONS]; /* of the pushes of a connection, in the order of its streams */
static unsigned long submitted_of[MAXIMUM_CONNECTIONS];
static int64_t times[MAXIMUM_PUSHES];
static size_t times_count;
static char (*paths)[128];
static size_t path_count;
static long next_number;
static FILE *acknowledged;

static void note_time(int64_t took_ns) {
    if (times_count < MAXIMUM_PUSHES)
        times[times_count++] = took_ns;
}

static void note_success(struct h2_client *client, int32_t stream) {
    fprintf(acknowledged, "%ld\n", numbers[client - clients][stream / 2]);
}

static int compare_times(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static void submit(int connection, const char *topic) {
    unsigned long index = submitted_of[connection]++;
    char *body = bodies[connection][index % BODIES];
    long number = next_number++;
    snprintf(
        body, sizeof bodies[0][0], "{\"n\":%ld,\"at\":%lld,\"from\":\"sip:alice@example.com\"}", number,
        (long long)now_ns());
    numbers[connection][index] = number;
    struct push push = {.path = paths[(size_t)number % path_count], .topic = topic, .body = body};
    make_uuid(push.apns_id);
    h2_submit(&clients[connection], &push);
}

/* Sends `total` pushes, and waits for every answer that can come. */
static void run(int connections, unsigned streams, unsigned long total, const char *topic) {
    unsigned long submitted = 0, unanswered;
    do {
        struct pollfd sources[MAXIMUM_CONNECTIONS];
        for (int i = 0; i < connections; i++) {
            struct h2_client *client = &clients[i];
            sources[i] = (struct pollfd){.fd = -1};
            if (client->is_closed)
                continue;
            while (submitted_of[i] - client->finished < streams && submitted < total) {
                submit(i, topic);
                submitted += 1;
            }
            h2_encode(client);
            h2_send(client);
            sources[i] = (struct pollfd){
                .fd = client->descriptor, .events = (short)(POLLIN | (h2_wants_write(client) ? POLLOUT : 0))};
        }
        if (poll(sources, (nfds_t)connections, STALL_TIMEOUT_MS) <= 0)
            fail("stalled");
        unanswered = 0;
        bool is_any_open = false;
        for (int i = 0; i < connections; i++) {
            if (sources[i].revents)
                h2_receive(&clients[i]);
            unanswered += clients[i].is_closed ? 0 : submitted_of[i] - clients[i].finished;
            is_any_open |= !clients[i].is_closed;
        }
        if (!is_any_open)
            return;
        if (submitted == total && unanswered == 0)
            return;
    } while (true);
}

static void read_tokens(const char *path) {
    FILE *file = fopen(path, "r");
    char token[100];
    if (!file)
        fail(path);
    while (fscanf(file, "%99s", token) == 1) {
        if (!(paths = realloc(paths, (path_count + 1) * sizeof *paths)))
            fail("realloc");
        snprintf(paths[path_count++], sizeof *paths, "/3/device/%s", token);
    }
    fclose(file);
}

int main(int count, char **arguments) {
    if (count != 10) {
        fprintf(
            stderr,
            "usage: token_load HOST PORT CA CERTIFICATE TOKENS TOPIC CONNECTIONS STREAMS ACKNOWLEDGED\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    int connections = atoi(arguments[7]), streams = atoi(arguments[8]);
    read_tokens(arguments[5]);
    if (connections < 1 || connections > MAXIMUM_CONNECTIONS || streams < 1 || path_count == 0 ||
        !(acknowledged = fopen(arguments[9], "w")))
        fail(arguments[9]);
    SSL_CTX *context = h2_context(arguments[3], arguments[4]);
    for (int i = 0; i < connections; i++) {
        h2_connect(&clients[i], context, arguments[1], arguments[2]);
        clients[i].on_answer = note_time;
        clients[i].on_success = note_success;
        if (!(numbers[i] = calloc(MAXIMUM_PUSHES, sizeof *numbers[i])))
            fail("calloc");
    }
    puts("ready");
    fflush(stdout);

    unsigned long total;
    while (scanf("%lu", &total) == 1 && total > 0 && total <= MAXIMUM_PUSHES) {
        unsigned long before = 0, after = 0;
        times_count = 0;
        for (int i = 0; i < connections; i++)
            before += clients[i].succeeded;
        int64_t start = now_ns();
        run(connections, (unsigned)streams, total, arguments[6]);
        int64_t took = now_ns() - start;
        for (int i = 0; i < connections; i++)
            after += clients[i].succeeded;
        qsort(times, times_count, sizeof *times, compare_times);
        printf(
            "%lu %lld %lld %lld\n", after - before, (long long)took,
            times_count ? (long long)times[times_count / 2] : 0,
            times_count ? (long long)times[times_count * 99 / 100] : 0);
        fflush(acknowledged);
        fflush(stdout);
    }
    return 0;
}
