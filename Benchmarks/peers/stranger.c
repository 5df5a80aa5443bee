/* Another user of the machine who wants to keep calls from ringing.
 *
 *     stranger SOCKET pipeline COUNT     COUNT connections that ask for the status without reading the answers first
 *     stranger SOCKET connect COUNT      connections, as fast as they come, COUNT at a time, which ask nothing
 *     stranger SOCKET hold COUNT         COUNT idle connections, again and again
 *     stranger SOCKET users COUNT        COUNT users, from 100000 on, each with one connection of the first kind
 *     stranger SOCKET watch COUNT        one connection that watches COUNT host names
 *
 * It rests a millisecond after each round: about 5 % of a core; with many users each rests as much longer. It ends when its
 * standard input ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

enum { NOBODY = 65534, FIRST_USER = 100000, MAXIMUM = 1024, PIPELINED = 16, ROUND_US = 1000 };

static const char request[] = "GET /v1/status HTTP/1.1\r\nhost: localhost\r\n\r\n";
static useconds_t rest = ROUND_US;
static struct sockaddr_un place = {.sun_family = AF_UNIX};

static int open_connection(void) {
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connection >= 0 && connect(connection, (struct sockaddr *)&place, sizeof place) == 0) return connection;
    if (connection >= 0) close(connection);
    return -1;
}

static bool is_over(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    return poll(&input, 1, 0) != 0;
}

/* Writes requests, and reads what comes. Returns false when the connection has ended. */
static bool ask(int connection) {
    static char answers[65536];
    char batch[PIPELINED * (sizeof request - 1)];
    for (int index = 0; index < PIPELINED; index++) {
        memcpy(batch + index * (sizeof request - 1), request, sizeof request - 1);
    }
    if (send(connection, batch, sizeof batch, MSG_NOSIGNAL) < 0 && errno != EAGAIN) return false;
    return recv(connection, answers, sizeof answers, 0) != 0;
}

static void go_on(const char *way, int count) {
    static int held[MAXIMUM];
    memset(held, -1, sizeof held);
    bool asks = strcmp(way, "pipeline") == 0, drops = strcmp(way, "connect") == 0;
    while (!is_over()) {
        for (int index = 0; index < count; index++) {
            if (drops && held[index] >= 0) {
                close(held[index]);
                held[index] = -1;
            }
            if (held[index] < 0) held[index] = open_connection();
            bool is_open = held[index] >= 0;
            if (asks && is_open) is_open = ask(held[index]);
            if (!asks && !drops && is_open) is_open = recv(held[index], &(char){0}, 1, MSG_PEEK) != 0;
            if (!is_open && held[index] >= 0) {
                close(held[index]);
                held[index] = -1;
            }
        }
        usleep(rest);
    }
}

static void watch(int count) {
    static char target[MAXIMUM * 32];
    int length = sprintf(target, "GET /v1/reachability?watch=true");
    for (int index = 0; index < count && index < 64; index++) {
        length += sprintf(target + length, "&target=h%d-%d.example.org", getpid(), index);
    }
    sprintf(target + length, " HTTP/1.1\r\nhost: localhost\r\n\r\n");
    int connection = open_connection();
    if (connection >= 0) (void)!write(connection, target, strlen(target));
    while (!is_over()) usleep(100 * ROUND_US);
}

int main(int count, char **arguments) {
    int number = count == 4 ? atoi(arguments[3]) : 0;
    if (number < 1 || number > MAXIMUM || strlen(arguments[1]) >= sizeof place.sun_path) {
        fprintf(stderr, "usage: stranger SOCKET pipeline|connect|hold|users|watch COUNT\n");
        return 2;
    }
    strcpy(place.sun_path, arguments[1]);
    bool users = strcmp(arguments[2], "users") == 0;
    if (users) rest *= (useconds_t)number;
    for (int index = 0; users && index < number; index++) {
        pid_t child = fork();
        if (child != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setgid(FIRST_USER + index) != 0 || setuid(FIRST_USER + index) != 0) _exit(1);
        go_on("pipeline", 1);
        _exit(0);
    }
    if (users) {
        while (!is_over()) usleep(ROUND_US * 10);
        while (wait(NULL) > 0) {}
        return 0;
    }
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) return 1;
    if (strcmp(arguments[2], "watch") == 0) {
        watch(number);
    } else {
        go_on(arguments[2], number);
    }
    return 0;
}
