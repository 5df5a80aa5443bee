"""A person's desktop on an audio server: some 200 processes. Some play, each below an application below a shell below a
session."""

import os
import signal
import subprocess
from contextlib import ExitStack

from .programs import audio
from support.waiting import until

# Applications without sound, each with this many processes below it.
SILENT_APPLICATIONS = 20
CHILDREN = 8
START_TIMEOUT = 60

# Each function is a process of its own; `&` makes the child, `wait` keeps the parent.
SCRIPT = """
application() { for _ in $(seq "$1"); do sleep infinity & done; wait; }
player() {
    # A server that thirty clients come to at once may refuse one.
    until pacat --playback --raw --latency-msec=200 --client-name="music $1" --stream-name=music /dev/zero; do
        sleep 0.1
    done
}
shell() {
    for _ in $(seq "$1"); do application "$2" & done
    for number in $(seq "$3"); do { player "$number" & wait; } & done
    wait
}
shell "$@" & wait
"""


class Desktop:
    """An audio server with so many programs that play, and a microphone that is muted."""

    def __init__(self, kind: str, streams: int, stack: ExitStack) -> None:
        self.server = audio.SERVERS[kind]()
        stack.callback(self.server.clear_away)
        self.server.start()
        self.server.pactl("set-source-mute", "microphone", 1)
        self.count = streams
        self.session = subprocess.Popen(
            ["sh", "-c", SCRIPT, "session", str(SILENT_APPLICATIONS), str(CHILDREN), str(streams)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env=os.environ | self.server.environment(),
        )  # fmt: skip
        stack.callback(self._end)
        until(self._plays, START_TIMEOUT, lambda: f"{streams} streams; there are {len(self._streams())}")
        self.indexes = [stream["index"] for stream in self._streams()]

    def processes(self) -> int:
        """How many it consists of."""
        return sum(os.getpgid(int(name)) == self.session.pid for name in os.listdir("/proc") if name.isdigit())

    def is_as_before(self) -> bool:
        """Whether everything sounds, and the microphone is muted."""
        return self._microphone() and not any(stream["mute"] for stream in self._streams())

    def is_in_call(self) -> bool:
        """Whether nothing sounds, and the microphone is open: looked at by another program."""
        return not self._microphone() and all(stream["mute"] for stream in self._streams())

    def _streams(self) -> list[dict]:
        return self.server.list("sink-inputs")

    def _plays(self) -> bool:
        streams = self._streams()
        return len(streams) == self.count and all(one["sink"] < 2**32 - 1 and not one["corked"] for one in streams)

    def _microphone(self) -> bool:
        return next(one["mute"] for one in self.server.list("sources") if one["name"] == "microphone")

    def _end(self) -> None:
        os.killpg(self.session.pid, signal.SIGKILL)
        self.session.wait()
