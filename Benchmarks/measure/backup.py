"""The answer to a push while backups are made, beside the same load without one."""

import sqlite3
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from . import programs
from .cpu import device, load
from .report import Table, median, microseconds
from .servers import Ringwaked

MEGABYTES = 1024
# A row fills a page and a part of another one.
ROWS_PER_MEGABYTE = 216
PER_SECOND = 1000
# Seconds of load in one round.
SECONDS = 30
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
        "CAST(x'01000000000000' || zeroblob(1) || hex(randomblob(1000)) AS BLOB) FROM n", (megabytes * ROWS_PER_MEGABYTE,),
    )  # fmt: skip
    connection.commit()
    connection.close()


class Backups(threading.Thread):
    """Backups one after the other, until told to stop, each by `ringwake backup create` as a user makes one."""

    def __init__(self, server: Ringwaked) -> None:
        super().__init__()
        self.command = [
            programs.RINGWAKE, "backup", "create", "--no-keys", "--keep", "1", "--config", server.configuration,
        ]
        self.seconds: list[float] = []
        self.isWanted = True
        self.failure = ""

    def run(self) -> None:
        with tempfile.TemporaryDirectory(prefix="ringwake-bench-") as folder:
            while self.isWanted and not self.failure:
                begun = time.monotonic()
                done = subprocess.run([*self.command, "--to", folder], capture_output=True, text=True)
                self.seconds.append(time.monotonic() - begun)
                if done.returncode != 0:
                    self.failure = done.stderr

    def end(self) -> list[float]:
        """The seconds that each of them took."""
        self.isWanted = False
        self.join()
        if self.failure:
            raise SystemExit(f"there is no backup: {self.failure}")
        return self.seconds


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
        for isBackedUp in (False, True):
            backups = Backups(server) if isBackedUp else None
            if backups:
                backups.start()
            succeeded, nanoseconds, middle, slow = sender.step(f"{PER_SECOND * seconds} {PER_SECOND}")
            if succeeded != PER_SECOND * seconds:
                raise SystemExit(f"{succeeded} of {PER_SECOND * seconds} pushes were answered with 200")
            figures[isBackedUp].append((succeeded / nanoseconds * 1e9, middle, slow))
            if backups:
                took += backups.end()
            time.sleep(1)
    sender.stop()
    size = server.store.stat().st_size >> 20
    server.stop()
    result = Table(
        "A backup under load",
        f"{PER_SECOND} pushes a second, {seconds} s for each of {rounds} rounds in turn, to a store of {size} MB that is "
        "backed up meanwhile (`ringwake backup create --no-keys`, one after the other), or not. All were answered 200. A "
        f"backup took {median(took):.1f} s. Microseconds, medians of the rounds.",
        ["", "pushes/s", "answer p50", "p99", "ratio of p99"],
        command="Benchmarks/run backup",
    )
    base = median([slow for _, _, slow in figures[False]])
    for isCopied, name in ((False, "no backup"), (True, "while backups are made")):
        rates, middles, slows = zip(*figures[isCopied])
        result.add(
            name, f"{median(list(rates)):.0f}", microseconds(median(list(middles))), microseconds(median(list(slows))),
            f"{median(list(slows)) / base:.2f}",
        )  # fmt: skip
    return result
