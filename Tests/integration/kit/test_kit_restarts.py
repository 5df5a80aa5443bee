"""The daemon is killed under calls of RingwakeKit: they go on, ring once, and are asked for nothing twice."""

import os
import signal

import pytest

from support import processes
from support.telephone import connected, ends, failures, hang_up, ringing, user, waits
from swift_handler import SwiftHandler


def test_while_it_rings(either: SwiftHandler) -> None:
    call = ringing(either.app)
    pid = either.pid(call)
    either.restart_daemon()
    control = either.daemon.control
    assert control.wait_for(call, "ringing")["pid"] == pid
    user(either.daemon, "call", "answer", call)
    control.wait_for(call, "connected")
    hang_up(either.app, call)
    assert either.count(f"rings: {call}") == 1 and either.count(f"did: answer {call}") == 1
    assert failures(either.daemon) == []


def test_while_it_is_answered(either: SwiftHandler) -> None:
    """The daemon dies after the user answered, and before the handler has said that it did."""
    call = ringing(either.app)
    pid = either.pid(call)
    processes.stop(pid)
    user(either.daemon, "call", "answer", call)
    either.daemon.control.wait_for(call, "answering")
    # A list is read after all that was handed in before.
    either.daemon.control.get("/v1/calls?limit=1")
    either.daemon.kill()
    either.daemon.start()
    os.kill(pid, signal.SIGCONT)
    either.daemon.control.wait_for(call, "connected")
    hang_up(either.app, call)
    assert either.count(f"did: answer {call}") == 1


def test_while_it_is_connected(either: SwiftHandler) -> None:
    call = connected(either.app)
    pid = either.pid(call)
    for _ in range(2):
        either.restart_daemon()
        assert either.daemon.control.wait_for(call, "connected")["pid"] == pid
    user(either.daemon, "call", "hold", call)
    either.daemon.control.wait_for(call, "held")
    # Each daemon activates it anew; what was active before has ended first, in the handler's ears too.
    waits(lambda: either.audio(call)[-1:] == ["off"], "the audio of a held call to be off")
    told = either.audio(call)
    assert told == ["on", "off"] * (len(told) // 2) and len(told) >= 4, told
    hang_up(either.app, call)
    assert either.count(f"did: answer {call}") == 1
    assert failures(either.daemon) == []


def test_with_two_calls(warm: SwiftHandler) -> None:
    first = connected(warm.app)
    second = ringing(warm.app)
    warm.restart_daemon()
    user(warm.daemon, "call", "answer", second)
    warm.daemon.control.wait_for(second, "connected")
    warm.daemon.control.wait_for(first, "held")
    for call in (second, first):
        hang_up(warm.app, call)
    assert failures(warm.daemon) == []


def test_a_daemon_that_is_away_for_three_seconds(either: SwiftHandler) -> None:
    call = connected(either.app)
    either.restart_daemon(away=3)
    either.daemon.control.wait_for(call, "connected")
    hang_up(either.app, call)


def test_a_call_that_ends_while_the_daemon_is_away(make_handler) -> None:
    handler = make_handler(calls={"ring": "1s"}).started_by_daemon()
    handler.daemon.start()
    call = ringing(handler.app)
    handler.daemon.kill()
    pid = handler.running()
    assert len(pid) == 1
    handler.daemon.start()
    ends(handler.daemon, call, "unanswered")
    handler.says(f"call: {call} ended unanswered")
    handler.is_gone()


@pytest.mark.parametrize("times", [5])
def test_a_daemon_that_dies_again_and_again(warm: SwiftHandler, times: int) -> None:
    call = ringing(warm.app)
    for _ in range(times):
        warm.restart_daemon()
    user(warm.daemon, "call", "answer", call)
    warm.daemon.control.wait_for(call, "connected")
    warm.restart_daemon()
    hang_up(warm.app, call)
    assert warm.count(f"did: answer {call}") == 1
    # Nobody is left who does not know: the next call finds the same process.
    assert warm.pid(ringing(warm.app)) == warm.running()[0]
