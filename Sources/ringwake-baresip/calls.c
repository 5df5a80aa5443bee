#define _GNU_SOURCE
#include "call.h"
#include "handler.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Microseconds after a wake without an INVITE until: a registered client registers again; the handler reports the call
// without ringing, to meet the deadline; it gives up. Then the time after which an INVITE is assigned to a call with
// another id, and that until the next attempt to connect to ringwaked.
static int64_t again = 1000000, provisional = 2000000, hopeless = 4000000;
static const int64_t patience = 300000;
static const int64_t reconnect = 200000;

// An INVITE that arrived before its push.
struct invite {
    struct invite *next;
    char *id, *caller;
};

struct call *calls;
static struct invite *early;

struct call *call_with(const char *id) {
    for (struct call *call = calls; call; call = call->next)
        if (strcmp(call->id, id) == 0) return call;
    return NULL;
}

static struct call *call_of_invite(const char *id) {
    for (struct call *call = calls; call; call = call->next)
        if (call->invite && strcmp(call->invite, id) == 0) return call;
    return NULL;
}

static struct call *add(const char *id) {
    struct call **end = &calls;
    while (*end) end = &(*end)->next;
    *end = calloc(1, sizeof **end);
    if (!*end) leave(1);
    (*end)->id = text("%s", id);
    return *end;
}

static bool owes(const struct call *call, const char *action) { return is(call->owed, action); }

// ---- ringwaked

static void fetch(void) {
    char *target = text("apps/%s/pushes", handler.control.app);
    if (control_ask(&handler.control, "GET", target, NULL)) note("fetched");
    free(target);
}

void listen_to_calls(void) {
    uint64_t since = handler.highest + 1;
    for (struct call *call = calls; call; call = call->next)
        if (call->number && call->number < since) since = call->number;
    control_listen(&handler.control, handler.stays, handler.highest ? since : 0);
    handler.listen_at = handler.control.stream < 0 ? now() + reconnect : 0;
}

// ---- The client

void set_invite_timeout(const char *seconds) {
    int64_t limit = seconds ? strtol(seconds, NULL, 10) : 0;
    if (limit > 0 && limit < 3600) hopeless = limit * 1000000;
    provisional = hopeless / 2;
}

void begin_client(void) {
    handler.started_at = now();
    client_start(&handler.client);
}

void client_is_there(void) {
    if (calls && handler.client.accounts == 0) client_register(&handler.client);
    for (struct call *call = calls; call; call = call->next)
        if (owes(call, "start")) dial(call);
    if (calls) return;
    client_unregister(&handler.client);
    client_guard(&handler.client);
}

// ---- Calls

// The caller is connected: let the call ring. The stream has to be open first, to see the end of the call.
static void report(struct call *call) {
    if (!handler.listens || !call->invite) return;
    if (call->told == nothing_told) {
        char *body = text("{\"caller\":\"%s\",\"ring\":true}", call->caller ? call->caller : "");
        if (say(call, "report", body)) call->told = ringing;
        free(body);
    } else if (call->told == reported && say(call, "ring", "{}")) {
        call->told = ringing;
    }
}

void stream_is_open(void) {
    handler.listens = true;
    for (struct call *call = calls; call; call = call->next) report(call);
}

// The INVITE of the call has arrived.
static void invited(struct call *call, struct invite *invite) {
    for (struct invite **place = &early; *place; place = &(*place)->next) {
        if (*place != invite) continue;
        *place = invite->next;
        break;
    }
    set(&call->invite, invite->id);
    set(&call->caller, invite->caller);
    free(invite->id);
    free(invite->caller);
    free(invite);
    call->timeout = no_timeout;
    report(call);
}

// After a timeout the call that has waited longest gets the INVITE.
static void match(void) {
    struct invite *invite, *next;
    for (invite = early; invite; invite = next) {
        next = invite->next;
        struct call *call = calls;
        while (call && (call->invite || call->is_outgoing || call->told == gone)) call = call->next;
        if (!call) return;
        invited(call, invite);
    }
}

// The other side has hung up, the client has exited, or the user hung up.
void is_gone(struct call *call, const char *reason) {
    set(&call->invite, NULL);
    call->told = gone;
    call->timeout = no_timeout;
    if (owes(call, "end")) return fulfil(call, "end");
    char *body = text("{\"reason\":\"%s\"}", reason);
    say(call, "ended", body);
    free(body);
}

// The call has lost its handler, or this handler has lost ringwaked. A running client still has the call.
static void claim(const char *id) {
    struct call *known = call_with(id), lost = {.id = (char *)id};
    if (!say(known ? known : &lost, "claim", "{}") || known) return;
    struct call *call = add(id);
    call->told = ringing;
    set(&call->invite, id);
    if (handler.client.socket < 0 && handler.client.pid == 0) begin_client();
    // The client doesn't report when it listens, so poll. This handler was started for this call and has no other work.
    while (handler.client.socket < 0 && now() < handler.started_at + provisional) {
        if (!client_connect(&handler.client)) usleep(1000);
    }
    tell_of(call, "claimed", "callfind", id);
}

void given(const char *kind, const char *id) {
    note("given %s: %s", id, kind);
    if (is(kind, "claim")) return claim(id);
    bool is_outgoing = is(kind, "start");
    if ((!is(kind, "call") && !is_outgoing) || call_with(id)) return;
    struct call *call = add(id);
    call->is_outgoing = is_outgoing;
    if (is_outgoing) {
        // Nobody has to be told of it. The stream brings whom to call, and then the action to start.
        call->told = ringing;
        if (handler.client.socket >= 0 && handler.client.accounts == 0) client_register(&handler.client);
        else if (handler.client.socket < 0 && handler.client.pid == 0) begin_client();
        return;
    }
    if (handler.client.socket >= 0 && handler.client.accounts > 0) {
        later(call, again, register_again);
    } else {
        // Register even if the server still has an older registration. Without a connection, it is made later.
        if (handler.client.socket >= 0) client_register(&handler.client);
        else if (handler.client.pid == 0) begin_client();
        later(call, provisional, report_provisionally);
    }
    for (struct invite *invite = early; invite; invite = invite->next)
        if (is(invite->id, id)) return invited(call, invite);
    if (early) handler.match_at = now() + patience;
}

static void forget(struct call *call) {
    note("ended %s", call->id);
    if (call->invite) hang_up(call);
    for (struct call **place = &calls; *place; place = &(*place)->next) {
        if (*place != call) continue;
        *place = call->next;
        break;
    }
    free(call->id);
    free(call->invite);
    free(call->caller);
    free(call->to);
    free(call->owed);
    free(call->digits);
    free(call);
    if (calls) return;
    if (!handler.stays) leave(0);
    client_unregister(&handler.client);
}

// A call's state in ringwaked.
static void stands(const char *id, const char *state, bool is_lost, uint64_t number) {
    if (number > handler.highest) handler.highest = number;
    if (is_lost && !is(state, "ended")) claim(id);
    struct call *call = call_with(id);
    if (!call) return;
    call->number = number;
    if (is(state, "ended")) forget(call);
    else if (call->told == gone) is_gone(call, "remoteEnded");
    else if (is(state, "woken") || is(state, "reported")) report(call);
    // A claimed call is already answered.
    else if (is(state, "connected") && !call->media) call->media = on;
    else if (is(state, "held")) call->media = held;
}

void take_event(const char *line) {
    char *event = member(line, "event"), *id = plain_member(line, "call"), *kind = member(line, "kind");
    const char *number = strstr(line, "\"number\":");
    if (is(event, "handler")) {
        char *secret = member(line, "secret");
        if (secret) set(&handler.control.secret, secret);
        free(secret);
        note("connected");
    } else if (is(event, "wake") && id) {
        given(kind, id);
    } else if (is(event, "pushWaiting") && id) {
        fetch();
        given(kind, id);
    } else if (is(event, "action") && id && call_with(id)) {
        char *action = member(line, "action"), *played = member(line, "digits");
        act(call_with(id), action, played);
        free(action);
        free(played);
    } else if (is(event, "call") && id) {
        struct call *known = call_with(id);
        if (known && known->is_outgoing && !known->to) known->to = plain_member(line, "caller");
        char *state = member(line, "state");
        stands(id, state, strstr(line, "\"claimMs\":") != NULL, number ? strtoull(number + 9, NULL, 10) : 0);
        free(state);
    }
    free(event);
    free(id);
    free(kind);
}

static void take_invite(const char *id, const char *message) {
    struct invite *invite = calloc(1, sizeof *invite);
    if (!invite) leave(1);
    invite->id = text("%s", id);
    invite->caller = member(message, "peeruri");
    if (invite->caller && strlen(invite->caller) > 256) set(&invite->caller, "");
    invite->next = early;
    early = invite;
    struct call *call = call_with(id);
    if (call) invited(call, invite);
    else handler.match_at = now() + patience;
}

static void drop_early(const char *id) {
    for (struct invite **place = &early; *place; place = &(*place)->next) {
        struct invite *invite = *place;
        if (!is(invite->id, id)) continue;
        *place = invite->next;
        free(invite->id);
        free(invite->caller);
        free(invite);
        return;
    }
}

// The call that this is the first answer to.
static struct call *call_dialled(const char *invite, const char *peer) {
    for (struct call *call = calls; call; call = call->next) {
        if (!call->is_dialled || call->invite || call->told == gone || !is_same_peer(peer, call->to)) continue;
        set(&call->invite, invite);
        return call;
    }
    return NULL;
}

// Why an outgoing call that was not answered ended: the server's words begin with its status (RFC 3261 section 21).
static const char *why_unanswered(const char *words) {
    switch (words ? strtol(words, NULL, 10) : 0) {
    case 486: case 600: return "busy";
    case 603: return "declined";
    case 408: case 480: case 487: return "unanswered";
    default: return "failed";
    }
}

void take_message(const char *message) {
    if (strncmp(message, "{\"response\":", 12) == 0) return take_response(message);
    char *type = member(message, "type"), *id = plain_member(message, "id"), *what = member(message, "param");
    char *direction = member(message, "direction");
    struct call *call = id ? call_of_invite(id) : NULL;
    if (id && !call && is(direction, "outgoing")) {
        char *peer = plain_member(message, "peeruri");
        if (!is_stray(peer, is(type, "CALL_CLOSED"))) call = call_dialled(id, peer);
        free(peer);
    }
    free(direction);
    if (call && call->is_outgoing && !call->media) {
        if (is(type, "CALL_RINGING") || is(type, "CALL_PROGRESS")) say(call, "connecting", "{}");
        if (is(type, "CALL_ESTABLISHED")) {
            call->media = on;
            say(call, "connected", "{}");
        }
    }
    if (is(type, "REGISTER_FAIL")) note("the server refuses to register: %s", what ? what : "");
    if (is(type, "CALL_INCOMING") && id) take_invite(id, message);
    if (is(type, "CALL_ESTABLISHED") && call && owes(call, "answer")) {
        call->media = on;
        fulfil(call, "answer");
    } else if (is(type, "CALL_REMOTE_SDP") && call && is(what, "answer")
               && (owes(call, "hold") || owes(call, "unhold"))) {
        call->media = owes(call, "hold") ? held : on;
        fulfil(call, call->media == held ? "hold" : "unhold");
    } else if (is(type, "CALL_CLOSED") && id) {
        drop_early(id);
        if (call) {
            hold_again(call);
            is_gone(call, call->is_outgoing && !call->media ? why_unanswered(what) : "remoteEnded");
        }
    }
    free(type);
    free(id);
    free(what);
}

void client_has_left(void) {
    note("the client has left; %s/log may say why", handler.client.folder);
    handler.client.socket = -1;
    client_dismiss_guard(&handler.client);
    handler.client.pid = handler.client.accounts = 0;
    while (early) drop_early(early->id);
    drop_commands();
    for (struct call *call = calls; call; call = call->next)
        if (call->told != gone) is_gone(call, "failed");
}

// ---- Timeouts

int64_t next_timeout(void) {
    int64_t first = INT64_MAX;
    if (handler.listen_at) first = handler.listen_at;
    if (handler.match_at && handler.match_at < first) first = handler.match_at;
    for (struct call *call = calls; call; call = call->next)
        if (call->timeout && call->due < first) first = call->due;
    return first;
}

static void is_due(struct call *call) {
    enum timeout what = call->timeout;
    call->timeout = no_timeout;
    switch (what) {
    case register_again:
        client_register(&handler.client);
        return later(call, provisional - again, report_provisionally);
    case report_provisionally:
        if (call->told == nothing_told && say(call, "report", "{}")) call->told = reported;
        return later(call, hopeless - provisional, give_up);
    case give_up: return is_gone(call, "remoteEnded");
    case play_on: return play(call);
    case no_timeout: return;
    }
}

void handle_timeouts(void) {
    int64_t time = now();
    if (handler.listen_at && handler.listen_at <= time) listen_to_calls();
    if (handler.match_at && handler.match_at <= time) {
        handler.match_at = 0;
        match();
    }
    for (struct call *call = calls, *next; call; call = next) {
        next = call->next;
        if (call->timeout && call->due <= time) is_due(call);
    }
}
