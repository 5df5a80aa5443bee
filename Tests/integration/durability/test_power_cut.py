"""The power goes at any moment of several lives, each ended by `kill -9`, on a disk that hangs and fails now and then.

A restarted daemon reads what the last one had written, on the disk or not: it has to make that durable before it builds
on it.
"""

import errno
import os
import pickle
import random
import time
import uuid
from pathlib import Path

from support.control import Control
from support.credentials import APP
from support.daemon import Daemon
from support.flood import Flood, Push, new_call
from support.h2client import H2Client, push_fields
from support.lives import Lives
from support.native import Faults, Native
from support.promises import Findings, PromiseCheck
from support.pushing import push
from support.recording import Kind
from support.replay import Replay
from support.store import read_contents
from support.waiting import until

SCALE = int(os.environ.get("RINGWAKE_TEST_SCALE") or 1)
LIVES = 4 * SCALE
SAMPLES = 150 * SCALE
SEED = int(os.environ.get("RINGWAKE_TEST_SEED") or 11)
# What is wrong with the disk for some milliseconds now and then, and when a life ends.
FAULTS = [
    {}, {"sync": errno.EIO}, {"write": errno.EIO}, {"hang": 1}, {"stall": 20},
    {"sync@store.db": errno.EIO}, {"write@store.db": errno.EIO},
]  # fmt: skip


class Recorded:
    """A daemon of many lives, recorded, on a disk that can fail."""

    def __init__(self, daemon: Daemon, faults: Faults) -> None:
        self.daemon = daemon
        self.faults = faults
        self.state = daemon.directory / "state"
        self.lives = Lives()
        self.count = 0

    def start(self) -> None:
        self.log = self.daemon.directory / f"recording-{self.count}"
        self.count += 1
        self.daemon.user = self.faults.prefix(self.state, "recorder.so", RECORDER_LOG=self.log)
        self.daemon.start()

    def end(self, how=Daemon.kill) -> None:
        how(self.daemon)
        self.lives.add(self.log, self.state)

    def check(self, folder: Path) -> Findings:
        replay = Replay(self.lives.entries)
        while replay.now < len(replay.entries):
            replay.step()
        there = {path.name: path.read_bytes() for path in self.state.glob("store.db*")}
        assert {name: bytes(contents) for name, contents in replay.seen().items()} == there
        return PromiseCheck(
            self.lives.entries, self.lives.pushes, self.lives.rings, read_contents, folder / "opened", seed=5,
            samples=SAMPLES,
        ).run()  # fmt: skip


def test_promises_of_all_lives_hold_in_every_later_one(make_daemon, make_faults, native: Native, tmp_path) -> None:
    daemon: Daemon = make_daemon()
    # What rings from memory rests on no sync.
    daemon.calls = {"report": "60s", "ring": "60s", "unrecorded": "missed"}
    daemon.set_handler([str(native.caller), str(daemon.directory / "records"), "5"])
    recorded = Recorded(daemon, make_faults())
    generator = random.Random(SEED)
    flood = Flood(daemon, window=8)
    for life in range(LIVES):
        for index in range(150):
            flood.add(Push(new_call(generator, "4567"[index % 4]), APP, 120 if index % 5 == 0 else -60))
        recorded.start()
        enough = len(flood.accepted()) + generator.randrange(40, 140)
        flood.start()
        while len(flood.accepted()) < enough and not flood.is_done:
            recorded.faults.set(**generator.choice(FAULTS))
            time.sleep(generator.random() * 0.03)
            recorded.faults.set()
            time.sleep(generator.random() * 0.05)
        if life % 3 == 2:
            recorded.end(Daemon.stop)
        else:
            recorded.faults.set(**generator.choice(FAULTS))
            recorded.end()
            recorded.faults.set()
        flood.stop()
    recorded.start()
    flood.start()
    until(lambda: flood.is_done, 60, "all pushes to be accepted")
    flood.stop()
    recorded.end(Daemon.stop)
    assert {one.name for one in recorded.lives.pushes} >= flood.pushes.keys()
    assert recorded.lives.rings
    violations = recorded.check(tmp_path).violations
    if violations:
        # Which moments the disk had is chance, so only the record shows them again.
        (tmp_path / "lives").write_bytes(pickle.dumps(recorded.lives))
    assert violations == [], f"the record is in {tmp_path / 'lives'}"


def test_what_was_read_after_a_kill_is_made_durable_before_it_is_answered(
    make_daemon, make_faults, tmp_path: Path
) -> None:
    """The disk never took the push; the page cache has it. Its repeat finds it in the journal, and is answered 200."""
    for fault in ({"sync": errno.EIO}, {"hang": 1}):
        folder = tmp_path / next(iter(fault))
        folder.mkdir()
        daemon: Daemon = make_daemon()
        handler = daemon.add_app()
        recorded = Recorded(daemon, make_faults())
        recorded.start()
        first, second = str(uuid.uuid4()), str(uuid.uuid4())
        assert push(daemon, first).status == 200
        recorded.faults.set(**fault)
        if "sync" in fault:
            assert push(daemon, second).status == 503
        else:
            with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
                client.send(push_fields(daemon.device_token(), apns_id=second))
                until(lambda: recorded.faults.count("hang") > 0, 10, "the commit to hang")
        recorded.end()
        recorded.faults.set()
        recorded.start()
        assert push(daemon, second).status == 200
        call = daemon.control.wait_for(second, "woken")
        until(lambda: handler.wait(second).pid == call["pid"], 10, "the handler of this life")
        control = Control(daemon.control_socket, handler.wait(second).secret)
        assert control.verb(second, "report", ring=True)["state"] == "ringing"
        recorded.end()
        assert [one.name for one in recorded.lives.pushes] == [first, second]
        assert recorded.check(folder).violations == []


def test_a_log_that_cannot_be_moved_into_the_store_keeps_the_promises(make_daemon, make_faults, tmp_path: Path) -> None:
    """Syncs of the store itself fail, those of its log do not: commits go on, and nothing of the log is given up."""
    daemon: Daemon = make_daemon()
    daemon.set_handler(["/bin/true"])
    recorded = Recorded(daemon, make_faults())
    recorded.start()
    generator = random.Random(12)
    flood = Flood(daemon, window=4)
    recorded.faults.set(**{"sync@store.db": errno.EIO})
    for _ in range(500):
        flood.add(Push(new_call(generator), APP, -60))
    flood.start()
    until(lambda: recorded.faults.count("sync") >= 3, 60, "attempts to move the log")
    time.sleep(0.1)
    recorded.faults.set()
    until(lambda: flood.is_done, 60, "all pushes to be accepted")
    flood.stop()
    recorded.end()
    store = {
        entry.subject for entry in recorded.lives.entries if entry.kind == Kind.OPENED and entry.data == b"store.db"
    }
    syncs = [entry.result for entry in recorded.lives.entries if entry.kind == Kind.SYNC and entry.subject in store]
    assert any(result == 0 for result in syncs) and any(result == -errno.EIO for result in syncs)
    assert recorded.check(tmp_path).violations == []
