"""A sender that repeats a push long after its call: the journal knows it, and nobody is disturbed again."""

import random

import pytest

from support.callers import CallerRecords
from support.credentials import APP
from support.daemon import Daemon
from support.flood import Flood, Push, new_call
from support.native import Native
from support.pushing import push
from support.store import read_store
from support.waiting import until
from support.watching import Watcher

# More calls than a restarted daemon keeps in mind: `maximumRecentCalls` of the journal's limits is 512.
CALLS_SINCE = 600


def flooded(daemon: Daemon, pushes: list[Push]) -> None:
    flood = Flood(daemon)
    for one in pushes:
        flood.add(one)
    flood.start()
    until(lambda: flood.is_done, 60, "all pushes to be accepted")
    flood.stop()


def record(daemon: Daemon, call: str) -> dict:
    """What is known of a call but its handler, which may be gone, and its arrival, which is rounded to milliseconds."""
    return {name: value for name, value in daemon.control.call(call).items() if name not in ("pid", "receivedAt")}


@pytest.mark.parametrize("restarts", [False, True])
def test_a_repeat_rings_no_second_time_and_changes_no_record(make_daemon, native: Native, restarts: bool) -> None:
    daemon: Daemon = make_daemon()
    path = daemon.directory / "records"
    daemon.set_handler([str(native.caller), str(path), "10"])
    daemon.start()
    call = new_call(random.Random(), "5")
    assert push(daemon, call).status == 200
    daemon.control.wait_for(call, "ended")
    before = record(daemon, call)
    if restarts:
        flooded(daemon, [Push(new_call(random.Random()), APP, -60) for _ in range(CALLS_SINCE)])
        daemon.kill()
        daemon.start()
    with Watcher(daemon) as watcher:
        # In other letters too: an apns-id is a UUID.
        for repeat in (call, call.upper()):
            assert push(daemon, repeat).status == 200
        until(lambda: daemon.control.status()["activeCalls"] == 0, 10, "the repeats to be over")
        assert record(daemon, call) == before
        assert daemon.control.request("GET", f"/v1/calls/{call.upper()}")[0] == 404
        newest = daemon.control.get("/v1/calls?limit=500")["calls"]
        assert [one["call"] for one in newest].count(call) == (0 if restarts else 1)
        daemon.stop()
    assert (list(watcher.calls("ringing")), [one for one in watcher.events if one["event"] == "missed"]) == ([], [])
    records = CallerRecords(path)
    assert [step.what for step in records.steps[call]].count("ringing") == 1
    assert call.upper() not in records.steps
    assert call in read_store(daemon.directory / "state").rung
