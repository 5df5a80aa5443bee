/* The floor of a wake-up: posix_spawn of the same static program, with nothing in front of it.
 *
 *     spawn_floor HANDLER FIFO          posix_spawn alone
 *     spawn_floor HANDLER FIFO tcp      one byte over a warm TCP connection to a process that calls posix_spawn
 *
 * For each line on stdin it starts the handler once, with a message in a memfd as its stdin as the daemon does it,
 * and prints the nanoseconds from just before posix_spawn (or just before the byte is sent) to the handler's first
 * instruction. The second is the floor of whatever is triggered over a network: the kernel has to wake a process.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stamps.h"

static const char message[] =
    "{\"schema\":1,\"app\":\"com.example.phone\",\"topic\":\"com.example.phone.voip\",\"call\":"
    "\"00000000-0000-4000-8000-000000000000\",\"attempt\":1,\"age_ms\":0,\"deadline_ms\":5000,\"payload\":{}}";

static int message_descriptor(void) {
    int descriptor = memfd_create("message", MFD_CLOEXEC);
    if (descriptor < 0 || write(descriptor, message, sizeof message - 1) < 0 || lseek(descriptor, 0, SEEK_SET) != 0)
        fail("memfd");
    return descriptor;
}

/* Starts the handler, with nothing set that can be left out. */
static pid_t spawn(char **handler, int input) {
    static char *environment[] = {"RINGWAKE_APP=com.example.phone", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    pid_t pid;
    errno = posix_spawn(&pid, handler[0], &actions, NULL, handler, environment);
    if (errno != 0)
        fail(handler[0]);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Starts the handler for each byte that comes. */
static _Noreturn void serve(int connection, char **handler) {
    char byte;
    for (;;) {
        int input = message_descriptor();
        if (read(connection, &byte, 1) != 1)
            _exit(0);
        waitpid(spawn(handler, input), NULL, 0);
        close(input);
    }
}

/* A TCP connection over the loopback to a process that serves it. */
static int connect_server(char **handler) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        connect(client, (struct sockaddr *)&address, length) != 0)
        fail("loopback");
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fork() == 0) {
        close(client);
        serve(accept(listener, NULL, NULL), handler);
    }
    close(listener);
    return client;
}

int main(int count, char **arguments) {
    if (count != 3 && (count != 4 || strcmp(arguments[3], "tcp") != 0)) {
        fprintf(stderr, "usage: spawn_floor HANDLER FIFO [tcp]\n");
        return 2;
    }
    int fifo = open_fifo(arguments[2]);
    char *handler[] = {arguments[1], arguments[2], NULL};
    int connection = count == 4 ? connect_server(handler) : -1;

    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        int input = connection < 0 ? message_descriptor() : -1;
        pid_t pid = -1;
        int64_t start = now_ns();
        if (connection < 0)
            pid = spawn(handler, input);
        else if (write(connection, "x", 1) != 1)
            fail("write");
        int64_t stamp = read_stamp(fifo, 5000);
        if (stamp < 0 || (pid >= 0 && waitpid(pid, NULL, 0) != pid))
            fail("the handler");
        printf("%lld\n", (long long)(stamp - start));
        fflush(stdout);
        if (input >= 0)
            close(input);
    }
    return 0;
}
