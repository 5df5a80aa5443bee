// A call handler around the SIP client baresip. It runs the client and connects it with ringwaked:
//
//   ringwaked --a push, what the user wants--> handler --commands--> baresip <--SIP--> server
//             <--report, fulfil, ended--------         <--events----
//
//   ringwake-baresip FOLDER             started for a push: starts the client, which registers; ends it after the last
//                                       call
//   ringwake-baresip --stay FOLDER APP  keeps a connection to ringwaked open, and a client running that is not
//                                       registered
//
// It does what Examples/baresip-shell does, which explains the folder. The client is started first, and registers as
// soon as it takes commands; everything that ringwaked has to be told is done meanwhile.
#define _GNU_SOURCE
#include "handler.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct handler handler = {.control = {.stream = -1}, .client = {.socket = -1, .guard = -1}};

// How often to try to connect to a client that starts, and how long; microseconds.
static const int64_t try_again = 500, starts_within = 5000000;

static volatile sig_atomic_t is_stopped;
static void stop(int signal) {
    (void)signal;
    is_stopped = 1;
}

void leave(int status) {
    client_quit(&handler.client);
    exit(status);
}

static void stream_has_ended(void) {
    // ringwaked no longer knows this handler. One that stays connects as a new handler and claims the calls. Other
    // failures, such as 429 for too many streams, pass.
    int status = handler.control.status;
    bool is_unknown = status >= 400 && status < 500 && status != 408 && status != 429;
    close(handler.control.stream);
    handler.control.stream = -1;
    handler.listens = false;
    if (is_unknown) {
        if (!handler.stays || !handler.control.secret) leave(1);
        free(handler.control.secret);
        handler.control.secret = NULL;
    }
    // The end of the stream is not the end of a call: ringwaked restarts, and the handler opens the stream again.
    handler.listen_at = now() + 200000;
}

static void wait_for_events(void) {
    bool is_starting = handler.client.socket < 0 && handler.client.pid > 0;
    if (is_starting && client_connect(&handler.client)) {
        client_is_there();
        is_starting = false;
    }
    if (is_starting && (client_is_dead(&handler.client) || now() > handler.started_at + starts_within)) {
        note("the client does not listen on %s:%d; %s/log says why", handler.client.host, handler.client.port,
             handler.client.folder);
        leave(1);
    }
    int64_t until = next_timeout();
    if (is_starting && now() + try_again < until) until = now() + try_again;
    struct timespec left = {0}, *timeout = until == INT64_MAX ? NULL : &left;
    int64_t rest = until - now();
    if (timeout && rest > 0) left = (struct timespec){.tv_sec = rest / 1000000, .tv_nsec = rest % 1000000 * 1000};
    struct pollfd both[2] = {
        {.fd = handler.client.socket, .events = POLLIN}, {.fd = handler.control.stream, .events = POLLIN}};
    sigset_t none;
    sigemptyset(&none);
    int count = ppoll(both, 2, timeout, &none);
    if (is_stopped) leave(128 + SIGTERM);
    // An event that has arrived comes before a timeout that is due: this process may only be slow.
    if (count > 0) {
        if (both[0].revents && !client_read(&handler.client, take_message)) {
            close(handler.client.socket);
            client_has_left();
        }
        if (both[1].revents) {
            bool goes_on = control_read(&handler.control, take_event);
            if (handler.control.status == 200 && !handler.listens) stream_is_open();
            if (!goes_on) stream_has_ended();
        }
        return;
    }
    handle_timeouts();
}

int main(int count, char **words) {
    handler.stays = count > 1 && strcmp(words[1], "--stay") == 0;
    if (handler.stays) words++, count--;
    const char *socket = getenv("RINGWAKE_SOCKET"), *secret = getenv("RINGWAKE_WAKE_SECRET");
    const char *call = getenv("RINGWAKE_CALL");
    handler.control.app = count > 2 ? words[2] : getenv("RINGWAKE_APP");
    if (count < 2 || !handler.control.app) {
        fprintf(stderr, "usage: ringwake-baresip [--stay] FOLDER [APP]\n");
        return 2;
    }
    handler.control.socket = socket ? socket : "/run/ringwake/control.sock";
    handler.control.secret = secret && *secret ? text("%s", secret) : NULL;
    // The client and the guard outlive this process. The daemon kills what still has the secret then, and a child has
    // this memory for its environment.
    if (secret) explicit_bzero((char *)secret, strlen(secret));
    unsetenv("RINGWAKE_WAKE_SECRET");
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    // They are delivered in ppoll alone.
    sigprocmask(SIG_BLOCK, &stops, NULL);
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    // Nobody waits for the client and the guard; and one that was killed must not end this process.
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    client_configure(&handler.client, words[1]);
    set_invite_timeout(getenv("INVITE_TIMEOUT"));

    char wake[65] = "";
    ssize_t length = call ? read(0, wake, sizeof wake - 1) : 0;
    wake[length > 0 ? length : 0] = 0;
    char *kind = member(wake, "kind");
    bool has_call = kind && strcmp(kind, "call") == 0;
    // The client first: it starts while the handler does everything else.
    if (handler.stays || has_call) begin_client();
    if (handler.client.socket >= 0 && !has_call) client_is_there();
    listen_to_calls();
    if (kind) {
        given(kind, call);
    } else if (!handler.stays) {
        char *target = text("apps/%s/pushes", handler.control.app);
        if (control_ask(&handler.control, "GET", target, NULL)) note("fetched");
        free(target);
    }
    for (;;) wait_for_events();
}
