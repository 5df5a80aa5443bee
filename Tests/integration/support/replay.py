"""The store, or a folder, as the disk has it at any moment of a record, in the worst case and in cases between.

The model is that of POSIX: what was written before an fsync began, and had returned, is on the disk once that fsync
has returned without an error. Of anything else any part may be there or not. A name is there once its folder was
synced (see names.py). What an fsync failed to write is lost, even if a later one succeeds (Linux forgets it).
"""

import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from .names import Change, Folders, Names, walk
from .recording import Entry, Kind

# What a disk writes at once.
SECTOR = 512

# Files by their paths; a folder's path ends with a slash. What two paths of one file have is the same object.
Image = Mapping[str, bytes | bytearray]

OF_NAMES = (Kind.UNLINK, Kind.RENAME, Kind.MKDIR, Kind.RMDIR, Kind.LINK)


class Replay:
    """Goes through a record entry by entry; `now` is the place of the next one."""

    def __init__(self, entries: list[Entry], before: Image | None = None) -> None:
        """`before` is what was on the disk when the record began."""
        self.entries = entries
        self.now = 0
        # Counts how often what is safe on the disk has changed.
        self.safe_states = 0
        self.names = Names()
        # The file or folder that each opening stands for.
        self._openings: dict[int, int] = {}
        # Of each file: its contents as its program sees them, as they are safe, and what makes the difference.
        self._seen: dict[int, bytearray] = {}
        self._safe: dict[int, bytearray] = {}
        self._pending: dict[int, list[int]] = {}
        # What each sync that has not returned covers.
        self._covered: dict[int, list[int] | list[Change]] = {}
        for path, contents in (before or {}).items():
            number = self.names.add(path.rstrip("/"), time=-1, is_folder=path.endswith("/"), is_safe=True)
            if not path.endswith("/"):
                self._seen[number], self._safe[number] = bytearray(contents), bytearray(contents)
                self._pending[number] = []

    def step(self) -> None:
        """Takes in the next entry."""
        time, entry = self.now, self.entries[self.now]
        self.now += 1
        match entry.kind:
            case Kind.OPENED:
                self._open(time, entry)
            case Kind.WRITE | Kind.TRUNCATE:
                self._change(self._openings[entry.subject], time)
            case kind if kind in OF_NAMES and entry.result in (None, 0):
                self._change_names(time, entry)
            case Kind.SYNC:
                self._begin_sync(time, entry)
            case Kind.RETURNED if self.entries[entry.subject].kind == Kind.SYNC:
                self._end_sync(entry)
            case Kind.MAPPED:
                raise AssertionError("the store is written through memory, which no record shows")

    def _open(self, time: int, entry: Entry) -> None:
        name = entry.data.decode()
        number = self.names.find(name)
        if number is None:
            assert not entry.second, f"{name} was there before the record began"
            # A name is used again when a file of that name was deleted; the new one begins empty.
            number = self.names.add(name, time=time)
            self._seen[number], self._safe[number], self._pending[number] = bytearray(), bytearray(), []
        self._openings[entry.subject] = number
        if entry.first & os.O_TRUNC and self._seen[number]:
            self._change(number, time)

    def _change(self, file: int, time: int) -> None:
        apply(self._seen[file], self.entries[time])
        self._pending[file].append(time)

    def _change_names(self, time: int, entry: Entry) -> None:
        old, _, new = entry.data.decode().partition("\0")
        match entry.kind:
            case Kind.UNLINK | Kind.RMDIR:
                self.names.remove(old, time)
            case Kind.MKDIR:
                self.names.add(old, time=time, is_folder=True)
            case Kind.LINK:
                assert old and new, "the files are not linked to or from elsewhere"
                self.names.link(old, new, time)
            case Kind.RENAME:
                assert old and new, "the files are not moved to or from elsewhere"
                self.names.rename(old, new, time)

    def _begin_sync(self, time: int, entry: Entry) -> None:
        number = self._openings[entry.subject]

        def has_returned(change: int) -> bool:
            # A change that had not returned may come after this sync. The entry of an opening is made afterwards.
            returned = change if self.entries[change].kind == Kind.OPENED else self.entries[change].returned
            return returned is not None and returned < time

        if self.names.is_folder(number):
            self._covered[time] = self.names.in_folder(number, has_returned)
        else:
            self._covered[time] = [write for write in self._pending[number] if has_returned(write)]

    def _end_sync(self, entry: Entry) -> None:
        covered = self._covered.pop(entry.subject)
        number = self._openings[self.entries[entry.subject].subject]
        if self.names.is_folder(number):
            # What could not be synced is tried again: names are in the file system's log, not in a file's pages.
            if entry.first == 0 and self.names.make_safe(covered):
                self.safe_states += 1
            return
        kept = set(covered)
        self._pending[number] = [write for write in self._pending[number] if write not in kept]
        if entry.first == 0 and covered:
            for write in covered:
                apply(self._safe[number], self.entries[write])
            self.safe_states += 1

    # What is there

    def seen(self) -> Image:
        """What another process finds after this one was killed: all that was written."""
        return image(self.names.seen, self._seen.__getitem__)

    def safe(self) -> Image:
        """What is left when the power goes and the disk kept only what it had to."""
        return image(self.names.safe, self._safe.__getitem__)

    def pending(self) -> int:
        """How many writes the disk may or may not have kept."""
        return len(self._pending_writes(self.names.safe))

    def _pending_writes(self, *trees: Folders) -> list[tuple[int, int]]:
        """Those of all files that have a name, in order, each with its file."""
        files = {number for folders in trees for _, number in walk(folders) if number not in folders}
        return sorted((write, file) for file in files for write in self._pending[file])

    def torn(self, generator: random.Random) -> Image:
        """What is left when the power goes while the disk writes in order: the last write is cut at a sector."""
        writes = self._pending_writes(self.names.safe, self.names.seen)
        changes = sorted([write for write, _ in writes] + [change.time for change in self.names.pending])
        kept = changes[: generator.randint(0, len(changes))]
        last = kept[-1] if kept else -1
        folders = self.names.with_first(sum(change.time <= last for change in self.names.pending))
        contents = {file: bytearray(self._safe[file]) for _, file in walk(folders) if file not in folders}
        for write, file in writes:
            if write > last or file not in contents:
                continue
            entry, length = self.entries[write], len(self.entries[write].data)
            if write == last:
                length = min(length, SECTOR * generator.randint(0, length // SECTOR + 1))
            apply(contents[file], entry, length)
        return image(folders, contents.__getitem__)

    def scattered(self, generator: random.Random) -> Image:
        """What is left when the power goes while the disk writes in an order of its own: any names, any sectors."""
        folders = self.names.with_some(generator)
        contents = {file: bytearray(self._safe[file]) for _, file in walk(folders) if file not in folders}
        for write, file in self._pending_writes(folders):
            entry = self.entries[write]
            if entry.kind != Kind.WRITE:
                if generator.random() < 0.5:
                    apply(contents[file], entry)
                continue
            data = taken(entry)
            for start in range(0, len(data), SECTOR):
                if generator.random() < 0.5:
                    put(contents[file], entry.first + start, data[start : start + SECTOR])
        return image(folders, contents.__getitem__)

    def names_first(self) -> Image:
        """What is left when the power goes and the disk has all names, and of the contents only what it had to have."""
        return image(self.names.seen, self._safe.__getitem__)

    def contents_first(self) -> Image:
        """What is left when the power goes and the disk has all contents, and of the names only what it had to have."""
        return image(self.names.safe, self._seen.__getitem__)

    def cut(self, generator: random.Random) -> Image:
        """As `seen`, had the next entry, a write, been cut at a sector."""
        entry = self.entries[self.now]
        if entry.kind != Kind.WRITE:
            return self.seen()
        file = self._openings[entry.subject]
        contents = bytearray(self._seen[file])
        apply(contents, entry, SECTOR * generator.randint(0, len(entry.data) // SECTOR))
        return image(self.names.seen, lambda number: contents if number == file else self._seen[number])


def image(folders: Folders, contents: Callable[[int], bytearray]) -> Image:
    return {
        f"{path}/" if number in folders else path: b"" if number in folders else contents(number)
        for path, number in walk(folders)
    }


def lay_out(image: Image, folder: Path) -> None:
    """Writes the files and folders of an image."""
    written: dict[int, Path] = {}
    for path, contents in image.items():
        if path.endswith("/"):
            (folder / path).mkdir(mode=0o700, exist_ok=True)
        elif contents and id(contents) in written:
            os.link(written[id(contents)], folder / path)
        else:
            (folder / path).write_bytes(contents)
            (folder / path).chmod(0o600)
            written[id(contents)] = folder / path


def apply(contents: bytearray, entry: Entry, length: int | None = None) -> None:
    """Does to a file's contents what a WRITE, of at most its first `length` bytes, a TRUNCATE, or an OPENED that cuts it
    to nothing, did to it."""
    if entry.kind == Kind.OPENED:
        contents.clear()
        return
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
