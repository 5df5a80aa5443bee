"""What a slow disk does to the way from a push to its handler: nothing, and to the answer: it waits."""

import os
import tempfile
import time
from pathlib import Path

from . import programs
from .answer import client
from .cpu import device, load
from .disk import Disk
from .durable import EXPIRED
from .report import Table, median, microseconds, quantile
from .servers import Ringwaked

SAMPLES = 40
WARM_UP = 20
DELAY_MS = 100
# Seconds before each sample: what the one before it left to write is written by then, and the processor has rested as
# long with a slow disk as with a fast one.
SETTLE = 0.25
# Seconds after the push whose commit is to be under way.
LEAD = 0.02


def measure(quick: bool) -> Table:
    count = 5 if quick else SAMPLES
    with tempfile.TemporaryDirectory(prefix="ringwake-bench-") as folder:
        fifo = Path(folder) / "push"
        os.mkfifo(fifo)
        disk = Disk()
        server = Ringwaked([str(programs.peer("handler")), str(fifo)], disk=disk)
        push = client(server, server.certificate, server.token, fifo)
        other = load(server, server.certificate, device(server), "-", 1, 1, EXPIRED)
        for _ in range(WARM_UP):
            push.step()
        samples: dict[tuple[bool, int], list[list[int]]] = {}
        for _ in range(count):
            for is_another_first in (False, True):
                for delay in (0, DELAY_MS):
                    disk.slow_down(delay)
                    time.sleep(SETTLE)
                    if is_another_first:
                        other.ask(1)
                        time.sleep(LEAD)
                    samples.setdefault((is_another_first, delay), []).append(push.step())
                    if is_another_first:
                        other.numbers()
        for stopped in (push, other, server, disk):
            stopped.stop()
    return table(count, samples)


def table(count: int, samples: dict[tuple[bool, int], list[list[int]]]) -> Table:
    result = Table(
        "A disk that stalls",
        f"{count} pushes for each row, in turn, each {SETTLE * 1000:.0f} ms after the one before. A library in front "
        f"of fdatasync lets each of the store's files take {DELAY_MS} ms longer, or not. *Behind another*: "
        f"{LEAD * 1000:.0f} ms earlier another push came, and with the slow disk its commit is under way. The ratio "
        "is to the same with the disk as it is. Microseconds; the handler's start is to be unaffected, and the "
        "answer is to wait.",
        ["", "handler p50", "p90", "max", "ratio", "answer p50", "p90", "max"],
        command="Benchmarks/run stall",
    )
    for (is_another_first, delay), values in samples.items():
        name = f"fdatasync takes {delay} ms longer" if delay else "the disk as it is"
        starts, answers = [value[0] for value in values], [value[1] for value in values]
        base = median([value[0] for value in samples[is_another_first, 0]])
        result.add(
            name + (", behind another" if is_another_first else ""),
            *(microseconds(quantile(starts, share)) for share in (0.5, 0.9, 1)), f"{median(starts) / base:.2f}",
            *(microseconds(quantile(answers, share)) for share in (0.5, 0.9, 1)),
        )  # fmt: skip
    return result
