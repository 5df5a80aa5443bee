"""Records of daemons that lived one after the other on the same files, put together to one."""

import errno
from dataclasses import dataclass, field, replace
from pathlib import Path

from .answers import Promise, announced_rings, answered_pushes
from .recording import Entry, Kind, read_recording

# Entries whose subject is an opening of a file.
OF_OPENINGS = (Kind.OPENED, Kind.WRITE, Kind.TRUNCATE, Kind.SYNC, Kind.MAPPED)


@dataclass
class Lives:
    """What several daemons did, as if it had been one."""

    entries: list[Entry] = field(default_factory=list)
    pushes: list[Promise] = field(default_factory=list)
    rings: list[Promise] = field(default_factory=list)

    def add(self, recording: Path, state: Path) -> None:
        """Appends the record of a daemon that has ended, with the files that it left."""
        entries = read_recording(recording)
        settle_last_call(entries, state)
        base = len(self.entries)
        openings = max((entry.subject for entry in self.entries if entry.kind == Kind.OPENED), default=0)
        # Connections are told apart within each life only.
        self.pushes += [Promise(one.time + base, one.name) for one in answered_pushes(entries)]
        self.rings += [Promise(one.time + base, one.name) for one in announced_rings(entries)]
        for entry in entries:
            moved = replace(entry, returned=None if entry.returned is None else entry.returned + base)
            if moved.kind in OF_OPENINGS:
                moved.subject += openings
            elif moved.kind == Kind.RETURNED:
                moved.subject += base
            self.entries.append(moved)


def settle_last_call(entries: list[Entry], state: Path) -> None:
    """A kill may come between the entry of a change and the change, or its return: the file shows which it was.

    Left open, it would be a change that the disk may make at any time, also after those of a later life.
    """
    names = {entry.subject: entry.data.decode() for entry in entries if entry.kind == Kind.OPENED}
    for place, entry in enumerate(entries):
        if entry.kind not in (Kind.WRITE, Kind.TRUNCATE) or entry.returned is not None:
            continue
        path = state / names[entry.subject]
        contents = path.read_bytes() if path.exists() else b""
        if entry.kind == Kind.WRITE:
            happened = contents[entry.first : entry.first + len(entry.data)] == entry.data
            entry.result = len(entry.data) if happened else 0
        else:
            entry.result = 0 if len(contents) == entry.first else -errno.EINTR
        entry.returned = len(entries)
        entries.append(Entry(Kind.RETURNED, place, entry.result, 0, b""))
