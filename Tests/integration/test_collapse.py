"""A push takes the place of an earlier one with its apns-collapse-id whose call waits, and of no other."""

import json
import subprocess
import uuid

import pytest
from support.control import Control
from support.credentials import APP, TOPIC
from support.daemon import Daemon
from support.pushing import push
from support.waiting import until


@pytest.fixture
def busy(make_daemon) -> tuple[Daemon, Control]:
    """A daemon whose app has one handler, which has a call that rings; and the control API as that handler has it."""
    daemon = make_daemon()
    recorder = daemon.add_app(instances="app")
    daemon.start()
    first = str(uuid.uuid4())
    assert push(daemon, first).status == 200
    wake = recorder.wait(first)
    handler = Control(daemon.control.path, wake.environment["RINGWAKE_WAKE_SECRET"])
    assert handler.verb(first, "report", ring=True)["state"] == "ringing"
    return daemon, handler


def curl(daemon: Daemon, call: str, payload: str, collapse_id: str) -> str:
    """Sends a push as a shell script would, and returns its outcome."""
    credentials = daemon.credentials
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--http2", "--cacert", credentials.ca,
         "--header", f"authorization: {credentials.authorization()}", "--header", f"apns-topic: {TOPIC}",
         "--header", f"apns-id: {call}", "--header", f"apns-collapse-id: {collapse_id}",
         "--header", "ringwake-outcome: 1", "--data", payload,
         f"{daemon.url}/3/device/{daemon.device_token()}"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done
    return json.loads(done.stdout)["outcome"]


def test_the_handler_gets_only_the_later_and_the_earlier_says_replaced(busy) -> None:
    daemon, handler = busy
    calls = [str(uuid.uuid4()) for _ in range(4)]
    outcomes = [curl(daemon, call, json.dumps({"n": number}), "lobby") for number, call in enumerate(calls[:3])]
    assert curl(daemon, calls[3], '{"n": 3}', "door") == "started"
    assert outcomes == ["started"] * 3
    for earlier in calls[:2]:
        shown = daemon.control.get(f"/v1/pushes/{earlier}")
        assert (shown["state"], shown["reason"], shown["outcome"]) == ("replaced", "replaced", "started")
        assert daemon.control.call(earlier)["missed"] is False
        assert curl(daemon, earlier, "{}", "lobby") == "replaced"
        assert "a later push with the same collapse id took its place" in daemon.ringwake("push", "show", earlier).stdout
    fetched = handler.get(f"/v1/apps/{APP}/pushes")["pushes"]
    assert [(one["call"], one["payload"]) for one in fetched] == [(calls[2], {"n": 2}), (calls[3], {"n": 3})]
    # It has been given to the handler now: a further push with the id is a call of its own.
    later = str(uuid.uuid4())
    assert curl(daemon, later, "{}", "lobby") == "started"
    assert [daemon.control.call(call)["state"] for call in (calls[2], later)] == ["woken", "queued"]


def test_after_a_kill_the_replaced_call_stays_replaced_and_the_later_one_is_delivered(busy) -> None:
    daemon, _ = busy
    earlier, later = str(uuid.uuid4()), str(uuid.uuid4())
    for call in (earlier, later):
        assert push(daemon, call, apns_collapse_id="lobby").status == 200
    daemon.kill()
    daemon.start()
    assert daemon.control.call(earlier)["reason"] == "replaced"
    assert daemon.control.call(later)["state"] == "queued"
    # What waits is still known by its collapse id.
    last = str(uuid.uuid4())
    assert push(daemon, last, apns_collapse_id="lobby").status == 200
    assert daemon.control.call(later)["reason"] == "replaced"
    until(lambda: daemon.control.call(last)["state"] == "queued", 5, "the last call to wait")
