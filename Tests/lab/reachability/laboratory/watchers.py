"""What watches the network: ours at each level of its filter, and the peers. Each in a namespace of its own."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from reachability.stage import Stage
from support import processes
from support.programs import RINGWAKE

from . import programs

# A watcher has settled when it has not woken up for this long; it has this long for it. Seconds.
CALM, SETTLE_TIMEOUT = 1.0, 40
WIFI = (
    "cable wlan0", "address add 192.0.2.7/24 dev wlan0", "router: address add 192.0.2.1/24 dev wlan0-peer",
    "route add default via 192.0.2.1 dev wlan0",
)  # fmt: skip


class Watcher:
    """A program that watches a network which is its own."""

    name = ""
    # Folders that it may write to: each is one of its own, empty, in memory.
    private_folders = "/run"

    def __init__(self) -> None:
        self.stage = Stage()
        self.running: list[subprocess.Popen] = []

    def again(self) -> "Watcher":
        """Another of the same kind, which has not begun."""
        return type(self)()

    def commands(self) -> list[list[str]]:
        """The programs that it is made of; all are counted."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {}

    def prepare(self) -> None:
        """Writes what it wants to find."""

    def __enter__(self) -> "Watcher":
        self.stage.__enter__()
        try:
            self.lay_out()
            self.prepare()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        started = self.pids()
        self.stage.__exit__()
        # Some leave helpers behind when they end.
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def lay_out(self) -> None:
        """The network that it finds."""
        self.stage.perform(WIFI)
        self.stage.settle()

    def start(self) -> None:
        mounts = "".join(f"mount -t tmpfs tmpfs {folder} && " for folder in self.private_folders.split())
        for command in self.commands():
            self.running.append(
                self.stage.network.popen(
                    "sh", "-c", mounts + 'exec "$0" "$@"', *command, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, env=os.environ | {"PATH": programs.PATH} | self.environment(),
                )
            )  # fmt: skip

    # What the kernel knows of it

    def pids(self) -> list[int]:
        """Its processes, and those that they have started."""
        children: dict[int, list[int]] = {}
        for pid, parent in parents().items():
            children.setdefault(parent, []).append(pid)
        found, todo = [], [process.pid for process in self.running]
        while todo:
            found.append(todo.pop())
            todo += children.get(found[-1], [])
        return [pid for pid in found if processes.is_running(pid)]

    def check(self) -> None:
        for process in self.running:
            if process.poll() is not None:
                # What it said is thrown away, as writing it would be measured: start the command by hand to see it.
                command = " ".join(self.commands()[-1])[:200]
                raise RuntimeError(f"{self.name} ended with status {process.returncode}: {command}")

    def switches(self) -> int:
        """How often its threads waited, or were made to."""
        return sum(
            int(line.split()[1])
            for pid in self.pids()
            for status in Path(f"/proc/{pid}/task").glob("*/status")
            for line in read(status).splitlines()
            if "voluntary_ctxt_switches" in line and not line.startswith("nonvoluntary")
        )

    def cpu_ns(self) -> int:
        """Nanoseconds that its threads have run, in user and kernel mode: proc(5), schedstat."""
        return sum(
            int((read(path) or "0").split()[0])
            for pid in self.pids()
            for path in Path(f"/proc/{pid}/task").glob("*/schedstat")
        )

    def memory_kb(self, member: str) -> int:
        """`Pss`, `Private_Dirty` and so on of all its processes, in kB."""
        return sum(
            int(line.split()[1])
            for pid in self.pids()
            for line in read(Path(f"/proc/{pid}/smaps_rollup")).splitlines()
            if line.startswith(f"{member}:")
        )

    def settle(self) -> None:
        """Waits until it has not woken up for a while; says so when it never rests."""
        deadline = time.monotonic() + SETTLE_TIMEOUT
        last, since = self.switches(), time.monotonic()
        while time.monotonic() - since < CALM and time.monotonic() < deadline:
            time.sleep(0.1)
            if (now := self.switches()) != last:
                last, since = now, time.monotonic()
        self.check()


def read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


def parents() -> dict[int, int]:
    """Every process with its parent: proc(5)."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (text := read(Path(f"/proc/{name}/stat"))):
            found[int(name)] = int(text.rpartition(")")[2].split()[1])
    return found


class Ours(Watcher):
    """`ringwake reachability --watch`, with what it prints thrown away."""

    def __init__(self, *options: str, targets: tuple[str, ...] = ("any", "198.51.100.9"), name: str = "") -> None:
        super().__init__()
        self.options, self.targets = options, targets
        self.name = name or "ringwake"

    def again(self) -> "Ours":
        return Ours(*self.options, targets=self.targets, name=self.name)

    def commands(self) -> list[list[str]]:
        watch = [str(RINGWAKE), "reachability", "--local", "--watch", "--json"]
        return [watch + [*self.options, *self.targets]]


class IpMonitor(Watcher):
    name = "ip monitor"

    def commands(self) -> list[list[str]]:
        return [["ip", "-ts", "monitor"]]


