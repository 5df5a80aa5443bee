#!/usr/bin/env python3
"""A complete call handler, with Python's standard library only. Replace the class Line with your own protocol.

    handler.py                 started for a push, by ringwaked (`exec`: the push is on standard input) or by systemd
                               (`unit`: the handler fetches its pushes). It exits after its last call
    handler.py --stay [APP]    keeps a connection open, and handles each call of the app. If it was started for a push,
                               it handles that push first
    handler.py --listen PATH   gets each push on a connection to PATH, or to the socket that systemd passes

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

# How long the daemon may take for one answer, and how long to retry when it does not run. In seconds.
ANSWER_TIMEOUT = 10
RETRY_TIMEOUT = 30
# How long connecting to the caller may take, in seconds: less than the time to report.
LINE_TIMEOUT = 3


class Line(threading.Thread):
    """The connection to the caller: replace it with your SIP stack, or with your own protocol.

    Here it is a TCP connection to a port of this machine, which the payload names as `line`. The handler writes a word
    for each action of the user, and the caller hangs up by closing the connection. Without a port there is no caller,
    and every action succeeds.
    """

    def __init__(self, port: object, word: str) -> None:
        super().__init__(daemon=True)
        self.port = port if type(port) is int else None
        self.word = word
        self.notify: Callable[[str], None] = print
        self.state = "opening"
        self.socket: socket.socket | None = None

    def open(self, notify: Callable[[str], None]) -> None:
        """Opens the line, if it is not open yet, and calls `notify` with each new state."""
        self.notify = notify
        if self.ident is None:
            self.start()
        elif self.state == "closed":
            notify(self.state)

    def run(self) -> None:
        """Connects to the caller, and waits until the caller hangs up."""
        if self.port is None:
            return self.becomes("open")
        with contextlib.suppress(OSError):
            # Only a port: the sender of a payload must not choose the host that this machine connects to.
            with socket.create_connection(("127.0.0.1", self.port), LINE_TIMEOUT) as self.socket:
                self.socket.settimeout(None)
                self.send(self.word)
                self.becomes("open")
                while self.socket.recv(4096):
                    pass
        self.becomes("closed")

    def becomes(self, state: str) -> None:
        self.state = state
        self.notify(state)

    def send(self, word: str) -> bool:
        """Sends a word to the caller; false if the caller has hung up."""
        try:
            if self.socket:
                self.socket.sendall(word.encode() + b"\n")
            return self.state != "closed"
        except OSError:
            return False

    def hang_up(self) -> None:
        # The caller may have hung up first.
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
        """Returns the answer's status and object; status 0 while the daemon does not run."""
        try:
            with self.open(method, target, body) as answer:
                return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException) as error:
            return 0, {"message": f"no answer: {error}"}

    def open(self, method: str, target: str, body: object = None, is_stream: bool = False) -> http.client.HTTPResponse:
        fields = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        connection = Connection(self.path)
        # The answer owns the connection, and closes it when the answer is closed.
        connection.request(method, target, None if body is None else json.dumps(body), fields | {"Connection": "close"})
        its_socket = connection.sock
        answer = connection.getresponse()
        if is_stream:
            # The stream may be silent for hours.
            its_socket.settimeout(None)
        return answer


@dataclass
class Call:
    """A call of this handler."""

    line: Line
    # The caller, according to the payload.
    report: dict
    is_reported: bool = False
    # The user's last action that succeeded.
    last: str = ""
    # The call's number; 0 until the stream has sent it.
    number: int = 0


class Handler:
    """One handler, as the daemon knows it: it has a secret (or a unit), a stream, and calls.

    A thread for the stream, and one for each line, put events into one queue. `live` handles them, one after the other.
    """

    # The lines of this process. A handler on a socket gets a new connection after a restart, and finds them here.
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
        """Runs until the last call has ended, or for ever with --stay."""
        # The stream first: otherwise the handler misses events between the report and the stream.
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
        """Opens the stream of the app; a separate thread reads it all the time."""
        target = f"/v1/apps/{self.app}/handler?" if self.stays else f"/v1/events?app={self.app}&"
        if self.highest:
            # After a lost stream, also ask for the calls that have ended meanwhile.
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
        """Opens the stream again: its end is not the end of a call, and a restarted daemon still knows this handler.

        With --stay it retries for ever.
        """
        deadline, pause = time.monotonic() + RETRY_TIMEOUT, 0.05
        while True:
            try:
                return self.listen()
            except Refused:
                if not self.stays or not self.daemon.secret:
                    raise
                # Connect as a new handler, and claim the calls.
                self.daemon.secret = None
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline and not self.stays:
                    raise
                time.sleep(pause)
                # Retry often: a call that has lost its handler waits only some seconds.
                pause = min(2 * pause, 1 if time.monotonic() < deadline else 10)

    # Pushes

    def given(self, push: dict) -> None:
        """Handles a push: from standard input, fetched, or delivered."""
        call, kind, payload = push["call"], push["kind"], push["payload"]
        say(f"given {call}: {kind}")
        if kind == "claim":
            self.claim(call)
        elif kind == "call" and call not in self.calls:
            # The payload comes from outside: check it.
            texts = {"caller": payload.get("caller"), "callerName": payload.get("name")}
            report = {name: text for name, text in texts.items() if isinstance(text, str)}
            self.take(call, Line(payload.get("line"), f"ready {call}"), report)
        elif kind == "start":  # The user calls somebody, which this example can't.
            self.verb(call, "fail", {"action": "start"})

    def take(self, call: str, line: Line, report: dict) -> Call:
        self.lines[call] = line
        self.calls[call] = Call(line, report)
        line.open(lambda state: self.inbox.put((state, call)))
        return self.calls[call]

    def fetch(self) -> None:
        """Fetches the waiting pushes; their calls then belong to this handler."""
        status, answer = self.daemon.ask("GET", f"/v1/apps/{self.app}/pushes")
        if status != 200:
            say(f"could not fetch: {answer.get('message')}")
        for push in answer.get("pushes", []):
            self.given(push)

    # Events

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
            # A line with media opens its streams on audioActivated, not before.
            say(f"{name} {call}")
        elif name == "call":
            self.call_is(call, event)

    def call_is(self, name: str, event: dict) -> None:
        """Handles a call's state, which comes at each change and when the stream begins."""
        self.highest = max(self.highest, event["number"])
        if call := self.calls.get(name):
            call.number = event["number"]
        if event["state"] == "ended":
            self.drop(name, event["endReason"])
        elif "claimMs" in event:
            self.claim(name)
        elif call and call.line.state != "opening":
            # After a restart the daemon may not have got the last report: repeat it.
            self.line_became(call.line.state, name, event["state"])

    def line_became(self, line: str, name: object, state: str = "woken") -> None:
        """The caller is connected, or has hung up."""
        call = self.calls.get(str(name))
        if call and line == "closed":
            # This can come before the report: the caller cancelled while this handler started.
            self.verb(str(name), "ended", {"reason": "remoteEnded"})
        elif call and state == "woken" and not call.is_reported:
            call.is_reported = self.verb(str(name), "report", call.report | {"ring": True})
            self.keep()

    def act(self, name: str, action: str, digits: str) -> None:
        """Does what the user wants. After a restart the daemon may repeat an action."""
        call, word = self.calls[name], f"{action} {digits}".strip()
        if word != call.last or action == "dtmf":
            # The user's end always succeeds, even if the caller cannot be reached.
            done = call.line.send(word) or action == "end"
            call.last = word if done else ""
        self.verb(name, "fulfill" if call.last == word else "fail", {"action": action})

    def drop(self, name: str, reason: str) -> None:
        """Forgets an ended call."""
        if call := self.calls.pop(name, None):
            say(f"ended {name}: {reason}")
            del self.lines[name]
            call.line.hang_up()
            self.keep()

    # Requests to the daemon

    def verb(self, call: str, verb: str, body: dict | None = None) -> bool:
        target = f"/v1/calls/{urllib.parse.quote(call, safe='')}/{verb}?app={self.app}"
        status, answer = self.daemon.ask("POST", target, body)
        action = " " + body["action"] if body and "action" in body else ""
        say(f"{verb}{action} {call}: {'done' if status == 200 else answer.get('message')}")
        return status == 200

    def claim(self, name: str) -> None:
        """Claims a call that has lost its handler, or whose handler lost the daemon."""
        if self.verb(name, "claim") and name not in self.calls:
            _, kept = self.daemon.ask("GET", f"/v1/apps/{self.app}/state")
            line = self.lines.get(name) or Line(kept.get("lines", {}).get(name), f"again {name}")
            self.take(name, line, {}).is_reported = True

    def keep(self) -> None:
        """Stores in the daemon what the next start of this handler needs to continue its calls."""
        if not self.keeps_state:
            return
        lines = {name: call.line.port for name, call in self.calls.items()}
        status, _ = self.daemon.ask("PUT", f"/v1/apps/{self.app}/state", {"lines": lines})
        # 403: the app's file does not say `state = true`.
        self.keeps_state = status != 403


def say(text: str) -> None:
    """Prints to the daemon's log, or to the journal."""
    print(text, flush=True)


def serve(path: str) -> None:
    """Accepts connections: each one is a wake, and its handler lives as long as the connection."""
    # sd_listen_fds(3): systemd already listens on descriptor 3.
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        listener = socket.socket(fileno=3)
    else:
        if os.path.exists(path):
            os.unlink(path)
        # Everybody who can connect can wake this handler.
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
            # The daemon was restarted: it connects again for the active calls, and that handler claims them.
            say(f"left: {error}")


def control_socket() -> str:
    users = os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "ringwake", "control.sock")
    return os.environ.get("RINGWAKE_SOCKET") or (users if os.path.exists(users) else "/run/ringwake/control.sock")


def main() -> None:
    parser = argparse.ArgumentParser(description="A call handler for ringwaked.")
    parser.add_argument("--stay", action="store_true", help="keep a connection open and handle every call")
    parser.add_argument("--listen", metavar="PATH", help="listen for pushes on this socket")
    parser.add_argument("app", nargs="?", default=os.environ.get("RINGWAKE_APP"), help="the app's bundle id")
    options = parser.parse_args()
    if options.listen:
        return serve(options.listen)
    if not options.app:
        parser.error("no app: name it as an argument, or set RINGWAKE_APP")
    # With exec and in a transient unit the push is on standard input; in other units, and by hand, there is none.
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
