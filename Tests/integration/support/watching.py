"""Listens to a daemon's events all the time, in a thread of its own."""

import http.client
import json
import threading
from collections.abc import Iterator

from .control import EventStream
from .daemon import Daemon


class Watcher:
    """Every event of one run of a daemon, from its start until its end. Use as `with Watcher(daemon) as watcher:`."""

    def __init__(self, daemon: Daemon, query: str = "") -> None:
        self.stream: EventStream = daemon.control.events(query)
        assert self.stream.status == 200
        # The run of a test may have no event for a long time.
        self.stream.connection.sock.settimeout(None)
        self.events: list[dict] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Watcher":
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        """To be left once the daemon has ended: only then everything has been said."""
        if kind:
            return
        self._thread.join(10)
        assert not self._thread.is_alive(), "the stream of events does not end"
        self.stream.close()

    def _listen(self) -> None:
        try:
            for event in self.stream:
                self.events.append(event)
        except (OSError, ValueError, AssertionError, json.JSONDecodeError, http.client.HTTPException):
            pass  # The daemon was killed within a line; the lines before are what counts.

    def calls(self, state: str) -> Iterator[str]:
        """The ids of the calls that were said to be in this state, once for each time."""
        return (event["call"] for event in list(self.events) if event["event"] == "call" and event["state"] == state)
