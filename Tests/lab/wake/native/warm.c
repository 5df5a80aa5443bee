/* A handler that runs already: it stamps the time at which a push is in its hands, and then says that the call ended.
 *
 *     warm connected CONTROL APP FIFO    keeps a connection to the daemon
 *     warm socket PATH FIFO              listens on a socket
 *     warm dbus NAME FIFO                owns a name on the bus of DBUS_SESSION_BUS_ADDRESS
 *
 * Prints "ready" once it waits.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "stamps.h"

enum { LINE = 65536 };

static int fifo = -1;

static struct sockaddr_un unix_address(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        fail(path);
    strcpy(address.sun_path, path);
    return address;
}

static int connect_to(const char *path) {
    struct sockaddr_un address = unix_address(path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0)
        fail(path);
    return descriptor;
}

/* The text of a member of a JSON object. Enough for ids, secrets and paths, which need no escapes here. */
static bool member(const char *text, const char *name, char *value, size_t size) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":\"", name);
    const char *start = strstr(text, key);
    if (!start)
        return false;
    start += strlen(key);
    size_t length = strcspn(start, "\"");
    if (length >= size)
        return false;
    memcpy(value, start, length);
    value[length] = 0;
    return true;
}

static void hand_over(int64_t stamp) {
    if (write(fifo, &stamp, sizeof stamp) != sizeof stamp)
        fail("stamp");
}

/* Tells the daemon that the other side has hung up, so that the next sample begins with nothing to do. */
static void end_call(const char *control, const char *secret, const char *push) {
    char app[256], call[512], text[2048], answer[8192];
    if (!member(push, "app", app, sizeof app) || !member(push, "call", call, sizeof call))
        fail("a push without a call");
    int length = snprintf(
        text, sizeof text,
        "POST /v1/calls/%s/ended?app=%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
        "Connection: close\r\nContent-Length: 0\r\n\r\n",
        call, app, secret);
    int descriptor = connect_to(control);
    if (write(descriptor, text, (size_t)length) != length)
        fail("write");
    ssize_t count = read(descriptor, answer, sizeof answer - 1);
    answer[count > 0 ? count : 0] = 0;
    if (strncmp(answer, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "the daemon says: %s\n", answer);
        exit(1);
    }
    close(descriptor);
}

static void ready(void) {
    puts("ready");
    fflush(stdout);
}

static int keep_connection(const char *control, const char *app) {
    static char buffer[LINE];
    char request[512], secret[128] = "";
    int length = snprintf(request, sizeof request, "GET /v1/apps/%s/handler HTTP/1.1\r\nHost: localhost\r\n\r\n", app);
    int stream = connect_to(control);
    if (write(stream, request, (size_t)length) != length)
        fail("write");
    size_t filled = 0;
    for (;;) {
        ssize_t count = read(stream, buffer + filled, sizeof buffer - 1 - filled);
        int64_t stamp = now_ns();
        if (count <= 0)
            return 0;
        filled += (size_t)count;
        buffer[filled] = 0;
        char *line = buffer, *end;
        while ((end = strchr(line, '\n'))) {
            *end = 0;
            if (strstr(line, "\"event\":\"wake\"")) {
                hand_over(stamp);
                end_call(control, secret, line);
            } else if (strstr(line, "\"event\":\"handler\"") && member(line, "secret", secret, sizeof secret)) {
                ready();
            }
            line = end + 1;
        }
        filled = (size_t)(buffer + filled - line);
        memmove(buffer, line, filled);
    }
}

static int listen_on(const char *path) {
    static char line[LINE];
    char control[256], secret[128];
    struct sockaddr_un address = unix_address(path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 16) != 0)
        fail(path);
    ready();
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        size_t filled = 0;
        int64_t stamp = 0;
        while (!memchr(line, '\n', filled)) {
            ssize_t count = read(connection, line + filled, sizeof line - 1 - filled);
            stamp = now_ns();
            if (count <= 0)
                fail("the daemon hung up");
            filled += (size_t)count;
        }
        line[filled] = 0;
        hand_over(stamp);
        if (!member(line, "socket", control, sizeof control) || !member(line, "secret", secret, sizeof secret))
            fail("a line without a secret");
        end_call(control, secret, strstr(line, "\"wake\""));
        close(connection);
    }
}

static int incoming_push(sd_bus_message *message, void *context, sd_bus_error *error) {
    (void)context, (void)error;
    int64_t stamp = now_ns();
    const char *request, *secret, *control;
    hand_over(stamp);
    if (sd_bus_message_read(message, "sss", &request, &secret, &control) < 0)
        fail("the arguments");
    sd_bus_reply_method_return(message, "");
    end_call(control, secret, request);
    return 1;
}

static int release(sd_bus_message *message, void *context, sd_bus_error *error) {
    (void)context, (void)error;
    return sd_bus_reply_method_return(message, "");
}

static const sd_bus_vtable methods[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("IncomingPush", "sss", "", incoming_push, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Release", "", "", release, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static int own_name(const char *name) {
    char path[256] = "/";
    strncat(path, name, sizeof path - 2);
    for (char *dot = path; (dot = strchr(dot, '.'));)
        *dot = '/';
    sd_bus *bus;
    if (sd_bus_open_user(&bus) < 0 ||
        sd_bus_add_object_vtable(bus, NULL, path, "org.ringwake.Handler1", methods, NULL) < 0 ||
        sd_bus_request_name(bus, name, 0) < 0)
        fail(name);
    ready();
    for (;;) {
        int done = sd_bus_process(bus, NULL);
        if (done < 0)
            return 0;
        if (done == 0)
            sd_bus_wait(bus, UINT64_MAX);
    }
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "";
    bool connects = count == 5 && strcmp(way, "connected") == 0;
    bool listens = count == 4 && strcmp(way, "socket") == 0, is_on_bus = count == 4 && strcmp(way, "dbus") == 0;
    if (!connects && !listens && !is_on_bus) {
        fprintf(stderr, "usage: warm connected CONTROL APP FIFO | socket PATH FIFO | dbus NAME FIFO\n");
        return 2;
    }
    /* For reading too: it is there before the program that measures is. */
    fifo = open(arguments[count - 1], O_RDWR | O_CLOEXEC);
    if (fifo < 0)
        fail(arguments[count - 1]);
    return connects ? keep_connection(arguments[2], arguments[3]) : listens ? listen_on(arguments[2])
                                                                            : own_name(arguments[2]);
}
