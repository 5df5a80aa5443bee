#define _GNU_SOURCE
#include "handler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

// How long ringwaked may take for an answer, in seconds.
static const int answer_timeout = 10;

static int connected(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    struct timeval timeout = {.tv_sec = answer_timeout};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    // With SO_SNDTIMEO, connect fails with EINTR when the machine sleeps (signal(7)).
    if (TEMP_FAILURE_RETRY(connect(descriptor, (struct sockaddr *)&address, sizeof address)) == 0) return descriptor;
    close(descriptor);
    return -1;
}

// Connects and sends a request; the descriptor, or -1. By HTTP/1.0, a stream is not cut into chunks.
static int request(const struct control *control, const char *method, const char *target, const char *body) {
    int descriptor = connected(control->socket);
    if (descriptor < 0) return -1;
    char *authorization = control->secret ? text("Authorization: Bearer %s\r\n", control->secret) : text("%s", "");
    char *message = text("%s /v1/%s HTTP/1.0\r\nHost: ringwake\r\n%s", method, target, authorization);
    if (body) {
        char *head = message;
        message = text("%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", head, strlen(body), body);
        free(head);
    } else {
        char *head = message;
        message = text("%s\r\n", head);
        free(head);
    }
    size_t length = strlen(message);
    bool is_sent = send(descriptor, message, length, MSG_NOSIGNAL) == (ssize_t)length;
    free(authorization);
    free(message);
    if (is_sent) return descriptor;
    close(descriptor);
    return -1;
}

// The status of an answer whose head is complete; 0 if it is not.
static int status_of(const struct buffer *input) {
    int status = 0;
    if (!input->count || !strstr(input->bytes, "\r\n\r\n")) return 0;
    return sscanf(input->bytes, "HTTP/1.%*1d %3d", &status) == 1 ? status : -1;
}

bool control_ask(const struct control *control, const char *method, const char *target, const char *body) {
    int descriptor = request(control, method, target, body);
    if (descriptor < 0) return false;
    struct buffer input = {0};
    int status = 0;
    // A timeout of the socket is EAGAIN, which must end the loop here.
    while (!(status = status_of(&input))) {
        size_t before = input.count;
        if (!buffer_read(&input, descriptor) || input.count == before) break;
    }
    close(descriptor);
    free(input.bytes);
    return status >= 200 && status < 300;
}

void control_listen(struct control *control, bool stays, uint64_t since) {
    char *begin = since ? text("since=%llu", (unsigned long long)since) : text("%s", "");
    char *target = stays ? text("apps/%s/handler%s%s", control->app, since ? "?" : "", begin)
                         : text("events?app=%s%s%s", control->app, since ? "&" : "", begin);
    control->stream = request(control, "GET", target, NULL);
    control->has_head = false;
    control->status = 0;
    control->input.count = 0;
    free(begin);
    free(target);
}

bool control_read(struct control *control, void (*take)(const char *line)) {
    bool goes_on = buffer_read(&control->input, control->stream);
    if (!control->has_head) {
        control->status = status_of(&control->input);
        if (!control->status) return goes_on;
        if (control->status != 200) return false;
        buffer_drop(&control->input, (size_t)(strstr(control->input.bytes, "\r\n\r\n") - control->input.bytes) + 4);
        control->has_head = true;
    }
    char *end;
    while (control->input.count && (end = memchr(control->input.bytes, '\n', control->input.count))) {
        *end = 0;
        // It may make requests, but does not touch the buffer.
        take(control->input.bytes);
        buffer_drop(&control->input, (size_t)(end - control->input.bytes) + 1);
    }
    return goes_on;
}
