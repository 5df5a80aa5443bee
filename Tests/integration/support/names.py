"""The names in a folder and in the folders in it: as programs see them, and as the disk has them.

A change of names is atomic, also a rename from one folder to another. It is on the disk once a sync of its folder, or of
either of its two folders, has returned without an error; what it needs is then there too. Until then it may be there or
not, and changes may get there in another order than they were made, unless one needs the other: it is about the same
name or the same file, or happens in a folder that the other one makes.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

ROOT = 0

# The names in each folder, and the file or folder that each stands for. Numbers stand for files and folders.
Folders = dict[int, dict[str, int]]


@dataclass(frozen=True)
class Place:
    """A name in a folder."""

    folder: int
    name: str


@dataclass(frozen=True, eq=False)
class Change:
    """One change of names."""

    # The place of its entry in the record.
    time: int
    # What each name stands for afterwards; None: nothing.
    edits: tuple[tuple[Place, int | None], ...]
    # The files and folders that it is about.
    about: frozenset[int]
    # The folder that it makes.
    made: int | None = None

    @property
    def folders(self) -> set[int]:
        return {place.folder for place, _ in self.edits}

    def needs(self, earlier: "Change") -> bool:
        places = {place for place, _ in self.edits}
        return (
            any(place in places for place, _ in earlier.edits)
            or not self.about.isdisjoint(earlier.about)
            or (earlier.made is not None and earlier.made in self.folders)
        )

    def apply(self, folders: Folders) -> None:
        if self.made is not None:
            folders.setdefault(self.made, {})
        for place, number in self.edits:
            if number is None:
                folders[place.folder].pop(place.name, None)
            else:
                folders[place.folder][place.name] = number


class Names:
    """All names below one folder."""

    def __init__(self) -> None:
        self.seen: Folders = {ROOT: {}}
        self.safe: Folders = {ROOT: {}}
        # What may or may not be on the disk, in the order in which it happened.
        self.pending: list[Change] = []
        self._count = ROOT

    # Looking

    def find(self, path: str) -> int | None:
        """The file or folder that a path leads to; "." is the whole."""
        if path == ".":
            return ROOT
        place = self._place(path)
        return self.seen[place.folder].get(place.name) if place else None

    def is_folder(self, number: int) -> bool:
        return number in self.seen

    def _place(self, path: str) -> Place | None:
        folder: int | None = ROOT
        *parents, name = path.split("/")
        for parent in parents:
            folder = self.seen[folder].get(parent)
            if folder not in self.seen:
                return None
        return Place(folder, name)

    # Changing

    def add(self, path: str, *, time: int, is_folder: bool = False, is_safe: bool = False) -> int:
        """A new file or folder."""
        self._count += 1
        number = self._count
        self._change(path, number, time, made=number if is_folder else None)
        if is_safe:
            self.pending.pop().apply(self.safe)
        return number

    def remove(self, path: str, time: int) -> None:
        place, number = self._place(path), self.find(path)
        if place and number is not None:
            self._note(Change(time, ((place, None),), frozenset({number})))

    def link(self, path: str, other: str, time: int) -> None:
        self._change(other, self.find(path), time)

    def rename(self, path: str, other: str, time: int) -> None:
        old, new, number, replaced = self._place(path), self._place(other), self.find(path), self.find(other)
        assert old and new and number is not None, f"'{path}', which is renamed to '{other}', is not known"
        # The two are one file: nothing happens (POSIX).
        if number != replaced:
            about = frozenset({number} if replaced is None else {number, replaced})
            self._note(Change(time, ((old, None), (new, number)), about))

    def _change(self, path: str, number: int | None, time: int, made: int | None = None) -> None:
        place = self._place(path)
        assert place and number is not None, f"there is no place for '{path}'"
        self._note(Change(time, ((place, number),), frozenset({number}), made))

    def _note(self, change: Change) -> None:
        change.apply(self.seen)
        self.pending.append(change)

    # What is on the disk

    def in_folder(self, folder: int, has_returned: Callable[[int], bool]) -> list[Change]:
        """What a sync of a folder that begins now makes durable: what has returned."""
        return [change for change in self.pending if folder in change.folders and has_returned(change.time)]

    def make_safe(self, covered: Iterable[Change]) -> bool:
        """A sync has returned. Answers whether something was not on the disk before."""
        wanted = set(covered)
        kept: list[Change] = []
        # From the last one back: what it needs happened before it.
        for change in reversed(self.pending):
            if change in wanted or any(later.needs(change) for later in kept):
                kept.append(change)
        for change in reversed(kept):
            change.apply(self.safe)
        gone = set(kept)
        self.pending = [change for change in self.pending if change not in gone]
        return bool(kept)

    def with_first(self, count: int) -> Folders:
        """What is safe, and so many of the changes since, as a disk makes them that writes in order."""
        folders = {number: dict(names) for number, names in self.safe.items()}
        for change in self.pending[:count]:
            change.apply(folders)
        return folders

    def with_some(self, generator: random.Random) -> Folders:
        """What is safe, and any of the changes since, with those that they need."""
        folders = {number: dict(names) for number, names in self.safe.items()}
        left_out: list[Change] = []
        for change in self.pending:
            if generator.random() < 0.5 or any(change.needs(earlier) for earlier in left_out):
                left_out.append(change)
            else:
                change.apply(folders)
        return folders


def walk(folders: Folders, folder: int = ROOT, path: str = "") -> Iterator[tuple[str, int]]:
    """Every path and what it leads to, a folder before what is in it."""
    for name, number in folders[folder].items():
        yield path + name, number
        if number in folders:
            yield from walk(folders, number, f"{path}{name}/")
