/* One MQTT 5 connection over TLS 1.3 that never blocks: as little as a client can cost. */
#ifndef MQTT_LINK_H
#define MQTT_LINK_H

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "identities.h"

enum { CONNACK = 2, PUBLISH = 3, PUBACK = 4, SUBACK = 9, DISCONNECT = 14 };

/* How a device shows who it is. */
enum proof { PROOF_NONE, PROOF_CERTIFICATE, PROOF_SIGNATURE };

struct mqtt_link {
    SSL *tls; /* NULL while it is closed */
    int descriptor;
    bool is_open; /* the handshake is done */
    unsigned char *in, *out;
    size_t in_size, in_room, out_size, out_room;
};

struct mqtt_packet {
    int type;
    const unsigned char *body; /* after the fixed header, until the next call */
    size_t size;
};

/* A client's context. The chain of the server is not checked: clients are not what is measured. */
SSL_CTX *mqtt_context(void);

enum proof proof_named(const char *name);

struct sockaddr_in address_of(const char *host, const char *port);

/* Begins to connect from `source`, and has epoll report everything with `user`. Shows a certificate if there is one. */
bool mqtt_begin(
    struct mqtt_link *link, SSL_CTX *context, const struct sockaddr_in *to, uint32_t source,
    const struct identity *shown, int epoll, void *user);

/* Goes on after an event of the socket. False: the connection is closed. */
bool mqtt_advance(struct mqtt_link *link, int epoll, void *user);

/* The next whole packet. */
bool mqtt_next(struct mqtt_link *link, struct mqtt_packet *packet);

/* Writes what was queued. */
bool mqtt_flush(struct mqtt_link *link, int epoll, void *user);

void mqtt_close(struct mqtt_link *link);

/* CONNECT. With `expiry` the session is kept so many seconds; with a signature it is Ringwake's method. */
void queue_connect(
    struct mqtt_link *link, const char *id, const struct identity *signs, uint32_t expiry, bool is_device);
void queue_subscribe(struct mqtt_link *link, const char *topic);
void queue_publish(
    struct mqtt_link *link, const char *topic, uint16_t packet_id, const char *payload, size_t length);
void queue_puback(struct mqtt_link *link, uint16_t packet_id);
void queue_disconnect(struct mqtt_link *link);

/* The packet id of a PUBLISH with QoS 1, and its payload; 0 if it is none. */
uint16_t read_publish(const struct mqtt_packet *packet, const unsigned char **payload, size_t *length);

#endif
