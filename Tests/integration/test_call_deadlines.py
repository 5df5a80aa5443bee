"""Every call ends by itself: deadlines, and handlers that fail in every way a process can."""

import os
import signal
import time
import uuid

import pytest

from support import processes
from support.control import Control
from support.daemon import Daemon
from support.handlers import Recorder
from support.pushing import push, start_call
from support.waiting import until

# Short deadlines, so that the tests are; a name for each place that waits for them.
SHORT = {"report": "1500ms", "ring": "2s", "action": "1500ms", "connected": "1s"}


@pytest.fixture
def hasty(make_daemon) -> Daemon:
    """A daemon with short deadlines."""
    daemon = make_daemon()
    daemon.calls = dict(SHORT)
    daemon.add_app()
    return daemon.start()


def group_is_gone(group: int) -> None:
    until(lambda: not processes.members(group), 10, lambda: f"group {group} to end: {processes.members(group)}")


def test_a_handler_that_reports_nothing_is_stopped_with_its_children(make_daemon) -> None:
    daemon = make_daemon()
    daemon.calls = dict(SHORT)
    daemon.add_app("sh", "-c", "sleep 60 & sleep 60 & wait")
    daemon.start()
    call, wake = start_call(daemon)
    ended = daemon.control.wait_for(call, "ended")
    assert ended["reason"] == "handlerFailed"
    assert "did not report" in ended["detail"]
    group_is_gone(wake.pid)
    daemon.check_alive()


def test_a_handler_that_takes_no_sigterm_is_killed(make_daemon) -> None:
    daemon = make_daemon()
    daemon.calls = dict(SHORT)
    daemon.add_app("sh", "-c", "trap '' TERM; while :; do sleep 1; done")
    daemon.start()
    call, wake = start_call(daemon)
    daemon.control.wait_for(call, "ended")
    group_is_gone(wake.pid)
    assert daemon.control.call(call)["reason"] == "handlerFailed"


def test_a_reported_call_that_is_never_confirmed_never_rings(hasty: Daemon) -> None:
    call, wake = start_call(hasty)
    Control(hasty.control_socket, wake.secret).verb(call, "report")
    ended = hasty.control.wait_for(call, "ended")
    assert ended["reason"] == "handlerFailed"
    assert "did not confirm" in ended["detail"]
    assert "rang" not in [hop["stage"] for hop in ended["timeline"]]


def test_an_unanswered_call_stops_ringing(hasty: Daemon) -> None:
    call, wake = start_call(hasty)
    Control(hasty.control_socket, wake.secret).verb(call, "report", ring=True)
    assert hasty.control.wait_for(call, "ended")["reason"] == "unanswered"


def test_a_push_that_expires_while_its_handler_wakes_never_rings(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    call, wake = start_call(daemon, apns_expiration=str(int(time.time()) + 2))
    ended = daemon.control.wait_for(call, "ended")
    assert ended["reason"] == "expired"
    group_is_gone(wake.pid)


def test_an_answer_that_is_not_fulfilled_ends_the_call_and_its_handler(hasty: Daemon) -> None:
    call, wake = start_call(hasty)
    Control(hasty.control_socket, wake.secret).verb(call, "report", ring=True)
    hasty.control.verb(call, "answer")
    ended = hasty.control.wait_for(call, "ended")
    assert ended["reason"] == "handlerFailed"
    assert "did not answer" in ended["detail"]
    group_is_gone(wake.pid)


def test_an_end_that_is_not_fulfilled_ends_all_the_same(hasty: Daemon) -> None:
    call, wake = start_call(hasty)
    Control(hasty.control_socket, wake.secret).verb(call, "report", ring=True)
    hasty.control.verb(call, "decline")
    assert hasty.control.wait_for(call, "ended")["reason"] == "declined"
    group_is_gone(wake.pid)


def test_no_call_lasts_for_ever(hasty: Daemon) -> None:
    call, wake = start_call(hasty)
    handler = Control(hasty.control_socket, wake.secret)
    handler.verb(call, "report", ring=True)
    hasty.control.verb(call, "answer")
    handler.verb(call, "fulfill", action="answer")
    ended = hasty.control.wait_for(call, "ended")
    assert (ended["reason"], "longer than" in ended["detail"]) == ("failed", True)


@pytest.mark.parametrize(
    ("then", "detail"),
    [
        (["sh", "-c", "exit 3"], "exited with status 3"),
        (["true"], "exited with status 0"),
        (["sh", "-c", "kill -SEGV $$"], "was killed by signal 11"),
    ],
)
def test_a_handler_that_ends_takes_its_call_along(make_daemon, then: list[str], detail: str) -> None:
    daemon = make_daemon()
    daemon.add_app(*then)
    daemon.start()
    call, _ = start_call(daemon)
    ended = daemon.control.wait_for(call, "ended")
    assert ended["reason"] == "handlerFailed"
    assert detail in ended["detail"]
    daemon.check_alive()


def test_a_handler_that_is_killed_in_a_call_ends_it_when_no_other_claims_it(make_daemon) -> None:
    daemon = make_daemon()
    daemon.calls = {"claim": "500ms"}
    daemon.add_app()
    daemon.start()
    call, wake = start_call(daemon)
    handler = Control(daemon.control_socket, wake.secret)
    handler.verb(call, "report", ring=True)
    daemon.control.verb(call, "answer")
    handler.verb(call, "fulfill", action="answer")
    os.kill(wake.pid, signal.SIGKILL)
    ended = daemon.control.wait_for(call, "ended")
    assert (ended["reason"], "none claimed it" in ended["detail"]) == ("handlerFailed", True)
    daemon.check_alive()


def test_each_handler_is_fetched_and_nothing_is_left_open(make_daemon) -> None:
    """200 pushes leave neither zombies nor descriptors behind."""
    daemon = make_daemon()
    handler = daemon.add_app("true")
    daemon.start()
    start_call(daemon)
    until(lambda: daemon.control.status()["activeCalls"] == 0, 10, "the first call to end")
    before = settled_descriptors(daemon)
    for _ in range(200):
        assert push(daemon, str(uuid.uuid4())).status == 200
    handler.wait_for_all(201)
    until(lambda: daemon.control.status()["activeCalls"] == 0, 10, "all calls to end")
    assert settled_descriptors(daemon) == before
    daemon.check_alive()


def settled_descriptors(daemon: Daemon) -> int:
    """How many descriptors stay open once closed connections are gone."""
    counts = [0, 0, 0]

    def same_thrice() -> bool:
        counts.append(len(processes.descriptors(daemon.pid)))
        return len(set(counts[-30:])) == 1 and len(counts) > 30

    until(same_thrice, 10, lambda: f"the number of descriptors to settle: {counts[-10:]}")
    return counts[-1]


def test_output_of_a_handler_goes_to_the_log_line_by_line(make_daemon) -> None:
    daemon = make_daemon()
    script = "echo first; echo second >&2; printf 'no end'; head -c 100000 /dev/zero | tr '\\0' x; echo; sleep 60"
    daemon.add_app("sh", "-c", script)
    daemon.start()
    start_call(daemon)
    for line in ("first", "second", "no end"):
        daemon.log_mentions(line)
    daemon.check_alive()


def test_a_handler_that_floods_its_output_does_not_fill_the_daemon(make_daemon) -> None:
    daemon = make_daemon()
    daemon.calls = {"report": "2s"}
    daemon.add_app("yes", "x" * 200)
    daemon.start()
    call, _ = start_call(daemon)
    assert daemon.control.wait_for(call, "ended")["reason"] == "handlerFailed"
    assert processes.resident_kilobytes(daemon.pid) < 64 * 1024
    daemon.check_alive()


def test_a_wake_before_the_last_was_fetched(hasty: Daemon) -> None:
    """Calls end and begin at once; each one has its handler and each its end."""
    handler: Recorder = hasty.recorders[0]
    calls = [str(uuid.uuid4()) for _ in range(20)]
    for call in calls:
        assert push(hasty, call).status == 200
    handler.wait_for_all(20)
    for call in calls:
        assert hasty.control.wait_for(call, "ended")["reason"] == "handlerFailed"
    hasty.check_alive()
