"""How long each takes, in turn."""

import time
from contextlib import ExitStack

from .outcome import Outcome, Table, median, microseconds, quantile
from .triggers import FLOORS, WAYS, Connected, Exec, Spawn, Trigger, available

ROUNDS = 300
WARM_UP = 20
# Seconds before each sample. What a sample before left to do is over by then; a processor that rested for longer has
# lost its caches, as a device that waits for a call.
PACES = {"after 5 ms": 0.005, "after 50 ms": 0.05}
# The aims, as multiples of bare posix_spawn.
AIMS: dict[type[Trigger], float] = {Exec: 1.5, Connected: 0.5}


def measure(quick: bool) -> list[Outcome]:
    count = 20 if quick else ROUNDS
    with ExitStack() as stack:
        triggers: dict[type[Trigger], Trigger] = {}
        for kind in [*FLOORS, *WAYS, *available()]:
            triggers[kind] = kind()
            stack.callback(triggers[kind].stop)
            triggers[kind].start()
        for _ in range(WARM_UP):
            for one in triggers.values():
                one.step()
        return [measure_pace(triggers, pace, pause, count) for pace, pause in PACES.items()]


def measure_pace(triggers: dict[type[Trigger], Trigger], pace: str, pause: float, count: int) -> Outcome:
    samples: dict[type[Trigger], list[int]] = {kind: [] for kind in triggers}
    for _ in range(count):
        for kind, one in triggers.items():
            time.sleep(pause)
            samples[kind].append(one.step())
    outcome = Outcome(Table(
        f"From the trigger to the handler's first instruction, {pace}",
        f"{count} rounds, one sample of each in a round, {pace} of rest before each sample. Every row ends in the "
        "same static program, which stamps the time with its first instructions; in the rows of a handler that runs "
        "already, the time at which the push is in its hands. Triggered over the loopback, each in the simplest way "
        "that it takes: Ringwake by a push (HTTP/2 over TLS 1.3, provider certificate, checked and journaled) on a "
        "warm connection; webhook by a POST on a kept plain connection; xinetd and systemd-socket-activate by a TCP "
        "connection, which carries nothing; mosquitto by a PUBLISH, quality of service 0, on a kept plain connection. "
        "None of the peers checks who triggers, or keeps what came. Microseconds.",
        ["", "median", "p90", "p99", "x posix_spawn"], command="Tests/lab/wake/run",
    ))  # fmt: skip
    floor = median(samples[Spawn])
    for kind, values in samples.items():
        ratio = median(values) / floor
        outcome.table.add(
            triggers[kind].name, *(microseconds(quantile(values, share)) for share in (0.5, 0.9, 0.99)),
            f"{ratio:.2f}",
        )  # fmt: skip
        if (aim := AIMS.get(kind)) and ratio > aim:
            outcome.missed.append(f"{triggers[kind].name}, {pace}: {ratio:.2f}x posix_spawn, the aim is {aim}x")
    return outcome
