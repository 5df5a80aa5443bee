"""What it costs to be reachable while nothing happens: registered clients beside one daemon for all apps."""

import contextlib
import subprocess
import time
import uuid
from pathlib import Path

# Imported first: it adds the folder of the integration tests to the path.
from .outcome import Outcome, Table

from sip import client
from sip.exchange import Exchange
from sip.phone import Phone
from sip.telephones import calls
from support.credentials import APP
from support.daemon import Daemon
from support.waiting import until

from .devices import RING_TIMEOUT, credentials

COUNTS = (1, 5, 20)
SECONDS = 180
# What a call leaves to do is done by then.
SETTLE_SECONDS = 60
# How often the clients register, as is usual behind a router that forgets.
REGISTER_SECONDS = 60
HOUR = 3600


class Standing(contextlib.AbstractContextManager):
    """One row: processes on a device that wait for calls."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.stack = contextlib.ExitStack()

    def __enter__(self) -> "Standing":
        with self.stack:
            self.exchange = self.stack.enter_context(Exchange(credentials()))
            # Neighbour and router solicitations are not what is measured.
            self.exchange.device.sysctl("net.ipv6.conf.all.disable_ipv6", 1)
            self.exchange.server.sysctl("net.ipv6.conf.all.disable_ipv6", 1)
            self.start()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def start(self) -> None:
        raise NotImplementedError

    def pids(self) -> list[int]:
        raise NotImplementedError

    # What they have used so far

    def wakeups(self) -> int:
        """How often they gave the processor up and were woken again."""
        return sum(fact(path, "voluntary_ctxt_switches") for path in self.tasks("status"))

    def cpu_ns(self) -> int:
        return sum(int(path.read_text().split()[0]) for path in self.tasks("schedstat"))

    def pss_kib(self) -> int:
        return sum(fact(Path(f"/proc/{pid}/smaps_rollup"), "Pss") for pid in self.pids())

    def packets(self) -> int:
        """Both ways."""
        line = self.exchange.device.exec("cat", "/proc/net/dev").stdout.partition("eth0:")[2].split()
        return int(line[1]) + int(line[9])

    def tasks(self, name: str) -> list[Path]:
        return [path / name for pid in self.pids() for path in Path(f"/proc/{pid}/task").iterdir()]


class Clients(Standing):
    """So many baresips, each registered."""

    name = "baresip, registered"

    def start(self) -> None:
        self.processes = []
        for number in range(self.count):
            folder = client.configure(
                self.exchange.folder / f"client-{number}", number, f"user{number}", REGISTER_SECONDS, True
            )
            self.processes.append(self.exchange.device.popen(
                "baresip", "-f", folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ))  # fmt: skip
        until(lambda: self.exchange.ask("ul.dump").count("Address: sip:") == self.count, RING_TIMEOUT * 2,
              f"{self.count} clients to register")  # fmt: skip

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]


class Daemons(Standing):
    """One daemon with so many apps, and a sender that keeps its connection."""

    name = "ringwaked, apps"

    def start(self) -> None:
        daemon = Daemon(credentials())
        self.stack.callback(daemon.clear_away)
        self.phone = Phone(self.exchange, daemon)
        self.stack.callback(self.phone.close)
        for number in range(1, self.count):
            daemon.set_handler([str(part) for part in self.phone.handler], app=f"{APP}{number}", instances="app")
        self.phone.start().known()
        # One call, after which the sender keeps its connection.
        call = str(uuid.uuid4())
        with calls(self.exchange, call, "cancel") as caller:
            daemon.control.wait_for(call, "woken")
            caller.cancels()
            caller.ends()
        daemon.control.wait_for(call, "ended")
        self.phone.is_asleep()

    def pids(self) -> list[int]:
        return [self.phone.daemon.pid]


def fact(path: Path, name: str) -> int:
    """A number that proc(5) has in a line of its own."""
    return next(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith(f"{name}:"))


def measure(quick: bool) -> Outcome:
    seconds, counts = (5, (1, 2)) if quick else (SECONDS, COUNTS)
    with contextlib.ExitStack() as stack:
        rows = [stack.enter_context(kind(count)) for kind in (Clients, Daemons) for count in counts]
        time.sleep(1 if quick else SETTLE_SECONDS)
        before = [(row.wakeups(), row.packets(), row.cpu_ns()) for row in rows]
        time.sleep(seconds)
        after = [(row.wakeups(), row.packets(), row.cpu_ns()) for row in rows]
        memory = [row.pss_kib() for row in rows]
        connections = [row.exchange.device.exec("ss", "-Htn", "state", "established").stdout for row in rows]
    table = Table(
        "Waiting for calls, an hour",
        f"{seconds} s in which nobody calls, all rows side by side, extrapolated to an hour. The clients register "
        f"every {REGISTER_SECONDS} s over UDP and send no other keepalives, which is baresip's default. The daemon "
        "has kept connections of the sender, Kamailio, which pushed to one of its apps; nothing is sent on them. "
        "Wakeups are voluntary context switches; packets are those of the device's link, both ways; memory is the "
        "proportional set size.",
        ["", "wakeups", "packets", "CPU ms", "PSS MiB", "TCP connections"], command="Tests/lab/sip/run standby",
    )  # fmt: skip
    scale = HOUR / seconds
    missed = []
    for row, start, end, kib, open_ in zip(rows, before, after, memory, connections, strict=True):
        wakeups, packets, cpu = ((new - old) * scale for old, new in zip(start, end, strict=True))
        table.add(
            f"{row.name}: {row.count}", round(wakeups), round(packets), f"{cpu / 1e6:.1f}", f"{kib / 1024:.1f}",
            len(open_.splitlines()),
        )  # fmt: skip
        if isinstance(row, Daemons) and wakeups:
            missed.append(f"ringwaked with {row.count} apps woke up {round(wakeups)} times an hour; the aim is 0")
    return Outcome(table, missed)
