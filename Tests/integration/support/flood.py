"""A sender of many pushes that repeats each until it is answered 200, over daemons that come and go."""

import collections
import random
import ssl
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

import h2.exceptions

from .credentials import APP
from .daemon import Daemon
from .h2client import H2Client, push_fields

# How long a connection waits before it repeats what was refused, in seconds.
PAUSE = 0.02
# How long one connection may go without an answer, in seconds, before its pushes are sent again.
PATIENCE = 15


@dataclass
class Push:
    """One push of the flood, which is its own call."""

    apns_id: str
    app: str
    # Seconds that it is good for; 0 for one attempt, negative for one that comes too late, None without a limit.
    expires: int | None
    # The same in each repeat, as a real sender's.
    expiration: str | None = None
    # What it was answered, in order: a status and its reason.
    answers: list[str] = field(default_factory=list)
    # How often it was sent.
    sent: int = 0

    def fields(self, token: str, authorization: str) -> list:
        """The request's fields."""
        if self.expiration is None and self.expires is not None:
            self.expiration = str(int(time.time()) + self.expires if self.expires else 0)
        extra = {"apns_expiration": self.expiration} if self.expiration is not None else {}
        named = {"apns_id": self.apns_id, "apns_topic": self.app + ".voip", "authorization": authorization}
        return push_fields(token, **named, **extra)

    @property
    def is_accepted(self) -> bool:
        return "200" in self.answers


def new_call(generator: random.Random, last: str | None = None) -> str:
    """An id; `last` is its last digit, by which native/caller.c decides what it does with the call."""
    text = str(uuid.UUID(int=generator.getrandbits(128), version=4))
    return text if last is None else text[:-1] + last


class Flood:
    """Sends pushes on several connections at once, each in a thread of its own."""

    def __init__(self, daemon: Daemon, connections: int = 4, window: int = 200) -> None:
        """On each connection up to `window` pushes wait for their answers."""
        self.daemon = daemon
        self.connections = connections
        self.window = window
        self.waiting: collections.deque[Push] = collections.deque()
        self.pushes: dict[str, Push] = {}
        self.tokens: dict[str, str] = {}
        self.authorization = daemon.credentials.authorization()
        self.problems: list[str] = []
        # How each connection ended, in order.
        self.broken: list[str] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()

    def add(self, push: Push) -> None:
        self.pushes[push.apns_id] = push
        self.waiting.append(push)

    def repeat(self, apns_id: str) -> None:
        """Sends one again, byte for byte."""
        self.waiting.append(self.pushes[apns_id])

    def start(self) -> "Flood":
        """Connects to the daemon that runs now; `add` more at any time."""
        self._stopping.clear()
        for app in {push.app for push in self.pushes.values()} or {APP}:
            self.tokens[app] = self.daemon.device_token(app)
        address = self.daemon.host_and_port
        self._threads = [
            threading.Thread(target=self._guard, args=(lambda: self._run(address),), daemon=True)
            for _ in range(self.connections)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Waits until every connection is closed; what was not answered is sent again after the next start."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(PATIENCE * 2)
            assert not thread.is_alive(), "a sender does not end"
        assert not self.problems, self.problems

    def accepted(self) -> list[Push]:
        return [push for push in self.pushes.values() if push.is_accepted]

    @property
    def is_done(self) -> bool:
        return not self.waiting and all(push.is_accepted for push in self.pushes.values())

    def _guard(self, run: Callable[[], None]) -> None:
        try:
            run()
        except Exception as error:
            self.problems.append(repr(error))

    def _take(self) -> Push | None:
        with self._lock:
            return self.waiting.popleft() if self.waiting else None

    def _run(self, address: tuple[str, int]) -> None:
        """Connects again and again, until it is told to stop."""
        while not self._stopping.is_set():
            open_streams: dict[int, Push] = {}
            try:
                with H2Client(address, self.daemon.credentials.context()) as client:
                    client.socket.settimeout(PATIENCE)
                    self._serve(client, open_streams)
                    self.broken.append(f"closed; GOAWAY: {client.goaway}")
            except (OSError, ssl.SSLError, h2.exceptions.ProtocolError) as error:
                # The daemon was killed; that is what this is for.
                self.broken.append(repr(error))
            finally:
                with self._lock:
                    self.waiting.extend(open_streams.values())
            self._stopping.wait(PAUSE)

    def _serve(self, client: H2Client, open_streams: dict[int, Push]) -> None:
        while not self._stopping.is_set() and not client.is_closed:
            while len(open_streams) < self.window and (push := self._take()):
                # Written down before it is sent: a push that fails on the way is sent again.
                stream = client.h2.get_next_available_stream_id()
                open_streams[stream] = push
                push.sent += 1
                client.send(push.fields(self.tokens[push.app], self.authorization), b'{"aps":{}}')
            if not open_streams:
                self._stopping.wait(0.005)
                continue
            client.receive()
            if self._collect(client, open_streams):
                self._stopping.wait(PAUSE)

    def _collect(self, client: H2Client, open_streams: dict[int, Push]) -> bool:
        """Takes the answers that came in. True when one of them was a refusal."""
        refused = False
        for stream in [stream for stream in open_streams if client.answers[stream].is_complete]:
            push, answer = open_streams.pop(stream), client.answers.pop(stream)
            push.answers.append("200" if answer.status == 200 else f"{answer.status} {answer.reason}")
            if answer.status != 200:
                refused = True
                with self._lock:
                    self.waiting.append(push)
        return refused
