#!/usr/bin/env python3
"""A whole call handler, with nothing but Python's standard library. Replace the class Line, and it is yours.

    handler.py                 started for a push, by ringwaked (`exec`: the push is on its standard input) or by
                               systemd (`unit`: it fetches its pushes). It ends with its last call
    handler.py --stay [APP]    keeps a connection, and takes each call that comes for the app. Started for a push it
                               takes that first
    handler.py --listen PATH   is connected to with each push, on PATH or on the socket that systemd passes

Documentation/handlers.md explains it step by step; ringwake-handler(7) is the contract.
"""

import argparse
import contextlib
import http.client
import json
import os
import queue
import socket
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass

# How long the daemon may take for one answer, and how long it may be away. In seconds.
ANSWER_TIMEOUT = 10
PATIENCE = 30
# How long the caller's side may take to be there, in seconds: less than the time to report.
LINE_TIMEOUT = 3


class Line(threading.Thread):
    """The way to the caller: the part to replace by your SIP stack, or by whatever you speak.

    Here it is a TCP connection to a port of this machine, which the payload names as `line`. The handler writes a word
    for each thing that the user does, and the caller hangs up by closing it. Without a port there is nobody, and the
    handler only plays along.
    """

    def __init__(self, port: object, word: str) -> None:
        super().__init__(daemon=True)
        self.port = port if type(port) is int else None
        self.word = word
        self.tell: Callable[[str], None] = print
        self.state = "opening"
        self.socket: socket.socket | None = None

    def tells(self, tell: Callable[[str], None]) -> None:
        """Opens the line, if it is not open yet, and says to `tell` what becomes of it."""
        self.tell = tell
        if self.ident is None:
            self.start()
        elif self.state == "closed":
            tell(self.state)

    def run(self) -> None:
        """Waits for the caller's side, and for its end."""
        if self.port is None:
            return self.becomes("open")
        with contextlib.suppress(OSError):
            # Only a port: who sends a payload must not choose whom this machine connects to.
            with socket.create_connection(("127.0.0.1", self.port), LINE_TIMEOUT) as self.socket:
                self.socket.settimeout(None)
                self.say(self.word)
                self.becomes("open")
                while self.socket.recv(4096):
                    pass
        self.becomes("closed")

    def becomes(self, state: str) -> None:
        self.state = state
        self.tell(state)

    def say(self, word: str) -> bool:
        """Whether it could be said."""
        try:
            if self.socket:
                self.socket.sendall(word.encode() + b"\n")
            return self.state != "closed"
        except OSError:
            return False

    def hang_up(self) -> None:
        # The caller may have been faster.
        with contextlib.suppress(OSError):
            if self.socket:
                self.socket.shutdown(socket.SHUT_RDWR)


class Refused(Exception):
    """The daemon does not know this handler."""


class Connection(http.client.HTTPConnection):
    """HTTP on a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=ANSWER_TIMEOUT)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemon:
    """The control socket, with this handler's secret."""

    def __init__(self, path: str, secret: str | None) -> None:
        self.path = path
        self.secret = secret

    def ask(self, method: str, target: str, body: object = None) -> tuple[int, dict]:
        """The answer's status and object; status 0 while the daemon is away."""
        try:
            with self.open(method, target, body) as answer:
                return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException) as error:
            return 0, {"message": f"no answer: {error}"}

    def open(self, method: str, target: str, body: object = None, is_stream: bool = False) -> http.client.HTTPResponse:
        fields = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        connection = Connection(self.path)
        # The answer takes the connection over, and closes it when it is closed itself.
        connection.request(method, target, None if body is None else json.dumps(body), fields | {"Connection": "close"})
        its_socket = connection.sock
        answer = connection.getresponse()
        if is_stream:
            # It may have nothing to tell for hours.
            its_socket.settimeout(None)
        return answer


@dataclass
class Call:
    """A call that is this handler's."""

    line: Line
    # What the payload says of the caller.
    report: dict
    is_reported: bool = False
    # What the user wanted last, and what was done.
    last: str = ""
    # Which of all calls it is, once the stream has told.
    number: int = 0


class Handler:
    """One handler, as the daemon knows it: it has a secret (or a unit), a stream, and calls.

    Two kinds of threads wait, one for the stream and one for each line, and put what comes into one queue. Everything
    is decided in one place, `live`, one thing after the other.
    """

    # The lines of this process. A handler on a socket comes back by another connection, and finds them here.
    lines: dict[str, Line] = {}

    def __init__(self, daemon: Daemon, app: str, stays: bool = False) -> None:
        self.daemon = daemon
        self.app = app
        self.stays = stays
        self.calls: dict[str, Call] = {}
        self.inbox: queue.Queue[tuple[str, object]] = queue.Queue()
        self.highest = 0
        self.keeps_state = True

    def live(self, push: dict | None) -> None:
        """From its wake until its last call is over; for ever when it stays."""
        # The stream first: what happens after the report and before the stream would be missed.
        self.listen_again()
        if push:
            self.given(push)
        elif not self.stays:
            self.fetch()
        while self.calls or self.stays:
            what, about = self.inbox.get()
            if what == "event":
                self.happened(about)
            elif what == "stream ended":
                self.listen_again()
            else:
                self.line_became(what, about)

    # The stream

    def listen(self) -> None:
        """Opens the stream of the app; a thread reads it, so that it is always read."""
        target = f"/v1/apps/{self.app}/handler?" if self.stays else f"/v1/events?app={self.app}&"
        if self.highest:
            # It comes again: also with the calls that are over, and whose end it has not heard.
            target += f"since={min([call.number or self.highest for call in self.calls.values()] + [self.highest + 1])}"
        answer = self.daemon.open("GET", target.rstrip("?&"), is_stream=True)
        if answer.status != 200:
            raise Refused(f"{answer.status} {answer.read().decode(errors='replace').strip()}")
        threading.Thread(target=self.read, args=(answer,), daemon=True).start()

    def read(self, stream: http.client.HTTPResponse) -> None:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            while line := stream.readline():
                self.inbox.put(("event", json.loads(line)))
        self.inbox.put(("stream ended", None))

    def listen_again(self) -> None:
        """The end of the stream is not the end of a call: the daemon is restarted, and knows this handler then.

        One that stays waits for it as long as that takes.
        """
        deadline, pause = time.monotonic() + PATIENCE, 0.05
        while True:
            try:
                return self.listen()
            except Refused:
                if not self.stays or not self.daemon.secret:
                    raise
                # It comes as a new handler, and claims its calls.
                self.daemon.secret = None
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline and not self.stays:
                    raise
                time.sleep(pause)
                # A call that has lost its handler waits for some seconds only.
                pause = min(2 * pause, 1 if time.monotonic() < deadline else 10)

    # Pushes

    def given(self, push: dict) -> None:
        """A push: of standard input, fetched, or delivered."""
        call, kind, payload = push["call"], push["kind"], push["payload"]
        say(f"given {call}: {kind}")
        if kind == "claim":
            self.claim(call)
        elif kind == "call" and call not in self.calls:
            # It comes from outside: what it says is checked before it is believed.
            texts = {"caller": payload.get("caller"), "callerName": payload.get("name")}
            report = {name: text for name, text in texts.items() if isinstance(text, str)}
            self.take(call, Line(payload.get("line"), f"ready {call}"), report)
        # A further push for a call that it has, `update`, has nothing to say here.

    def take(self, call: str, line: Line, report: dict) -> Call:
        self.lines[call] = line
        self.calls[call] = Call(line, report)
        line.tells(lambda state: self.inbox.put((state, call)))
        return self.calls[call]

    def fetch(self) -> None:
        """What waits; it is this handler's from now on."""
        status, answer = self.daemon.ask("GET", f"/v1/apps/{self.app}/pushes")
        if status != 200:
            say(f"could not fetch: {answer.get('message')}")
        for push in answer.get("pushes", []):
            self.given(push)

    # What happens

    def happened(self, event: dict) -> None:
        name, call = event["event"], event.get("call", "")
        if name == "handler":
            self.daemon.secret = event.get("secret", self.daemon.secret)
            say("connected")
        elif name == "wake":
            self.given(event["push"])
        elif name == "pushWaiting":
            self.fetch()
        elif name == "action" and call in self.calls:
            self.act(call, event["action"], event.get("digits", ""))
        elif name in ("audioActivated", "audioDeactivated", "audioFailed"):
            # A line with media opens its streams when the audio is activated, and not before.
            say(f"{name} {call}")
        elif name == "call":
            self.call_is(call, event)

    def call_is(self, name: str, event: dict) -> None:
        """Where a call stands: told at each change, and when the stream begins."""
        self.highest = max(self.highest, event["number"])
        if call := self.calls.get(name):
            call.number = event["number"]
        if event["state"] == "ended":
            self.drop(name, event["endReason"])
        elif "claimMs" in event:
            self.claim(name)
        elif call and call.line.state != "opening":
            # After a time without the daemon it may not know what was said to it.
            self.line_became(call.line.state, name, event["state"])

    def line_became(self, line: str, name: object, state: str = "woken") -> None:
        """The caller's side is there, or gone."""
        call = self.calls.get(str(name))
        if call and line == "closed":
            # Also before the report: then the caller has cancelled while this handler was waking.
            self.verb(str(name), "ended", {"reason": "remoteEnded"})
        elif call and state == "woken" and not call.is_reported:
            call.is_reported = self.verb(str(name), "report", call.report | {"ring": True})
            self.keep()

    def act(self, name: str, action: str, digits: str) -> None:
        """What the user wants. It may be asked for again, when the daemon was restarted in between."""
        call, word = self.calls[name], f"{action} {digits}".strip()
        if word != call.last or action == "dtmf":
            # The user's end is final, whatever becomes of it on the caller's side.
            done = call.line.say(word) or action == "end"
            call.last = word if done else ""
        self.verb(name, "fulfill" if call.last == word else "fail", {"action": action})

    def drop(self, name: str, reason: str) -> None:
        """The call is over."""
        if call := self.calls.pop(name, None):
            say(f"ended {name}: {reason}")
            del self.lines[name]
            call.line.hang_up()
            self.keep()

    # What it says to the daemon

    def verb(self, call: str, verb: str, body: dict | None = None) -> bool:
        target = f"/v1/calls/{urllib.parse.quote(call, safe='')}/{verb}?app={self.app}"
        status, answer = self.daemon.ask("POST", target, body)
        action = " " + body["action"] if body and "action" in body else ""
        say(f"{verb}{action} {call}: {'done' if status == 200 else answer.get('message')}")
        return status == 200

    def claim(self, name: str) -> None:
        """A call has lost its handler, or this one lost the daemon: it is this handler's now."""
        if self.verb(name, "claim") and name not in self.calls:
            _, kept = self.daemon.ask("GET", f"/v1/apps/{self.app}/state")
            line = self.lines.get(name) or Line(kept.get("lines", {}).get(name), f"again {name}")
            self.take(name, line, {}).is_reported = True

    def keep(self) -> None:
        """Keeps with the daemon what another start of this handler needs to go on with its calls."""
        if not self.keeps_state:
            return
        lines = {name: call.line.port for name, call in self.calls.items()}
        status, _ = self.daemon.ask("PUT", f"/v1/apps/{self.app}/state", {"lines": lines})
        # The app's file does not say `state = true`.
        self.keeps_state = status != 403


def say(text: str) -> None:
    """To the daemon's log, or to the journal."""
    print(text, flush=True)


def serve(path: str) -> None:
    """Each connection is a wake, and the life of the handler that it begins."""
    # sd_listen_fds(3): systemd listens already, on descriptor 3.
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        listener = socket.socket(fileno=3)
    else:
        if os.path.exists(path):
            os.unlink(path)
        # Whoever may connect can wake this handler.
        os.umask(0o077)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(16)
    while True:
        threading.Thread(target=serve_one, args=(listener.accept()[0],), daemon=True).start()


def serve_one(connection: socket.socket) -> None:
    with connection, connection.makefile("rb") as lines:
        wake = json.loads(lines.readline())
        try:
            Handler(Daemon(wake["socket"], wake["secret"]), wake["wake"]["app"]).live(wake["wake"])
        except (Refused, OSError) as error:
            # The daemon was restarted: it connects again for the calls that go on, and they are claimed there.
            say(f"left: {error}")


def control_socket() -> str:
    users = os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "ringwake", "control.sock")
    return os.environ.get("RINGWAKE_SOCKET") or (users if os.path.exists(users) else "/run/ringwake/control.sock")


def main() -> None:
    parser = argparse.ArgumentParser(description="A call handler for ringwaked.")
    parser.add_argument("--stay", action="store_true", help="keep a connection and take every call")
    parser.add_argument("--listen", metavar="PATH", help="be connected to with each push")
    parser.add_argument("app", nargs="?", default=os.environ.get("RINGWAKE_APP"), help="the app's bundle id")
    options = parser.parse_args()
    if options.listen:
        return serve(options.listen)
    if not options.app:
        parser.error("which app?")
    # By exec and in a transient unit there is a push; in a unit of its own, and by hand, there is none.
    text = sys.stdin.read() if "RINGWAKE_CALL" in os.environ else ""
    daemon = Daemon(control_socket(), os.environ.get("RINGWAKE_WAKE_SECRET"))
    Handler(daemon, options.app, options.stay).live(json.loads(text) if text.strip() else None)


if __name__ == "__main__":
    try:
        main()
    except (Refused, OSError) as error:
        sys.exit(f"handler: {error}")
    except KeyboardInterrupt:
        pass
