/* Opens HTTP/2 connections over TLS and leaves them idle.
 *
 *     idle_connections HOST PORT CA CERTIFICATE COUNT
 *
 * Each has finished its handshake and exchanged SETTINGS. HOST is an address of 127.0.0.0/8. The connections come from
 * several such addresses, because a server may let one have few. Prints "open", then waits for the end of stdin.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "h2_client.h"
#include "stamps.h"

enum { CONNECTIONS_OF_ADDRESS = 48 };

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
        struct in_addr source = {.s_addr = htonl(INADDR_LOOPBACK + 0x100 + i / CONNECTIONS_OF_ADDRESS)};
        h2_connect_from(client, context, arguments[1], arguments[2], &source);
    }
    puts("open");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}
