"""No 200 leaves before the sync that covers its push returned, no ring before the sync that covers the ring.

The recorder (native/recorder.c) writes down every change of the store's files, every sync, and all that the daemon
sends, in one order. From that the tests make the store as any power cut and any kill would have left it.
"""

import os
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.answers import Promise, announced_rings, answered_pushes
from support.credentials import APP
from support.daemon import Daemon
from support.flood import Flood, Push, new_call
from support.native import Native
from support.promises import Findings, PromiseCheck
from support.recording import Entry, Kind, read_recording
from support.replay import Image, Replay
from support.store import read_contents
from support.waiting import until
from support.watching import Watcher

# How many pushes a recorded daemon gets, and at how many random moments of each kind its store is opened. More by the
# environment: RINGWAKE_TEST_SCALE=10.
SCALE = int(os.environ.get("RINGWAKE_TEST_SCALE") or 1)
PUSHES = 600 * SCALE
# One push in so many starts a call that rings.
RINGING_PUSH = 4
SAMPLES = 400 * SCALE


@dataclass
class Recording:
    """What one daemon did from its start to its end."""

    entries: list[Entry]
    pushes: list[Promise]
    rings: list[Promise]
    # The files of its store afterwards.
    left: Image
    # The pushes that the sender knows to be answered 200.
    accepted: set[str]

    def check(self, folder: Path, samples: int = SAMPLES) -> Findings:
        return PromiseCheck(
            self.entries, self.pushes, self.rings, read_contents, folder / "opened", seed=1, samples=samples
        ).run()

    def moved_log_pages(self) -> int:
        """How often a page was moved from the log into the store after the first answer."""
        names = {entry.subject: entry.data for entry in self.entries if entry.kind == Kind.OPENED}
        later = self.entries[self.pushes[0].time :]
        return sum(entry.kind == Kind.WRITE and names[entry.subject] == b"store.db" for entry in later)

    def weakened(self) -> list[bytes]:
        return [entry.data for entry in self.entries if entry.kind == Kind.WEAKENED]


def record(make_daemon, native: Native, pushes: int, before_end=lambda daemon: daemon.stop(), **variables) -> Recording:
    """Runs a daemon with a flood of pushes and a handler that lets them ring."""
    daemon: Daemon = make_daemon()
    state, log = daemon.directory / "state", daemon.directory / "recording"
    daemon.user = native.preload(state, "recorder.so", RECORDER_LOG=log, **variables)
    records = daemon.directory / "records"
    daemon.set_handler([str(native.caller), str(records), "20"])
    # Every call is to ring, on a machine with other things to do too.
    daemon.calls = {"report": "60s"}
    daemon.start()
    generator = random.Random(pushes)
    with Watcher(daemon) as watcher:
        # Few at a time, for many commits.
        flood = Flood(daemon, window=8)
        for index in range(pushes):
            # Most come too late: they start no process, and are to be recorded all the same.
            flood.add(Push(new_call(generator, "45678"[index % 5]), APP, -60 if index % RINGING_PUSH else 120))
        flood.start()
        until(lambda: flood.is_done, 60, lambda: f"{len(flood.accepted())} of {pushes} pushes to be accepted")
        flood.stop()
        rings = -(-pushes // RINGING_PUSH)
        until(lambda: len(set(watcher.calls("ringing"))) == rings, 60, lambda: f"{rings} calls to ring")
        before_end(daemon)
    left = {path.name: path.read_bytes() for path in state.glob("store.db*")}
    entries = read_recording(log)
    accepted = {push.apns_id for push in flood.accepted()}
    return Recording(entries, answered_pushes(entries), announced_rings(entries), left, accepted)


def test_every_answer_and_every_ring_waits_for_its_sync(make_daemon, native: Native, tmp_path: Path) -> None:
    recording = record(make_daemon, native, PUSHES)
    assert {answer.name for answer in recording.pushes} == recording.accepted
    assert len(recording.accepted) == PUSHES
    assert len(recording.rings) == PUSHES // RINGING_PUSH
    findings = recording.check(tmp_path)
    assert findings.violations == []
    # The record is a real one: there were many commits, the log was moved into the store between answers, and each kind
    # of store was opened.
    assert findings.safe_states > 50 and findings.stores > 3 * SAMPLES
    assert recording.moved_log_pages() > 0
    assert recording.weakened() == []
    print(f"{findings.stores} stores opened, {findings.safe_states} safe states, {findings.promises} promises kept")


def test_the_record_is_complete(make_daemon, native: Native) -> None:
    """What the recorded calls add up to is what is on the disk, byte for byte: nothing was written another way."""
    recording = record(make_daemon, native, 100, before_end=lambda daemon: daemon.kill())
    replay = Replay(recording.entries)
    while replay.now < len(recording.entries):
        replay.step()
    assert {name: bytes(contents) for name, contents in replay.seen().items()} == recording.left
    assert len(recording.left["store.db-wal"]) > 0


@pytest.mark.parametrize("mode", ["OFF", "NORMAL"])
def test_a_store_that_does_not_wait_for_the_disk_is_noticed(
    make_daemon, native: Native, tmp_path: Path, mode: str
) -> None:
    recording = record(make_daemon, native, 200, RECORDER_SYNCHRONOUS=mode)
    assert recording.weakened(), "the daemon does not ask for synchronous=FULL in words that the recorder knows"
    violations = recording.check(tmp_path, samples=20).violations
    assert any("push promises broken" in violation for violation in violations), violations
    assert any("ring promises broken" in violation for violation in violations), violations
