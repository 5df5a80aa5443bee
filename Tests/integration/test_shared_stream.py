"""A handler with one connection: its stream, and on it all its requests, as documented in ringwake-handler(7)."""

import json
import socket
from pathlib import Path

from support.control import ANSWER_TIMEOUT, Control
from support.credentials import APP
from support.daemon import Daemon
from support.pushing import start_call


class SharedStream:
    """Written from the man page: text out, lines in."""

    def __init__(self, path: Path, target: str, secret: str):
        self.secret = secret
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(ANSWER_TIMEOUT)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rb")
        self.ask("GET", target, fields="Connection: upgrade\r\nUpgrade: ringwake-lines\r\n")
        self.status = int(self.lines.readline().split()[1])
        while self.lines.readline().strip():
            pass

    def ask(self, method: str, target: str, body: object = None, fields: str = "") -> None:
        text = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.secret}\r\n{fields}"
        self.socket.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(text) + text)

    def until(self, **members: object) -> tuple[dict, list[dict]]:
        """The first line with these members, and the ones before it."""
        before: list[dict] = []
        for line in self.lines:
            message = json.loads(line)
            if all(message.get(name) == value for name, value in members.items()):
                return message, before
            before.append(message)
        raise AssertionError(f"the stream ended without {members}; seen: {before}")

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


def test_a_call_with_one_connection(daemon: Daemon) -> None:
    call, wake = start_call(daemon)
    shared = SharedStream(daemon.control_socket, f"/v1/events?app={APP}", wake.secret)
    assert shared.status == 101
    # Both at once: they are answered in order.
    shared.ask("POST", f"/v1/calls/{call}/report", {"caller": "sip:alice@example.org", "ring": True})
    shared.ask("GET", f"/v1/calls/{call}")
    assert shared.until(answer=200)[0]["body"]["caller"] == "sip:alice@example.org"
    assert shared.until(answer=200)[0]["body"]["state"] == "ringing"
    daemon.control.verb(call, "answer")
    shared.until(event="action", action="answer")
    shared.ask("POST", f"/v1/calls/{call}/fulfill", {"action": "answer"})
    answer, events = shared.until(answer=200)
    assert answer["body"]["state"] == "connected"
    assert not [event for event in events if "answer" in event]
    # What is refused, and what is no JSON.
    shared.ask("POST", f"/v1/calls/{call}/fulfill", {"action": "hold"})
    assert shared.until(answer=409)[0]["body"]["error"] == "conflict"
    shared.ask("GET", "/v1/events")
    assert "connection of its own" in shared.until(answer=409)[0]["body"]["message"]
    shared.ask("GET", "/v1/apps")
    assert shared.until(answer=403)[0]["body"]["error"] == "not-permitted"
    shared.ask("POST", f"/v1/calls/{call}/ended", {"reason": "remoteEnded"})
    shared.until(answer=200)
    shared.close()
    assert Control(daemon.control_socket).call(call)["state"] == "ended"
    daemon.check_alive()


def test_a_request_cut_off_by_a_kill_can_be_said_again(daemon: Daemon) -> None:
    call, wake = start_call(daemon)
    shared = SharedStream(daemon.control_socket, f"/v1/events?app={APP}", wake.secret)
    shared.until(event="call", state="woken")
    shared.ask("POST", f"/v1/calls/{call}/report", {"ring": True})
    daemon.kill()
    shared.close()
    daemon.start()
    again = SharedStream(daemon.control_socket, f"/v1/events?app={APP}", wake.secret)
    again.ask("POST", f"/v1/calls/{call}/report", {"ring": True})
    again.until(answer=200)
    again.close()
    assert Control(daemon.control_socket).call(call)["state"] == "ringing"
