#define _GNU_SOURCE
#include "call.h"
#include "handler.h"

#include <stdlib.h>
#include <string.h>

// A comma among digits; microseconds.
static const int64_t pause_time = 1000000;

void later(struct call *call, int64_t time, enum timeout what) {
    call->due = now() + time;
    call->timeout = what;
}

void set(char **place, const char *value) {
    free(*place);
    *place = value ? text("%s", value) : NULL;
}

bool is(const char *one, const char *other) { return one && other && strcmp(one, other) == 0; }

bool say(const struct call *call, const char *verb, const char *body) {
    char *id = encoded(call->id), *target = text("calls/%s/%s?app=%s", id, verb, handler.control.app);
    bool is_done = control_ask(&handler.control, "POST", target, body);
    note("%s%s %s %s", is_done ? "" : "not done: ", verb, call->id, body);
    free(id);
    free(target);
    return is_done;
}

static void settle(struct call *call, const char *verb, const char *action) {
    set(&call->owed, NULL);
    char *body = text("{\"action\":\"%s\"}", action);
    say(call, verb, body);
    free(body);
}

void fulfil(struct call *call, const char *action) { settle(call, "fulfill", action); }
static void fail(struct call *call, const char *action) { settle(call, "fail", action); }

// A command for a call. It applies to the last selected call, so the call is selected first, and the command is sent
// only when the client has found it: a call may end at any time, and the command would apply to another one.
struct command {
    struct command *next;
    // The ids of the call and of its INVITE; what the response is for, nil if nobody cares.
    char *call, *invite, *what;
    const char *name;
    char *parameters;
};

// The first one is in progress.
static struct command *commands;

static void proceed(void) {
    if (commands) client_tell(&handler.client, "find", "callfind", commands->invite);
}

static void drop_command(void) {
    struct command *first = commands;
    commands = first->next;
    free(first->call);
    free(first->invite);
    free(first->what);
    free(first->parameters);
    free(first);
}

void drop_commands(void) {
    while (commands) drop_command();
}

void tell_of(const struct call *call, const char *what, const char *command, const char *parameters) {
    if (!call->invite || handler.client.socket < 0) return;
    struct command **end = &commands;
    while (*end) end = &(*end)->next;
    *end = calloc(1, sizeof **end);
    if (!*end) leave(1);
    (*end)->call = text("%s", call->id);
    (*end)->invite = text("%s", call->invite);
    (*end)->what = what ? text("%s", what) : NULL;
    (*end)->name = command;
    (*end)->parameters = text("%s", parameters);
    if (*end == commands) proceed();
}

void hold_again(const struct call *ended) {
    for (struct call *other = calls; other; other = other->next)
        if (other != ended && other->media == held && !is(other->owed, "unhold")) tell_of(other, NULL, "hold", "");
}

void hang_up(struct call *call) {
    tell_of(call, NULL, "hangup", "");
    hold_again(call);
}

void play(struct call *call) {
    while (call->digits && *call->digits) {
        char digit[2] = {*call->digits, 0};
        memmove(call->digits, call->digits + 1, strlen(call->digits));
        if (*digit == ',') return later(call, pause_time, play_on);
        if (*digit == '.') fulfil(call, "dtmf");
        else tell_of(call, NULL, "sndcode", digit);
    }
}

void dial(struct call *call) {
    if (call->is_dialled || !call->to || handler.client.socket < 0 || handler.client.accounts == 0) return;
    call->is_dialled = true;
    client_tell(&handler.client, "dial", "dial", call->to);
}

bool is_same_peer(const char *peer, const char *to) {
    if (!peer || !to) return false;
    if (strncmp(peer, "sip:", 4) == 0) peer += 4;
    if (strncmp(to, "sip:", 4) == 0) to += 4;
    // The client completes a number by the server of its account.
    size_t length = strlen(to);
    return strncmp(peer, to, length) == 0 && (!peer[length] || strchr("@;?:>", peer[length]));
}

// Whom calls went to that were hung up before the server had answered: the end of each is still to be seen.
struct stray {
    struct stray *next;
    char *to;
};
static struct stray *strays;

void hang_up_dialled(struct call *call) {
    struct stray **end = &strays;
    while (*end) end = &(*end)->next;
    *end = calloc(1, sizeof **end);
    if (!*end) leave(1);
    (*end)->to = text("%s", call->to);
    call->is_dialled = false;
    client_tell(&handler.client, "-", "hangup", "");
}

bool is_stray(const char *peer, bool is_over) {
    for (struct stray **place = &strays; *place; place = &(*place)->next) {
        struct stray *stray = *place;
        if (!is_same_peer(peer, stray->to)) continue;
        if (is_over) {
            *place = stray->next;
            free(stray->to);
            free(stray);
        }
        return true;
    }
    return false;
}

// The client has sent an INVITE, or can't. Its answers come in the order of the commands.
static void take_dialled(bool is_done) {
    for (struct call *call = calls; call; call = call->next) {
        if (!call->is_dialled || !is(call->owed, "start")) continue;
        return is_done ? fulfil(call, "start") : fail(call, "start");
    }
}

static bool still_rings(const struct call *other, const struct call *call) {
    return other != call && !other->media && !other->is_outgoing && !is(other->owed, "end");
}

// Does what the user wants. After a restart ringwaked may repeat an action.
void act(struct call *call, const char *action, const char *digits) {
    set(&call->owed, action);
    bool is_done = (is(action, "answer") && call->media) || (is(action, "start") && (call->invite || call->media))
        || (is(action, "hold") && call->media == held)
        || (is(action, "unhold") && call->media == on) || (is(action, "end") && !call->invite);
    if (is(action, "end") && !call->invite && call->is_dialled) hang_up_dialled(call);
    if (is_done) return fulfil(call, action);
    if (is(action, "start")) {
        // What can't be in a SIP URI (RFC 3261 section 25.1) would go out as another one, or as none.
        bool can = call->is_outgoing && call->to && *call->to && !strpbrk(call->to, " \t\r\n\"<>\\");
        return can ? dial(call) : fail(call, action);
    }
    if (!call->invite) return fail(call, action);
    if (is(action, "answer")) {
        // The client first holds the other call, and does not answer if that fails, as for a call that still rings. So
        // hold that call beforehand: this fails too, but the client remembers it; undo it afterwards.
        for (struct call *other = calls; other; other = other->next)
            if (still_rings(other, call)) tell_of(other, NULL, "hold", "");
        tell_of(call, "answer", "accept", "");
        for (struct call *other = calls; other; other = other->next)
            if (still_rings(other, call)) tell_of(other, NULL, "resume", "");
    } else if (is(action, "end")) {
        hang_up(call);
    } else if (is(action, "hold") || is(action, "mute") || is(action, "unmute")) {
        tell_of(call, action, is(action, "hold") ? "hold" : "mute", "");
    } else if (is(action, "unhold")) {
        tell_of(call, action, "resume", "");
    } else if (is(action, "dtmf")) {
        char *before = call->digits;
        call->digits = text("%s%s.", before ? before : "", digits ? digits : "");
        free(before);
        play(call);
    }
}

// The command in progress was carried out, or not: by the client's words.
static void take_result(bool is_done, const char *words) {
    struct call *call = call_with(commands->call);
    char *what = commands->what ? text("%s", commands->what) : NULL;
    drop_command();
    const struct command *next = commands;
    if (call && what) {
        bool is_mute = is(what, "mute"), is_unmute = is(what, "unmute");
        if (is(what, "claimed")) {
            if (!is_done) is_gone(call, "failed");
        } else if (is_done && ((is_mute && strstr(words, "un-muted")) || (is_unmute && strstr(words, "call muted")))) {
            // The command toggles: send it again if the state was already right.
            tell_of(call, what, "mute", "");
        } else if (is_done && (is_mute || is_unmute)) {
            fulfil(call, what);
        } else if (!is_done && (is_mute || is_unmute || is(what, "hold") || is(what, "unhold"))) {
            fail(call, what);
        }
    }
    free(what);
    // One that was added to an empty queue has begun.
    if (next) proceed();
}

void take_response(const char *message) {
    char *token = member(message, "token"), *data = member(message, "data");
    bool is_done = strstr(message, "\"ok\":true") != NULL;
    const char *words = data ? data : "";
    if (commands && is(token, "find")) {
        if (!is_done || !strstr(words, "setting")) take_result(false, words);
        else client_tell(&handler.client, "do", commands->name, commands->parameters);
    } else if (is(token, "dial")) {
        take_dialled(is_done);
    } else if (commands && is(token, "do")) {
        take_result(is_done, words);
    }
    free(token);
    free(data);
}
