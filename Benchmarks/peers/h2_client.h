/* One HTTP/2 connection over TLS, on libnghttp2 and OpenSSL: as little as a client can cost. */
#ifndef H2_CLIENT_H
#define H2_CLIENT_H

#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A push, the same each time but for its apns-id. */
struct push {
    const char *path;          /* "/3/device/TOKEN" */
    const char *topic;         /* apns-topic */
    const char *authorization; /* "bearer ...", or NULL with a certificate */
    const char *expiration;    /* apns-expiration, or NULL */
    const char *body;
    char apns_id[37];
};

struct h2_client {
    SSL *tls;
    int descriptor;
    nghttp2_session *session;
    void (*on_answer)(int64_t took_ns); /* is told of each complete answer, counted from h2_submit; or NULL */
    void (*on_success)(struct h2_client *client, int32_t stream); /* is told of each status 200; or NULL */
    unsigned long finished;  /* answers that are complete */
    unsigned long succeeded; /* those with status 200 */
    bool has_settings;       /* the server's SETTINGS have come */
    bool is_closed;
    BIO *encrypted;               /* where TLS puts its records */
    unsigned char pending[65536]; /* records that wait for the socket */
    size_t pending_start, pending_end;
};

/* A client's context: trusts `ca`, shows the PEM `certificate` unless it is NULL or "-". Exits on failure. */
SSL_CTX *h2_context(const char *ca, const char *certificate);

/* Connects, finishes the handshake, sends the preface and waits for the server's SETTINGS. Exits on failure. */
void h2_connect(struct h2_client *client, SSL_CTX *context, const char *host, const char *port);

/* The same from an address of this machine, if there is one. */
void h2_connect_from(
    struct h2_client *client, SSL_CTX *context, const char *host, const char *port, const struct in_addr *source);

/* Queues one push. */
void h2_submit(struct h2_client *client, const struct push *push);

/* Turns what is queued into TLS records, without sending them. */
void h2_encode(struct h2_client *client);

/* Writes what the socket takes now. */
void h2_send(struct h2_client *client);

/* Takes in what has come. */
void h2_receive(struct h2_client *client);

/* Whether it waits for the socket to take more. */
bool h2_wants_write(const struct h2_client *client);

#endif
