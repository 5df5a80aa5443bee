"""A disk that fails, stalls or hangs under a running daemon: senders are told, handlers are woken, nothing is lost.

The faults come from native/faults.c, so that they can begin and end at a moment that the test chooses.
"""

import errno
import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import processes
from support.answers import announced_rings, answered_pushes
from support.callers import CallerRecords
from support.control import Control
from support.credentials import APP
from support.daemon import Daemon
from support.flood import Flood, Push, new_call
from support.h2client import H2Client, push_fields
from support.handlers import Recorder
from support.metrics import read_metrics
from support.native import Faults, Native
from support.promises import PromiseCheck
from support.pushing import push
from support.recording import read_recording
from support.store import read_contents, read_store
from support.waiting import until
from support.watching import Watcher

# What can be wrong with a disk, and a word of the daemon's reason for it.
FAILURES = [
    pytest.param({"sync": errno.EIO}, "Input/output error", id="sync-EIO"),
    pytest.param({"write": errno.EIO}, "Input/output error", id="write-EIO"),
    pytest.param({"write": errno.ENOSPC}, "full", id="write-ENOSPC"),
    pytest.param({"sync": errno.ENOSPC}, "No space left", id="sync-ENOSPC"),
    pytest.param({"write": errno.EROFS}, "Read-only file system", id="write-EROFS"),
    pytest.param({"write": errno.EDQUOT}, "quota", id="write-EDQUOT"),
]


@dataclass
class Sick:
    """A daemon whose disk can fail."""

    daemon: Daemon
    faults: Faults
    handler: Recorder

    def state(self) -> str:
        return self.daemon.control.status()["journal"]["state"]

    def wait_for(self, state: str) -> None:
        until(lambda: self.state() == state, 10, lambda: f"the journal to be {state}, not {self.state()}")

    def handler_of(self, call: str) -> Control:
        """The control API with the rights of the call's handler."""
        return Control(self.daemon.control_socket, self.handler.wait(call).secret)

    def end(self) -> None:
        """Stops it, and looks into the store."""
        self.faults.set()
        self.daemon.stop()
        read_store(self.daemon.directory / "state")


@pytest.fixture
def sick(make_daemon, make_faults) -> Sick:
    """A running daemon with one handler for each call; nothing is wrong yet."""
    daemon: Daemon = make_daemon()
    faults = make_faults()
    daemon.user = faults.prefix(daemon.directory / "state")
    handler = daemon.add_app()
    return Sick(daemon.start(), faults, handler)


def new_id() -> str:
    return new_call(random.Random())


@pytest.mark.parametrize(("failure", "why"), FAILURES)
def test_a_failing_disk_is_said_and_its_pushes_are_refused(sick: Sick, failure: dict[str, int], why: str) -> None:
    before, during, repeated = new_id(), [new_id() for _ in range(5)], new_id()
    assert push(sick.daemon, before).status == 200
    sick.faults.set(**failure)
    for call in (repeated, *during):
        answer = push(sick.daemon, call)
        assert (answer.status, answer.reason) == (503, "ServiceUnavailable")
        sick.handler.wait(call)
    journal = sick.daemon.control.status()["journal"]
    assert (journal["state"], why in journal["why"]) == ("failing", True), journal
    assert journal["sinceMs"] >= 0
    status = sick.daemon.ringwake("status")
    assert "failing" in status.stdout and why in status.stdout, status.stdout
    metrics = read_metrics(sick.daemon)
    assert metrics["ringwake_journal_working",] == 0 and metrics["ringwake_journal_failed_commits_total",] >= 6
    assert metrics["ringwake_journal_bytes",] > 0 and metrics["ringwake_journal_commits_total",] >= 1
    sick.faults.set()
    # The sender's repeat adopts the call that runs: neither a second handler nor a second call.
    wake = sick.handler.wait(repeated)
    assert push(sick.daemon, repeated).status == 200
    running = sick.daemon.control.call(repeated)
    assert (running["pid"], running["attempt"], running["state"]) == (wake.pid, 1, "woken")
    assert sick.handler_of(repeated).verb(repeated, "report", ring=True)["state"] == "ringing"
    assert sick.state() == "working" and read_metrics(sick.daemon)["ringwake_journal_working",] == 1
    assert push(sick.daemon, new_id()).status == 200
    # Once each, however many pushes there were.
    lines = [line for line in sick.daemon.log.splitlines() if "journal" in line and "push is not" not in line]
    failed, works = [line for line in lines if why in line], [line for line in lines if "again" in line]
    assert (len(failed), len(works)) == (1, 1), lines
    sick.end()
    contents = read_store(sick.daemon.directory / "state")
    assert {before, repeated} <= contents.pushes
    assert not contents.pushes & set(during), "a push that was refused and not repeated is in the journal"
    assert contents.rung == {repeated}


def test_a_refused_push_that_is_never_repeated_is_not_delivered_after_a_restart(sick: Sick) -> None:
    """Its sender was told so, and may have taken another way."""
    refused, accepted = new_id(), new_id()
    sick.faults.set(write=errno.EIO)
    assert push(sick.daemon, refused).status == 503
    sick.faults.set()
    assert push(sick.daemon, accepted).status == 200
    sick.daemon.kill()
    sick.daemon.start()
    # Its handler runs still.
    assert sick.daemon.control.wait_for(accepted, "woken")["attempt"] == 1
    status, call = sick.daemon.control.request("GET", f"/v1/calls/{refused}")
    assert (status, call.get("state")) in [(404, None), (200, "ended")]
    sick.end()


@pytest.mark.parametrize("fault", [{"sync": errno.EIO}, {"write": errno.ENOSPC}, {"hang": 1}], ids=str)
def test_a_call_that_cannot_be_recorded_rings_from_memory(make_daemon, make_faults, fault: dict[str, int]) -> None:
    """Its push is answered 503 while that is so, or not at all; the sender's repeat makes neither a second call nor a
    second ring."""
    daemon: Daemon = make_daemon()
    faults = make_faults()
    daemon.user = faults.prefix(daemon.directory / "state")
    daemon.calls = {"report": "3s"}
    sick = Sick(daemon, faults, daemon.add_app())
    daemon.start()
    call = new_id()
    faults.set(**fault)
    with Watcher(daemon) as watcher:
        with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
            stream = client.send(push_fields(daemon.device_token(), apns_id=call))
            answer = sick.handler_of(call).verb(call, "report", ring=True)
            assert answer["state"] == "ringing", answer
            faults.set()
            assert client.wait(stream).status == (200 if "hang" in fault else 503)
        assert push(daemon, call).status == 200
        sick.end()
    assert list(watcher.calls("ringing")) == [call]
    assert call in read_store(daemon.directory / "state").rung


def test_a_call_that_cannot_be_recorded_as_ringing_rings_as_soon_as_it_can(sick: Sick) -> None:
    sick.daemon.stop()
    sick.daemon.calls = {"unrecorded": "missed"}
    sick.daemon.write_configuration()
    sick.daemon.start()
    call = new_id()
    assert push(sick.daemon, call).status == 200
    handler = sick.handler_of(call)
    sick.faults.set(sync=errno.EIO)
    handler.verb(call, "report")
    with Watcher(sick.daemon) as watcher:
        answers: list[dict] = []
        asking = threading.Thread(target=lambda: answers.append(handler.verb(call, "ring")))
        asking.start()
        # The report is written again too, so syncs alone say nothing about the ring.
        sick.daemon.control.wait_for(call, "confirmed")
        tried = sick.faults.count("sync")
        until(lambda: sick.faults.count("sync") > tried, 10, "the daemon to try again")
        assert (answers, list(watcher.calls("ringing"))) == ([], [])
        sick.faults.set()
        asking.join(10)
        assert [answer["state"] for answer in answers] == ["ringing"]
        sick.end()
    assert list(watcher.calls("ringing")) == [call]


def test_a_call_that_can_never_be_recorded_as_ringing_ends_without_a_ring(make_daemon, make_faults) -> None:
    daemon: Daemon = make_daemon()
    faults = make_faults()
    daemon.user = faults.prefix(daemon.directory / "state")
    daemon.calls = {"report": "2s", "unrecorded": "missed"}
    sick = Sick(daemon, faults, daemon.add_app())
    daemon.start()
    call = new_id()
    assert push(daemon, call).status == 200
    handler = sick.handler_of(call)
    faults.set(write=errno.ENOSPC)
    with Watcher(daemon) as watcher:
        answer = handler.verb(call, "report", ring=True)
        assert (answer["state"], answer["reason"]) == ("ended", "failed"), answer
        sick.end()
    assert list(watcher.calls("ringing")) == []
    assert read_store(daemon.directory / "state").rung == set()


def test_handlers_do_not_wait_for_a_disk_that_hangs(sick: Sick) -> None:
    """No time is measured: the disk gives no answer at all until every handler runs."""
    sick.faults.set(hang=1)
    calls = [new_id() for _ in range(20)]
    with H2Client(sick.daemon.host_and_port, sick.daemon.credentials.context(certificate=True)) as client:
        token = sick.daemon.device_token()
        streams = [client.send(push_fields(token, apns_id=call)) for call in calls]
        for call in calls:
            sick.handler.wait(call)
        until(lambda: sick.faults.count("hang") == 1, 10, "the disk to hang")
        # The rest of the daemon does not wait either.
        assert {sick.daemon.control.call(call)["state"] for call in calls} == {"woken"}
        assert sick.handler_of(calls[0]).verb(calls[0], "report")["state"] == "reported"
        client.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            while True:
                client.receive()
                assert not any(client.answers[stream].frames for stream in streams), "answered before the commit"
        client.socket.settimeout(15)
        sick.faults.set()
        assert [client.wait(stream).status for stream in streams] == [200] * len(calls)
    sick.end()


def test_lists_are_answered_while_the_disk_hangs(sick: Sick) -> None:
    known, waiting = new_id(), new_id()
    assert push(sick.daemon, known).status == 200
    sick.faults.set(hang=1)
    with H2Client(sick.daemon.host_and_port, sick.daemon.credentials.context(certificate=True)) as client:
        stream = client.send(push_fields(sick.daemon.device_token(), apns_id=waiting))
        sick.handler.wait(waiting)
        # Control's own bound on an answer is 10 s.
        status, calls = sick.daemon.control.request("GET", "/v1/calls")
        assert status == 200 and {known, waiting} <= {call["call"] for call in calls["calls"]}
        assert sick.daemon.control.request("GET", f"/v1/pushes/{new_id()}")[0] in (404, 503, 504)
        sick.faults.set()
        assert client.wait(stream).status == 200
    sick.end()


def test_the_daemon_stops_while_its_disk_hangs(sick: Sick) -> None:
    sick.faults.set(hang=1)
    with H2Client(sick.daemon.host_and_port, sick.daemon.credentials.context(certificate=True)) as client:
        client.send(push_fields(sick.daemon.device_token(), apns_id=new_id()))
        until(lambda: sick.faults.count("hang"), 10, "the disk to hang")
        process = sick.daemon.process
        process.terminate()
        # Bounded, and the person who waits is told why.
        process.wait(60)
    assert "disk" in sick.daemon.log, sick.daemon.log


def test_commits_that_take_long_take_many_pushes_each(sick: Sick) -> None:
    sick.daemon.stop()
    sick.daemon.set_handler(["/bin/true"])
    sick.daemon.start()
    sick.faults.set(stall=100)
    flood = Flood(sick.daemon, connections=2)
    for _ in range(300):
        flood.add(Push(new_id(), APP, -60))
    flood.start()
    until(lambda: flood.is_done, 60, "all pushes to be accepted")
    flood.stop()
    # One at a time they would need 300 commits.
    assert sick.faults.count("stall") < 30
    sick.end()


def test_a_sender_floods_a_daemon_whose_disk_hangs(sick: Sick) -> None:
    """What waits for the disk is bounded: the rest is refused at once, and the daemon stays small."""
    sick.daemon.stop()
    sick.daemon.set_handler(["/bin/true"])
    sick.daemon.start()
    size = processes.resident_kilobytes(sick.daemon.pid)
    sick.faults.set(hang=1)
    with H2Client(sick.daemon.host_and_port, sick.daemon.credentials.context(certificate=True)) as client:
        token, body = sick.daemon.device_token(), b'{"x":"' + b"x" * 5000 + b'"}'
        streams = [
            client.send(push_fields(token, apns_id=new_id(), apns_expiration="1700000000"), body) for _ in range(900)
        ]
        until(lambda: sick.faults.count("hang"), 10, "the disk to hang")
        sick.daemon.control.status()
        assert processes.resident_kilobytes(sick.daemon.pid) - size < 32 * 1024
        sick.faults.set()
        statuses = [client.wait(stream).status for stream in streams]
    assert set(statuses) <= {200, 503} and statuses.count(200) > 0
    sick.end()


def test_answers_rest_on_syncs_that_worked(make_daemon, make_faults, native: Native, tmp_path: Path) -> None:
    """Recorded, with syncs and writes that fail now and then: what a failed sync should have taken to the disk is
    lost, and no later answer may rest on it."""
    daemon: Daemon = make_daemon()
    faults = make_faults()
    state, log, records = daemon.directory / "state", daemon.directory / "recording", daemon.directory / "records"
    daemon.user = faults.prefix(state, "recorder.so", RECORDER_LOG=log)
    # What rings from memory rests on no sync.
    daemon.calls = {"report": "2s", "ring": "5s", "unrecorded": "missed"}
    daemon.set_handler([str(native.caller), str(records), "20"])
    daemon.start()
    generator = random.Random(7)
    flood = Flood(daemon)
    for index in range(300):
        flood.add(Push(new_call(generator, "45678"[index % 5]), APP, None if index % 3 else -60))
    flood.start()
    for round_number in range(12):
        # Not ENOSPC: on a full disk the oldest pushes give way, as test_full_disk.py shows.
        kind = ["sync", "write"][round_number % 2]
        failed = faults.count(kind)
        faults.set(**{kind: errno.EIO})
        until(lambda: faults.count(kind) > failed or flood.is_done, 10, f"a {kind} to fail")
        faults.set()
        time.sleep(generator.random() * 0.05)
    until(lambda: flood.is_done, 60, "all pushes to be accepted")
    flood.stop()
    until(lambda: daemon.control.status()["activeCalls"] == 0, 30, "all calls to end")
    daemon.stop()
    refused = sum(answer.startswith("503") for push in flood.pushes.values() for answer in push.answers)
    assert refused > 0 and faults.count("sync") > 0 and faults.count("write") > 0
    entries = read_recording(log)
    answers, rings = answered_pushes(entries), announced_rings(entries)
    assert {answer.name for answer in answers} == flood.pushes.keys()
    findings = PromiseCheck(entries, answers, rings, read_contents, tmp_path / "opened", seed=2, samples=200).run()
    assert findings.violations == []
    assert CallerRecords(records).problems() == []
