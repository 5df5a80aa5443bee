"""The daemon is killed under calls of RingwakeKit: they go on, ring once, and are asked for nothing twice."""

import os
import signal

import pytest

from support.telephone import connected, ends, failures, hang_up, ringing, send, user, waits
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
    os.kill(pid, signal.SIGSTOP)
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


def test_what_a_handler_is_asked_for_is_on_the_disk(warm: SwiftHandler) -> None:
    """Killed as soon as the handler can have heard of the answer: the daemon comes back and knows of it too."""
    for _ in range(5):
        call = ringing(warm.app)
        with warm.daemon.control.events(f"?call={call}") as stream:
            warm.daemon.control.verb(call, "answer")
            stream.until("action", action="answer")
            warm.daemon.kill()
        warm.daemon.start()
        warm.daemon.control.wait_for(call, "connected")
        hang_up(warm.app, call)
    assert failures(warm.daemon) == []


def test_a_ring_of_which_people_heard_goes_on(warm: SwiftHandler) -> None:
    """Killed as soon as somebody can have heard it ring: what the daemon knows of the call may say that it is about to."""
    for _ in range(5):
        with warm.daemon.control.events() as stream:
            call = send(warm.daemon, warm.app.app)
            stream.until("call", state="ringing")
            warm.daemon.kill()
        warm.daemon.start()
        user(warm.daemon, "call", "answer", call)
        warm.daemon.control.wait_for(call, "connected")
        hang_up(warm.app, call)
        # Answered before it is connected again the handler hears of no ring.
        assert warm.count(f"rings: {call}") <= 1
    assert failures(warm.daemon) == []


def test_a_call_that_comes_as_its_handler_leaves(make_handler) -> None:
    """It leaves with its last call; what it is given at that moment goes to the next one, and is not missed."""
    handler = make_handler().started_by_daemon()
    handler.daemon.start()
    for number in range(12):
        call = connected(handler.app)
        with handler.daemon.control.events(f"?call={call}") as stream:
            handler.daemon.control.verb(call, "end")
            stream.until("call", state="ended")
            # One that hears of the end late leaves late.
            if number % 2:
                handler.daemon.kill()
        if number % 2:
            handler.daemon.start()
    hang_up(handler.app, connected(handler.app))
    assert failures(handler.daemon) == []


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
