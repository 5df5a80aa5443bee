"""Call handlers for the tests: small programs that the daemon really starts."""

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from . import processes
from .waiting import until

# Writes down what it was given, then becomes its further arguments. The .env file comes last and at once.
RECORDER = """#!/bin/sh
PATH=/usr/bin:/bin
folder=$1
shift
cat >"$folder/$RINGWAKE_CALL.stdin"
{ env; echo "HANDLER_PID=$$"; } >"$folder/.$RINGWAKE_CALL"
mv "$folder/.$RINGWAKE_CALL" "$folder/$RINGWAKE_CALL.env"
exec "$@"
"""

# A handler whose test plays its part lives for this long at most, in seconds.
STAY = ["sleep", "60"]


@dataclass(frozen=True)
class Wake:
    """One start of a handler, as the handler saw it."""

    stdin: bytes
    environment: dict[str, str]

    @property
    def pid(self) -> int:
        return int(self.environment["HANDLER_PID"])

    @property
    def secret(self) -> str:
        return self.environment["RINGWAKE_WAKE_SECRET"]

    @property
    def message(self) -> dict:
        return json.loads(self.stdin)

    @property
    def payload(self) -> bytes:
        """The payload's own bytes: what stands between the last member's name and the closing brace."""
        head, found, tail = self.stdin.partition(b'"payload":')
        assert found, f"no payload on the handler's stdin: {self.stdin!r}"
        tail = tail.removesuffix(b"\n")
        assert tail.endswith(b"}"), f"the message does not end with the payload: {self.stdin!r}"
        return tail[:-1]


class Recorder:
    """A handler that writes down each wake and then does something else."""

    def __init__(self, folder: Path, *then: str):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
        self.exec = [str(script(folder / "record", RECORDER)), str(folder), *(then or STAY)]

    def wakes(self) -> dict[str, Wake]:
        """Every wake so far, by call id."""
        return {path.stem: self._read(path) for path in self.folder.glob("[!.]*.env")}

    def count(self) -> int:
        return len(list(self.folder.glob("[!.]*.env")))

    def wait(self, call: str, seconds: float = 10) -> Wake:
        """The wake for this call, once it happened."""
        path = self.folder / f"{call}.env"
        until(path.exists, seconds, f"the handler to be woken for call {call}; woken so far: {list(self.wakes())}")
        return self._read(path)

    def wait_for_all(self, count: int, seconds: float = 30) -> dict[str, Wake]:
        """Every wake, once there are `count`."""
        until(lambda: self.count() >= count, seconds, lambda: f"{count} wakes; there were {self.count()}")
        return self.wakes()

    def _read(self, path: Path) -> Wake:
        environment = dict(line.partition("=")[::2] for line in path.read_text().splitlines())
        return Wake(path.with_suffix(".stdin").read_bytes(), environment)

    def clear_away(self) -> None:
        """Ends what is left of the handlers, and nothing else: a process counts only if it carries its call's id."""
        groups = {wake.pid: call for call, wake in self.wakes().items()}
        for pid, group in processes.groups():
            if group in groups and processes.environment(pid).get("RINGWAKE_CALL") == groups[group]:
                processes.end(pid)


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    """An executable file; `mode` for one that is not quite."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.chmod(path, stat.S_IMODE(mode))
    return path
