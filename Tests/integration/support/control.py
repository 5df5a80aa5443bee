"""The control socket as a client in any language sees it: HTTP/1.1 and JSON."""

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from .waiting import until

# How long one answer of the daemon may take, in seconds.
ANSWER_TIMEOUT = 60


class UnixConnection(http.client.HTTPConnection):
    """The standard library's HTTP client on a unix socket."""

    def __init__(self, path: Path, timeout: float = ANSWER_TIMEOUT):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Refused(AssertionError):
    """An answer other than 200, with the message that came with it."""

    def __init__(self, status: int, body: dict):
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body


class Control:
    """A client of the control API: the owner, or with `secret` a handler."""

    def __init__(self, path: Path, secret: str | None = None):
        self.path = path
        self.secret = secret

    def request(self, method: str, target: str, body: object = None) -> tuple[int, dict]:
        """One request on a connection of its own; its status and its JSON."""
        connection = UnixConnection(self.path)
        try:
            connection.request(method, target, None if body is None else json.dumps(body), self._fields())
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()

    def _fields(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"} if self.secret else {}

    def get(self, target: str) -> dict:
        return self._checked("GET", target)

    def post(self, target: str, body: object = None) -> dict:
        return self._checked("POST", target, body)

    def _checked(self, method: str, target: str, body: object = None) -> dict:
        status, answer = self.request(method, target, body)
        if status != 200:
            raise Refused(status, answer)
        assert answer["schema"] == 1
        return answer

    def status(self) -> dict:
        return self.get("/v1/status")

    def app(self, app: str) -> dict:
        return self.get(f"/v1/apps/{app}")

    def calls(self) -> list[dict]:
        return self.get("/v1/calls")["calls"]

    def call(self, call: str) -> dict:
        return self.get(f"/v1/calls/{call}")

    def verb(self, call: str, verb: str, **body: object) -> dict:
        """Does something to a call: `control.verb(id, "report", caller="sip:a@b", ring=True)`."""
        return self.post(f"/v1/calls/{call}/{verb}", body or None)

    def wait_for(self, call: str, state: str, seconds: float = 10) -> dict:
        """The call, once it is in this state."""
        return self._wait(call, f"to be {state}", lambda message: message["state"] == state, seconds)

    def wait_for_stage(self, call: str, stage: str) -> dict:
        """The call, once its timeline has this stage: also when somebody else may end the call meanwhile."""
        reached = lambda message: stage in [entry["stage"] for entry in message["timeline"]]  # noqa: E731
        return self._wait(call, f"to reach {stage}", reached, 10)

    def _wait(self, call: str, what: str, fits: Callable[[dict], bool], seconds: float) -> dict:
        def look() -> dict | None:
            status, message = self.request("GET", f"/v1/calls/{call}")
            self.last_seen = message
            return message if status == 200 and fits(message) else None

        return until(look, seconds, lambda: f"call {call} {what}; last seen: {self.last_seen}")

    def events(self, query: str = "") -> "EventStream":
        return EventStream(self.path, "/v1/events" + query, self._fields())

    def copy_of_store(self) -> "EventStream":
        """A copy of the store, which stays until this is closed."""
        return EventStream(self.path, "/v1/store/copy", self._fields(), method="POST")

    def handler(self, app: str, query: str = "") -> "EventStream":
        """From now on this connection is a handler of the app."""
        return EventStream(self.path, f"/v1/apps/{app}/handler" + query, self._fields())


class EventStream:
    """`GET /v1/events`: one JSON object a line, until one side closes."""

    def __init__(self, path: Path, target: str, fields: dict[str, str], method: str = "GET"):
        self.connection = UnixConnection(path)
        self.connection.request(method, target, None, fields)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.content_type = self.answer.getheader("Content-Type", "")

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.answer.close()
        self.connection.close()

    def __iter__(self) -> Iterator[dict]:
        while line := self.answer.readline():
            assert line.endswith(b"\n"), f"a line without an end: {line!r}"
            yield json.loads(line)

    def until(self, event: str, seconds: float = 10, **members: object) -> list[dict]:
        """All events up to the first of this kind with these members."""
        deadline = time.monotonic() + seconds
        seen = []
        for message in self:
            seen.append(message)
            if message["event"] == event and all(message.get(name) == value for name, value in members.items()):
                return seen
            if time.monotonic() > deadline:
                break
        raise AssertionError(f"no {event} event with {members}; seen: {seen}")
