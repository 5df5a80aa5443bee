"""Calls that answer themselves, as an intercom's."""

from support.apps import App
from support.telephone import PAYLOAD, ringing, send, shown, user


def intercom(telephone, rules: str = 'auto_answer = "300ms"', **options) -> App:
    app = telephone(**options).by_exec(more=f"{PAYLOAD}[calls]\n{rules}\n")
    app.daemon.start()
    return app


def by(app: App, call: str) -> str | None:
    return next((hop.get("by") for hop in shown(app.daemon, call)["timeline"] if hop["stage"] == "answered"), "nobody")


def test_an_intercom_answers_itself(telephone) -> None:
    app = intercom(telephone)
    call = send(app.daemon)
    app.daemon.control.wait_for(call, "connected")
    assert by(app, call) == "rule"
    assert "answered (by rule)" in app.daemon.ringwake("call", "show", call).stdout
    app.daemon.kill()
    app.daemon.start()
    assert by(app, call) == "rule"


def test_a_call_that_rang_before_a_restart_rings_on(telephone) -> None:
    app = intercom(telephone, 'auto_answer = "2s"')
    call = ringing(app)
    app.daemon.kill()
    app.daemon.start()
    done = app.daemon.ringwake("call", "wait", "--state", "answering", "--state", "connected", "--timeout", "3s", call)
    assert done.returncode == 6 and shown(app.daemon, call)["state"] == "ringing"


def test_the_rule_follows_the_caller(telephone) -> None:
    app = intercom(telephone, 'auto_answer = "3s"\nauto_answer_list = "doors"')
    user(app.daemon, "block", "add", "sip:door@example.org", "--identify", "--label", "Door", "--list", "doors")
    call = ringing(app, caller="sip:door@example.org")
    app.daemon.control.verb(call, "update", caller="sip:eve@example.org")
    assert app.daemon.ringwake("call", "wait", "--state", "connected", "--timeout", "4s", call).returncode == 6
    user(app.daemon, "call", "decline", call)
    app.daemon.control.wait_for(call, "ended")
    call = ringing(app, caller="sip:eve@example.org")
    app.daemon.control.verb(call, "update", caller="sip:door@example.org")
    app.daemon.control.wait_for(call, "connected", 15)


def test_only_callers_of_a_list(telephone) -> None:
    app = intercom(telephone, 'auto_answer = "300ms"\nauto_answer_list = "doors"')
    user(app.daemon, "block", "add", "sip:door@example.org", "--identify", "--label", "Door", "--list", "doors")
    other = ringing(app, caller="sip:bob@example.org")
    # The rule looks at a call once, and at this one it does not look.
    assert app.daemon.ringwake("call", "wait", "--state", "connected", "--timeout", "1s", other).returncode == 6
    user(app.daemon, "call", "decline", other)
    app.daemon.control.wait_for(other, "ended")
    door = send(app.daemon, caller="sip:door@example.org")
    app.daemon.control.wait_for(door, "connected")
    assert by(app, door) == "rule"


def test_a_call_that_waits_does_not_answer_itself(telephone) -> None:
    app = intercom(telephone, 'auto_answer = "300ms"')
    first = send(app.daemon)
    app.daemon.control.wait_for(first, "connected")
    second = ringing(app)
    # The rule looks at a call once, and then the device was in the first.
    assert app.daemon.ringwake("call", "wait", "--state", "answering", "--timeout", "1s", second).returncode == 6
    user(app.daemon, "call", "end", first)
    app.daemon.control.wait_for(first, "ended")
    assert app.daemon.ringwake("call", "wait", "--state", "answering", "--timeout", "1s", second).returncode == 6
    user(app.daemon, "call", "answer", second)
    app.daemon.control.wait_for(second, "connected")
    assert by(app, second) is None
