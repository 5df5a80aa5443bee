"""The checks of this folder notice what was promised too early, and what was only said to be on the disk."""

import random
import sqlite3
from pathlib import Path

import hpack
import pytest

from support.answers import Promise, announced_rings, answered_pushes
from support.lives import settle_last_call
from support.promises import Contents, Findings, PromiseCheck
from support.recording import Entry, Kind, read_recording, write_recording
from support.replay import Replay

PUSH = "0b7c7a4e-6f0c-4a53-9c35-0f6ea3a4bb17"
# Numbers of the two openings: the store's, and its folder's.
STORE, FOLDER = 1, 2


def stores(folder: Path) -> tuple[bytes, bytes]:
    """A store's one file before and after a push."""
    path = folder / "made.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE push (apns_id TEXT)")
    before = path.read_bytes()
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO push VALUES (?)", (PUSH,))
    return before, path.read_bytes()


def reader(connection: sqlite3.Connection) -> Contents:
    return Contents({apns_id for (apns_id,) in connection.execute("SELECT apns_id FROM push")})


class Record:
    """Writes a record as the recorder would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[Entry] = []
        self.before, self.after = stores(folder)
        self.add(Kind.OPENED, STORE, data=b"store.db")
        self.add(Kind.OPENED, FOLDER, data=b".")
        self.call(Kind.WRITE, STORE, data=self.before)

    def add(self, kind: Kind, subject: int = 0, first: int = 0, data: bytes = b"") -> int:
        self.entries.append(Entry(kind, subject, first, 0, data))
        return len(self.entries) - 1

    def call(self, kind: Kind, subject: int, data: bytes = b"", result: int | None = None) -> int:
        begun = self.add(kind, subject, data=data)
        self.add(Kind.RETURNED, begun, len(data) if result is None else result)
        return begun

    def made_safe(self) -> "Record":
        """The store before the push, and its name, are on the disk."""
        self.call(Kind.SYNC, STORE)
        self.call(Kind.SYNC, FOLDER)
        return self

    def answer(self) -> None:
        block = hpack.Encoder().encode([(":status", "200"), ("apns-id", PUSH)])
        self.call(Kind.TLS, 9, len(block).to_bytes(3, "big") + b"\x01\x05\x00\x00\x00\x01" + block)

    def check(self) -> Findings:
        path = self.folder / "record"
        path.write_bytes(write_recording(self.entries))
        entries = read_recording(path)
        answers = answered_pushes(entries)
        assert [answer.name for answer in answers] == [PUSH]
        return PromiseCheck(entries, answers, [], reader, self.folder / "opened", seed=1, samples=0).run()


def test_an_answer_after_the_sync_is_in_order(tmp_path: Path) -> None:
    record = Record(tmp_path).made_safe()
    record.call(Kind.WRITE, STORE, record.after)
    record.call(Kind.SYNC, STORE)
    record.answer()
    findings = record.check()
    assert (findings.violations, findings.promises, findings.stores) == ([], 1, 1)


def test_an_answer_while_the_sync_is_under_way_is_noticed(tmp_path: Path) -> None:
    record = Record(tmp_path).made_safe()
    record.call(Kind.WRITE, STORE, record.after)
    sync = record.add(Kind.SYNC, STORE)
    record.answer()
    record.add(Kind.RETURNED, sync, 0)
    [violation] = record.check().violations
    assert "only what was synced" in violation and PUSH in violation


def test_an_answer_after_a_sync_that_failed_is_noticed_even_when_the_next_one_does_not(tmp_path: Path) -> None:
    record = Record(tmp_path).made_safe()
    record.call(Kind.WRITE, STORE, record.after)
    record.call(Kind.SYNC, STORE, result=-5)
    record.call(Kind.SYNC, STORE)
    record.answer()
    assert record.check().violations


def test_a_write_that_returns_after_the_sync_began_is_not_covered_by_it(tmp_path: Path) -> None:
    record = Record(tmp_path).made_safe()
    write = record.add(Kind.WRITE, STORE, data=record.after)
    sync = record.add(Kind.SYNC, STORE)
    record.add(Kind.RETURNED, write, len(record.after))
    record.add(Kind.RETURNED, sync, 0)
    record.answer()
    assert record.check().violations


def test_a_store_whose_folder_was_not_synced_is_not_there(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.call(Kind.WRITE, STORE, record.after)
    record.call(Kind.SYNC, STORE)
    record.answer()
    [violation] = record.check().violations
    assert "does not open" in violation


def test_a_short_write_counts_for_what_it_wrote(tmp_path: Path) -> None:
    record = Record(tmp_path).made_safe()
    record.call(Kind.WRITE, STORE, record.after, result=len(record.after) // 2)
    record.call(Kind.SYNC, STORE)
    record.answer()
    assert record.check().violations


def test_a_ring_is_dated_by_the_message_that_says_so() -> None:
    head, start = b"HTTP/1.1 200 OK\r\n\r\n", b'{"call":"a","state":"woken"}\n{"call":"B","sta'
    # The second call ends with the message, the last one begins with what stands between two.
    parts = [head + start, b'te":"ringing"}', b'\n{"call"']
    entries = [Entry(Kind.CONTROL, 4, 0, 0, part, result=len(part)) for part in parts]
    assert announced_rings(entries) == [Promise(1, "b")]


@pytest.mark.parametrize("seed", range(20))
def test_a_power_cut_keeps_what_was_synced_whatever_else_it_keeps(seed: int) -> None:
    def write(data: bytes) -> Entry:
        return Entry(Kind.WRITE, STORE, 0, 0, data, result=len(data), returned=0)

    entries = [
        Entry(Kind.OPENED, STORE, 0, 0, b"store.db"), Entry(Kind.OPENED, FOLDER, 0, 0, b"."),
        write(b"a" * 2048), Entry(Kind.SYNC, STORE, 0, 0, b""), Entry(Kind.RETURNED, 3, 0, 0, b""),
        Entry(Kind.SYNC, FOLDER, 0, 0, b""), Entry(Kind.RETURNED, 5, 0, 0, b""), write(b"b" * 1024), write(b"c" * 512),
    ]  # fmt: skip
    replay = Replay(entries)
    while replay.now < len(entries):
        replay.step()
    generator = random.Random(seed)
    assert replay.safe() == {"store.db": b"a" * 2048}
    assert replay.seen() == {"store.db": b"c" * 512 + b"b" * 512 + b"a" * 1024}
    for image in (replay.torn(generator), replay.scattered(generator)):
        first, second, rest = image["store.db"][:512], image["store.db"][512:1024], image["store.db"][1024:]
        assert (first[0:1] in b"abc", second[0:1] in b"ab", rest) == (True, True, b"a" * 1024)
        assert len(set(first)) == len(set(second)) == 1, "a sector is written as a whole"


@pytest.mark.parametrize("seed", range(20))
def test_a_power_cut_keeps_nothing_of_a_write_that_failed(seed: int) -> None:
    entries = [
        Entry(Kind.OPENED, STORE, 0, 0, b"store.db"), Entry(Kind.OPENED, FOLDER, 0, 0, b"."),
        Entry(Kind.SYNC, FOLDER, 0, 0, b""), Entry(Kind.RETURNED, 2, 0, 0, b""),
        Entry(Kind.WRITE, STORE, 0, 0, b"a" * 512, result=-5, returned=5), Entry(Kind.RETURNED, 4, -5, 0, b""),
    ]  # fmt: skip
    replay = Replay(entries)
    while replay.now < len(entries):
        replay.step()
    generator = random.Random(seed)
    assert [replay.seen(), replay.torn(generator), replay.scattered(generator)] == [{"store.db": b""}] * 3


@pytest.mark.parametrize("size", [512, 1024])
@pytest.mark.parametrize("kind", [Kind.WRITE, Kind.TRUNCATE])
def test_a_change_under_way_at_a_kill_comes_before_those_of_the_next_life(
    kind: Kind, size: int, tmp_path: Path
) -> None:
    """Whether it happened is seen in the file: 512 bytes if it did not, 1,024 if it did."""
    data = b"b" * 512 if kind == Kind.WRITE else b""
    first = 512 if kind == Kind.WRITE else 1024
    entries = [
        Entry(Kind.OPENED, STORE, 0, 0, b"store.db"), Entry(Kind.OPENED, FOLDER, 0, 0, b"."),
        Entry(Kind.SYNC, FOLDER, 0, 0, b""), Entry(Kind.RETURNED, 2, 0, 0, b""),
        Entry(Kind.WRITE, STORE, 0, 0, b"a" * 512, result=512, returned=5), Entry(Kind.RETURNED, 4, 512, 0, b""),
        Entry(kind, STORE, first, 0, data),
    ]  # fmt: skip
    there = (b"a" * 512 + (data or bytes(512)))[:size]
    (tmp_path / "store.db").write_bytes(there)
    settle_last_call(entries, tmp_path)
    at = len(entries)
    entries += [Entry(Kind.SYNC, STORE, 0, 0, b""), Entry(Kind.RETURNED, at, 0, 0, b"")]
    replay = Replay(entries)
    while replay.now < len(entries):
        replay.step()
    assert (replay.pending(), replay.safe(), replay.seen()) == (0, {"store.db": there}, {"store.db": there})
