"""What watchers do when nothing happens."""

import contextlib
import time

from .outcome import Outcome, Table
from .peers import available
from .watchers import IpMonitor, Ours

SECONDS = 60
TARGETS = tuple(f"198.51.100.{number}" for number in range(1, 101))


def measure(quick: bool) -> Outcome:
    seconds = 5 if quick else SECONDS
    table = Table(
        "Idle",
        f"{seconds} s in which nothing happens, all watchers side by side in namespaces of their own; ringwake watches "
        "100 addresses. Aim: 0.",
        ["", f"switches in {seconds} s", "CPU us"],
        command="Tests/lab/reachability/run idle",
    )
    missed = []
    with contextlib.ExitStack() as stack:
        ours = Ours(targets=TARGETS, name="ringwake, 100 targets")
        watchers = [stack.enter_context(one) for one in (ours, IpMonitor(), *(peer() for peer in available()))]
        for watcher in watchers:
            watcher.settle()
        before = [(watcher.switches(), watcher.cpu_ns()) for watcher in watchers]
        time.sleep(seconds)
        for watcher, (switches, used) in zip(watchers, before, strict=True):
            watcher.check()
            table.add(watcher.name, watcher.switches() - switches, (watcher.cpu_ns() - used) // 1000)
        if int(table.rows[0][1]):
            missed.append(f"ringwake woke up {table.rows[0][1]} times in {seconds} s of nothing")
    return Outcome(table, missed)
