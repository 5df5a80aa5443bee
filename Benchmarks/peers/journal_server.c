/* What a durable push costs at least: a server written by hand on OpenSSL, libnghttp2, epoll and SQLite.
 *
 *     journal_server PORT CERTIFICATE KEY STORE
 *
 * HTTP/2 over TLS. Each request's apns-id becomes a row in `push` and one in `call` of STORE, which ringwaked has made;
 * after the commit that holds them it is answered 200 with its apns-id, as ringwaked does it. Commits are made by a
 * second thread, of all that waits, as in ringwaked. It verifies nothing, knows no call, and writes no log.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "journal_thread.h"
#include "stamps.h"

enum { MAXIMUM_EVENTS = 64, MAXIMUM_GATHERED = 1024, MAXIMUM_TOUCHED = 1024 };

struct connection {
    int descriptor;
    SSL *tls;
    nghttp2_session *session;
    bool is_open;    /* the handshake is done */
    bool is_closed;  /* freed once its pushes have come back */
    bool is_touched; /* has answers to write */
    size_t waiting;  /* pushes at the journal */
};

static struct waiting_push gathered[MAXIMUM_GATHERED];
static size_t gathered_count;

static void hand_over(void) {
    if (gathered_count > 0)
        journal_hand_over(gathered, gathered_count);
    gathered_count = 0;
}

/* MARK: requests */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)user;
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, calloc(1, 37)) == 0 ? 0 : -1;
}

static int on_header(
    nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
    const uint8_t *value, size_t value_length, uint8_t flags, void *user) {
    (void)flags, (void)user;
    char *apns_id = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (apns_id && name_length == 7 && memcmp(name, "apns-id", 7) == 0 && value_length == 36)
        memcpy(apns_id, value, value_length);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    struct connection *connection = user;
    bool is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!is_request || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    const char *apns_id = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!apns_id)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (gathered_count == MAXIMUM_GATHERED)
        hand_over();
    gathered[gathered_count++] = (struct waiting_push){connection, frame->hd.stream_id, store_push(apns_id)};
    connection->waiting += 1;
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user) {
    (void)code, (void)user;
    free(nghttp2_session_get_stream_user_data(session, stream));
    return 0;
}

static void start_http(struct connection *connection) {
    static nghttp2_session_callbacks *callbacks;
    if (!callbacks) {
        nghttp2_session_callbacks_new(&callbacks);
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    }
    nghttp2_session_server_new(&connection->session, callbacks, connection);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000}};
    nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 1);
    connection->is_open = true;
}

/* MARK: connections */

/* Writes what the session has to say, in as few records as it fits in. */
static void flush_frames(struct connection *connection) {
    unsigned char plain[32768];
    for (size_t size = 0;; size = 0) {
        const uint8_t *data;
        ssize_t length;
        while (size < sizeof plain / 2 && (length = nghttp2_session_mem_send(connection->session, &data)) > 0) {
            memcpy(plain + size, data, (size_t)length);
            size += (size_t)length;
        }
        if (size == 0)
            return;
        while (SSL_write(connection->tls, plain, (int)size) <= 0) {
            /* Answers are short and the client reads them: the socket is hardly ever full, so this may wait. */
            struct pollfd source = {.fd = connection->descriptor, .events = POLLOUT};
            if (poll(&source, 1, 1000) != 1 || source.revents != POLLOUT) {
                connection->is_closed = true;
                return;
            }
        }
    }
}

static void receive(struct connection *connection) {
    int length = 1;
    if (!connection->is_open && (length = SSL_accept(connection->tls)) == 1)
        start_http(connection);
    unsigned char buffer[16384];
    while (connection->is_open && (length = SSL_read(connection->tls, buffer, sizeof buffer)) > 0) {
        if (nghttp2_session_mem_recv(connection->session, buffer, (size_t)length) < 0) {
            connection->is_closed = true;
            return;
        }
    }
    connection->is_closed |= SSL_get_error(connection->tls, length) != SSL_ERROR_WANT_READ;
    if (connection->is_open && !connection->is_closed)
        flush_frames(connection);
}

static void discard_if_done(struct connection *connection) {
    if (!connection->is_closed || connection->waiting > 0)
        return;
    nghttp2_session_del(connection->session);
    SSL_free(connection->tls);
    close(connection->descriptor);
    free(connection);
}

static void answer(const struct waiting_push *waiting) {
    struct connection *connection = waiting->connection;
    connection->waiting -= 1;
    if (connection->is_closed)
        return;
    nghttp2_nv fields[] = {
        {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NONE},
        {(uint8_t *)"apns-id", (uint8_t *)waiting->push.apns_id, 7, 36, NGHTTP2_NV_FLAG_NONE},
    };
    if (nghttp2_submit_response(connection->session, waiting->stream, fields, 2, NULL) != 0)
        connection->is_closed = true;
}

/* Answers what has become durable, with one write for each connection. */
static void answer_durable(void) {
    static struct waiting_push durable[MAXIMUM_GATHERED];
    struct connection *touched[MAXIMUM_TOUCHED];
    size_t count, touched_count = 0;
    while ((count = journal_take(durable, MAXIMUM_TOUCHED - touched_count)) > 0) {
        for (size_t i = 0; i < count; i++) {
            struct connection *connection = durable[i].connection;
            answer(&durable[i]);
            if (!connection->is_touched)
                touched[touched_count++] = connection;
            connection->is_touched = true;
        }
    }
    for (size_t i = 0; i < touched_count; i++) {
        touched[i]->is_touched = false;
        if (!touched[i]->is_closed)
            flush_frames(touched[i]);
        discard_if_done(touched[i]);
    }
}

/* MARK: the loop */

static int select_h2(
    SSL *tls, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
    unsigned offered_length, void *user) {
    (void)tls, (void)user;
    unsigned char *protocol;
    int found = SSL_select_next_proto(&protocol, length, (const unsigned char *)"\x02h2", 3, offered, offered_length);
    *chosen = protocol;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int listen_on(const char *port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)atoi(port))};
    int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0)
        fail("listen");
    return listener;
}

static void watch(int poller, int descriptor, void *data) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) != 0)
        fail("epoll_ctl");
}

static void accept_connection(int poller, int listener, SSL_CTX *context) {
    struct connection *connection = calloc(1, sizeof *connection);
    int on = 1, descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0 || !connection)
        fail("accept");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->descriptor = descriptor;
    connection->tls = SSL_new(context);
    SSL_set_fd(connection->tls, descriptor);
    watch(poller, descriptor, connection);
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: journal_server PORT CERTIFICATE KEY STORE\n");
        return 2;
    }
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, arguments[2]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, arguments[3], SSL_FILETYPE_PEM) != 1)
        fail(arguments[2]);
    SSL_CTX_set_alpn_select_cb(context, select_h2, NULL);
    int durable = journal_start(arguments[4]), listener = listen_on(arguments[1]);
    int poller = epoll_create1(EPOLL_CLOEXEC);
    watch(poller, durable, &durable);
    watch(poller, listener, &listener);
    for (;;) {
        struct epoll_event events[MAXIMUM_EVENTS];
        int ready = epoll_wait(poller, events, MAXIMUM_EVENTS, -1);
        if (ready < 0 && errno != EINTR)
            fail("epoll_wait");
        bool has_durable = false;
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == &durable) {
                has_durable = true;
            } else if (events[i].data.ptr == &listener) {
                accept_connection(poller, listener, context);
            } else {
                receive(events[i].data.ptr);
                discard_if_done(events[i].data.ptr);
            }
        }
        hand_over();
        /* Last: it may discard a connection that has an event in this turn. */
        if (has_durable)
            answer_durable();
    }
}
