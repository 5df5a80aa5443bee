/* A handler that reports its call as ringing, writes the time of the daemon's answer to a FIFO, and ends the call: one
 * that leaves without an end is started again, to claim it.
 *
 *     ring_handler FIFO
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "stamps.h"

/* Sends a request about the call; whether it was done. */
static bool request(int connection, const char *call, const char *verb, const char *secret, const char *body) {
    char text[2048];
    int length = snprintf(
        text, sizeof text,
        "POST /v1/calls/%s/%s HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer %s\r\ncontent-length: %zu\r\n\r\n%s",
        call, verb, secret, strlen(body), body);
    if (length < 0 || (size_t)length >= sizeof text || write(connection, text, (size_t)length) != length) return false;
    return read(connection, text, sizeof text) >= 12 && memcmp(text, "HTTP/1.1 200", 12) == 0;
}

int main(int count, char **arguments) {
    const char *path = getenv("RINGWAKE_SOCKET"), *call = getenv("RINGWAKE_CALL"),
               *secret = getenv("RINGWAKE_WAKE_SECRET");
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    if (count != 2 || path == NULL || call == NULL || secret == NULL || strlen(path) >= sizeof place.sun_path) return 2;
    strcpy(place.sun_path, path);
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&place, sizeof place) != 0) return 3;
    if (!request(connection, call, "report", secret, "{\"ring\":true}")) return 4;
    int64_t stamp = now_ns();
    FILE *fifo = fopen(arguments[1], "w");
    if (fifo == NULL || fwrite(&stamp, sizeof stamp, 1, fifo) != 1 || fclose(fifo) != 0) return 5;
    return request(connection, call, "ended", secret, "{\"reason\":\"remoteEnded\"}") ? 0 : 6;
}
