"""A call outlives its handler: another start of it, a connected one, or the bus's, claims the call in time."""

import os
import signal

import pytest

from support import processes
from support.apps import App
from support.credentials import APP
from support.telephone import (
    OTHER_APP, PAYLOAD, allow_two_apps, connected, ends, failures, hang_up, held, ringing, send, shown, user, waits,
)  # fmt: skip

STATES = {"ringing": ringing, "connected": connected, "held": held}


def kill_handler(app: App, call: str) -> int:
    """Takes the life of the process that has this call."""
    pid = app.daemon.control.call(call)["pid"]
    os.kill(pid, signal.SIGKILL)
    return pid


def claimed(app: App, call: str, lost: int) -> dict:
    """The call, once another process than the `lost` one has it."""
    control = app.daemon.control
    waits(lambda: control.call(call).get("pid") not in (None, lost) and "claimMs" not in control.call(call), "a claim")
    return control.call(call)


@pytest.mark.parametrize("state", STATES)
def test_a_call_is_claimed_by_the_next_start_of_its_handler(phone: App, state: str) -> None:
    call = STATES[state](phone)
    lost = kill_handler(phone, call)
    now = claimed(phone, call, lost)
    assert now["state"] == state
    record = phone.woken(call, kind="claim")
    assert record["pid"] == now["pid"] and 0 < record["deadline"] <= 5000
    assert failures(phone.daemon) == ["exited"]
    assert hang_up(phone, call)["reason"] in ("localEnded", "declined")
    assert len(phone.lives()) == 2


def test_a_call_that_is_being_answered_is_answered_by_the_claimant(telephone) -> None:
    app = telephone().by_exec("answer=crash", more=PAYLOAD)
    app.daemon.start()
    call = ringing(app)
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected")
    # The first one was asked, and died of it; then the second.
    assert {record["pid"] for record in app.records("event", event="action", action="answer")} == set(app.lives())
    assert len(app.lives()) == 2


@pytest.mark.parametrize("action", ["hold", "mute", "dtmf"])
def test_what_the_lost_handler_owed_is_asked_for_again(telephone, action: str) -> None:
    app = telephone().by_exec(f"{action}=crash", more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    user(app.daemon, "call", action, call, *(["12#"] if action == "dtmf" else []))
    app.said("fulfill", body={"action": action}, status=200, pid=app.waits_for("begins", count=2)["pid"])
    waits(lambda: not shown(app.daemon, call)["pending"], "nothing to be pending")
    assert shown(app.daemon, call)["state"] == ("held" if action == "hold" else "connected")


def test_a_call_that_is_ending_ends_with_its_handler(telephone) -> None:
    app = telephone().by_exec("end=crash", more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    user(app.daemon, "call", "end", call)
    ends(app.daemon, call, "localEnded")
    assert len(app.lives()) == 1


@pytest.mark.parametrize("state", STATES)
def test_a_call_that_nobody_claims_ends(telephone, state: str) -> None:
    app = telephone(calls={"claim": "1s"}).by_exec("claim!=skip", more=PAYLOAD)
    app.daemon.start()
    call = STATES[state](app)
    kill_handler(app, call)
    ended = ends(app.daemon, call, "handlerFailed")
    assert "claim" in ended["detail"], ended
    assert failures(app.daemon)[0] == "exited" and "didNotClaim" in failures(app.daemon)


def test_a_handler_that_dies_of_each_claim_is_not_started_for_ever(telephone) -> None:
    app = telephone(calls={"claim": "3s"}).by_exec("claim!=crash", more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    kill_handler(app, call)
    ends(app.daemon, call, "handlerFailed")
    # The first, and at most two for the claim.
    assert len(app.lives()) <= 3
    assert set(failures(app.daemon)) == {"exited"} or "didNotClaim" in failures(app.daemon)


def test_while_its_handler_is_lost_the_call_says_so_and_can_be_ended(telephone) -> None:
    app = telephone(calls={"claim": "20s"}).by_exec("claim!=hang", more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    kill_handler(app, call)
    waits(lambda: "claimMs" in app.daemon.control.call(call), "the loss to be noticed")
    assert 0 < shown(app.daemon, call)["claimMs"] <= 20_000
    assert "to claim the call" in user(app.daemon, "call", "show", call).stdout
    # What only a handler could do is refused, and said why.
    for verb in ("hold", "mute"):
        assert "handler" in user(app.daemon, "call", verb, call, status=1).stderr
    user(app.daemon, "call", "end", call)
    ends(app.daemon, call, "localEnded")


def test_a_call_can_be_answered_while_its_handler_is_lost(telephone) -> None:
    app = telephone(calls={"claim": "10s"}).by_exec("claim=slow:1", more=PAYLOAD)
    app.daemon.start()
    call = ringing(app)
    kill_handler(app, call)
    waits(lambda: "claimMs" in app.daemon.control.call(call), "the loss to be noticed")
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected")


def test_all_calls_of_a_lost_handler_are_claimed(telephone) -> None:
    app = telephone().by_exec(more=PAYLOAD)
    app.daemon.start()
    first, second = connected(app), ringing(app)
    lost = kill_handler(app, first)
    for call, state in ((first, "connected"), (second, "ringing")):
        assert claimed(app, call, lost)["state"] == state
    assert len(app.lives()) == 2 and failures(app.daemon) == ["exited"]


def test_a_connected_handler_claims_without_a_start(telephone) -> None:
    app = telephone().only_connected(more=PAYLOAD)
    app.daemon.start()
    first, second = app.connect(), app.connect()
    call = connected(app)
    assert app.daemon.control.call(call)["pid"] == second.pid
    second.kill()
    second.wait()
    assert claimed(app, call, second.pid)["pid"] == first.pid
    assert hang_up(app, call)["reason"] == "localEnded"
    assert app.lives() == [first.pid, second.pid]


def test_a_handler_that_connects_in_time_claims(telephone) -> None:
    app = telephone(calls={"claim": "20s"}).only_connected(more=PAYLOAD)
    app.daemon.start()
    process = app.connect()
    call = connected(app)
    process.kill()
    process.wait()
    waits(lambda: "claimMs" in app.daemon.control.call(call), "the loss to be noticed")
    app.connect()
    assert claimed(app, call, process.pid)["state"] == "connected"


def test_another_app_cannot_claim(telephone) -> None:
    app = telephone(calls={"claim": "20s"})
    allow_two_apps(app.daemon)
    app.by_exec("claim!=hang", more=PAYLOAD)
    thief = App(app.daemon, OTHER_APP).only_connected(more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    kill_handler(app, call)
    waits(lambda: "claimMs" in app.daemon.control.call(call), "the loss to be noticed")
    thief.connect(f"report=lie:{call}:{APP}")
    # It says `report` for that call, which it may not, before it does for its own.
    own = ringing(thief)
    lie = thief.said("report", app=APP)
    assert lie["status"] == 403 and thief.said("report", call=own)["status"] == 200
    assert app.daemon.control.call(call)["claimMs"] > 0


def test_a_call_that_has_its_handler_is_not_claimed(phone: App) -> None:
    call = connected(phone)
    secret = processes.environment(phone.daemon.control.call(call)["pid"])["RINGWAKE_WAKE_SECRET"]
    user(phone.daemon, "call", "claim", call, status=1, env={"RINGWAKE_WAKE_SECRET": secret})
    # The owner is no handler.
    user(phone.daemon, "call", "claim", call, status=4)
    assert phone.daemon.control.call(call)["state"] == "connected"


def test_a_handler_that_dies_before_its_report_takes_its_call_along(telephone) -> None:
    app = telephone().by_exec("report=crash", more=PAYLOAD)
    app.daemon.start()
    call = send(app.daemon)
    ended = ends(app.daemon, call, "handlerFailed")
    assert ended["missed"] and "signal 9" in ended["detail"]
    assert failures(app.daemon) == ["exited"]
