"""How long a push takes to become a running handler, beside bare posix_spawn of the same program."""

import os
import tempfile
import time
from pathlib import Path

from . import programs
from .report import Table, median, microseconds, quantile
from .servers import HOST, TOPIC, Peer, Ringwaked

SAMPLES = 400
WARM_UP = 20
# Seconds before each sample. A processor that rests for some milliseconds loses its caches, as a device that waits for
# a call does; one that does not shows what the programs themselves cost.
PACES = {"back to back": 0.0, "after 5 ms of rest": 0.005}


def measure(quick: bool) -> Table:
    count = 50 if quick else SAMPLES
    handler = programs.peer("handler")
    with tempfile.TemporaryDirectory(prefix="ringwake-bench-") as folder:
        fifos = {name: Path(folder) / name for name in ("push", "floor", "tcp")}
        for fifo in fifos.values():
            os.mkfifo(fifo)
        server = Ringwaked([str(handler), str(fifos["push"])])
        peers = {
            "floor": Peer("spawn_floor", handler, fifos["floor"]),
            "tcp": Peer("spawn_floor", handler, fifos["tcp"], "tcp"),
            "push": Peer(
                "push_client", HOST, server.port, server.ca, server.certificate, server.token, TOPIC, fifos["push"]
            ),
        }  # fmt: skip
        for _ in range(WARM_UP):
            for peer in peers.values():
                peer.step()
        table = Table(
            "Push sent to the handler's first instruction",
            f"{count} pushes for each pace, each with its own apns-id, on one warm connection (provider certificate, "
            "TLS 1.3), in turn with as many bare posix_spawn calls of the same static program, and as many by a C "
            "program that waits for one byte on a TCP connection and then does the same. From just before the "
            "client's write (or just before posix_spawn) to the first instruction of the handler. Default log level; "
            "the runtime directory is in memory, as /run is, and the journal is on the disk: the answer waits for "
            "it, the handler does not, and when the handler has exited the end of its call is written too. "
            "Microseconds. Aim: at most 2x posix_spawn.",
            ["", "median", "p90", "p99", "x posix_spawn", "x one byte", "CPU of ringwaked"],
            command="Benchmarks/run wake",
        )
        for pace, pause in PACES.items():
            measure_pace(table, pace, peers, server, pause, count)
        for peer in peers.values():
            peer.stop()
        server.stop()
    return table


def measure_pace(table: Table, pace: str, peers: dict[str, Peer], server: Ringwaked, pause: float, count: int) -> None:
    samples: dict[str, list[list[int]]] = {name: [] for name in peers}
    cpu = server.cpu_ns()
    for _ in range(count):
        for name, peer in peers.items():
            time.sleep(pause)
            samples[name].append(peer.step())
    cpu = (server.cpu_ns() - cpu) / count
    floor = [sample[0] for sample in samples["floor"]]
    tcp = [sample[0] for sample in samples["tcp"]]
    for name, values, used in [
        ("posix_spawn alone", floor, ""),
        ("one byte over TCP, then posix_spawn", tcp, ""),
        ("push -> handler's first instruction", [sample[0] for sample in samples["push"]], microseconds(cpu)),
        ("push -> whole answer", [sample[1] for sample in samples["push"]], ""),
    ]:
        table.add(
            f"{name}, {pace}", *(microseconds(quantile(values, share)) for share in (0.5, 0.9, 0.99)),
            f"{median(values) / median(floor):.2f}", f"{median(values) / median(tcp):.2f}", used,
        )  # fmt: skip
