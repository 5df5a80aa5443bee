// A call handler as the guide describes it: opens its stream, reports its call, and stays until the stream ends.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int ask(const char *format, const char *part, const char *body) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", getenv("RINGWAKE_SOCKET"));
    char target[256], request[1024];
    snprintf(target, sizeof target, format, part);
    int length = snprintf(
        request, sizeof request,
        "%s HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer %s\r\ncontent-length: %zu\r\n\r\n%s", target,
        getenv("RINGWAKE_WAKE_SECRET"), strlen(body), body);
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) exit(2);
    if (write(connection, request, length) != length) exit(3);
    char answer[16] = "";
    if (recv(connection, answer, 12, MSG_WAITALL) != 12 || strcmp(answer, "HTTP/1.1 200") != 0) exit(4);
    return connection;
}

int main(void) {
    int stream = ask("GET /v1/events?call=%s", getenv("RINGWAKE_CALL"), "");
    close(ask("POST /v1/calls/%s/report", getenv("RINGWAKE_CALL"), "{\"ring\":true}"));
    char more[4096];
    while (read(stream, more, sizeof more) > 0) {}
    return 0;
}
