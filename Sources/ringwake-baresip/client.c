#define _GNU_SOURCE
#include "handler.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// How long the client may take to exit, and how long it waits for another handler when its own was killed, in
// milliseconds.
static const int goodbye = 1000, orphan = 6000;
static const char quit[] = "18:{\"command\":\"quit\"},";

static void is_wrong(const char *folder, const char *what) {
    note("%s/%s", folder, what);
    exit(1);
}

void client_configure(struct client *client, const char *folder) {
    char *line = NULL;
    size_t size = 0;
    client->folder = folder;
    client->socket = client->guard = -1;
    char *path = text("%s/config", folder);
    FILE *file = fopen(path, "re");
    char host[64];
    while (file && getline(&line, &size, file) > 0) {
        if (sscanf(line, " ctrl_tcp_listen %63[0-9.]:%hu", host, &client->port) == 2) client->host = text("%s", host);
    }
    if (file) fclose(file);
    if (!client->host) is_wrong(folder, "config has no 'ctrl_tcp_listen 127.0.0.1:PORT'");
    free(path);
    path = text("%s/accounts", folder);
    file = fopen(path, "re");
    while (file && !client->account && getline(&line, &size, file) > 0) {
        char *begin = strstr(line, "sip"), *end;
        if (*line == '#' || !begin || !strchr(begin, '@')) continue;
        line[strcspn(line, "\n")] = 0;
        client->account = text("%s", line);
        // The address without parameters and without a password.
        if ((end = strpbrk(begin, ">;"))) *end = 0;
        char *at = strchr(begin, '@'), *scheme = strchr(begin, ':');
        char *password = scheme ? strchr(scheme + 1, ':') : NULL;
        int user = (int)((password && password < at ? password : at) - begin);
        client->address = text("%.*s%s", user, begin, at);
    }
    if (file) fclose(file);
    if (!client->account) is_wrong(folder, "accounts has no account: <sip:bob@example.org>");
    free(path);
    free(line);
}

bool client_connect(struct client *client) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(client->port)};
    if (inet_pton(AF_INET, client->host, &address.sin_addr) != 1) is_wrong(client->folder, "config: no IPv4 address");
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return false;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        close(descriptor);
        return false;
    }
    int one = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    client->socket = descriptor;
    client->input.count = 0;
    return true;
}

static void send_all(const struct client *client, const char *bytes, size_t count) {
    while (count) {
        ssize_t sent = send(client->socket, bytes, count, MSG_NOSIGNAL);
        // The end of the connection is seen when it is read.
        if (sent < 0 && errno != EINTR) return;
        if (sent > 0) bytes += sent, count -= (size_t)sent;
    }
}

// A child that outlives a killed handler. The next handler continues with the client, which then closes this
// connection. If there is none, the guard ends the client.
void client_guard(struct client *client) {
    int ends[2];
    if (client->guard >= 0 || pipe2(ends, O_CLOEXEC) < 0) return;
    int pid = fork();
    if (pid == 0) {
        char byte;
        close(ends[1]);
        // The daemon kills the handler's group, and knows by the stream's end that the handler is gone.
        setsid();
        if (handler.control.stream >= 0) close(handler.control.stream);
        for (int standard = 0; standard < 3; standard++) close(standard);
        if (read(ends[0], &byte, 1) != 0) _exit(0);
        struct pollfd other = {.fd = client->socket, .events = POLLIN};
        for (int64_t end = now() + orphan * 1000; now() < end;) {
            if (poll(&other, 1, (int)((end - now()) / 1000) + 1) > 0) {
                char bytes[4096];
                if (read(client->socket, bytes, sizeof bytes) <= 0) _exit(0);
            }
        }
        client_quit(client);
        _exit(0);
    }
    close(ends[0]);
    client->guard = ends[1];
}

static void spawn(struct client *client) {
    char *log = text("%s/log", client->folder);
    char *arguments[] = {"baresip", "-f", (char *)client->folder, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    // This process blocks and ignores signals that the client needs.
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // It outlives this process, whose group the daemon kills.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int error = posix_spawnp(&client->pid, "baresip", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        note("baresip cannot be started: %s", strerror(error));
        exit(1);
    }
    free(log);
}

void client_start(struct client *client) {
    char *path = text("%s/pid", client->folder);
    FILE *file;
    if (client_connect(client)) {
        client->accounts = 1;
        client_guard(client);
        if ((file = fopen(path, "re"))) {
            if (fscanf(file, "%d", &client->pid) != 1) client->pid = 0;
            fclose(file);
        }
    } else {
        client->accounts = 0;
        spawn(client);
        if ((file = fopen(path, "we"))) {
            fprintf(file, "%d\n", client->pid);
            fclose(file);
        }
    }
    free(path);
}

void client_tell(const struct client *client, const char *token, const char *command, const char *parameters) {
    if (client->socket < 0) return;
    char *safe = quoted(parameters), *safe_token = quoted(token);
    char *object = text("{\"command\":\"%s\",\"params\":\"%s\",\"token\":\"%s\"}", command, safe, safe_token);
    char *netstring = text("%zu:%s,", strlen(object), object);
    send_all(client, netstring, strlen(netstring));
    free(safe);
    free(safe_token);
    free(object);
    free(netstring);
}

void client_dismiss_guard(struct client *client) {
    if (client->guard < 0) return;
    (void)!write(client->guard, "", 1);
    close(client->guard);
    client->guard = -1;
}

void client_register(struct client *client) {
    client_tell(client, "-", "uanew", client->account);
    client->accounts++;
    // Not before: it takes time.
    client_guard(client);
}

void client_unregister(struct client *client) {
    for (; client->accounts > 0; client->accounts--) client_tell(client, "-", "uadel", client->address);
}

// Netstrings, LENGTH:BYTES and a comma.
bool client_read(struct client *client, void (*take)(const char *message)) {
    struct buffer *input = &client->input;
    bool goes_on = buffer_read(input, client->socket);
    char *colon;
    while (input->count && (colon = memchr(input->bytes, ':', input->count))) {
        char *end;
        unsigned long length = strtoul(input->bytes, &end, 10);
        size_t begin = (size_t)(colon - input->bytes) + 1;
        if (end != colon || length > 1 << 20) return false;
        if (begin + length + 1 > input->count) break;
        input->bytes[begin + length] = 0;
        take(input->bytes + begin);
        buffer_drop(input, begin + length + 1);
    }
    return goes_on;
}

static void nothing(const char *message) { (void)message; }

bool client_is_dead(const struct client *client) {
    return client->pid > 0 && kill(client->pid, 0) < 0 && errno == ESRCH;
}

// The kernel reaps the client, and the number may come from the file of an earlier handler: another process may have it.
static void kill_client(const struct client *client) {
    if (client->pid <= 0) return;
    char *path = text("/proc/%d/comm", client->pid), name[32] = "";
    FILE *file = fopen(path, "re");
    if (file && fgets(name, sizeof name, file) && strcmp(name, "baresip\n") == 0) kill(client->pid, SIGKILL);
    if (file) fclose(file);
    free(path);
}

void client_quit(struct client *client) {
    if (client->socket >= 0) {
        send_all(client, quit, sizeof quit - 1);
        int64_t end = now() + goodbye * 1000;
        struct pollfd other = {.fd = client->socket, .events = POLLIN};
        while (now() < end) {
            if (poll(&other, 1, (int)((end - now()) / 1000) + 1) > 0 && !client_read(client, nothing)) break;
        }
        if (now() >= end) kill_client(client);
    } else {
        kill_client(client);
    }
    client_dismiss_guard(client);
}
