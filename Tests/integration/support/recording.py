"""The record that native/recorder.c makes: what a program did to its store and what left it, in one total order."""

import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

# Kind, length of the bytes, subject, two numbers: `struct entry` of the recorder.
HEADER = struct.Struct("<IIQqq")


class Kind(IntEnum):
    """The recorder's `enum kind`, which says what the members of an entry mean."""

    OPENED = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC = 4
    UNLINK = 5
    RENAME = 6
    RETURNED = 7
    TLS = 8
    TLS_ENDED = 9
    CONTROL = 10
    MAPPED = 11
    WEAKENED = 12
    MKDIR = 13
    RMDIR = 14
    LINK = 15


@dataclass(slots=True)
class Entry:
    """One call of the recorded program. Its place in the list is its time."""

    kind: Kind
    subject: int
    first: int
    second: int
    data: bytes
    # What it returned, or -errno; None while it had not returned when the record ended.
    result: int | None = None
    # The place of the entry that says so.
    returned: int | None = None


def read_recording(path: Path) -> list[Entry]:
    """All entries; a last one that was cut off, because the program was killed, is left out."""
    data = path.read_bytes()
    entries: list[Entry] = []
    place = 0
    while place + HEADER.size <= len(data):
        kind, length, subject, first, second = HEADER.unpack_from(data, place)
        place += HEADER.size
        if place + length > len(data):
            break
        entries.append(Entry(Kind(kind), subject, first, second, data[place : place + length]))
        if kind == Kind.RETURNED:
            entries[subject].result, entries[subject].returned = first, len(entries) - 1
        place += length
    return entries


def write_recording(entries: list[Entry]) -> bytes:
    """The bytes that `read_recording` reads, for tests of the checks themselves."""
    return b"".join(
        HEADER.pack(entry.kind, len(entry.data), entry.subject, entry.first, entry.second) + entry.data
        for entry in entries
    )


class Stream:
    """The bytes that left on one connection, and when each did."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._ends: list[int] = []
        self._times: list[int] = []

    def add(self, data: bytes, time: int) -> None:
        self.data += data
        self._ends.append(len(self.data))
        self._times.append(time)

    def time_of(self, end: int) -> int:
        """The place of the call that began to send the byte before `end`."""
        low, high = 0, len(self._ends) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._ends[middle] >= end else (middle + 1, high)
        return self._times[low]


def streams(entries: list[Entry], kind: Kind) -> list[Stream]:
    """What left on each connection of a kind, TLS or CONTROL. Bytes that were not taken had to be sent again."""
    current: dict[int, Stream] = {}
    found: list[Stream] = []
    for time, entry in enumerate(entries):
        if entry.kind == Kind.TLS_ENDED and kind == Kind.TLS:
            current.pop(entry.subject, None)
        elif entry.kind == kind:
            if entry.subject not in current:
                current[entry.subject] = Stream()
                found.append(current[entry.subject])
            # A call that never returned may have sent everything.
            taken = len(entry.data) if entry.result is None else max(0, entry.result)
            current[entry.subject].add(entry.data[:taken], time)
    return found
