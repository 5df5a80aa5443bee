"""The daemon is killed as soon as people hear of a step of a call: when it is back, what they heard of holds."""

from contextlib import suppress

import pytest

from support.control import Control, EventStream
from support.telephone import connected, failures, hang_up, send
from support.waiting import until
from swift_handler import SwiftHandler

# What the user asks for on the way to each state.
WAYS = {
    "woken": [], "reported": [], "confirmed": [], "ringing": [], "answering": ["answer"], "connected": ["answer"],
    "held": ["answer", "hold"], "ending": ["answer", "end"], "ended": ["answer", "end"],
}  # fmt: skip
# In which state a call is that this may be asked of.
BEFORE = {"answer": "ringing", "hold": "connected", "end": "connected"}


def bring(stream: EventStream, control: Control, call: str, state: str) -> None:
    """Brings a new call to the moment at which people hear that it is in this state."""
    for verb in WAYS[state]:
        stream.until("call", call=call, state=BEFORE[verb])
        control.verb(call, verb)
    stream.until("call", call=call, state=state)


def take(control: Control, call: str) -> None:
    """The user answers if it rings still, and goes on with a call that is held."""

    def goes_on() -> bool:
        state = control.call(call)["state"]
        assert state != "ended", control.call(call)
        if state in ("ringing", "held"):
            # It may change as it is asked.
            with suppress(AssertionError):
                control.verb(call, "answer" if state == "ringing" else "unhold")
        return state == "connected"

    until(goes_on, 10, lambda: f"the call to go on: {control.call(call)}")


@pytest.mark.parametrize("state", WAYS)
def test_what_people_heard_of_holds(either: SwiftHandler, state: str) -> None:
    control = either.daemon.control
    for _ in range(3):
        with control.events() as stream:
            call = send(either.daemon, either.app.app)
            bring(stream, control, call, state)
            either.daemon.kill()
        either.daemon.start()
        if state in ("ending", "ended"):
            assert control.wait_for(call, "ended")["reason"] == "localEnded"
        else:
            take(control, call)
            hang_up(either.app, call)
        # Answered before its handler is connected again it rings for nobody.
        assert either.count(f"rings: {call}") <= 1 and either.count(f"did: answer {call}") == 1
    assert failures(either.daemon) == []


def test_a_handler_does_not_do_what_no_daemon_knows_of(warm: SwiftHandler) -> None:
    """Killed as soon as the handler can have heard that the user answers: the daemon that comes back knows it too."""
    for _ in range(5):
        with warm.daemon.control.events() as stream:
            call = send(warm.daemon, warm.app.app)
            stream.until("call", call=call, state="ringing")
            warm.daemon.control.verb(call, "answer")
            stream.until("action", call=call, action="answer")
            warm.daemon.kill()
        warm.daemon.start()
        warm.daemon.control.wait_for(call, "connected")
        hang_up(warm.app, call)
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
