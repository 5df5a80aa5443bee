#define _GNU_SOURCE
#include "mqtt_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "stamps.h"

enum { CONNECT = 1, SUBSCRIBE = 8, EXPORTER_BYTES = 32 };

SSL_CTX *mqtt_context(void) {
    static const unsigned char alpn[] = "\x04mqtt";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context)
        fail("SSL_CTX_new");
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_protos(context, alpn, sizeof alpn - 1);
    return context;
}

enum proof proof_named(const char *name) {
    return strcmp(name, "signature") == 0     ? PROOF_SIGNATURE
           : strcmp(name, "certificate") == 0 ? PROOF_CERTIFICATE
                                              : PROOF_NONE;
}

struct sockaddr_in address_of(const char *host, const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
        fail(host);
    return address;
}

/* MARK: - The connection */

static void watch(struct mqtt_link *link, int epoll, void *user, int operation, bool writes) {
    struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0u), .data.ptr = user};
    if (epoll_ctl(epoll, operation, link->descriptor, &event) != 0)
        fail("epoll_ctl");
}

bool mqtt_begin(
    struct mqtt_link *link, SSL_CTX *context, const struct sockaddr_in *to, uint32_t source,
    const struct identity *shown, int epoll, void *user) {
    memset(link, 0, sizeof *link);
    int on = 1;
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    link->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link->descriptor < 0)
        fail("socket");
    setsockopt(link->descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    setsockopt(link->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(link->descriptor, (struct sockaddr *)&from, sizeof from) != 0)
        fail("bind");
    link->tls = SSL_new(context);
    SSL_set_fd(link->tls, link->descriptor);
    SSL_set_tlsext_host_name(link->tls, "localhost");
    if (shown) {
        SSL_use_certificate(link->tls, shown->certificate);
        SSL_use_PrivateKey(link->tls, shown->key);
    }
    SSL_set_connect_state(link->tls);
    watch(link, epoll, user, EPOLL_CTL_ADD, true);
    if (connect(link->descriptor, (const struct sockaddr *)to, sizeof *to) == 0 || errno == EINPROGRESS)
        return true;
    mqtt_close(link);
    return false;
}

void mqtt_close(struct mqtt_link *link) {
    if (!link->tls)
        return;
    SSL_free(link->tls);
    close(link->descriptor);
    free(link->in);
    free(link->out);
    memset(link, 0, sizeof *link);
}

/* Whether it was only that the socket isn't ready. */
static bool can_go_on(struct mqtt_link *link, int result) {
    int error = SSL_get_error(link->tls, result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

static void reserve(unsigned char **bytes, size_t *room, size_t wanted) {
    if (wanted <= *room)
        return;
    *room = wanted;
    if (!(*bytes = realloc(*bytes, wanted)))
        fail("realloc");
}

bool mqtt_advance(struct mqtt_link *link, int epoll, void *user) {
    static unsigned char buffer[65536];
    if (!link->is_open) {
        ERR_clear_error();
        int result = SSL_do_handshake(link->tls);
        if (result != 1) {
            bool goes_on = can_go_on(link, result);
            if (goes_on)
                watch(link, epoll, user, EPOLL_CTL_MOD, SSL_want_write(link->tls));
            return goes_on;
        }
        link->is_open = true;
        watch(link, epoll, user, EPOLL_CTL_MOD, false);
    }
    int length;
    ERR_clear_error();
    while ((length = SSL_read(link->tls, buffer, sizeof buffer)) > 0) {
        reserve(&link->in, &link->in_room, link->in_size + (size_t)length);
        memcpy(link->in + link->in_size, buffer, (size_t)length);
        link->in_size += (size_t)length;
    }
    return can_go_on(link, length) && mqtt_flush(link, epoll, user);
}

bool mqtt_flush(struct mqtt_link *link, int epoll, void *user) {
    if (!link->is_open || link->out_size == 0)
        return true;
    size_t start = 0;
    int taken = 1;
    ERR_clear_error();
    while (start < link->out_size &&
           (taken = SSL_write(link->tls, link->out + start, (int)(link->out_size - start))) > 0)
        start += (size_t)taken;
    bool is_done = start == link->out_size;
    memmove(link->out, link->out + start, link->out_size - start);
    link->out_size -= start;
    if (!is_done && !can_go_on(link, taken))
        return false;
    watch(link, epoll, user, EPOLL_CTL_MOD, !is_done);
    return true;
}

bool mqtt_next(struct mqtt_link *link, struct mqtt_packet *packet) {
    static unsigned char body[65536];
    size_t length = 0, at = 1;
    for (int shift = 0;; shift += 7) {
        if (at >= link->in_size || shift > 21)
            return false;
        length |= (size_t)(link->in[at] & 0x7f) << shift;
        if (!(link->in[at++] & 0x80))
            break;
    }
    if (link->in_size - at < length || length > sizeof body)
        return false;
    *packet = (struct mqtt_packet){.type = link->in[0] >> 4, .body = body, .size = length};
    memcpy(body, link->in + at, length);
    link->in_size -= at + length;
    memmove(link->in, link->in + at + length, link->in_size);
    return true;
}

/* MARK: - Packets */

struct bytes {
    unsigned char data[1024];
    size_t size;
};

static void add(struct bytes *bytes, const void *data, size_t size) {
    if (bytes->size + size > sizeof bytes->data)
        fail("a packet is too large");
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void add_byte(struct bytes *bytes, unsigned value) { add(bytes, &(unsigned char){(unsigned char)value}, 1); }

static void add_short(struct bytes *bytes, size_t value) {
    add_byte(bytes, (unsigned)(value >> 8));
    add_byte(bytes, (unsigned)(value & 0xff));
}

static void add_field(struct bytes *bytes, const void *data, size_t size) {
    add_short(bytes, size);
    add(bytes, data, size);
}

static void add_text(struct bytes *bytes, const char *text) { add_field(bytes, text, strlen(text)); }

static void add_length(struct bytes *bytes, size_t value) {
    do {
        add_byte(bytes, (unsigned)(value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value > 0);
}

static void queue(struct mqtt_link *link, unsigned first, const struct bytes *body) {
    struct bytes head = {.size = 0};
    add_byte(&head, first);
    add_length(&head, body->size);
    reserve(&link->out, &link->out_room, link->out_size + head.size + body->size);
    memcpy(link->out + link->out_size, head.data, head.size);
    memcpy(link->out + link->out_size + head.size, body->data, body->size);
    link->out_size += head.size + body->size;
}

/* The properties that prove the key by a signature; see Documentation/link.md. */
static void add_signature(struct bytes *properties, SSL *tls, const struct identity *signs) {
    static const char label[] = "EXPERIMENTAL-ringwake-link";
    struct bytes message = {.size = 0}, data = {.size = 0};
    unsigned char time_ms[8], exported[EXPORTER_BYTES], signature[SIGNATURE_BYTES];
    int64_t now = (int64_t)time(NULL) * 1000;
    for (int i = 0; i < 8; i++)
        time_ms[i] = (unsigned char)(now >> (56 - 8 * i));
    if (SSL_export_keying_material(tls, exported, sizeof exported, label, sizeof label - 1, NULL, 0, 0) != 1)
        fail("SSL_export_keying_material");
    add(&message, "ringwake link 1", 15);
    add(&message, signs->id, 52);
    add(&message, time_ms, sizeof time_ms);
    add(&message, exported, sizeof exported);
    sign_es256(signs->key, message.data, message.size, signature);
    add(&data, signs->spki, SPKI_BYTES);
    add(&data, time_ms, sizeof time_ms);
    add(&data, signature, sizeof signature);
    add_byte(properties, 0x15);
    add_text(properties, "ringwake-es256");
    add_byte(properties, 0x16);
    add_field(properties, data.data, data.size);
}

static void add_user_property(struct bytes *properties, const char *name, const char *value) {
    add_byte(properties, 0x26);
    add_text(properties, name);
    add_text(properties, value);
}

void queue_connect(
    struct mqtt_link *link, const char *id, const struct identity *signs, uint32_t expiry, bool is_device) {
    struct bytes body = {.size = 0}, properties = {.size = 0};
    if (expiry > 0) {
        add_byte(&properties, 0x11);
        add_short(&properties, expiry >> 16);
        add_short(&properties, expiry & 0xffff);
    } else if (is_device) {
        add_user_property(&properties, "version", "benchmark");
        add_user_property(&properties, "revision", "1");
    }
    if (signs)
        add_signature(&properties, link->tls, signs);
    add_text(&body, "MQTT");
    add_byte(&body, 5);
    add_byte(&body, expiry > 0 ? 0 : 2); /* Clean Start */
    add_short(&body, 0);                 /* no keep-alive */
    add_length(&body, properties.size);
    add(&body, properties.data, properties.size);
    add_text(&body, id);
    queue(link, CONNECT << 4, &body);
}

void queue_subscribe(struct mqtt_link *link, const char *topic) {
    struct bytes body = {.size = 0};
    add_short(&body, 1);
    add_byte(&body, 0);
    add_text(&body, topic);
    add_byte(&body, 1);
    queue(link, SUBSCRIBE << 4 | 2, &body);
}

void queue_publish(
    struct mqtt_link *link, const char *topic, uint16_t packet_id, const char *payload, size_t length) {
    struct bytes body = {.size = 0};
    add_text(&body, topic);
    add_short(&body, packet_id);
    add_byte(&body, 0);
    add(&body, payload, length);
    queue(link, PUBLISH << 4 | 2, &body);
}

void queue_puback(struct mqtt_link *link, uint16_t packet_id) {
    struct bytes body = {.size = 0};
    add_short(&body, packet_id);
    queue(link, PUBACK << 4, &body);
}

void queue_disconnect(struct mqtt_link *link) { queue(link, DISCONNECT << 4, &(struct bytes){.size = 0}); }

uint16_t read_publish(const struct mqtt_packet *packet, const unsigned char **payload, size_t *length) {
    const unsigned char *at = packet->body, *end = packet->body + packet->size;
    if (packet->size < 5)
        return 0;
    at += 2 + (at[0] << 8 | at[1]);
    if (end - at < 3)
        return 0;
    uint16_t packet_id = (uint16_t)(at[0] << 8 | at[1]);
    at += 2;
    size_t properties = 0;
    for (int shift = 0; at < end; shift += 7) {
        properties |= (size_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80))
            break;
    }
    if ((size_t)(end - at) < properties)
        return 0;
    *payload = at + properties;
    *length = (size_t)(end - *payload);
    return packet_id;
}
