/* Opens HTTP/2 connections over TLS and leaves them idle.
 *
 *     idle_connections HOST PORT CA CERTIFICATE COUNT
 *
 * Each has finished its handshake and exchanged SETTINGS. Prints "open", then waits for the end of stdin.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "h2_client.h"
#include "stamps.h"

int main(int count, char **arguments) {
    if (count != 6) {
        fprintf(stderr, "usage: idle_connections HOST PORT CA CERTIFICATE COUNT\n");
        return 2;
    }
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    SSL_CTX *context = h2_context(arguments[3], arguments[4]);
    for (int i = 0, connections = atoi(arguments[5]); i < connections; i++) {
        struct h2_client *client = malloc(sizeof *client);
        if (!client)
            fail("malloc");
        h2_connect(client, context, arguments[1], arguments[2]);
    }
    puts("open");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}
