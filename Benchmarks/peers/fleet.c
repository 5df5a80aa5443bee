/* A fleet of devices, each with a key and a link of its own: to a gateway, or to an MQTT broker.
 *
 *     fleet ringwake|broker HOST PORT FOLDER COUNT signature|certificate|none JOURNAL
 *
 * FOLDER has their keys, or gets them. Each device connects from an address of its own in 127.0.0.0/8, subscribes its
 * topic, and acknowledges what comes: at once if JOURNAL is "-", or when its number is on the disk in that file, with
 * all that came in the same turn. A broker keeps the sessions. Numbers and times of pushes are in their payload:
 * {"n":NUMBER,"at":NANOSECONDS of CLOCK_MONOTONIC,...}. Prints "ready", and for each line on stdin one line of JSON:
 *
 *     link FIRST COUNT WINDOW    connects these devices, WINDOW at a time; those that are refused back off
 *     drop FIRST COUNT           disconnects them
 *     expect COUNT MILLISECONDS  waits until so many new pushes were acknowledged since the last `expect`, or so long
 *     seen FILE                  writes the numbers of all pushes that were acknowledged, and forgets them
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mqtt_link.h"
#include "stamps.h"

enum { MAXIMUM_PUSHES = 1 << 20, EVENTS = 512, TURN_MS = 20, SESSION_SECONDS = 86400, LINK_TIMEOUT_S = 240 };
static const int64_t SECOND = 1000000000, MILLISECOND = 1000000;

struct device {
    struct mqtt_link link;
    enum { AWAY, WANTED, RESTING, CONNECTING, GREETED, LINKED } state;
    int64_t began, rests_until;
    unsigned failures;
};

/* A push that is to be acknowledged at the end of the turn. */
struct acknowledgement {
    struct device *device;
    uint16_t packet_id;
    int64_t number, sent;
};

static struct {
    const struct identity *identities;
    struct device *devices;
    size_t count;
    bool is_broker;
    enum proof proof;
    SSL_CTX *context;
    struct sockaddr_in server;
    int epoll, journal;
} fleet;

static struct acknowledgement due[1 << 16];
static size_t due_count;
static unsigned char seen[MAXIMUM_PUSHES];
static int64_t latencies[MAXIMUM_PUSHES], link_times[1 << 16];
static size_t latency_count, link_count, fresh, repeated, lost;

/* What the last line on stdin wants. */
static struct {
    enum { NOTHING, LINK, EXPECT } kind;
    size_t first, count, window;
    size_t refused[3]; /* in the handshake, before CONNACK, by CONNACK */
    int64_t began, until;
} wish;

/* MARK: - Figures */

static int compare(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static void print_times(const int64_t *sorted, size_t count) {
    static const struct {
        const char *name;
        double share;
    } shares[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        size_t at = (size_t)(shares[i].share * (double)count);
        printf(",\"%s_us\":%lld", shares[i].name, count ? (long long)sorted[at < count ? at : count - 1] / 1000 : 0);
    }
    puts("}");
    fflush(stdout);
}

/* MARK: - Devices */

static void begin(struct device *device) {
    size_t index = (size_t)(device - fleet.devices);
    const struct identity *shown = fleet.proof == PROOF_CERTIFICATE ? &fleet.identities[index] : NULL;
    if (device->state == WANTED)
        device->began = now_ns();
    device->state = CONNECTING;
    /* Not the addresses that senders have. */
    if (!mqtt_begin(
            &device->link, fleet.context, &fleet.server, INADDR_LOOPBACK + 0x10000 + (uint32_t)index, shown,
            fleet.epoll, device))
        fail("connect");
}

/* Who was refused backs off with full jitter: up to 1 s, 2 s, 4 s, ... */
static void leave(struct device *device, bool by_connack) {
    bool was_open = device->link.is_open;
    mqtt_close(&device->link);
    if (device->state == LINKED) {
        device->state = AWAY;
        lost += 1;
        return;
    }
    unsigned doublings = device->failures < 9 ? device->failures : 9;
    device->failures += 1;
    device->state = RESTING;
    device->rests_until = now_ns() + rand() % (1000 << doublings) * MILLISECOND;
    wish.refused[by_connack ? 2 : was_open ? 1 : 0] += 1;
}

static void topic_of(const struct device *device, char topic[80]) {
    snprintf(topic, 80, "ringwake/1/d/%s", fleet.identities[device - fleet.devices].id);
}

/* False: the device leaves. */
static bool receive(struct device *device, const struct mqtt_packet *packet) {
    char topic[80];
    switch (packet->type) {
    case CONNACK:
        if (packet->size < 2 || packet->body[1] != 0)
            return false;
        topic_of(device, topic);
        queue_subscribe(&device->link, topic);
        return true;
    case SUBACK:
        if (packet->body[packet->size - 1] > 2)
            fail("a subscription is refused");
        device->state = LINKED;
        device->failures = 0;
        if (link_count < sizeof link_times / sizeof *link_times)
            link_times[link_count++] = now_ns() - device->began;
        return true;
    case PUBLISH: {
        const unsigned char *payload;
        size_t length;
        char text[256] = "";
        struct acknowledgement *next = &due[due_count];
        *next = (struct acknowledgement){.device = device, .packet_id = read_publish(packet, &payload, &length)};
        if (next->packet_id == 0)
            return true;
        memcpy(text, payload, length < sizeof text - 1 ? length : sizeof text - 1);
        long long number = -1, sent = 0;
        sscanf(text, "{\"n\":%lld,\"at\":%lld", &number, &sent);
        next->number = number;
        next->sent = sent;
        due_count += 1;
        return true;
    }
    case DISCONNECT: return false;
    default: return true;
    }
}

static void advance(struct device *device) {
    bool was_open = device->link.is_open, stays = mqtt_advance(&device->link, fleet.epoll, device), by_connack = false;
    if (device->link.tls && device->link.is_open && !was_open && device->state == CONNECTING) {
        const struct identity *identity = &fleet.identities[device - fleet.devices];
        device->state = GREETED;
        queue_connect(
            &device->link, identity->id, fleet.proof == PROOF_SIGNATURE ? identity : NULL,
            fleet.is_broker ? SESSION_SECONDS : 0, true);
    }
    struct mqtt_packet packet;
    while (due_count < sizeof due / sizeof *due && mqtt_next(&device->link, &packet))
        if (!receive(device, &packet)) {
            stays = false;
            by_connack = packet.type == CONNACK;
        }
    if (!stays || !mqtt_flush(&device->link, fleet.epoll, device))
        leave(device, by_connack);
}

/* Everything that came in this turn: to the disk, then acknowledged. */
static void acknowledge(void) {
    static int64_t numbers[sizeof due / sizeof *due];
    if (due_count == 0)
        return;
    for (size_t i = 0; i < due_count; i++)
        numbers[i] = due[i].number;
    ssize_t size = (ssize_t)(due_count * sizeof *numbers);
    if (fleet.journal >= 0 && (write(fleet.journal, numbers, (size_t)size) != size || fdatasync(fleet.journal) != 0))
        fail("journal");
    for (size_t i = 0; i < due_count; i++) {
        struct acknowledgement *next = &due[i];
        if (next->device->state != LINKED && next->device->state != GREETED)
            continue;
        queue_puback(&next->device->link, next->packet_id);
        if (!mqtt_flush(&next->device->link, fleet.epoll, next->device)) {
            leave(next->device, false);
            continue;
        }
        if (next->number < 0 || next->number >= MAXIMUM_PUSHES)
            continue;
        if (seen[next->number]) {
            repeated += 1;
            continue;
        }
        seen[next->number] = 1;
        fresh += 1;
        if (latency_count < MAXIMUM_PUSHES)
            latencies[latency_count++] = now_ns() - next->sent;
    }
    due_count = 0;
}

/* MARK: - Wishes */

/* Lets more devices connect; answers when all are linked. */
static void go_on_linking(void) {
    size_t under_way = 0, linked = 0;
    int64_t now = now_ns();
    for (size_t i = wish.first; i < wish.first + wish.count; i++) {
        under_way += fleet.devices[i].state == CONNECTING || fleet.devices[i].state == GREETED;
        linked += fleet.devices[i].state == LINKED;
    }
    for (size_t i = wish.first; i < wish.first + wish.count && under_way < wish.window; i++) {
        struct device *device = &fleet.devices[i];
        if (device->state == WANTED || (device->state == RESTING && device->rests_until <= now)) {
            begin(device);
            under_way += 1;
        }
    }
    if (linked < wish.count && now < wish.until)
        return;
    qsort(link_times, link_count, sizeof *link_times, compare);
    printf(
        "{\"linked\":%zu,\"ns\":%lld,\"refused\":[%zu,%zu,%zu]", linked, (long long)(now - wish.began),
        wish.refused[0], wish.refused[1], wish.refused[2]);
    print_times(link_times, link_count);
    wish.kind = NOTHING;
}

static void go_on_expecting(void) {
    if (fresh < wish.count && now_ns() < wish.until)
        return;
    qsort(latencies, latency_count, sizeof *latencies, compare);
    printf("{\"received\":%zu,\"repeated\":%zu,\"lost_links\":%zu", fresh, repeated, lost);
    print_times(latencies, latency_count);
    latency_count = fresh = repeated = lost = 0;
    wish.kind = NOTHING;
}

static void drop(size_t first, size_t count) {
    for (size_t i = first; i < first + count; i++) {
        struct device *device = &fleet.devices[i];
        if (device->state == LINKED) {
            queue_disconnect(&device->link);
            mqtt_flush(&device->link, fleet.epoll, device);
            SSL_shutdown(device->link.tls);
        }
        mqtt_close(&device->link);
        device->state = AWAY;
    }
    puts("{}");
    fflush(stdout);
}

static void write_seen(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file)
        fail(path);
    for (size_t i = 0; i < MAXIMUM_PUSHES; i++)
        if (seen[i])
            fprintf(file, "%zu\n", i);
    if (fclose(file) != 0)
        fail(path);
    memset(seen, 0, sizeof seen);
    puts("{}");
    fflush(stdout);
}

static void take(const char *line) {
    size_t first, count, window;
    long milliseconds;
    char path[512];
    int64_t now = now_ns();
    if (sscanf(line, "link %zu %zu %zu", &first, &count, &window) == 3 && first + count <= fleet.count) {
        wish.kind = LINK, wish.first = first, wish.count = count, wish.window = window;
        memset(wish.refused, 0, sizeof wish.refused);
        wish.began = now, wish.until = now + LINK_TIMEOUT_S * SECOND;
        link_count = 0;
        for (size_t i = first; i < first + count; i++)
            if (fleet.devices[i].state != LINKED)
                fleet.devices[i].state = WANTED;
    } else if (sscanf(line, "expect %zu %ld", &count, &milliseconds) == 2) {
        wish.kind = EXPECT, wish.count = count, wish.until = now + milliseconds * MILLISECOND;
    } else if (sscanf(line, "drop %zu %zu", &first, &count) == 2 && first + count <= fleet.count) {
        drop(first, count);
    } else if (sscanf(line, "seen %511s", path) == 1) {
        write_seen(path);
    } else {
        fprintf(stderr, "fleet: unknown: %s\n", line);
        exit(2);
    }
}

/* False at the end of stdin. */
static bool read_line(void) {
    static char line[1024];
    static size_t size;
    ssize_t length = read(0, line + size, sizeof line - 1 - size);
    if (length <= 0)
        return false;
    size += (size_t)length;
    line[size] = 0;
    if (strchr(line, '\n')) {
        size = 0;
        take(line);
    }
    return true;
}

/* MARK: - The loop */

static void run(void) {
    struct epoll_event events[EVENTS];
    for (;;) {
        int found = epoll_wait(fleet.epoll, events, EVENTS, wish.kind == NOTHING ? -1 : TURN_MS);
        if (found < 0 && errno != EINTR)
            fail("epoll_wait");
        for (int i = 0; i < found; i++) {
            struct device *device = events[i].data.ptr;
            if (device && device->link.tls)
                advance(device);
            else if (!device && !read_line())
                return;
        }
        acknowledge();
        if (wish.kind == LINK)
            go_on_linking();
        if (wish.kind == EXPECT)
            go_on_expecting();
    }
}

int main(int count, char **arguments) {
    if (count != 8) {
        fprintf(stderr, "usage: fleet ringwake|broker HOST PORT FOLDER COUNT signature|certificate|none JOURNAL\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    fleet.is_broker = strcmp(arguments[1], "broker") == 0;
    fleet.server = address_of(arguments[2], arguments[3]);
    fleet.count = (size_t)atol(arguments[5]);
    fleet.identities = identities(arguments[4], fleet.count);
    fleet.devices = calloc(fleet.count, sizeof *fleet.devices);
    fleet.proof = proof_named(arguments[6]);
    fleet.context = mqtt_context();
    fleet.epoll = epoll_create1(EPOLL_CLOEXEC);
    fleet.journal = -1;
    if (strcmp(arguments[7], "-") != 0 &&
        (fleet.journal = open(arguments[7], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        fail(arguments[7]);
    struct epoll_event input = {.events = EPOLLIN};
    if (!fleet.devices || fleet.epoll < 0 || epoll_ctl(fleet.epoll, EPOLL_CTL_ADD, 0, &input) != 0)
        fail("start");
    puts("ready");
    fflush(stdout);
    run();
    return 0;
}
