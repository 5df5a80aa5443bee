"""Handlers that fail: each failure is a strike that can be seen, and with too many the handler is left alone."""

import json

import pytest

from support import processes
from support.apps import App
from support.control import Control
from support.credentials import APP
from support.telephone import (
    OTHER_APP, PAYLOAD, allow_two_apps, connected, ends, failures, ringing, send, strikes, user, waits,
)  # fmt: skip

# Short, for handlers that let them pass; long enough for those that do their part on a machine under load.
HASTY = {"report": "1500ms", "action": "1500ms", "claim": "1500ms"}

# What a handler does, and the strike that it gets for it.
BEFORE_THE_RING = [
    ("wake=exit:3", "exited"), ("wake=crash", "exited"), ("wake=hang", "didNotReport"), ("report=crash", "exited"),
    ("report=hang", "didNotReport"), ("report=skip", "didNotReport"), ("report=slow:30", "didNotReport"),
    ("report=provisional", "didNotConfirm"),
]  # fmt: skip


def row(app: App, *misdeeds: str, fallback: str = "missed", limit: int = 5) -> App:
    """An app whose handler does these, on a daemon that runs."""
    rules = f'[calls]\nfallback = "{fallback}"\n[strikes]\nlimit = {limit}\nwindow = "1h"\n'
    app.by_exec(*misdeeds, more=PAYLOAD + rules)
    app.daemon.start()
    return app


def no_handler_is_left(app: App) -> None:
    waits(lambda: not app.running(), "the handlers to be gone", 15)
    app.daemon.check_alive()


@pytest.mark.parametrize(("misdeed", "failure"), BEFORE_THE_RING)
def test_a_failure_before_the_ring_is_a_strike_and_a_missed_call(telephone, misdeed: str, failure: str) -> None:
    app = row(telephone(calls=HASTY), misdeed)
    ended = ends(app.daemon, send(app.daemon), "handlerFailed")
    assert ended["missed"] and failures(app.daemon) == [failure]
    no_handler_is_left(app)


@pytest.mark.parametrize(("misdeed", "failure"), BEFORE_THE_RING)
def test_or_the_daemon_rings_for_it_and_the_handler_gets_another_chance(
    telephone, misdeed: str, failure: str
) -> None:
    # A handler that hangs is killed some seconds after it was asked to end, and only then comes the next.
    app = row(telephone(calls=HASTY | {"action": "20s"}), misdeed, fallback="ring")
    call = send(app.daemon, caller="sip:bob@example.org")
    now = app.daemon.control.wait_for(call, "ringing")
    assert (now["ringer"], now["caller"], "pid" in now) == ("daemon", "sip:bob@example.org", False), now
    assert failures(app.daemon) == [failure]
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected", 20)
    assert app.woken(call, kind="claim")
    assert app.daemon.control.call(call)["pid"] == app.lives()[-1]


def test_a_call_that_the_daemon_rings_for_can_be_declined_without_a_handler(telephone) -> None:
    app = row(telephone(), "wake!=crash", fallback="ring")
    call = send(app.daemon)
    app.daemon.control.wait_for(call, "ringing")
    user(app.daemon, "call", "decline", call)
    ends(app.daemon, call, "declined")
    assert len(app.lives()) == 1


def test_and_nobody_who_answers_it_makes_it_missed(telephone) -> None:
    app = row(telephone(calls={"ring": "1s"}), "wake!=crash", fallback="ring")
    ended = ends(app.daemon, send(app.daemon), "unanswered")
    assert ended["missed"]


def test_and_a_handler_that_fails_again_at_the_answer_ends_it(telephone) -> None:
    app = row(telephone(calls=HASTY), "wake!=crash", fallback="ring")
    call = send(app.daemon)
    app.daemon.control.wait_for(call, "ringing")
    user(app.daemon, "call", "answer", call)
    ends(app.daemon, call, "handlerFailed")
    no_handler_is_left(app)


@pytest.mark.parametrize("how", ["hang", "skip"])
def test_an_answer_that_does_not_come_is_a_strike(telephone, how: str) -> None:
    app = row(telephone(calls=HASTY), f"answer={how}")
    call = ringing(app)
    user(app.daemon, "call", "answer", call)
    ends(app.daemon, call, "handlerFailed")
    assert failures(app.daemon) == ["didNotAct"]


def test_a_handler_that_says_that_it_failed_gets_no_strike(telephone) -> None:
    app = row(telephone(), "answer=fail")
    call = ringing(app)
    user(app.daemon, "call", "answer", call)
    ends(app.daemon, call, "failed")
    call = send(app.daemon)
    app.daemon.control.wait_for(call, "ringing")
    assert failures(app.daemon) == []


# With too many

def test_after_too_many_strikes_pushes_are_recorded_and_nothing_is_started(telephone) -> None:
    app = row(telephone(calls=HASTY), "wake!=exit:1", limit=3)
    with app.daemon.control.events() as events:
        for _ in range(3):
            ends(app.daemon, send(app.daemon), "handlerFailed")
        assert events.until("struckOut", app=APP)[-1]["struckOut"] is True
    said = strikes(app.daemon)
    assert (said["count"], said["limit"], said["struckOut"]) == (3, 3, True)
    assert app.daemon.control.status()["struckOut"] == [APP]
    before = app.lives()
    ended = ends(app.daemon, call := send(app.daemon), "handlerFailed")
    assert ended["missed"] and f"clear-strikes {APP}" in ended["detail"], ended
    assert app.lives() == before
    # Its owner sees why, and what to do.
    push = json.loads(user(app.daemon, "push", "show", call, "--json").stdout)
    assert (push["state"], push["outcome"]) == ("withheld", "withheld"), push
    assert "clear-strikes" in user(app.daemon, "push", "show", call).stdout
    assert "struck" in user(app.daemon, "status").stdout.lower() or "strikes" in user(app.daemon, "status").stdout


def test_clearing_the_strikes_gives_it_another_chance(telephone) -> None:
    app = row(telephone(), "wake=exit:1", limit=1)
    ends(app.daemon, send(app.daemon), "handlerFailed")
    ends(app.daemon, send(app.daemon), "handlerFailed")
    assert len(app.lives()) == 1
    with app.daemon.control.events() as events:
        assert APP in user(app.daemon, "app", "clear-strikes", APP).stdout
        assert events.until("struckOut", app=APP)[-1]["struckOut"] is False
    assert strikes(app.daemon)["count"] == 0 and app.daemon.control.status()["struckOut"] == []
    connected(app)


def test_the_daemon_rings_for_an_app_that_is_struck_out_and_an_answer_is_refused(telephone) -> None:
    app = row(telephone(), "wake=exit:1", fallback="ring", limit=1)
    first = send(app.daemon)
    app.daemon.control.wait_for(first, "ringing")
    user(app.daemon, "call", "decline", first)
    call = send(app.daemon)
    assert app.daemon.control.wait_for(call, "ringing")["ringer"] == "daemon"
    assert "clear-strikes" in user(app.daemon, "call", "answer", call, status=1).stderr
    assert app.daemon.control.call(call)["state"] == "ringing" and len(app.lives()) == 1
    user(app.daemon, "app", "clear-strikes", APP)
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected")


def test_calls_that_wait_when_it_is_struck_out_are_missed(telephone) -> None:
    app = row(telephone(calls={"report": "3s"}), "wake!=hang", limit=1)
    calls = [send(app.daemon) for _ in range(3)]
    for call in calls:
        assert ends(app.daemon, call, "handlerFailed")["missed"]
    assert len(app.lives()) == 1


def test_a_connected_handler_gets_nothing_while_it_is_struck_out(telephone) -> None:
    app = telephone(calls=HASTY)
    rules = PAYLOAD + "[strikes]\nlimit = 1\nwindow = \"1h\"\n"
    app.by_exec("wake!=exit:1", more=rules).daemon.start()
    ends(app.daemon, send(app.daemon), "handlerFailed")
    app.connect()
    call = send(app.daemon)
    ends(app.daemon, call, "handlerFailed")
    assert app.records("woken", call=call) == []
    user(app.daemon, "app", "clear-strikes", APP)
    ringing(app)


def test_strikes_pass_with_their_window(telephone) -> None:
    app = telephone()
    app.by_exec("wake=exit:1", more=PAYLOAD + '[strikes]\nlimit = 2\nwindow = "1s"\n').daemon.start()
    ends(app.daemon, send(app.daemon), "handlerFailed")
    waits(lambda: strikes(app.daemon)["count"] == 0, "the strike to pass")
    connected(app)


def test_a_limit_of_0_strikes_nobody_out(telephone) -> None:
    app = row(telephone(), "wake!=exit:1", limit=0)
    for _ in range(8):
        ends(app.daemon, send(app.daemon), "handlerFailed")
    assert len(app.lives()) == 8 and not strikes(app.daemon)["struckOut"]


def test_an_app_that_is_struck_out_does_not_touch_another(telephone) -> None:
    app = telephone()
    allow_two_apps(app.daemon)
    other = App(app.daemon, OTHER_APP).by_exec(more=PAYLOAD)
    row(app, "wake!=exit:1", limit=1)
    ends(app.daemon, send(app.daemon), "handlerFailed")
    assert strikes(app.daemon)["struckOut"]
    connected(other)


# Handlers that lie

@pytest.fixture
def two(telephone) -> tuple[App, App]:
    """Two apps on one daemon: the victim has a ringing call."""
    app = telephone(calls={"ring": "60s"})
    allow_two_apps(app.daemon)
    app.by_exec(more=PAYLOAD)
    other = App(app.daemon, OTHER_APP)
    other.only_connected(more=PAYLOAD)
    app.daemon.start()
    return app, other


def test_a_handler_cannot_touch_another_apps_call(two: tuple[App, App]) -> None:
    victim, liar = two
    call = connected(victim)
    for moment in ("report", "answer", "hold", "end"):
        process = liar.connect(f"{moment}=lie:{call}:{APP}")
        own = ringing(liar)
        if moment != "report":
            user(liar.daemon, "call", "answer", own)
        if moment in ("hold", "end"):
            # The victim's call was held for the answer.
            victim.daemon.control.wait_for(own, "connected")
            user(liar.daemon, "call", moment, own)
        lie = liar.waits_for("said", call=call, pid=process.pid)
        assert (lie["status"], lie["error"]) == (403, "not-permitted"), lie
        assert victim.daemon.control.call(call)["state"] in ("connected", "held")
        if moment != "end":
            user(liar.daemon, "call", "end", own)
        liar.daemon.control.wait_for(own, "ended")
        process.kill()
        process.wait()
    assert failures(victim.daemon) == []


def test_a_handlers_secret_opens_nothing_of_another_app(two: tuple[App, App]) -> None:
    victim, liar = two
    call = connected(victim)
    with liar.daemon.control.handler(OTHER_APP) as stream:
        mine = Control(liar.daemon.control_socket, next(iter(stream))["secret"])
        for method, target in [
            ("GET", f"/v1/apps/{APP}/handler"), ("GET", f"/v1/apps/{APP}/pushes"), ("GET", f"/v1/apps/{APP}/state"),
            ("PUT", f"/v1/apps/{APP}/state"), ("DELETE", f"/v1/apps/{APP}/strikes"),
            ("DELETE", f"/v1/apps/{OTHER_APP}/strikes"), ("POST", f"/v1/calls/{call}/claim?app={APP}"),
            ("GET", "/v1/dnd"), ("GET", "/v1/lists"), ("POST", f"/v1/calls/{call}/dtmf?app={APP}"),
        ]:  # fmt: skip
            status, answer = mine.request(method, target, {} if method in ("PUT", "POST") else None)
            assert (status, answer["error"]) == (403, "not-permitted"), (target, answer)


def test_a_secret_ends_with_its_handler_and_its_connection(telephone) -> None:
    app = telephone().only_connected(more=PAYLOAD)
    app.daemon.start()
    stream = app.daemon.control.handler(APP)
    hello = next(iter(stream))
    mine = Control(app.daemon.control_socket, hello["secret"])
    assert mine.request("GET", f"/v1/apps/{APP}/pushes")[0] == 200
    stream.close()
    waits(lambda: mine.request("GET", f"/v1/apps/{APP}/pushes")[0] == 403, "the secret to be void")


def test_a_handler_that_answers_what_it_was_not_asked_changes_nothing(phone: App) -> None:
    call = ringing(phone)
    record = phone.woken(call)
    secret = processes.environment(record["pid"])["RINGWAKE_WAKE_SECRET"]
    handler = Control(phone.daemon.control_socket, secret)
    for action in ("answer", "end", "hold", "unhold", "mute", "unmute", "dtmf"):
        for verb in ("fulfill", "fail"):
            status, answer = handler.request("POST", f"/v1/calls/{call}/{verb}", {"action": action})
            assert (status, answer["error"]) == (409, "conflict"), (action, verb, answer)
    assert phone.daemon.control.call(call)["state"] == "ringing"
    assert failures(phone.daemon) == []


def test_a_handler_that_says_everything_twice_does_no_harm(telephone) -> None:
    app = telephone().by_exec("report!=twice", "answer!=twice", "hold!=twice", "end!=twice", more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    user(app.daemon, "call", "hold", call)
    app.daemon.control.wait_for(call, "held")
    user(app.daemon, "call", "end", call)
    ends(app.daemon, call, "localEnded")
    # It writes down what it was answered after the daemon has done it.
    app.waits_for("said", 8, call=call)
    said = app.records("said", call=call)
    assert [record["status"] for record in said] == [200] * 8, said
    assert failures(app.daemon) == []
