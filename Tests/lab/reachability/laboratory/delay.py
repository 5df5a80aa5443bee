"""The time from a change to the line that tells of it, beside `ip monitor`."""

import contextlib
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reachability.stage import Stage
from support.programs import RINGWAKE, RINGWAKED

from .outcome import Outcome, Table, median, quantile
from .programs import NATIVE
from .rtnetlink import Changer

ROUNDS = 50
# Longer than the quiet time of the damping and than the hold, so that each change finds a watcher at rest; seconds.
PAUSE = 1.5
TIMEOUT = 10
WIFI, MOBILE = ("192.0.2.1", "wlan0"), ("203.0.113.1", "wwan0")
# Times ip monitor's: of a watch by itself, and of one that asks the daemon.
AIM, DAEMON_AIM = 1.5, 2.0


@dataclass(frozen=True)
class Change:
    """One change that is made and undone, and what a line of ours says of it."""

    make: Callable[[Changer], int]
    undo: Callable[[Changer], int]
    tells: Callable[[dict], bool]
    # The same of a line for people; only where one is measured.
    says: str = ""


def set_wifi(changer: Changer) -> int:
    return changer.default_route(True, *WIFI, metric=100)


def delete_wifi(changer: Changer) -> int:
    return changer.default_route(False, *WIFI, metric=100)


class Daemon:
    """A daemon without provider ports in a network; it reports a loss at once."""

    def __init__(self, stage: Stage) -> None:
        # A socket's path has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="ringwake-lab-"))
        self.socket = self.folder / "run" / "control.sock"
        configuration = self.folder / "ringwaked.toml"
        configuration.write_text(
            f'state_directory = "{self.folder}/state"\nruntime_directory = "{self.folder}/run"\n'
            '[reachability]\nloss_hold = "0ms"\n'
        )
        self.process = stage.network.popen(
            RINGWAKED, "--config", configuration, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + TIMEOUT
        while not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the daemon did not start")
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(TIMEOUT)
        shutil.rmtree(self.folder, ignore_errors=True)


class Teller:
    """A watcher whose lines are stamped when they come, in a network with a Wi-Fi and perhaps a mobile way beside."""

    def __init__(self, title: str, name: str, change: Change, command: list, mobile: bool, begins_set: bool) -> None:
        self.title, self.name, self.change, self.command = title, name, change, command
        self.mobile, self.begins_set = mobile, begins_set
        self.is_ours = name != MONITOR
        self.daemon: Daemon | None = None
        self.stage, self.delays = Stage(), []

    def __enter__(self) -> "Teller":
        self.stage.__enter__()
        self.stage.perform(["cable wlan0", "address add 192.0.2.7/24 dev wlan0"])
        if self.mobile:
            self.stage.perform(["cable wwan0", "address add 203.0.113.7/24 dev wwan0",
                                "route add default via 203.0.113.1 dev wwan0 metric 600"])  # fmt: skip
        self.stage.settle()
        self.changer = Changer(self.stage.network)
        if self.begins_set:
            set_wifi(self.changer)
        if self.name == DAEMON:
            self.daemon = Daemon(self.stage)
            self.command += ["--socket", self.daemon.socket]
        read, write = os.pipe()
        self.watcher = self.stage.network.popen(*self.command, stdout=write, stderr=subprocess.DEVNULL)
        self.stamp = subprocess.Popen([NATIVE / "stamp"], stdin=read, stdout=subprocess.PIPE, text=True)
        os.close(read), os.close(write)
        self.lines: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        # Ours says at first what is there.
        time.sleep(PAUSE)
        return self

    def __exit__(self, *_: object) -> None:
        self.changer.close()
        if self.daemon:
            self.daemon.stop()
        self.stage.__exit__()
        self.stamp.wait(TIMEOUT)

    def _read(self) -> None:
        for line in self.stamp.stdout:
            stamp, _, text = line.partition(" ")
            self.lines.put((int(stamp), text))

    def drain(self) -> None:
        """Forgets the lines that have come."""
        while not self.lines.empty():
            self.lines.get()

    def measure(self) -> None:
        self.drain()
        began = self.change.make(self.changer)
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                stamp, text = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise RuntimeError(f"{self.title}; {self.name}: nothing was told within {TIMEOUT} s") from None
            if stamp >= began and (not self.is_ours or self._tells(text)):
                break
        self.delays.append(stamp - began)

    def _tells(self, text: str) -> bool:
        return self.change.tells(json.loads(text)) if text.startswith("{") else self.change.says in text


GAIN = Change(set_wifi, delete_wifi, lambda line: line["reachable"], "any  reachable")
LOSS = Change(delete_wifi, set_wifi, lambda line: not line["reachable"])
SWITCH = Change(set_wifi, delete_wifi, lambda line: line["interface"] == "wlan0")
SWITCH_OFF = Change(
    lambda changer: changer.link("wlan0", False),
    lambda changer: (changer.link("wlan0", True), set_wifi(changer))[1],
    lambda line: line["interface"] == "wwan0",
)


MONITOR, NO_HOLD = "ip monitor", ("--local", "--loss-hold", "0ms")
LOCAL, DAEMON = ("--local",), "ringwake, asking the daemon"
# To see what of the time goes into writing JSON, which a program with the library does not do.
PLAIN = "ringwake, a line for people"
# Title, change, whether there is a mobile way beside, whether the change takes away what is set, ours by name.
CASES = [
    ("a gain: the default route comes", GAIN, False, False, {"ringwake": LOCAL, PLAIN: LOCAL, DAEMON: ()}),
    ("a switch: a better route comes", SWITCH, True, False, {"ringwake": LOCAL, DAEMON: ()}),
    ("a switch: the better link is switched off", SWITCH_OFF, True, True, {"ringwake": LOCAL}),
    ("a loss: the default route goes", LOSS, False, True,
     {"ringwake, no hold": NO_HOLD, "ringwake, hold 200 ms": LOCAL, DAEMON: ()}),
]


def tellers() -> list[Teller]:
    found = []
    for title, change, mobile, begins_set, variants in CASES:
        found.append(Teller(title, MONITOR, change, ["ip", "-ts", "monitor"], mobile, begins_set))
        for name, options in variants.items():
            command = [RINGWAKE, "reachability", "--watch", *options, "any"]
            if name != PLAIN:
                command.append("--json")
            found.append(Teller(title, name, change, command, mobile, begins_set))
    return found


def measure(quick: bool) -> Outcome:
    rounds = 5 if quick else ROUNDS
    table = Table(
        "From a change to the line that tells of it",
        f"{rounds} rounds in turn, each watcher in a namespace of its own, at rest when the change is made. From "
        "before the system call that makes the change to the moment at which the line is read from a pipe; the same "
        "small C program reads all pipes. `ip monitor` prints what it is sent and judges nothing. Aim: "
        f"{AIM} times `ip monitor` without a hold, {DAEMON_AIM} times through the daemon; a loss the hold more.",
        ["", "us, median", "us, p99", "x ip monitor"],
        command="Tests/lab/reachability/run delay",
    )
    missed = []
    with contextlib.ExitStack() as stack:
        watchers = [stack.enter_context(teller) for teller in tellers()]
        for _ in range(rounds):
            for watcher in watchers:
                watcher.measure()
            time.sleep(PAUSE)
            for watcher in watchers:
                watcher.change.undo(watcher.changer)
            # A carrier is told of up to a second after its link was switched on.
            for watcher in watchers:
                watcher.stage.settle()
            time.sleep(PAUSE)
    base = 0.0
    for watcher in watchers:
        middle, late = median(watcher.delays), quantile(watcher.delays, 0.99)
        base = middle if watcher.name == MONITOR else base
        name = f"{watcher.title}; {watcher.name}"
        table.add(name, f"{middle / 1000:.0f}", f"{late / 1000:.0f}", f"{middle / base:.2f}")
        aim = DAEMON_AIM if watcher.name == DAEMON else AIM
        if middle > aim * base and not watcher.name.endswith("200 ms"):
            missed.append(f"{name}: {middle / base:.2f} times ip monitor")
    return Outcome(table, missed)
