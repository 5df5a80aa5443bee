"""How often each watcher wakes up, and how long it runs, for changes that do not concern it."""

import time

from .churn import CHURNS
from .outcome import Outcome, Table
from .peers import available
from .watchers import IpMonitor, Ours, Watcher

# What is under way when the last change is made has come by then: the longest rest of the damping, and some. Seconds.
AFTERWARDS = 2.5
LEVELS = (4, 3, 2, 1, 0)


def watchers() -> list[Watcher]:
    ours = [Ours("--filter-level", str(level), name=f"ringwake, level {level}") for level in LEVELS]
    return [*ours, IpMonitor(), *(peer() for peer in available())]


def measure(quick: bool) -> Outcome:
    share = 0.02 if quick else 1
    table = Table(
        "Wakeups for what others do",
        "Voluntary context switches and CPU ms of all threads, while in a namespace of its own, for each watcher one "
        "after the other: 10,000 routes to elsewhere come; a router advertises a known prefix 1,000 times; a lease is "
        "renewed 1,000 times; 100 containers' veth pairs come, are switched on and go; addresses change 1,000 times on "
        "an interface that leads nowhere. ringwake watches `any` and one address; level 0 filters nothing in the "
        "kernel, and so shows the damping alone. The peers' short-lived children are not counted. Aim: 0 at level 4.",
        ["", *CHURNS],
        command="Tests/lab/reachability/run wakeups",
    )
    missed = []
    for watcher in watchers():
        cells = []
        for name, (churn, prepare) in CHURNS.items():
            # A new one for each, so that none finds what another left.
            with watcher.again() as fresh:
                prepare(fresh.stage)
                fresh.settle()
                switches, used = fresh.switches(), fresh.cpu_ns()
                churn(fresh.stage, share)
                time.sleep(AFTERWARDS)
                fresh.check()
                woke = fresh.switches() - switches
                cells.append(f"{woke:,}, {(fresh.cpu_ns() - used) / 1e6:.0f} ms")
                if watcher.name.endswith("level 4") and woke:
                    missed.append(f"{watcher.name} woke up {woke} times for {name}")
        table.add(watcher.name, *cells)
    return Outcome(table, missed)
