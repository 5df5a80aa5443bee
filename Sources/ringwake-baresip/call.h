// One call, and what is done with it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum told { nothing_told, reported, ringing, gone };
enum media { no_media, on, held };
enum timeout { no_timeout, register_again, report_provisionally, give_up, play_on };

struct call {
    struct call *next;
    char *id;
    // The Call-ID of its INVITE; nil until that has arrived, or until the server has answered ours.
    char *invite;
    // As a JSON text.
    char *caller;
    // Of a call that the user begins: whom to call, and whether the client was told to. Nil for others.
    char *to;
    bool is_outgoing, is_dialled;
    enum told told;
    enum media media;
    // The user's open action; nil if there is none.
    char *owed;
    // Digits still to play. Each request ends with a full stop.
    char *digits;
    uint64_t number;
    enum timeout timeout;
    int64_t due;
};

// All calls, the oldest first.
extern struct call *calls;
struct call *call_with(const char *id);

// Whether both are there and equal.
bool is(const char *one, const char *other);
// Replaces a text, which may be nil.
void set(char **place, const char *value);
// Sets the call's timeout, in microseconds.
void later(struct call *call, int64_t time, enum timeout what);
// The other side has hung up, the client has exited, or the user hung up.
void is_gone(struct call *call, const char *reason);

// ---- actions.c

// Sends ringwaked a request about the call; false unless it has done it.
bool say(const struct call *call, const char *verb, const char *body);
void fulfil(struct call *call, const char *action);
// Sends the client a command for this call, if it still has the call; `what` says what the result is for.
void tell_of(const struct call *call, const char *what, const char *command, const char *parameters);
// Does what the user wants. After a restart ringwaked may repeat an action.
void act(struct call *call, const char *action, const char *digits);
// Calls the other side, as soon as the client takes commands.
void dial(struct call *call);
// The user has hung up before the server has answered: the client's current call is the one that it was told last to dial.
void hang_up_dialled(struct call *call);
// Whether an event is of a call that the user hung up before the server had answered.
bool is_stray(const char *peer, bool is_over);
// Whether the client's name for the other side is the one that the user called.
bool is_same_peer(const char *peer, const char *to);
// Plays digits up to a pause.
void play(struct call *call);
void hang_up(struct call *call);
// After the end of a call: the client then resumes the previous one, which nobody asked for.
void hold_again(const struct call *ended);
// The client's response to a command.
void take_response(const char *message);
// The client has ended.
void drop_commands(void);
