/* Load: pushes on several connections, as many streams at a time on each.
 *
 *     push_load HOST PORT CA CERTIFICATE PATH TOPIC AUTHORIZATION CONNECTIONS STREAMS [EXPIRATION]
 *
 * CERTIFICATE and AUTHORIZATION may be "-". Without EXPIRATION it is the same push again and again; with it each has an
 * apns-id of its own and that apns-expiration, or none when it is "-". Opens the connections, sends one push on each,
 * prints "ready". For each line on stdin, PUSHES [PER_SECOND], it sends so many pushes, as fast as they are answered or no
 * more than so many in a second, and prints how many were answered with 200, the
 * nanoseconds it took, and of the times from a push to its whole answer the median and the 99th percentile.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h2_client.h"
#include "stamps.h"
#include "uuid.h"

enum { MAXIMUM_CONNECTIONS = 64, MAXIMUM_PUSHES = 1 << 20, STALL_TIMEOUT_MS = 10000 };

static struct h2_client clients[MAXIMUM_CONNECTIONS];
static int64_t times[MAXIMUM_PUSHES];
static size_t times_count;

static void note_time(int64_t took_ns) {
    if (times_count < MAXIMUM_PUSHES)
        times[times_count++] = took_ns;
}

static int compare_times(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

/* Sends `total` pushes, no more than `rate` in a second unless that is 0, and waits for every answer. */
static void run(
    int connections, unsigned streams, unsigned long total, unsigned long rate, struct push *push, bool is_each_new) {
    int64_t begun = now_ns();
    unsigned long submitted = 0, finished = 0, start[MAXIMUM_CONNECTIONS], open[MAXIMUM_CONNECTIONS] = {0};
    for (int i = 0; i < connections; i++)
        start[i] = clients[i].finished;
    while (finished < total) {
        struct pollfd sources[MAXIMUM_CONNECTIONS];
        unsigned long due = rate ? (unsigned long)((double)(now_ns() - begun) * 1e-9 * (double)rate) + 1 : total;
        if (due > total)
            due = total;
        for (int i = 0; i < connections; i++) {
            struct h2_client *client = &clients[i];
            while (open[i] - (client->finished - start[i]) < streams && submitted < due) {
                if (is_each_new)
                    make_uuid(push->apns_id);
                h2_submit(client, push);
                open[i] += 1;
                submitted += 1;
            }
            h2_encode(client);
            h2_send(client);
            sources[i] = (struct pollfd){
                .fd = client->descriptor, .events = (short)(POLLIN | (h2_wants_write(client) ? POLLOUT : 0))};
        }
        bool is_early = submitted < total && submitted >= due;
        if (poll(sources, (nfds_t)connections, is_early ? 1 : STALL_TIMEOUT_MS) <= 0 && !is_early)
            fail("stalled");
        finished = 0;
        for (int i = 0; i < connections; i++) {
            if (sources[i].revents)
                h2_receive(&clients[i]);
            if (clients[i].is_closed)
                fail("the server closed a connection");
            finished += clients[i].finished - start[i];
        }
    }
}

int main(int count, char **arguments) {
    if (count != 10 && count != 11) {
        fprintf(
            stderr,
            "usage: push_load HOST PORT CA CERTIFICATE PATH TOPIC AUTHORIZATION CONNECTIONS STREAMS [EXPIRATION]\n");
        return 2;
    }
    bool is_each_new = count == 11;
    int connections = atoi(arguments[8]), streams = atoi(arguments[9]);
    if (connections < 1 || connections > MAXIMUM_CONNECTIONS || streams < 1) {
        fprintf(stderr, "push_load: 1 to %d connections, 1 stream or more\n", MAXIMUM_CONNECTIONS);
        return 2;
    }
    SSL_CTX *context = h2_context(arguments[3], arguments[4]);
    const char *authorization = strcmp(arguments[7], "-") ? arguments[7] : NULL;
    struct push push = {
        .path = arguments[5], .topic = arguments[6], .authorization = authorization,
        .expiration = is_each_new && strcmp(arguments[10], "-") ? arguments[10] : NULL,
        .body = "{\"from\":\"sip:alice@example.com\"}"};
    make_uuid(push.apns_id);
    for (int i = 0; i < connections; i++)
        h2_connect(&clients[i], context, arguments[1], arguments[2]);
    run(connections, (unsigned)streams, (unsigned long)connections, 0, &push, is_each_new);
    for (int i = 0; i < connections; i++)
        clients[i].on_answer = note_time;
    puts("ready");
    fflush(stdout);

    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        unsigned long total = 0, rate = 0;
        if (sscanf(line, "%lu %lu", &total, &rate) < 1 || total == 0 || total > MAXIMUM_PUSHES)
            break;
        unsigned long before = 0, after = 0;
        times_count = 0;
        for (int i = 0; i < connections; i++)
            before += clients[i].succeeded;
        int64_t start = now_ns();
        run(connections, (unsigned)streams, total, rate, &push, is_each_new);
        int64_t took = now_ns() - start;
        for (int i = 0; i < connections; i++)
            after += clients[i].succeeded;
        qsort(times, times_count, sizeof *times, compare_times);
        printf(
            "%lu %lld %lld %lld\n", after - before, (long long)took, (long long)times[times_count / 2],
            (long long)times[times_count * 99 / 100]);
        fflush(stdout);
    }
    return 0;
}
