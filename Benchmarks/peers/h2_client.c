#define _GNU_SOURCE
#include "h2_client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stamps.h"

static _Noreturn void fail_tls(const char *what) {
    fprintf(stderr, "%s: ", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

SSL_CTX *h2_context(const char *ca, const char *certificate) {
    static const unsigned char h2[] = "\x02h2";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context || SSL_CTX_load_verify_locations(context, ca, NULL) != 1)
        fail_tls(ca);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_protos(context, h2, sizeof h2 - 1);
    if (certificate && strcmp(certificate, "-") != 0 &&
        (SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
         SSL_CTX_use_PrivateKey_file(context, certificate, SSL_FILETYPE_PEM) != 1))
        fail_tls(certificate);
    return context;
}

static int on_header(
    nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
    const uint8_t *value, size_t value_length, uint8_t flags, void *user) {
    (void)session, (void)flags;
    struct h2_client *client = user;
    if (name_length == 7 && memcmp(name, ":status", 7) == 0 && value_length == 3 && memcmp(value, "200", 3) == 0) {
        client->succeeded += 1;
        if (client->on_success)
            client->on_success(client, frame->hd.stream_id);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user) {
    (void)code;
    struct h2_client *client = user;
    int64_t submitted = (int64_t)(intptr_t)nghttp2_session_get_stream_user_data(session, stream);
    if (client->on_answer)
        client->on_answer(now_ns() - submitted);
    client->finished += 1;
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)session;
    if (frame->hd.type == NGHTTP2_SETTINGS && !(frame->hd.flags & NGHTTP2_FLAG_ACK))
        ((struct h2_client *)user)->has_settings = true;
    return 0;
}

static ssize_t read_body(
    nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t length, uint32_t *flags,
    nghttp2_data_source *source, void *user) {
    (void)session, (void)stream, (void)user;
    size_t size = strlen(source->ptr);
    if (size > length)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    memcpy(buffer, source->ptr, size);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)size;
}

static int connect_to(const char *host, const char *port, const struct in_addr *source) {
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    if (getaddrinfo(host, port, &hints, &found) != 0)
        fail(host);
    int descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in from = {.sin_family = AF_INET};
    if (source)
        from.sin_addr = *source;
    if (source && bind(descriptor, (struct sockaddr *)&from, sizeof from) != 0)
        fail("bind");
    if (descriptor < 0 || connect(descriptor, found->ai_addr, found->ai_addrlen) != 0)
        fail("connect");
    freeaddrinfo(found);
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

void h2_connect(struct h2_client *client, SSL_CTX *context, const char *host, const char *port) {
    h2_connect_from(client, context, host, port, NULL);
}

void h2_connect_from(
    struct h2_client *client, SSL_CTX *context, const char *host, const char *port, const struct in_addr *source) {
    memset(client, 0, sizeof *client);
    client->descriptor = connect_to(host, port, source);
    client->tls = SSL_new(context);
    SSL_set_tlsext_host_name(client->tls, "localhost");
    SSL_set1_host(client->tls, "localhost");
    SSL_set_fd(client->tls, client->descriptor);
    if (SSL_connect(client->tls) != 1)
        fail_tls("TLS handshake");
    fcntl(client->descriptor, F_SETFL, O_NONBLOCK);
    /* From here on records are made in memory and written by h2_send, so that a measurement can begin between. */
    client->encrypted = BIO_new(BIO_s_mem());
    SSL_set0_wbio(client->tls, client->encrypted);

    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_client_new(&client->session, callbacks, client);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    nghttp2_submit_settings(client->session, NGHTTP2_FLAG_NONE, settings, 1);

    while (!client->has_settings || nghttp2_session_want_write(client->session) || h2_wants_write(client)) {
        h2_encode(client);
        h2_send(client);
        struct pollfd source = {.fd = client->descriptor, .events = POLLIN};
        if (client->has_settings || poll(&source, 1, 10000) == 1)
            h2_receive(client);
        if (client->is_closed)
            fail("the server closed the connection");
    }
}

#define FIELD(name, value)                                                                                     \
    {(uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE}

void h2_submit(struct h2_client *client, const struct push *push) {
    nghttp2_nv fields[] = {
        FIELD(":method", "POST"), FIELD(":scheme", "https"), FIELD(":authority", "localhost"),
        FIELD(":path", push->path), FIELD("apns-id", push->apns_id), FIELD("apns-topic", push->topic),
        FIELD("apns-push-type", "voip"), FIELD("apns-priority", "10"), {0}, {0},
    };
    size_t count = sizeof fields / sizeof fields[0] - 2;
    if (push->authorization)
        fields[count++] = (nghttp2_nv)FIELD("authorization", push->authorization);
    if (push->expiration)
        fields[count++] = (nghttp2_nv)FIELD("apns-expiration", push->expiration);
    nghttp2_data_provider body = {.source.ptr = (void *)push->body, .read_callback = read_body};
    if (nghttp2_submit_request(client->session, NULL, fields, count, &body, (void *)(intptr_t)now_ns()) < 0)
        fail("submit");
}

/* Moves what TLS has made to `pending`, as far as there is room. */
static void collect(struct h2_client *client) {
    if (client->pending_start == client->pending_end)
        client->pending_start = client->pending_end = 0;
    int length = BIO_read(
        client->encrypted, client->pending + client->pending_end, (int)(sizeof client->pending - client->pending_end));
    client->pending_end += length > 0 ? (size_t)length : 0;
}

void h2_encode(struct h2_client *client) {
    unsigned char plain[32768];
    size_t size = 0;
    const uint8_t *data;
    ssize_t length;
    /* All frames in as few records as they fit in. No frame of ours is larger than half of the buffer. */
    while (size < sizeof plain / 2 && (length = nghttp2_session_mem_send(client->session, &data)) > 0) {
        memcpy(plain + size, data, (size_t)length);
        size += (size_t)length;
    }
    for (size_t start = 0; start < size;) {
        int taken = SSL_write(client->tls, plain + start, (int)(size - start));
        if (taken <= 0)
            fail_tls("SSL_write");
        start += (size_t)taken;
    }
    collect(client);
}

bool h2_wants_write(const struct h2_client *client) {
    return client->pending_start < client->pending_end || BIO_pending(client->encrypted) > 0;
}

void h2_send(struct h2_client *client) {
    while (h2_wants_write(client)) {
        collect(client);
        ssize_t sent = write(
            client->descriptor, client->pending + client->pending_start, client->pending_end - client->pending_start);
        if (sent < 0) {
            client->is_closed |= errno != EAGAIN;
            return;
        }
        client->pending_start += (size_t)sent;
    }
}

void h2_receive(struct h2_client *client) {
    unsigned char buffer[16384];
    int length;
    while ((length = SSL_read(client->tls, buffer, sizeof buffer)) > 0) {
        if (nghttp2_session_mem_recv(client->session, buffer, (size_t)length) < 0) {
            client->is_closed = true;
            return;
        }
    }
    client->is_closed |= SSL_get_error(client->tls, length) != SSL_ERROR_WANT_READ;
}
