"""Several calls of several apps, and what the user does in a call: hold, mute, digits, another call."""

import json

import pytest

from support.apps import App
from support.credentials import APP
from support.telephone import (
    OTHER_APP, PAYLOAD, allow_two_apps, connected, ends, failures, held, ringing, send, shown, user, waits,
)  # fmt: skip

APPS = ["same", "other"]


def pair(
    telephone, which: str, *misdeeds: str, rules: str = "", calls: dict[str, str] | None = None
) -> tuple[App, App]:
    """The app of the first call, whose handler does these, and that of the second: the same, or another."""
    app = telephone(calls=calls)
    allow_two_apps(app.daemon)
    more = PAYLOAD + (f"[calls]\n{rules}" if rules else "")
    app.by_exec(*misdeeds, more=more)
    second = App(app.daemon, OTHER_APP).by_exec(more=more) if which == "other" else app
    app.daemon.start()
    return app, second


# One call

def test_hold_and_go_on(phone: App) -> None:
    call = connected(phone)
    for verb, state in (("hold", "held"), ("unhold", "connected"), ("hold", "held")):
        user(phone.daemon, "call", verb, call)
        phone.daemon.control.wait_for(call, state)
    assert [record["body"] for record in phone.records("said", verb="fulfill")] == [
        {"action": action} for action in ("answer", "hold", "unhold", "hold")
    ]
    # A held call is not over, and can be ended as it is.
    user(phone.daemon, "call", "end", call)
    ends(phone.daemon, call, "localEnded")


def test_mute_and_unmute(phone: App) -> None:
    call = connected(phone)
    for verb, muted in (("mute", True), ("unmute", False), ("mute", True)):
        user(phone.daemon, "call", verb, call)
        waits(lambda: phone.daemon.control.call(call)["muted"] == muted, f"{verb}")  # noqa: B023
    assert "muted" in user(phone.daemon, "call", "show", call).stdout
    # It stays so when the call is held.
    user(phone.daemon, "call", "hold", call)
    assert phone.daemon.control.wait_for(call, "held")["muted"] is True


def test_digits_are_played_in_their_order(phone: App) -> None:
    call = connected(phone)
    for digits in ("1", "22", "*#,A"):
        user(phone.daemon, "call", "dtmf", call, digits)
    phone.waits_for("said", verb="fulfill", body={"action": "dtmf"}, count=3)
    played = [record["digits"] for record in phone.records("event", event="action", action="dtmf")]
    assert played == ["1", "22", "*#,A"]
    assert shown(phone.daemon, call)["pending"] == []


@pytest.mark.parametrize("digits", ["x", "1" * 33, "1 2", "é"])
def test_what_is_no_digit_is_refused_by_both_ends(phone: App, digits: str) -> None:
    call = connected(phone)
    assert phone.daemon.ringwake("call", "dtmf", call, digits).returncode == 2
    status, answer = phone.daemon.control.request("POST", f"/v1/calls/{call}/dtmf", {"digits": digits})
    assert (status, answer["error"]) == (400, "invalid-request"), answer
    assert phone.records("event", action="dtmf") == []


@pytest.mark.parametrize("verb", ["hold", "mute", "unmute", "unhold"])
def test_what_makes_no_sense_for_a_call_that_rings_is_refused(phone: App, verb: str) -> None:
    call = ringing(phone)
    assert "ringing" in user(phone.daemon, "call", verb, call, status=1).stderr
    assert phone.daemon.control.call(call)["state"] == "ringing"


@pytest.mark.parametrize(("verb", "words"), [("hold", []), ("mute", []), ("dtmf", ["1"])])
@pytest.mark.parametrize("how", ["skip", "fail"])
def test_what_the_handler_does_not_do_changes_nothing(telephone, verb: str, words: list[str], how: str) -> None:
    app = telephone(calls={"action": "2s"}).by_exec(f"{verb}={how}", more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    user(app.daemon, "call", verb, call, *words)
    app.waits_for("misdeed", moment=verb)
    waits(lambda: not shown(app.daemon, call)["pending"], "the action to be over")
    now = shown(app.daemon, call)
    assert (now["state"], now["muted"]) == ("connected", False)
    # What was left out is a strike, what failed is none; the call goes on, and the next attempt works.
    assert failures(app.daemon) == (["didNotAct"] if how == "skip" else [])
    user(app.daemon, "call", verb, call, *words)
    app.said("fulfill", body={"action": verb}, status=200)
    waits(lambda: not shown(app.daemon, call)["pending"], "the action to be done")
    user(app.daemon, "call", "end", call)
    ends(app.daemon, call, "localEnded")


def test_what_is_asked_for_twice_is_refused_while_it_is_pending(telephone) -> None:
    app = telephone(calls={"action": "20s"}).by_exec("hold=hang", more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    user(app.daemon, "call", "hold", call)
    for verb in ("hold", "unhold"):
        user(app.daemon, "call", verb, call, status=1)
    [pending] = shown(app.daemon, call)["pending"]
    assert pending["action"] == "hold" and 0 < pending["deadlineMs"] <= 20_000
    assert "pending" in user(app.daemon, "call", "show", call).stdout


def test_answered_and_declined_elsewhere(telephone) -> None:
    for reason in ("answeredElsewhere", "declinedElsewhere"):
        app = telephone().by_exec(f"report=ended:{reason}", more=PAYLOAD)
        app.daemon.start()
        ended = ends(app.daemon, send(app.daemon), reason)
        assert not ended["missed"] and failures(app.daemon) == []


# Another call

@pytest.mark.parametrize("which", APPS)
def test_the_first_call_is_held_for_the_second(telephone, which: str) -> None:
    app, other = pair(telephone, which)
    first = connected(app)
    second = ringing(other)
    user(app.daemon, "call", "answer", second)
    app.daemon.control.wait_for(second, "connected")
    assert app.daemon.control.call(first)["state"] == "held"
    # The hold was done before the answer was asked for.
    done = app.said("fulfill", call=first, body={"action": "hold"})
    assert done["status"] == 200
    stages = {hop["stage"]: hop["atUs"] for hop in app.daemon.control.call(second)["timeline"]}
    assert "connected" in stages
    # Swap them.
    user(app.daemon, "call", "unhold", first)
    app.daemon.control.wait_for(first, "connected")
    assert app.daemon.control.call(second)["state"] == "held"


@pytest.mark.parametrize("which", APPS)
def test_the_first_call_is_ended_for_the_second_when_the_user_says_so(telephone, which: str) -> None:
    app, other = pair(telephone, which)
    first = connected(app)
    second = ringing(other)
    user(app.daemon, "call", "answer", second, "--end-others")
    app.daemon.control.wait_for(second, "connected")
    ends(app.daemon, first, "localEnded")


@pytest.mark.parametrize("which", APPS)
def test_or_when_the_policy_says_so(telephone, which: str) -> None:
    app, other = pair(telephone, which, rules='others = "end"')
    first = connected(app)
    second = ringing(other)
    user(app.daemon, "call", "answer", second)
    app.daemon.control.wait_for(second, "connected")
    ends(app.daemon, first, "localEnded")
    # The user's word goes before the policy's.
    third = ringing(other)
    user(app.daemon, "call", "answer", third, "--hold-others")
    app.daemon.control.wait_for(third, "connected")
    assert app.daemon.control.call(second)["state"] == "held"


@pytest.mark.parametrize("which", APPS)
@pytest.mark.parametrize("how", ["fail", "skip"])
def test_a_call_that_cannot_be_held_stays_and_the_other_rings_on(telephone, which: str, how: str) -> None:
    app, other = pair(telephone, which, f"hold={how}", calls={"action": "1500ms"})
    first = connected(app)
    second = ringing(other)
    done = app.daemon.ringwake("call", "answer", second)
    assert done.returncode == 1 and done.stderr, done
    assert app.daemon.control.call(first)["state"] == "connected"
    assert app.daemon.control.call(second)["state"] == "ringing"
    user(app.daemon, "call", "decline", second)
    ends(app.daemon, second, "declined")


def test_calls_that_are_held_already_are_left_alone(telephone) -> None:
    app, _ = pair(telephone, "same")
    first, second = held(app), ringing(app)
    user(app.daemon, "call", "answer", second)
    app.daemon.control.wait_for(second, "connected")
    assert len(app.records("said", verb="fulfill", call=first)) == 2


def test_the_call_that_is_to_be_held_ends_meanwhile(telephone) -> None:
    app, other = pair(telephone, "other", "hold=ended:remoteEnded")
    first, second = connected(app), ringing(other)
    user(app.daemon, "call", "answer", second)
    app.daemon.control.wait_for(second, "connected")
    ends(app.daemon, first, "remoteEnded")


@pytest.mark.parametrize("which", APPS)
def test_a_call_that_comes_while_another_goes_on_is_rejected_by_policy(telephone, which: str) -> None:
    app, other = pair(telephone, which, rules='when_busy = "reject"')
    first = connected(app)
    second = send(app.daemon, other.app)
    ends(app.daemon, second, "busy")
    # Its handler told the caller.
    assert other.said("fulfill", call=second)["body"] == {"action": "end"}
    assert failures(app.daemon, other.app) == []
    assert app.daemon.control.call(first)["state"] == "connected"
    listed = json.loads(user(app.daemon, "call", "list", "--json").stdout)["calls"]
    assert {call["call"]: call["reason"] for call in listed if "reason" in call}[second] == "busy"
    user(app.daemon, "call", "end", first)
    ends(app.daemon, first, "localEnded")
    ringing(other)


def test_a_call_that_only_rings_makes_nobody_busy(telephone) -> None:
    app, _ = pair(telephone, "same", rules='when_busy = "reject"')
    ringing(app)
    ringing(app)


def test_each_app_has_its_own_policy(telephone) -> None:
    app = telephone()
    allow_two_apps(app.daemon)
    app.by_exec(more=PAYLOAD + '[calls]\nwhen_busy = "reject"\n')
    other = App(app.daemon, OTHER_APP).by_exec(more=PAYLOAD)
    app.daemon.start()
    connected(app)
    ringing(other)
    ends(app.daemon, send(app.daemon, APP), "busy")
