"""The store as the disk has it at any moment of a record, in the worst case and in cases between.

The model is that of POSIX: what was written before an fsync began, and had returned, is on the disk once that fsync
has returned without an error. Of anything else any part may be there or not. A name is there once its folder was
synced. What an fsync failed to write is lost, even if a later one succeeds (Linux forgets it).
"""

import random
from collections.abc import Mapping

from .recording import Entry, Kind

# What a disk writes at once.
SECTOR = 512

# Files by name.
Image = Mapping[str, bytes | bytearray]


class Replay:
    """Goes through a record entry by entry; `now` is the place of the next one."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.now = 0
        # Counts how often what is safe on the disk has changed.
        self.safe_states = 0
        # Which file each name and each opening stands for.
        self._names: dict[str, int] = {}
        self._safe_names: dict[str, int] = {}
        self._openings: dict[int, int] = {}
        # Of each file: its contents as its program sees them, as they are safe, and what makes the difference.
        self._seen: dict[int, bytearray] = {}
        self._safe: dict[int, bytearray] = {}
        self._pending: dict[int, list[int]] = {}
        # What each sync that has not returned covers.
        self._covered: dict[int, list[int] | dict[str, int]] = {}

    def step(self) -> None:
        """Takes in the next entry."""
        time, entry = self.now, self.entries[self.now]
        self.now += 1
        match entry.kind:
            case Kind.OPENED:
                self._open(entry)
            case Kind.WRITE | Kind.TRUNCATE:
                file = self._openings[entry.subject]
                apply(self._seen[file], entry)
                self._pending[file].append(time)
            case Kind.UNLINK:
                self._names.pop(entry.data.decode(), None)
            case Kind.RENAME:
                old, _, new = entry.data.decode().partition("\0")
                assert old and new, "the store's files are not moved to or from elsewhere"
                self._names[new] = self._names.pop(old)
            case Kind.SYNC:
                self._begin_sync(time, entry)
            case Kind.RETURNED if self.entries[entry.subject].kind == Kind.SYNC:
                self._end_sync(entry)
            case Kind.MAPPED:
                raise AssertionError("the store is written through memory, which no record shows")

    def _open(self, entry: Entry) -> None:
        name = entry.data.decode()
        if name not in self._names and name != ".":
            assert not entry.second, f"{name} was there before the record began"
            # A name is used again when a file of that name was deleted; the new one begins empty.
            file = len(self._seen)
            self._names[name] = file
            self._seen[file], self._safe[file], self._pending[file] = bytearray(), bytearray(), []
        self._openings[entry.subject] = self._names.get(name, -1)

    def _begin_sync(self, time: int, entry: Entry) -> None:
        file = self._openings[entry.subject]
        if file < 0:
            self._covered[time] = dict(self._names)
        else:
            # A write that had not returned may come after this sync.
            returned = ((write, self.entries[write].returned) for write in self._pending[file])
            self._covered[time] = [write for write, at in returned if at is not None and at < time]

    def _end_sync(self, entry: Entry) -> None:
        covered = self._covered.pop(entry.subject)
        if isinstance(covered, dict):
            if entry.first == 0 and self._safe_names != covered:
                self._safe_names = covered
                self.safe_states += 1
            return
        file = self._openings[self.entries[entry.subject].subject]
        kept = set(covered)
        self._pending[file] = [write for write in self._pending[file] if write not in kept]
        if entry.first == 0 and covered:
            for write in covered:
                apply(self._safe[file], self.entries[write])
            self.safe_states += 1

    # What is there

    def seen(self) -> Image:
        """What another process finds after this one was killed: all that was written."""
        return {name: self._seen[file] for name, file in self._names.items()}

    def safe(self) -> Image:
        """What is left when the power goes and the disk kept only what it had to."""
        return {name: self._safe[file] for name, file in self._safe_names.items()}

    def pending(self) -> int:
        """How many writes the disk may or may not have kept."""
        return sum(len(self._pending[file]) for file in set(self._safe_names.values()))

    def torn(self, generator: random.Random) -> Image:
        """What is left when the power goes while the disk writes in order: the last write is cut at a sector."""
        image = {name: bytearray(self._safe[file]) for name, file in self._safe_names.items()}
        all_pending = sorted((write, name) for name, file in self._safe_names.items() for write in self._pending[file])
        kept = all_pending[: generator.randint(0, len(all_pending))]
        for write, name in kept:
            entry, length = self.entries[write], len(self.entries[write].data)
            if (write, name) == kept[-1]:
                length = min(length, SECTOR * generator.randint(0, length // SECTOR + 1))
            apply(image[name], entry, length)
        return image

    def scattered(self, generator: random.Random) -> Image:
        """What is left when the power goes while the disk writes in an order of its own: any sectors, of any write."""
        image = {name: bytearray(self._safe[file]) for name, file in self._safe_names.items()}
        for name, file in self._safe_names.items():
            for write in self._pending[file]:
                entry = self.entries[write]
                if entry.kind == Kind.TRUNCATE:
                    if generator.random() < 0.5:
                        apply(image[name], entry)
                    continue
                data = taken(entry)
                for start in range(0, len(data), SECTOR):
                    if generator.random() < 0.5:
                        put(image[name], entry.first + start, data[start : start + SECTOR])
        return image

    def cut(self, generator: random.Random) -> Image:
        """As `seen`, had the next entry, a write, been cut at a sector."""
        image = {name: bytearray(self._seen[file]) for name, file in self._names.items()}
        entry = self.entries[self.now]
        if entry.kind == Kind.WRITE:
            file = self._openings[entry.subject]
            for name in (name for name, its in self._names.items() if its == file):
                apply(image[name], entry, SECTOR * generator.randint(0, len(entry.data) // SECTOR))
        return image


def apply(contents: bytearray, entry: Entry, length: int | None = None) -> None:
    """Does to a file's contents what a WRITE, of at most its first `length` bytes, or a TRUNCATE did to it."""
    if entry.kind == Kind.TRUNCATE:
        if entry.result not in (None, 0):
            return
        del contents[entry.first :]
        contents.extend(bytes(entry.first - len(contents)))
        return
    put(contents, entry.first, taken(entry)[:length])


def taken(entry: Entry) -> bytes:
    """The bytes that a WRITE really wrote: less than it was to, when it failed or was cut short."""
    return entry.data if entry.result is None else entry.data[: max(0, entry.result)]


def put(contents: bytearray, offset: int, data: bytes) -> None:
    if not data:
        return
    if len(contents) < offset:
        contents.extend(bytes(offset - len(contents)))
    contents[offset : offset + len(data)] = data
