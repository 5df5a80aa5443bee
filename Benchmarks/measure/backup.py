"""The answer to a push while the store is copied for a backup, beside the same load without a copy."""

import json
import socket
import sqlite3
import threading
import time
from pathlib import Path

from .cpu import device, load
from .report import Table, median, microseconds
from .servers import Ringwaked

MEGABYTES = 1024
PER_SECOND = 1000
# Seconds of load in one round. A copy that ends earlier is followed by the next.
SECONDS = 10
ROUNDS = 5
EXPIRED = 1


def fill(store: Path, megabytes: int) -> None:
    """Makes the store of a stopped daemon as large as that: a list of callers with long labels."""
    connection = sqlite3.connect(store)
    connection.execute("INSERT OR REPLACE INTO list VALUES ('ballast', 'block', NULL, NULL, 0, 0, 1)")
    connection.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        "INSERT INTO list_entry SELECT 1, CAST(printf('%012d', i) AS BLOB), "
        # The header of a record without protection.
        "CAST(x'01000000000000' || zeroblob(1) || hex(randomblob(1000)) AS BLOB) FROM n", (megabytes * 480,),
    )  # fmt: skip
    connection.commit()
    connection.close()


class Copies(threading.Thread):
    """Copies one after the other, until told to stop."""

    def __init__(self, server: Ringwaked) -> None:
        super().__init__()
        self.server = server
        self.seconds: list[float] = []
        self.isWanted = True

    def run(self) -> None:
        while self.isWanted:
            begun = time.monotonic()
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect(str(self.server.runtime / "control.sock"))
                connection.sendall(b"POST /v1/store/copy HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n")
                for line in connection.makefile("rb"):
                    if not line.startswith(b"{"):
                        continue
                    said = json.loads(line)
                    if "error" in said:
                        raise SystemExit(f"the store was not copied: {said}")
                    if "file" in said:
                        self.seconds.append(time.monotonic() - begun)
                        break
                    if not self.isWanted:
                        return


def measure(quick: bool) -> Table:
    megabytes, rounds, seconds = (64, 2, 2) if quick else (MEGABYTES, ROUNDS, SECONDS)
    server = Ringwaked(["/bin/true"], log_level="error")
    server.process.terminate()
    server.process.wait()
    fill(server.store, megabytes)
    server.start()
    sender = load(server, server.certificate, device(server), "-", 4, 32, EXPIRED)
    figures: dict[bool, list[tuple[float, float, float]]] = {False: [], True: []}
    took: list[float] = []
    for _ in range(rounds):
        for isCopied in (False, True):
            copies = Copies(server) if isCopied else None
            if copies:
                copies.start()
            succeeded, nanoseconds, middle, slow = sender.step(f"{PER_SECOND * seconds} {PER_SECOND}")
            if succeeded != PER_SECOND * seconds:
                raise SystemExit(f"{succeeded} of {PER_SECOND * seconds} pushes were answered with 200")
            figures[isCopied].append((succeeded / nanoseconds * 1e9, middle, slow))
            if copies:
                copies.isWanted = False
                copies.join()
                took += copies.seconds
            time.sleep(1)
    sender.stop()
    size = server.store.stat().st_size >> 20
    server.stop()
    result = Table(
        "A backup under load",
        f"{PER_SECOND} pushes a second, {seconds} s for each of {rounds} rounds in turn, to a store of {size} MB that is "
        f"copied meanwhile (`POST /v1/store/copy`), or not. All were answered 200. A copy took "
        f"{median(took) if took else float('nan'):.1f} s. Microseconds, medians of the rounds.",
        ["", "pushes/s", "answer p50", "p99", "ratio of p99"],
        command="Benchmarks/run backup",
    )
    base = median([slow for _, _, slow in figures[False]])
    for isCopied, name in ((False, "no copy"), (True, "while it is copied")):
        rates, middles, slows = zip(*figures[isCopied])
        result.add(
            name, f"{median(list(rates)):.0f}", microseconds(median(list(middles))), microseconds(median(list(slows))),
            f"{median(list(slows)) / base:.2f}",
        )  # fmt: skip
    return result
