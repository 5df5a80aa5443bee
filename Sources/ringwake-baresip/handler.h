// A call handler around the SIP client baresip. main.c says what it does.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- text.c: texts, JSON, the log

// Ends the process if there is no memory.
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Writes a line to standard output, which ringwaked logs.
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The text of a JSON member as it is written there, with its escapes; nil if it is absent. The first member of that
// name is the right one: the payload comes last, and a text cannot look like a name, because its quotes have
// backslashes.
char *member(const char *json, const char *name);
// The same without the escapes that an id can have.
char *plain_member(const char *json, const char *name);
// The id as it stands in a path of a URL.
char *encoded(const char *id);
// A text as it stands in a JSON text.
char *quoted(const char *plain);

// Bytes that arrive in pieces.
struct buffer {
    char *bytes;
    size_t count, capacity;
};
// Reads what has arrived; false at the end, after an error, and if the buffer would get too large.
bool buffer_read(struct buffer *buffer, int descriptor);
void buffer_drop(struct buffer *buffer, size_t count);

// Microseconds of a clock that is never set.
int64_t now(void);

// ---- control.c: ringwaked's control socket

struct control {
    const char *socket, *app;
    char *secret;
    // The stream of events: -1 if it is closed.
    int stream;
    struct buffer input;
    // Whether the head of the answer has been read; its status.
    bool has_head;
    int status;
};
// Sends a request and waits for the answer; false unless ringwaked has done it.
bool control_ask(const struct control *control, const char *method, const char *target, const char *body);
// Opens the stream of events from the call with this number on; 0: of those in progress.
void control_listen(struct control *control, bool stays, uint64_t since);
// Calls `take` for each line that has arrived. False when the stream has ended; `status` says why.
bool control_read(struct control *control, void (*take)(const char *line));

// ---- client.c: baresip

struct client {
    const char *folder;
    char *host, *account, *address;
    uint16_t port;
    int pid, socket;
    struct buffer input;
    // How often it is registered.
    int accounts;
    // The end of a pipe whose other end the guard has.
    int guard;
};
// Reads the folder's configuration; ends the process if it is wrong.
void client_configure(struct client *client, const char *folder);
// Continues with a client that runs without a handler, or starts one.
void client_start(struct client *client);
// Whether the client that was started has exited.
bool client_is_dead(const struct client *client);
// Tries to connect to a client that has been started.
bool client_connect(struct client *client);
// Sends a command, whose response has the token.
void client_tell(const struct client *client, const char *token, const char *command, const char *parameters);
void client_register(struct client *client);
// Starts the process that outlives a killed handler, once.
void client_guard(struct client *client);
void client_dismiss_guard(struct client *client);
void client_unregister(struct client *client);
// Calls `take` for each message that has arrived. False when the client has closed the connection.
bool client_read(struct client *client, void (*take)(const char *message));
// Ends the client, which unregisters. Does not wait for a server that does not answer.
void client_quit(struct client *client);

// ---- calls.c: the calls

struct handler {
    bool stays;
    struct control control;
    struct client client;
    // ringwaked reports the ends of calls.
    bool listens;
    // The highest number of a call that was seen.
    uint64_t highest;
    // When the client was started.
    int64_t started_at;
    // When to connect to ringwaked again, and to look at INVITEs without a call; 0: not.
    int64_t listen_at, match_at;
};
extern struct handler handler;

// Seconds until a call without an INVITE is given up; nil: the standard.
void set_invite_timeout(const char *seconds);
// A push has arrived.
void given(const char *kind, const char *id);
// An event of ringwaked.
void take_event(const char *line);
// A message of the client.
void take_message(const char *message);
// The client has ended.
void client_has_left(void);
// The earliest timeout; INT64_MAX if there is none.
int64_t next_timeout(void);
// Handles the timeouts that are due.
void handle_timeouts(void);
// Opens the stream, which begins with what may have been missed.
void listen_to_calls(void);
// Starts the client, or continues with one that runs.
void begin_client(void);
// The client takes commands from now on.
void client_is_there(void);
// ringwaked reports the ends of calls from now on, so that calls may ring.
void stream_is_open(void);
// Ends the client and the process.
void leave(int status) __attribute__((noreturn));
