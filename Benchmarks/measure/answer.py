"""How long a single push waits for its durable answer, beside what the disk and SQLite alone take."""

import os
import tempfile
import time
from pathlib import Path

from . import programs
from .disk import Disk
from .durable import EXPIRED
from .report import Table, median, microseconds, quantile
from .servers import HOST, TOPIC, JournalServer, Nghttpd, Peer, Ringwaked, Server, empty_store

SAMPLES = 400
# Until the log has been moved into the store a few times, and is written over and not made longer.
WARM_UP = 150
PAUSE = 0.005


def measure(quick: bool) -> Table:
    count = 50 if quick else SAMPLES
    with tempfile.TemporaryDirectory(prefix="ringwake-bench-") as name:
        folder = Path(name)
        fifo = folder / "push"
        os.mkfifo(fifo)
        disk = Disk()
        server = Ringwaked([str(programs.peer("handler")), str(fifo)])
        fixed, written_in_c = Nghttpd(server), JournalServer(server, disk)
        commit = Peer("commit_floor", "store", empty_store(folder))
        size = [commit.step()[1] for _ in range(WARM_UP)][-1]
        peers = {
            "write and fdatasync, no network": Peer("commit_floor", "write", folder / "plain", size),
            "commit, no network": commit,
            "nghttpd, no journal": client(fixed, "-", Nghttpd.PATH.rpartition("/")[2], "-", EXPIRED),
            "C, SQLite": client(written_in_c, "-", server.token, "-", EXPIRED),
            "ringwaked, an expired push": client(server, server.certificate, server.token, "-", EXPIRED),
            "ringwaked, a push that wakes its handler": client(server, server.certificate, server.token, fifo),
        }
        samples: dict[str, list[int]] = {name: [] for name in peers}
        for number in range(-WARM_UP, count):
            for name, peer in peers.items():
                time.sleep(PAUSE)
                took, other = peer.step()
                # A client prints the time to the handler first.
                took = took if peer.name == "commit_floor" else other
                if number >= 0:
                    samples[name].append(took)
        for stopped in [*peers.values(), fixed, written_in_c, server, disk]:
            stopped.stop()
    return table(count, size, samples)


def client(server: Server, certificate: object, token: str, *rest: object) -> Peer:
    return Peer("push_client", HOST, server.port, server.ca, certificate, token, TOPIC, *rest)


def table(count: int, size: int, samples: dict[str, list[int]]) -> Table:
    result = Table(
        "A single push's answer on an idle daemon",
        f"{count} pushes for each row, one at a time, in turn with the others and after {PAUSE * 1000:.0f} ms of rest "
        "each; all files on one file system. From just before the client's write (or just before the commit or the "
        f"write) to the whole answer. A commit of one push writes {size} bytes to the log; as many are written, over a "
        "file of 4 MB again and again, for the row without SQLite. Microseconds.",
        ["", "p50", "p90", "p99", "x write and fdatasync", "x C"],
        command="Benchmarks/run answer",
    )
    floor, peer = median(samples["write and fdatasync, no network"]), median(samples["C, SQLite"])
    for name, values in samples.items():
        result.add(
            name, *(microseconds(quantile(values, share)) for share in (0.5, 0.9, 0.99)),
            f"{median(values) / floor:.2f}", f"{median(values) / peer:.2f}",
        )  # fmt: skip
    return result
