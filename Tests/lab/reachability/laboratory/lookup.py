"""What the look-up of one destination costs, beside the bare question to the kernel."""

import time

from .outcome import Outcome, Table, median
from .programs import NATIVE
from .watchers import Ours

TARGETS = tuple(f"198.51.{number >> 8}.{number & 255}" for number in range(1000))
ROUNDS = 20
# Longer than the damping rests after a change that comes alone; seconds.
PAUSE = 2.5


def measure(quick: bool) -> Outcome:
    rounds = 3 if quick else ROUNDS
    table = Table(
        "One look-up",
        f"{rounds} rounds in turn in the same namespace. ringwake watches {len(TARGETS)} addresses by one gateway; a "
        "rule that changes nothing comes and has it judge them all: its CPU time by the number of addresses, so that "
        "reading the event and comparing are in it. Beside it C that asks RTM_GETROUTE for the same addresses and "
        "throws the answers away.",
        ["", "us of CPU for one address, median", "x C"],
        command="Tests/lab/reachability/run lookup",
    )
    ours, floor = [], []
    with Ours(targets=TARGETS, name="ringwake") as watcher:
        watcher.settle()
        network = watcher.stage.network
        for _ in range(rounds):
            done = network.exec(NATIVE / "lookup", 20, *TARGETS)
            if done.returncode:
                raise RuntimeError(done.stderr)
            floor.append(int(done.stdout))
            for verb in ("add", "delete"):
                used = watcher.cpu_ns()
                network.ip("rule", verb, "pref", 100, "fwmark", 77, "lookup", "main")
                time.sleep(PAUSE)
                if verb == "add":
                    ours.append((watcher.cpu_ns() - used) / len(TARGETS))
    base = median(floor)
    for name, values in (("RTM_GETROUTE in C", floor), ("ringwake", ours)):
        table.add(name, f"{median(values) / 1000:.2f}", f"{median(values) / base:.2f}")
    return Outcome(table)
