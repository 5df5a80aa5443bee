/* Triggers what starts a program, in the simplest way that it takes, and measures how long the program's first
 * instruction takes.
 *
 *     trigger connect PORT FIFO          a TCP connection: xinetd, systemd-socket-activate
 *     trigger http PORT TARGET FIFO      a POST on a kept connection: webhook
 *     trigger mqtt PORT TOPIC FIFO       a PUBLISH with quality of service 0 on a kept connection: mosquitto
 *
 * For each line on stdin it triggers once, waits for the handler's stamp and for what is answered, and prints the
 * nanoseconds from just before the bytes were written (or the connection was asked for) to the stamp.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stamps.h"

enum { SAMPLE_TIMEOUT_MS = 5000 };

static int connect_to(const char *port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

static void send_all(int descriptor, const void *bytes, size_t length) {
    if (send(descriptor, bytes, length, MSG_NOSIGNAL) != (ssize_t)length)
        fail("send");
}

/* Reads one HTTP answer, whose body has a length, to its end. */
static void read_answer(int descriptor) {
    char answer[8192];
    size_t length = 0;
    for (;;) {
        ssize_t count = recv(descriptor, answer + length, sizeof answer - 1 - length, 0);
        if (count <= 0)
            fail("the answer");
        length += (size_t)count;
        answer[length] = 0;
        char *end = strstr(answer, "\r\n\r\n");
        if (!end)
            continue;
        if (strncmp(answer, "HTTP/1.1 200", 12) != 0) {
            fprintf(stderr, "%.200s\n", answer);
            exit(1);
        }
        char *field = strcasestr(answer, "\r\ncontent-length:");
        size_t body = field && field < end ? strtoul(field + 17, NULL, 10) : 0;
        if (length >= (size_t)(end + 4 - answer) + body)
            return;
    }
}

/* MQTT 3.1.1, section 3.1: CONNECT with a clean session and no keep-alive; and the CONNACK for it. */
static int connect_mqtt(const char *port) {
    static const unsigned char hello[] = {
        0x10, 16, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, 4, 'r', 'i', 'n', 'g'};
    unsigned char answer[4];
    int descriptor = connect_to(port);
    send_all(descriptor, hello, sizeof hello);
    if (recv(descriptor, answer, sizeof answer, MSG_WAITALL) != sizeof answer || answer[0] != 0x20 || answer[3] != 0)
        fail("CONNACK");
    return descriptor;
}

/* MQTT 3.1.1, section 3.3: PUBLISH without an answer. */
static size_t make_publish(unsigned char packet[static 256], const char *topic) {
    static const char body[] = "{\"from\":\"sip:alice@example.com\"}";
    size_t name = strlen(topic), length = 2 + name + sizeof body - 1;
    if (length > 127)
        fail("the topic is too long");
    packet[0] = 0x30;
    packet[1] = (unsigned char)length;
    packet[2] = 0;
    packet[3] = (unsigned char)name;
    memcpy(packet + 4, topic, name);
    memcpy(packet + 4 + name, body, sizeof body - 1);
    return 2 + length;
}

int main(int count, char **arguments) {
    bool connects = count == 4 && strcmp(arguments[1], "connect") == 0;
    bool posts = count == 5 && strcmp(arguments[1], "http") == 0;
    bool publishes = count == 5 && strcmp(arguments[1], "mqtt") == 0;
    if (!connects && !posts && !publishes) {
        fprintf(stderr, "usage: trigger connect PORT FIFO | http PORT TARGET FIFO | mqtt PORT TOPIC FIFO\n");
        return 2;
    }
    int fifo = open_fifo(arguments[count - 1]);
    unsigned char bytes[1024];
    size_t length = 0;
    if (posts)
        length = (size_t)snprintf(
            (char *)bytes, sizeof bytes,
            "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 32\r\n\r\n"
            "{\"from\":\"sip:alice@example.com\"}",
            arguments[3]);
    if (publishes)
        length = make_publish(bytes, arguments[3]);
    int kept = posts ? connect_to(arguments[2]) : publishes ? connect_mqtt(arguments[2]) : -1;

    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        int64_t start = now_ns();
        int connection = connects ? connect_to(arguments[2]) : -1;
        if (kept >= 0)
            send_all(kept, bytes, length);
        int64_t stamp = read_stamp(fifo, SAMPLE_TIMEOUT_MS);
        if (stamp < 0)
            fail("no stamp came");
        if (posts)
            read_answer(kept);
        printf("%lld\n", (long long)(stamp - start));
        fflush(stdout);
        if (connection >= 0)
            close(connection);
    }
    return 0;
}
