/* Load: publishes with QoS 1 to the topics of a fleet, as many at a time on each connection.
 *
 *     publish_load HOST PORT FOLDER FIRST COUNT certificate|none CONNECTIONS WINDOW ACKNOWLEDGED
 *
 * For each number on stdin it publishes so many messages to COUNT devices from FIRST on in turn, and prints how
 * many were acknowledged, the nanoseconds that it took, and of the times from a message to its PUBACK the median and
 * the 99th percentile. Writes the numbers of acknowledged messages to the file ACKNOWLEDGED. Connections may end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "mqtt_link.h"
#include "stamps.h"

enum { MAXIMUM_CONNECTIONS = 64, MAXIMUM_WINDOW = 256, MAXIMUM_PUSHES = 1 << 20, STALL_TIMEOUT_MS = 10000 };

struct sender {
    struct mqtt_link link;
    bool is_ready;
    unsigned open;
    int64_t number[MAXIMUM_WINDOW + 1], sent[MAXIMUM_WINDOW + 1]; /* by packet id; number -1: free */
};

static struct sender senders[MAXIMUM_CONNECTIONS];
static int64_t times[MAXIMUM_PUSHES];
static unsigned long acknowledged;
static int64_t next_number;
static FILE *acknowledged_file;

static int compare(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static void receive(struct sender *sender, const struct mqtt_packet *packet) {
    if (packet->type == CONNACK) {
        if (packet->body[1] != 0)
            fail("the broker refuses");
        sender->is_ready = true;
    }
    if (packet->type != PUBACK || packet->size < 2)
        return;
    unsigned id = (unsigned)(packet->body[0] << 8 | packet->body[1]);
    if (id == 0 || id > MAXIMUM_WINDOW || sender->number[id] < 0)
        fail("PUBACK for nothing");
    if (packet->size > 2 && packet->body[2] >= 0x80)
        fail("a message is refused");
    times[acknowledged++] = now_ns() - sender->sent[id];
    fprintf(acknowledged_file, "%lld\n", (long long)sender->number[id]);
    sender->number[id] = -1;
    sender->open -= 1;
}

static void publish(struct sender *sender, unsigned window, const struct identity *to) {
    char topic[80], payload[128];
    unsigned id = 1;
    while (id < window && sender->number[id] >= 0)
        id += 1;
    sender->number[id] = next_number++;
    sender->sent[id] = now_ns();
    sender->open += 1;
    int length = snprintf(
        payload, sizeof payload, "{\"n\":%lld,\"at\":%lld,\"from\":\"sip:alice@example.com\"}",
        (long long)sender->number[id], (long long)sender->sent[id]);
    snprintf(topic, sizeof topic, "ringwake/1/d/%s", to->id);
    queue_publish(&sender->link, topic, (uint16_t)id, payload, (size_t)length);
}

int main(int count, char **arguments) {
    if (count != 10) {
        fprintf(
            stderr,
            "usage: publish_load HOST PORT FOLDER FIRST COUNT certificate|none CONNECTIONS WINDOW ACKNOWLEDGED\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in server = address_of(arguments[1], arguments[2]);
    size_t first = (size_t)atol(arguments[4]), devices = (size_t)atol(arguments[5]);
    const struct identity *all = identities(arguments[3], first + devices);
    const struct identity *shown = proof_named(arguments[6]) == PROOF_CERTIFICATE ? all : NULL;
    unsigned connections = (unsigned)atoi(arguments[7]), window = (unsigned)atoi(arguments[8]);
    if (connections > MAXIMUM_CONNECTIONS || window > MAXIMUM_WINDOW ||
        !(acknowledged_file = fopen(arguments[9], "w")))
        fail(arguments[9]);
    SSL_CTX *context = mqtt_context();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < connections; i++) {
        memset(senders[i].number, 0xff, sizeof senders[i].number);
        if (!mqtt_begin(&senders[i].link, context, &server, INADDR_LOOPBACK + 0x100, shown, epoll, &senders[i]))
            fail("connect");
    }
    unsigned long total = 0, submitted = 0;
    unsigned ready = 0, open_links = connections;
    bool has_begun = false;
    int64_t start = 0;
    for (;;) {
        /* Everything is answered: the next number. */
        bool is_done = has_begun && (acknowledged >= total || open_links == 0);
        if (is_done || (!has_begun && ready == connections)) {
            if (has_begun) {
                qsort(times, acknowledged, sizeof *times, compare);
                printf(
                    "%lu %lld %lld %lld\n", acknowledged, (long long)(now_ns() - start),
                    acknowledged ? (long long)times[acknowledged / 2] : 0,
                    acknowledged ? (long long)times[acknowledged * 99 / 100] : 0);
            } else {
                puts("ready");
            }
            fflush(acknowledged_file);
            fflush(stdout);
            has_begun = true;
            if (scanf("%lu", &total) != 1 || total == 0 || total > MAXIMUM_PUSHES)
                return 0;
            submitted = acknowledged = 0;
            start = now_ns();
        }
        for (unsigned i = 0; has_begun && i < connections; i++) {
            while (senders[i].link.tls && senders[i].open < window && submitted < total) {
                publish(&senders[i], window, &all[first + (size_t)next_number % devices]);
                submitted += 1;
            }
            mqtt_flush(&senders[i].link, epoll, &senders[i]);
        }
        struct epoll_event events[MAXIMUM_CONNECTIONS];
        int found = epoll_wait(epoll, events, MAXIMUM_CONNECTIONS, STALL_TIMEOUT_MS);
        if (found <= 0 && errno != EINTR)
            fail("stalled");
        for (int i = 0; i < found; i++) {
            struct sender *sender = events[i].data.ptr;
            bool was_open = sender->link.is_open, stays = mqtt_advance(&sender->link, epoll, sender);
            if (!was_open && sender->link.is_open) {
                char name[32];
                snprintf(name, sizeof name, "sender-%d", (int)(sender - senders));
                queue_connect(&sender->link, name, NULL, 0, false);
                mqtt_flush(&sender->link, epoll, sender);
            }
            struct mqtt_packet packet;
            while (mqtt_next(&sender->link, &packet))
                receive(sender, &packet);
            if (!stays) {
                mqtt_close(&sender->link);
                open_links -= 1;
            }
        }
        ready = 0;
        for (unsigned i = 0; i < connections; i++)
            ready += senders[i].is_ready;
    }
}
