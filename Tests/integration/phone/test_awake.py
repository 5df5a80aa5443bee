"""The machine is kept awake from the push to the end of the call, or to the answer, and let go on every path."""

import os
import signal

import pytest

from support import processes
from support.apps import App
from support.control import Control
from support.services import Logind
from support.telephone import PAYLOAD, begins, connected, ends, hang_up, ringing, send, user, waits


@pytest.fixture
def logind(system_bus) -> Logind:
    return Logind(system_bus)


def released(app: App, logind: Logind) -> None:
    waits(lambda: not logind.is_inhibited(), f"logind to be let go of: {logind.inhibitors()}")
    assert app.daemon.control.status()["awake"]["needed"] is False


def held(app: App, logind: Logind) -> None:
    waits(logind.is_inhibited, "logind to be asked")
    [one] = logind.inhibitors()
    assert (one["what"], one["mode"]) == ("sleep", "block"), one
    assert app.daemon.control.status()["awake"] == {"needed": True, "by": "logind"}


# Every path on which a call stops waiting for its answer

def answered(app: App, call: str) -> None:
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected")


def hung_up(app: App, call: str) -> None:
    answered(app, call)
    hang_up(app, call)


def declined(app: App, call: str) -> None:
    user(app.daemon, "call", "decline", call)
    ends(app.daemon, call, "declined")


def hung_up_by_the_caller(app: App, call: str) -> None:
    secret = processes.environment(app.woken(call)["pid"])["RINGWAKE_WAKE_SECRET"]
    Control(app.daemon.control_socket, secret).verb(call, "ended")


def unanswered(app: App, call: str) -> None:
    ends(app.daemon, call, "unanswered")


def lost(app: App, call: str) -> None:
    os.kill(app.daemon.control.call(call)["pid"], signal.SIGKILL)
    ends(app.daemon, call, "handlerFailed")


@pytest.mark.parametrize(
    "way_out", [hung_up, declined, hung_up_by_the_caller, unanswered, lost], ids=lambda one: one.__name__
)
def test_it_is_kept_awake_while_a_call_rings(telephone, system_bus, logind: Logind, way_out) -> None:
    app = telephone(system_bus, calls={"claim": "1s"} | ({"ring": "3s"} if way_out is unanswered else {}))
    app.by_exec("claim!=crash", more=PAYLOAD).daemon.start()
    assert not logind.is_inhibited()
    call = ringing(app)
    held(app, logind)
    way_out(app, call)
    released(app, logind)


@pytest.mark.parametrize(
    "misdeed", ["wake=crash", "report=hang", "report=provisional", "report=ended:answeredElsewhere"]
)
def test_it_is_kept_awake_from_the_push_on(telephone, system_bus, logind: Logind, misdeed: str) -> None:
    app = telephone(system_bus, calls={"report": "1s"}).by_exec(misdeed, more=PAYLOAD)
    app.daemon.start()
    send(app.daemon)
    # A call that is over at once may need no more than one look at it.
    waits(lambda: logind.calls("Inhibit"), "logind to be asked")
    released(app, logind)


@pytest.mark.parametrize("held_calls", [True, False])
def test_a_call_keeps_it_awake_until_it_ends(telephone, system_bus, logind: Logind, held_calls: bool) -> None:
    app = telephone(system_bus, awake=f"held = {str(held_calls).lower()}").by_exec(more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    held(app, logind)
    user(app.daemon, "call", "hold", call)
    app.daemon.control.wait_for(call, "held")
    (held if held_calls else released)(app, logind)
    app.daemon.kill()
    app.daemon.start()
    app.daemon.control.wait_for(call, "held")
    (held if held_calls else released)(app, logind)
    user(app.daemon, "call", "unhold", call)
    app.daemon.control.wait_for(call, "connected")
    held(app, logind)
    hang_up(app, call)
    released(app, logind)


def test_a_call_that_goes_on_may_need_it_no_more_and_a_second_one_does(
    telephone, system_bus, logind: Logind
) -> None:
    app = telephone(system_bus, awake='during = "ringing"').by_exec(more=PAYLOAD)
    app.daemon.start()
    first = connected(app)
    released(app, logind)
    second = ringing(app)
    held(app, logind)
    user(app.daemon, "call", "decline", second)
    released(app, logind)
    hang_up(app, first)


def test_several_calls_hold_it_once(telephone, system_bus, logind: Logind) -> None:
    app = telephone(system_bus).by_exec(more=PAYLOAD)
    app.daemon.start()
    first, second = ringing(app), ringing(app)
    held(app, logind)
    declined(app, first)
    held(app, logind)
    declined(app, second)
    released(app, logind)


def test_it_is_let_go_when_the_daemon_is_killed_and_taken_again(telephone, system_bus, logind: Logind) -> None:
    app = telephone(system_bus).by_exec(more=PAYLOAD)
    app.daemon.start()
    call = ringing(app)
    held(app, logind)
    app.daemon.kill()
    waits(lambda: not logind.is_inhibited(), "the killed daemon's inhibitor to be gone")
    app.daemon.start()
    held(app, logind)
    declined(app, call)
    released(app, logind)


def test_logind_restarts_while_it_rings(telephone, system_bus, logind: Logind) -> None:
    app = telephone(system_bus).by_exec(more=PAYLOAD)
    app.daemon.start()
    call = ringing(app)
    held(app, logind)
    logind.service.restart()
    held(app, logind)
    declined(app, call)
    released(app, logind)


def test_logind_that_refuses_is_said_and_the_call_rings(telephone, system_bus, logind: Logind) -> None:
    logind.refuse()
    app = telephone(system_bus).by_exec(more=PAYLOAD)
    app.daemon.start()
    call = ringing(app)
    waits(lambda: app.daemon.control.status()["awake"].get("why"), "the reason")
    now = app.daemon.control.status()["awake"]
    # Where the kernel has a wake lock, that takes its place.
    assert now["needed"] and now["by"] == ("kernel" if os.access("/sys/power/wake_lock", os.W_OK) else "none"), now
    declined(app, call)
    waits(lambda: not app.daemon.control.status()["awake"]["needed"], "it to be over")


def test_a_logind_that_answers_late_keeps_nothing(telephone, system_bus, logind: Logind) -> None:
    app = telephone(system_bus).by_exec(more=PAYLOAD)
    app.daemon.start()
    logind.service.hang()
    declined(app, ringing(app))
    logind.service.resume()
    # Its answer has come when the next one has.
    call = ringing(app)
    held(app, logind)
    declined(app, call)
    released(app, logind)


def test_without_a_bus_calls_ring_and_it_says_why(telephone) -> None:
    app = telephone().by_exec(more=PAYLOAD)
    app.daemon.start()
    call = ringing(app)
    now = app.daemon.control.status()["awake"]
    assert now["needed"] and now["by"] in ("none", "kernel")
    declined(app, call)


def test_it_can_be_turned_off(telephone, system_bus, logind: Logind) -> None:
    app = telephone(system_bus, awake='by = "none"').by_exec(more=PAYLOAD)
    app.daemon.start()
    declined(app, ringing(app))
    assert logind.calls("Inhibit") == []


def test_a_call_that_is_kept_out_wakes_nothing(telephone, system_bus, logind: Logind) -> None:
    app = telephone(system_bus).by_exec(more=PAYLOAD)
    app.daemon.start()
    user(app.daemon, "block", "add", "sip:mallory@example.org")
    ends(app.daemon, send(app.daemon, caller="sip:mallory@example.org"), "blocked")
    assert logind.calls("Inhibit") == []


@pytest.mark.parametrize("during", ["ringing", "call"])
def test_it_is_kept_awake_while_a_call_goes_out(telephone, system_bus, logind: Logind, during: str) -> None:
    app = telephone(system_bus, awake=f'during = "{during}"').by_exec("connected=slow:2", more=PAYLOAD)
    app.daemon.start()
    call = begins(app.daemon)
    app.daemon.control.wait_for(call, "connecting")
    held(app, logind)
    app.daemon.control.wait_for(call, "connected", 30)
    if during == "call":
        held(app, logind)
        hang_up(app, call)
    released(app, logind)
