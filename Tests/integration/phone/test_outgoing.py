"""Calls that the user of this device begins."""

import os
import signal
import uuid

import pytest

from support.apps import App
from support.control import Control
from support.credentials import APP
from support.pushing import stages
from support.telephone import (
    BOB, OTHER_APP, PAYLOAD, allow_two_apps, begin, connected, ends, failures, held, outgoing, ringing, send, shown,
    strikes, user, waits,
)  # fmt: skip


def written(app: App) -> None:
    """What is to be written is: a read of the log comes after it."""
    waits(lambda: all(call.get("pid") for call in app.daemon.control.calls()), "handlers to be known")
    app.daemon.control.calls()


def in_state(app: App, call: str, state: str) -> dict:
    return app.daemon.control.wait_for(call, state)


# One call


def test_a_call_out(phone: App) -> None:
    with phone.daemon.control.events() as device:
        call = begin(phone, "--name", "Bob", "--video")
        events = device.until("call", call=call, state="connected")
    message = in_state(phone, call, "connected")
    assert (message["outgoing"], message["caller"], message["callerName"], message["video"]) == (
        True, BOB, "Bob", True
    )  # fmt: skip
    assert not {"pushId", "topic", "environment", "team"} & message.keys()
    assert phone.woken(call, kind="start", way="exec")["payload"] == {"to": BOB, "name": "Bob", "video": True}
    of_call = [event for event in events if event["event"] == "call" and event["call"] == call]
    assert [event["state"] for event in of_call][-3:] == ["dialling", "connecting", "connected"]
    assert all(event["outgoing"] and event["caller"] == BOB and event["callerName"] == "Bob" for event in of_call)
    assert all(event["video"] for event in of_call)
    user(phone.daemon, "call", "end", call)
    ended = ends(phone.daemon, call, "localEnded")
    assert ended["missed"] is False
    assert [stage for stage in stages(ended) if stage != "audioActive"] == [
        "received", "woke", "dialled", "connecting", "connected", "hungUp", "ended"
    ]  # fmt: skip
    assert "audioActive" in stages(ended)
    text = user(phone.daemon, "call", "show", call).stdout
    assert "to" in text and BOB in text and "you hung up" in text and "since request" in text
    assert f"to Bob <{BOB}>" in user(phone.daemon, "call", "list").stdout
    assert failures(phone.daemon) == []


@pytest.mark.parametrize(
    ("reason", "words"),
    [("busy", "the other side is busy"), ("declined", "the other side declined"), ("unanswered", "nobody answered"),
     ("failed", "the connection failed"), ("remoteEnded", "the other side hung up")],
)  # fmt: skip
def test_the_other_side_does_not_answer(telephone, reason: str, words: str) -> None:
    app = outgoing(telephone, f"connected=ended:{reason}")
    call = begin(app)
    ended = ends(app.daemon, call, reason)
    assert not ended["missed"] and "connected" not in stages(ended)
    assert words in user(app.daemon, "call", "show", call).stdout
    assert user(app.daemon, "call", "list", "--missed").stdout == "no calls\n"
    assert failures(app.daemon) == []


def test_reasons_are_those_of_the_direction(telephone) -> None:
    app = outgoing(telephone, "connected=ended:answeredElsewhere")
    call = begin(app)
    assert app.said("ended", call=call)["status"] == 400
    in_state(app, call, "connecting")
    coming = ringing(app)
    user(app.daemon, "call", "ended", coming, "--reason", "busy", status=2)


@pytest.mark.parametrize("moment", ["connecting", "connected"])
def test_the_user_hangs_up_before_the_other_side_answers(telephone, moment: str) -> None:
    app = outgoing(telephone, f"{moment}=skip", "connected=skip")
    call = begin(app)
    in_state(app, call, "connecting")
    user(app.daemon, "call", "mute", call)
    waits(lambda: shown(app.daemon, call)["muted"], "the microphone to be off")
    user(app.daemon, "call", "hold", call, status=1)
    user(app.daemon, "call", "end", call)
    assert not ends(app.daemon, call, "localEnded")["missed"]
    app.said("fulfill", call=call, body={"action": "end"}, status=200)


@pytest.mark.parametrize("how", ["fail", "skip", "crash", "exit:0"])
def test_the_handler_does_not_start_it(telephone, how: str) -> None:
    app = outgoing(telephone, f"start={how}", "connecting=skip", "connected=skip", calls={"action": "1s"})
    call = begin(app)
    ended = ends(app.daemon, call, "failed" if how == "fail" else "handlerFailed")
    assert not ended["missed"] and ended["detail"]
    assert len(failures(app.daemon)) == (0 if how == "fail" else 1)


def test_the_other_side_is_not_reached_in_time(telephone) -> None:
    app = outgoing(telephone, "connected=skip", calls={"dial": "1s"})
    ended = ends(app.daemon, begin(app), "unanswered")
    assert not ended["missed"] and failures(app.daemon) == []


def test_another_handler_goes_on_with_a_call_that_connects(telephone) -> None:
    app = outgoing(telephone, "connected=crash")
    call = begin(app)
    woken = app.woken(call, kind="claim")
    assert woken["payload"] == {"to": BOB, "video": False}
    in_state(app, call, "connecting")
    assert not shown(app.daemon, call).get("claimMs")


def test_a_connected_handler_gets_it_and_may_begin_one_itself(telephone) -> None:
    app = telephone().only_connected(more=PAYLOAD)
    app.daemon.start()
    # Nobody is there, and nobody is started.
    ends(app.daemon, begin(app), "handlerFailed")
    handler = app.connect()
    call = begin(app)
    assert app.woken(call)["pid"] == handler.pid
    in_state(app, call, "connected")
    user(app.daemon, "call", "end", call)
    ends(app.daemon, call, "localEnded")


# Who may, and what is refused


def test_who_may_begin_a_call(telephone) -> None:
    app = telephone()
    allow_two_apps(app.daemon)
    app.by_exec(more=PAYLOAD)
    App(app.daemon, OTHER_APP).by_exec(more=PAYLOAD)
    app.daemon.start()
    with app.daemon.control.handler(APP) as stream:
        secret = next(iter(stream))["secret"]
        handler = Control(app.daemon.control_socket, secret)
        status, answer = handler.request("POST", "/v1/calls", {"app": OTHER_APP, "to": BOB})
        assert (status, answer["error"]) == (403, "not-permitted")
        # Its own app it need not name, and the call is its own.
        call = handler.post("/v1/calls", {"to": BOB})["call"]
        wake = stream.until("wake")[-1]["push"]
        assert (wake["call"], wake["kind"], wake["payload"]["to"]) == (call, "start", BOB)
    status, answer = app.daemon.control.request("POST", "/v1/calls", {"to": BOB})
    assert status == 400 and APP in answer["message"] and OTHER_APP in answer["message"]


@pytest.mark.parametrize(
    ("body", "word"),
    [({}, "to"), ({"to": ""}, "'to'"), ({"to": "x" * 257}, "256"), ({"to": "a\0b"}, "zero byte"),
     ({"to": BOB, "others": "kill"}, "others"), ({"to": BOB, "call": ""}, "'call'"),
     ({"to": BOB, "call": "x" * 257}, "'call'"), ({"to": BOB, "app": "?"}, "bundle id")],
)  # fmt: skip
def test_what_is_no_call(phone: App, body: dict, word: str) -> None:
    status, answer = phone.daemon.control.request("POST", "/v1/calls", body)
    assert status == 400 and word in answer["message"], answer
    assert phone.daemon.control.calls() == []


def test_an_id_is_used_once_also_after_a_restart(phone: App) -> None:
    call = begin(phone, "--call", "my-call")
    assert call == "my-call"
    assert "my-call" in begin(phone, "--call", "my-call", status=1)
    in_state(phone, call, "connected")
    user(phone.daemon, "call", "end", call)
    ends(phone.daemon, call, "localEnded")
    phone.daemon.kill()
    phone.daemon.start()
    assert "already" in begin(phone, "--call", "my-call", status=1)
    # A push of this id is a call of its own.
    send(phone.daemon)


# Other calls


def test_another_call_is_held_first_and_goes_on_after(phone: App) -> None:
    first = connected(phone)
    second = begin(phone)
    in_state(phone, second, "connected")
    assert phone.daemon.control.call(first)["state"] == "held"
    user(phone.daemon, "call", "end", second)
    ends(phone.daemon, second, "localEnded")
    in_state(phone, first, "connected")


def test_another_call_is_ended_first(phone: App) -> None:
    first = connected(phone)
    second = begin(phone, "--end-others")
    ends(phone.daemon, first, "localEnded")
    in_state(phone, second, "connected")


@pytest.mark.parametrize("how", ["fail", "skip"])
def test_a_call_that_the_other_does_not_make_room_for_fails(telephone, how: str) -> None:
    app = outgoing(telephone, f"hold={how}", calls={"action": "1s"})
    first = connected(app)
    second = begin(app)
    ended = ends(app.daemon, second, "failed")
    assert "held" in ended["detail"] and ended["attempt"] == 0
    assert app.daemon.control.call(first)["state"] == "connected"


def test_a_call_comes_while_one_goes_out(telephone) -> None:
    app = outgoing(telephone, "connected=skip")
    out = begin(app)
    in_state(app, out, "connecting")
    coming = ringing(app)
    # One that is not connected can't be held.
    assert "end the other one first" in user(app.daemon, "call", "answer", coming, status=1).stderr
    user(app.daemon, "call", "answer", coming, "--end-others")
    ends(app.daemon, out, "localEnded")
    in_state(app, coming, "connected")


def test_a_call_that_comes_is_rejected_where_the_app_says_so(telephone) -> None:
    app = outgoing(telephone, "connected=skip", rules='when_busy = "reject"')
    in_state(app, begin(app), "connecting")
    ends(app.daemon, send(app.daemon), "busy")


# Emergencies


@pytest.mark.parametrize("to", ["112", "tel:112", "sip:911@example.org", "urn:service:sos.police"])
def test_nothing_keeps_an_emergency_call(telephone, to: str) -> None:
    app = outgoing(telephone, "report=crash", "hold=fail", strikes="limit = 1\nwindow = \"1h\"")
    ends(app.daemon, send(app.daemon), "handlerFailed")
    assert strikes(app.daemon)["struckOut"]
    assert "clear-strikes" in begin(app, status=1)
    user(app.daemon, "dnd", "on")
    call = begin(app, to=to)
    in_state(app, call, "connected")
    assert not strikes(app.daemon)["struckOut"]
    # It waits for no other call.
    another = begin(app, to=to)
    in_state(app, another, "connected")
    ends(app.daemon, call, "localEnded")


def test_an_emergency_call_does_not_wait_for_a_call_that_is_dialled(telephone) -> None:
    app = outgoing(telephone, "connected=skip")
    first = begin(app)
    in_state(app, first, "connecting")
    assert "end the other one first" in begin(app, status=1)
    call = begin(app, to="112")
    ends(app.daemon, first, "localEnded")
    in_state(app, call, "connected")


def test_the_owner_says_which_numbers_are_emergencies(telephone) -> None:
    app = outgoing(telephone, restrictions='emergency_numbers = ["110"]', strikes="limit = 1\nwindow = \"1h\"")
    app.by_exec("report=crash", more=PAYLOAD)
    app.daemon.ringwake("reload")
    ends(app.daemon, send(app.daemon), "handlerFailed")
    begin(app, to="112", status=1)
    in_state(app, begin(app, to="110"), "connected")


# Kills


@pytest.mark.parametrize("state", ["dialling", "connecting", "connected", "held"])
def test_a_daemon_that_is_killed_goes_on_with_the_call(telephone, state: str) -> None:
    misdeeds = {"dialling": ["start=slow:3"], "connecting": ["connected=slow:3"]}.get(state, [])
    app = outgoing(telephone, *misdeeds)
    call = begin(app)
    in_state(app, call, state if state != "held" else "connected")
    if state == "dialling":
        app.waits_for("misdeed", moment="start")
    if state in ("connected", "held"):
        app.said("connected", call=call, status=200)
    if state == "held":
        user(app.daemon, "call", "hold", call)
        in_state(app, call, "held")
    written(app)
    app.daemon.kill()
    app.daemon.start()
    if state == "held":
        user(app.daemon, "call", "unhold", call)
    message = app.daemon.control.wait_for(call, "connected", 30)
    assert message["outgoing"] and message["caller"] == BOB
    assert len(app.records("woken", kind="start")) == 1
    user(app.daemon, "call", "end", call)
    ends(app.daemon, call, "localEnded")
    assert failures(app.daemon) == []


@pytest.mark.parametrize("state", ["dialling", "connecting"])
def test_daemon_and_handler_are_killed(telephone, state: str) -> None:
    moment = {"dialling": "start", "connecting": "connected"}[state]
    app = outgoing(telephone, f"{moment}=hang", calls={"claim": "20s"})
    call = begin(app)
    in_state(app, call, state)
    app.waits_for("misdeed", moment=moment)
    written(app)
    app.daemon.kill()
    for pid in app.running():
        os.kill(pid, signal.SIGKILL)
    app.daemon.start()
    if state == "dialling":
        # Nobody knows whether the other side was reached, so no other handler calls there.
        ends(app.daemon, call, "handlerFailed")
        assert failures(app.daemon) == []
    else:
        app.woken(call, kind="claim")
        in_state(app, call, "connecting")


def test_a_call_that_waits_for_another_one_survives_a_kill(telephone) -> None:
    app = outgoing(telephone, "hold=slow:2", calls={"action": "20s"})
    first = connected(app)
    second = begin(app)
    assert app.daemon.control.call(second)["state"] == "queued"
    app.daemon.kill()
    app.daemon.start()
    app.daemon.control.wait_for(second, "connected", 30)
    assert app.daemon.control.call(first)["state"] == "held"


def test_it_is_in_the_log_after_a_restart(phone: App) -> None:
    call = begin(phone, "--name", "Bob")
    in_state(phone, call, "connected")
    user(phone.daemon, "call", "end", call)
    before = ends(phone.daemon, call, "localEnded")
    assert uuid.UUID(call).version == 4
    phone.daemon.kill()
    phone.daemon.start()
    # The kill may have come before the end was stored: it ends again then, a moment later. That the journal has the call is
    # noted of one that is restored.
    after = ends(phone.daemon, call, "localEnded")
    kept = before.keys() - {"audio", "pid", "deadlineMs", "timeline"}
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    stages = [{hop["stage"] for hop in message["timeline"]} for message in (before, after)]
    assert stages[1] - {"journaled"} == stages[0]


def test_held_calls_are_not_in_the_way(phone: App) -> None:
    first = held(phone)
    call = begin(phone)
    in_state(phone, call, "connected")
    assert phone.daemon.control.call(first)["state"] == "held"
