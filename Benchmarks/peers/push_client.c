/* A sender with one warm connection that measures how long a push takes to become a running handler.
 *
 *     push_client HOST PORT CA CERTIFICATE TOKEN TOPIC FIFO
 *     push_client HOST PORT CA CERTIFICATE TOKEN TOPIC - EXPIRATION    for a push that wakes nobody
 *
 * For each line on stdin it sends one push with an apns-id of its own, waits for the handler's stamp and for the
 * answer, and prints the nanoseconds from just before the bytes were written to the handler's first instruction (0
 * where nobody is woken), and to the whole answer.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "h2_client.h"
#include "stamps.h"
#include "uuid.h"

enum { SAMPLE_TIMEOUT_MS = 5000 };

int main(int count, char **arguments) {
    bool wakes = count == 8;
    if (!wakes && (count != 9 || strcmp(arguments[7], "-") != 0)) {
        fprintf(stderr, "usage: push_client HOST PORT CA CERTIFICATE TOKEN TOPIC FIFO | - EXPIRATION\n");
        return 2;
    }
    static struct h2_client client;
    h2_connect(&client, h2_context(arguments[3], arguments[4]), arguments[1], arguments[2]);
    int fifo = wakes ? open_fifo(arguments[7]) : -1;
    char path[256];
    snprintf(path, sizeof path, "/3/device/%s", arguments[5]);
    struct push push = {
        .path = path, .topic = arguments[6], .expiration = wakes ? NULL : arguments[8],
        .body = "{\"from\":\"sip:alice@example.com\"}"};

    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        unsigned long wanted = client.finished + 1;
        make_uuid(push.apns_id);
        h2_submit(&client, &push);
        h2_encode(&client);
        int64_t start = now_ns(); /* encrypted, and about to be written */
        h2_send(&client);
        int64_t stamp = wakes ? -1 : start, answered = -1;
        while (stamp < 0 || answered < 0) {
            struct pollfd sources[] = {
                {.fd = client.descriptor, .events = answered < 0 ? POLLIN : 0},
                {.fd = fifo, .events = stamp < 0 ? POLLIN : 0},
            };
            if (poll(sources, 2, SAMPLE_TIMEOUT_MS) <= 0)
                fail("no answer or no stamp");
            if (sources[0].revents) {
                h2_receive(&client);
                if (client.finished >= wanted)
                    answered = now_ns();
                if (client.is_closed)
                    fail("the server closed the connection");
            }
            if (sources[1].revents)
                stamp = read_stamp(fifo, 0);
        }
        if (client.succeeded != client.finished)
            fail("a push was refused");
        printf("%lld %lld\n", (long long)(stamp - start), (long long)(answered - start));
        fflush(stdout);
        h2_encode(&client);
        h2_send(&client);
    }
    return 0;
}
