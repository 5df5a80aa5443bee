"""From the start of the program to a mirrored server."""

import time
from contextlib import ExitStack

from .outcome import Outcome, Table, median, milliseconds, quantile
from .programs import audio
from .scene import Scene

ROUNDS = 60


def measure(quick: bool) -> list[Outcome]:
    count = 5 if quick else ROUNDS
    table = Table(
        "From nothing to a mirrored server",
        f"{count} rounds, in turn, three streams on the server. ringwake-audio: from before its process is made to the "
        "line that says that the server is mirrored; pactl: a process that connects and asks for the server, and one "
        "that asks for everything. Milliseconds.",
        ["", "median", "p90", "max"], command="Tests/lab/audio/run",
    )  # fmt: skip
    for kind in audio.SERVERS:
        for name, values in _measure(kind, count).items():
            table.add(
                f"{name}, {kind}", milliseconds(median(values)), milliseconds(quantile(values, 0.9)),
                milliseconds(max(values)),
            )  # fmt: skip
    return [Outcome(table)]


def _measure(kind: str, count: int) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {"ringwake-audio": [], "pactl info": [], "pactl list": []}
    with ExitStack() as stack:
        scene = Scene(kind, stack)
        for _ in range(count):
            start = time.monotonic_ns()
            agent = scene.agent()
            agent.connected()
            rows["ringwake-audio"].append(time.monotonic_ns() - start)
            agent.clear_away()
            for command in ("info", "list"):
                start = time.monotonic_ns()
                scene.server.pactl(command)
                rows[f"pactl {command}"].append(time.monotonic_ns() - start)
    return rows
