"""How long it takes until the caller hears it ring, and where the time goes."""

import contextlib
from collections.abc import Callable

from .devices import columns
from .outcome import Outcome, Table, median, quantile
from .stages import MS, Times

ROUNDS = 40
# The first calls of each server worker make its connection.
WARM_UP = 8
# Milliseconds from INVITE to 180.
AIMS = {"cold": 11, "warm": 3}

Stage = Callable[[Times], tuple[int | None, int | None]]
STAGES: dict[str, Stage] = {
    "INVITE -> push packet": lambda times: (times.invite, times.push),
    "-> handler's first instruction": lambda times: (times.push, times.handler),
    "-> REGISTER": lambda times: (times.handler or times.push, times.register),
    "-> INVITE to the phone": lambda times: (times.register or times.invite, times.delivered),
    "-> 180": lambda times: (times.delivered, times.ringing),
}


def measure(quick: bool) -> Outcome:
    rounds, warm_up = (3, 1) if quick else (ROUNDS, WARM_UP)
    with contextlib.ExitStack() as stack:
        devices = [stack.enter_context(column()) for column in columns()]
        for _ in range(warm_up):
            for device in devices:
                device.call()
        samples: dict[str, list[tuple[Times, dict[str, int]]]] = {device.name: [] for device in devices}
        for _ in range(rounds):
            for device in devices:
                samples[device.name].append(device.call())
    return tabulate(samples, rounds)


def tabulate(samples: dict[str, list[tuple[Times, dict[str, int]]]], rounds: int) -> Outcome:
    outcome = Outcome(Table(
        "INVITE -> 180",
        f"{rounds} rounds, one call of each in a round; medians in ms. The packets' times are the kernel's, where they "
        "pass the server; the handler's is taken by a static program that then becomes the handler. 'registered': "
        "baresip without Ringwake. 'client alone': the push starts baresip itself, and nobody reports the call. Aims: "
        f"cold at most {AIMS['cold']} ms, warm at most {AIMS['warm']} ms.",
        ["", *samples], command="Tests/lab/sip/run delay",
    ))  # fmt: skip
    for name, ends in STAGES.items():
        outcome.table.add(name, *(milliseconds(differences(column, ends)) for column in samples.values()))
    totals = {
        name: differences(column, lambda times: (times.invite, times.ringing)) for name, column in samples.items()
    }
    outcome.table.add("INVITE -> 180", *(milliseconds(values) for values in totals.values()))
    outcome.table.add("... 90th percentile", *(milliseconds(values, 0.9) for values in totals.values()))
    for name, one, other in (("verified", "received", "verified"), ("woke", "received", "woke"),
                             ("durable", "received", "journaled")):  # fmt: skip
        outcome.table.add(
            f"in the daemon: received -> {name}",
            *(milliseconds([1000 * (line[other] - line[one]) for _, line in column if {one, other} <= line.keys()])
              for column in samples.values()),
        )  # fmt: skip
    outcome.table.add(
        "pushes over a new connection", *(sum(times.connected for times, _ in column) for column in samples.values())
    )
    for name, values in totals.items():
        aim = AIMS.get(name.split(",")[0])
        if aim and median(values) > aim * MS:
            outcome.missed.append(f"{name}: INVITE -> 180 in {median(values) / MS:.1f} ms, the aim is {aim} ms")
    return outcome


def differences(column: list[tuple[Times, dict[str, int]]], ends: Stage) -> list[int]:
    """Nanoseconds between two of the times, where both are known; pushes that made a connection are left out."""
    pairs = [ends(times) for times, _ in column if not times.connected]
    return [there - here for here, there in pairs if here is not None and there is not None]


def milliseconds(values: list[int], share: float = 0.5) -> str:
    if not values:
        return "-"
    return f"{(median(values) if share == 0.5 else quantile(values, share)) / MS:.1f}"
