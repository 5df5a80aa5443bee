// A call handler for tests that start thousands: reports each call with its first ring, and writes down what it saw.
//
//     caller RECORDS HOLD_MS [PATIENCE_S]
//
// Without an answer it exits, or sends the request again for PATIENCE_S, as a handler should.
//
// RECORDS gets one line for each step, appended at once, so that no kill can take back what was seen:
//   woken CALL ATTEMPT   the daemon gave it this call, at its start or when it fetched what waits
//   offered CALL         the daemon gave it this call to claim, for its handler had ended
//   claimed CALL         it has claimed it
//   ringing CALL         the daemon said that the call rings
//   refused CALL STATUS  the daemon said no to the report
//   ended CALL           the daemon said that the call has ended
//   lost CALL            the daemon went away before it answered
//
// What it does with a call is in the last digit of the call's id: 0 leaves it unreported, 1 reports it and lets it not
// ring, 2 and 3 let it ring and exit, others let it ring for HOLD_MS and hang up. A call that it may claim it leaves
// when that digit is even, else it claims it and hangs up. Its exit status is 0 in all cases.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// The longest answer that it takes in: a list of what waits, with payloads.
#define ANSWER_BYTES (1024 * 1024)
// The longest message on standard input, and the longest id.
#define MESSAGE_BYTES 16384
#define ID_BYTES 64

static int records, daemon_socket = -1;
static int hold_ms, patience_s;
static char answer[ANSWER_BYTES];

__attribute__((format(printf, 1, 2))) static void record(const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= (int)sizeof line || write(records, line, length) != length) _exit(98);
}

static bool connect_to_daemon(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", getenv("RINGWAKE_SOCKET"));
    daemon_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(daemon_socket, (struct sockaddr *)&address, sizeof address) == 0;
}

// The length of the answer's body, once `head` is whole; -1 before, and when it has none.
static long body_length(const char *head) {
    const char *end = strstr(head, "\r\n\r\n");
    const char *field = strcasestr(head, "\r\ncontent-length:");
    return end && field && field < end ? atol(field + strlen("\r\ncontent-length:")) : -1;
}

// One request on the connection; its status, or 0 when the daemon went away. The body stands in `*body`.
static int ask(const char *method, const char *path, const char *json, char **body) {
    char text[2048];
    int length = snprintf(text, sizeof text,
                          "%s %s HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer %s\r\n"
                          "content-type: application/json\r\ncontent-length: %zu\r\n\r\n%s",
                          method, path, getenv("RINGWAKE_WAKE_SECRET"), strlen(json), json);
    if (send(daemon_socket, text, (size_t)length, MSG_NOSIGNAL) != length) return 0;
    size_t count = 0;
    for (;;) {
        ssize_t more = recv(daemon_socket, answer + count, sizeof answer - 1 - count, 0);
        if (more <= 0) return 0;
        count += (size_t)more;
        answer[count] = 0;
        long size = body_length(answer);
        char *start = strstr(answer, "\r\n\r\n");
        if (size >= 0 && count >= (size_t)(start + 4 - answer) + (size_t)size) {
            *body = start + 4;
            return atoi(answer + strlen("HTTP/1.1 "));
        }
    }
}

// The same, again and again while it is patient.
static int request(const char *method, const char *path, const char *json, char **body) {
    const int pause_ms = 10;
    for (int left_ms = patience_s * 1000;; left_ms -= pause_ms) {
        int status = ask(method, path, json, body);
        if (status != 0 || left_ms <= 0) return status;
        struct timespec pause = {0, pause_ms * 1000000L};
        nanosleep(&pause, NULL);
        if (daemon_socket >= 0) close(daemon_socket);
        connect_to_daemon();
    }
}

static void hold(void) {
    struct timespec time = {hold_ms / 1000, (long)(hold_ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

// Hangs up. False when the daemon went away.
static bool end(const char *call) {
    char path[256], *body = NULL;
    snprintf(path, sizeof path, "/v1/calls/%s/ended", call);
    int status = request("POST", path, "{}", &body);
    if (status == 200 && strstr(body, "\"state\":\"ended\"")) record("ended %s\n", call);
    return status != 0;
}

// Takes a call over that has lost its handler. False when the daemon went away.
static bool claim(const char *call) {
    record("offered %s\n", call);
    char path[256], *body = NULL;
    if (call[strlen(call) - 1] % 2 == 0) return true;
    snprintf(path, sizeof path, "/v1/calls/%s/claim", call);
    int status = request("POST", path, "{}", &body);
    if (status != 200) return status != 0;
    record("claimed %s\n", call);
    return end(call);
}

// Does with a call what its id says. False when this handler is to exit.
static bool handle(const char *call, const char *kind, const char *attempt) {
    if (strcmp(kind, "claim") == 0) return claim(call);
    record("woken %s %d\n", call, atoi(attempt));
    char path[256], *body = NULL;
    char digit = call[strlen(call) - 1];
    if (digit == '0') return false;
    snprintf(path, sizeof path, "/v1/calls/%s/report", call);
    int status = request("POST", path, digit == '1' ? "{}" : "{\"ring\":true}", &body);
    if (status == 0) {
        record("lost %s\n", call);
        return false;
    }
    if (status != 200) {
        record("refused %s %d\n", call, status);
        return true;
    }
    if (strstr(body, "\"state\":\"ringing\"")) record("ringing %s\n", call);
    if (digit <= '3') return false;
    hold();
    return end(call);
}

// Copies the string after `name` up to its closing quote; ids need no escapes.
static const char *member(const char *text, const char *name, char value[static ID_BYTES]) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *found = strstr(text, quoted);
    if (!found) return NULL;
    found += strlen(quoted);
    if (*found == '"') found++;
    size_t length = strcspn(found, "\",}");
    if (length >= ID_BYTES) return NULL;
    memcpy(value, found, length);
    value[length] = 0;
    return found + length;
}

int main(int count, char **arguments) {
    if (count < 3 || count > 4) return 2;
    hold_ms = atoi(arguments[2]);
    if (count == 4) patience_s = atoi(arguments[3]);
    records = open(arguments[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    static char message[MESSAGE_BYTES];
    ssize_t length = 0, more;
    while ((more = read(STDIN_FILENO, message + length, sizeof message - 1 - (size_t)length)) > 0) length += more;
    char kind[ID_BYTES], attempt[ID_BYTES];
    if (records < 0 || !member(message, "kind", kind) || !member(message, "attempt", attempt)) return 2;
    bool goes_on = connect_to_daemon() || patience_s > 0;
    if (!goes_on) record("lost %s\n", getenv("RINGWAKE_CALL"));
    goes_on = goes_on && handle(getenv("RINGWAKE_CALL"), kind, attempt);
    // What came while it ran, as long as there is some.
    char path[256], *body;
    snprintf(path, sizeof path, "/v1/apps/%s/pushes", getenv("RINGWAKE_APP"));
    while (goes_on && request("GET", path, "", &body) == 200) {
        // The answers to what it does now overwrite this one.
        char *waiting = strdup(body), call[ID_BYTES];
        const char *rest = waiting;
        bool found = false;
        for (;;) {
            const char *next = member(rest, "kind", kind);
            next = next ? member(next, "call", call) : NULL;
            rest = next ? member(next, "attempt", attempt) : NULL;
            if (!rest) break;
            found = true;
            goes_on = handle(call, kind, attempt) && goes_on;
        }
        free(waiting);
        if (!found) break;
    }
    return 0;
}
