"""Checks that a store holds what its daemon had promised, at every moment of a record and whatever the disk kept."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .answers import Promise
from .recording import Entry, Kind
from .replay import Image, Replay


@dataclass
class Contents:
    """What a store says when it is opened."""

    # The pushes, by `apns-id` in lower case; only those whose call is there too.
    pushes: set[str] = field(default_factory=set)
    # The calls that have rung, by id in lower case.
    rung: set[str] = field(default_factory=set)


# Reads the contents out of an open store.
Reader = Callable[[sqlite3.Connection], Contents]


@dataclass
class Findings:
    """What a check saw."""

    violations: list[str] = field(default_factory=list)
    # How many stores were opened.
    stores: int = 0
    # How many promises stood against what was safe on the disk at that moment; each is to be among them.
    promises: int = 0
    # How many states what is safe on the disk went through.
    safe_states: int = 0


class PromiseCheck:
    """Goes through a record and opens the store at many of its moments.

    Every promise is held against what was safe on the disk when it was made. In addition, at `samples` random moments
    of each kind: the store after a kill, after a kill within a write, and after the power went while the disk wrote
    in order or in an order of its own.
    """

    def __init__(
        self, entries: list[Entry], pushes: list[Promise], rings: list[Promise], reader: Reader, folder: Path,
        *, seed: int, samples: int,
    ) -> None:  # fmt: skip
        self.entries = entries
        self.promises = {"push": sorted(pushes, key=_time), "ring": sorted(rings, key=_time)}
        self.reader = reader
        self.folder = folder
        self.generator = random.Random(seed)
        self.samples = samples
        self.findings = Findings()

    def run(self) -> Findings:
        replay, generator = Replay(self.entries), self.generator
        writes = [time for time, entry in enumerate(self.entries) if entry.kind in (Kind.WRITE, Kind.TRUNCATE)]
        kills = set(generator.sample(writes, min(self.samples, len(writes))))
        power_cuts = set(generator.sample(writes, min(self.samples, len(writes))))
        made = {promise.time for promises in self.promises.values() for promise in promises}
        unchecked = False
        for time in range(len(self.entries)):
            if time in kills:
                self._check(time, "killed before this write", replay.seen())
                self._check(time, "killed within this write", replay.cut(generator))
            if time in power_cuts:
                self._check(time, "power cut, disk in order", replay.torn(generator))
                self._check(time, "power cut, disk in no order", replay.scattered(generator))
            if unchecked and self._changes_what_is_safe(time):
                # What is safe only grows until here, and so do the promises: the last one's moment stands for all.
                self._check(time, "power cut, only what was synced", replay.safe())
                unchecked = False
            unchecked = unchecked or time in made
            replay.step()
        self._check(len(self.entries), "power cut at the end, only what was synced", replay.safe())
        self.findings.safe_states = replay.safe_states
        self.findings.promises = sum(map(len, self.promises.values()))
        return self.findings

    def _changes_what_is_safe(self, time: int) -> bool:
        entry = self.entries[time]
        return entry.kind == Kind.RETURNED and self.entries[entry.subject].kind == Kind.SYNC

    def _check(self, time: int, what: str, image: Image) -> None:
        """Opens a store that consists of these files, and compares it with what had been promised before `time`."""
        self.findings.stores += 1
        try:
            contents = open_store(image, self.folder, self.reader)
        except (sqlite3.Error, AssertionError) as error:
            self.findings.violations.append(f"entry {time}, {what}: the store does not open: {error}")
            return
        there = {"push": contents.pushes, "ring": contents.rung}
        for kind, promises in self.promises.items():
            missing = [promise.name for promise in promises if promise.time < time and promise.name not in there[kind]]
            if missing:
                self.findings.violations.append(
                    f"entry {time}, {what}: {len(missing)} promised {kind} promises broken, {missing[0]} among them"
                )


def open_store(image: Image, folder: Path, reader: Reader) -> Contents:
    """Lays the files out in `folder`, opens them as a store as the next start would, checks and reads it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, contents in image.items():
        (folder / name).write_bytes(contents)
    connection = sqlite3.connect(folder / "store.db", isolation_level=None)
    try:
        # No shared memory beside it, no waiting for the disk.
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA synchronous=OFF")
        found = connection.execute("PRAGMA integrity_check").fetchall()
        assert found == [("ok",)], f"integrity_check says {found}"
        return reader(connection)
    finally:
        connection.close()


def _time(promise: Promise) -> int:
    return promise.time
