"""`ringwake-audio`, driven as the daemon drives it: JSON lines on the socket that is its standard input."""

import json
import os
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

from . import programs
from .audio import AudioServer

RINGWAKE_AUDIO = programs.BIN_DIRECTORY / "ringwake-audio"
# Undoing takes milliseconds; the bound is for a machine under load. In seconds.
TIMEOUT = 60


class Line:
    """The daemon's end of the line."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.rest = b""
        self.reports: list[dict] = []
        self.has_ended = False

    def send(self, request: dict) -> None:
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def next(self, name: str, timeout: float = TIMEOUT) -> dict:
        """The next report of this name; what comes before it is passed over."""
        deadline = time.monotonic() + timeout
        while True:
            while self.reports:
                report = self.reports.pop(0)
                if name in report:
                    return report[name]
            assert not self.has_ended, f"the line ended before '{name}'"
            self._read(deadline, name)

    def _read(self, deadline: float, name: str) -> None:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([self.socket], [], [], max(0, left))
        assert ready, f"no '{name}' in time"
        self._take(self._receive())

    def _receive(self) -> bytes:
        try:
            return self.socket.recv(65536)
        except ConnectionResetError:
            return b""

    def _take(self, data: bytes) -> None:
        self.has_ended = not data
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.reports += [json.loads(line) for line in lines]

    def at_end(self) -> list[dict]:
        """All that is still told, up to the end of the line."""
        while not self.has_ended:
            self._read(time.monotonic() + TIMEOUT, "end")
        return self.reports

    def close(self) -> None:
        self.socket.close()


class Agent(Line):
    """The program as a child, as the daemon starts it."""

    def __init__(self, server: AudioServer, journal: Path, *options: str) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        self.journal = journal
        self.process = subprocess.Popen(
            [RINGWAKE_AUDIO, "--journal", str(journal), *options], stdin=theirs, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=os.environ | server.environment(), start_new_session=True,
        )  # fmt: skip
        theirs.close()

    def connected(self) -> dict:
        """Waits until it has the server: its description and the route."""
        self.next("ready")
        return self.next("connected")

    def apply(self, number: int, *sessions: dict, resumes: bool = True) -> dict:
        """Has a plan of these sessions come into force."""
        self.send({"apply": {"number": number, "_1": plan(*sessions), "resumes": resumes}})
        done = self.next("applied")
        assert done["number"] == number
        return done["_1"]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def ended(self) -> int:
        """Its exit status, once it has ended."""
        return self.process.wait(TIMEOUT)

    def log(self) -> str:
        """What it wrote to standard error until it ended."""
        assert self.process.stderr
        return self.process.stderr.read().decode()

    def clear_away(self) -> None:
        self.close()
        if self.process.poll() is None:
            self.kill()
        if self.process.stderr:
            self.process.stderr.close()


def mend(server: AudioServer, journal: Path | None = None) -> subprocess.CompletedProcess:
    """`ringwake-audio --mend`."""
    options = ["--journal", journal] if journal else []
    return server.run(RINGWAKE_AUDIO, "--mend", *options)


def session(
    number: int, others: str = "duck", *, category: str = "playback", processes: tuple[int, ...] = (), **more: object
) -> dict:
    """One session of a plan. `more`: mode, options, isInputOpen, isMuted, isCall."""
    configuration = {"category": category, "mode": more.pop("mode", "default"), "options": more.pop("options", [])}
    flags = {"isInputOpen": False, "isMuted": False, "isSpeakerForced": False, "isCall": False} | more
    client = {"processes": list(processes), "name": f"session {number}"}
    return {"id": {"number": number}, "client": client, "configuration": configuration, "others": others} | flags


def plan(*sessions: dict) -> dict:
    return {"sessions": list(sessions), "silenced": [], "ducked": [], "exempt": [], "isCallWaiting": False}
