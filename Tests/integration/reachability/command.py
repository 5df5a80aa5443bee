"""`ringwake reachability`, asked once or watching, in a namespace."""

import contextlib
import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from support.netns import Namespace, stop
from support.programs import RINGWAKE

from .scenarios.model import Facts
from .stage import Stage

# How long the kernel, the hold, the damping and a machine that does ten other things may take together; seconds.
TOLD_WITHIN = 10
# The exit status when a target is not reachable, and when all are.
ALL_REACHABLE, NOT_ALL_REACHABLE = 0, 8

# A destination that nothing else concerns. Its way comes and goes to see that no other line is under way.
SENTINEL = "198.19.1.250"
SENTINEL_SETUP = (
    "link add sentinel0 type veth peer name sentinel1",
    "sysctl net.ipv6.conf.sentinel0.disable_ipv6 1",
    "sysctl net.ipv6.conf.sentinel1.disable_ipv6 1",
    "link set sentinel1 up",
    "link set sentinel0 up",
    # Of this scope no other link sends from it.
    "address add 198.19.0.7/32 dev sentinel0 scope link",
    # In a table of its own, before all rules of the scenarios.
    f"rule add pref 1 to {SENTINEL} lookup 9",
    "route add unreachable default table 9 metric 900",
)


def ask(
    network: Namespace, *targets: str, options: tuple[str, ...] = (), before: tuple[str, ...] = ()
) -> dict[str, dict]:
    """What it says of each target, asked once."""
    done = network.exec(*before, RINGWAKE, "reachability", "--local", "--json", *options, *targets)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert [message["target"] for message in messages] == list(targets), (done.stdout, done.stderr)
    wanted = ALL_REACHABLE if all(message["reachable"] for message in messages) else NOT_ALL_REACHABLE
    assert done.returncode == wanted, (done.returncode, done.stdout, done.stderr)
    return {message["target"]: message for message in messages}


@dataclass(frozen=True)
class Line:
    """A line of a watch."""

    # When it was read: seconds of the monotonic clock.
    time: float
    message: dict

    @property
    def target(self) -> str:
        return self.message["target"]


class Watch:
    """`ringwake reachability --watch`, and the lines that it has printed."""

    def __init__(self, network: Namespace, *targets: str, options: tuple[str, ...] = (), before: tuple[str, ...] = ()):
        self.errors = tempfile.TemporaryFile("w+")
        self.targets = [*targets, SENTINEL]
        self.process = network.popen(
            *before, RINGWAKE, "reachability", "--local", "--json", "--watch", *options, *self.targets,
            stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip
        self.lines: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        # What was said of each target last.
        self.said: dict[str, dict] = {}
        self.is_sentinel_there = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for text in self.process.stdout:
            self.lines.put(Line(time.monotonic(), json.loads(text)))
        self.lines.put(None)

    def next(self, what: str, seconds: float = TOLD_WITHIN) -> Line:
        """The next line; fails, naming `what`, when none comes in time."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"waited {seconds} s for {what}\n{self.complaints}") from None
        assert line, f"it ended before {what}\n{self.complaints}"
        self.said[line.target] = line.message
        return line

    def next_of(self, target: str) -> dict:
        """The next line of this target; others are passed over."""
        while True:
            if (line := self.next(f"a line of {target}")).target == target:
                return line.message

    @property
    def complaints(self) -> str:
        """What it said on its standard error."""
        self.errors.seek(0)
        return self.errors.read()

    def begin(self) -> None:
        """Reads one line of each target."""
        for _ in self.targets:
            self.next(f"a first line of {set(self.targets) - self.said.keys()}")
        assert self.said.keys() == set(self.targets)

    def rest(self, stage: Stage) -> list[Line]:
        """The lines that were under way, once there are none any more.

        The sentinel's way comes and goes, or the other way round. That it comes is told at once, and that it goes after
        the hold: whatever was held before that has been told by then.
        """
        return self.until_sentinel(stage) + self.until_sentinel(stage)

    def until_sentinel(self, stage: Stage) -> list[Line]:
        """Has the sentinel's way come, or go where it is there, and answers the lines before that of the sentinel.

        When the sentinel's line is there, everything before it has been judged.
        """
        present = self.is_sentinel_there = not self.is_sentinel_there
        stage.perform([f"route {'add' if present else 'delete'} default dev sentinel0 table 9"])
        found = []
        while True:
            line = self.next(f"the sentinel's way to {'come' if present else 'go'}")
            if line.target != SENTINEL:
                found.append(line)
            elif line.message["reachable"] == present:
                return found

    def close(self) -> None:
        stop(self.process)
        self.reader.join(TOLD_WITHIN)
        self.errors.close()


@contextlib.contextmanager
def watching(stage: Stage, *targets: str, tentative: bool = False, **options) -> Iterator[Watch]:
    """A watch that has said what there is to say at first."""
    stage.perform(SENTINEL_SETUP)
    stage.settle(tentative)
    watch = Watch(stage.network, *targets, **options)
    try:
        watch.begin()
        yield watch
    finally:
        watch.close()


def wrong(expected: dict[str, Facts], said: dict[str, dict]) -> str:
    """What is said otherwise than expected, line by line; empty when nothing is."""
    return "\n".join(
        f"{target}: {difference}"
        for target, facts in expected.items()
        for difference in (facts.differences(said[target]) if target in said else ["nothing is said of it"])
    )
