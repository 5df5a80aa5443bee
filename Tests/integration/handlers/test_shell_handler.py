"""`Examples/shell-handler`, the smallest one: each call has one of its own."""

import os
import signal

import pytest

from support.telephone import begins, connected, ends, failures, hang_up, held, ringing, shown, user, waits
from examples import ShellExample


@pytest.fixture
def shell_example(make_daemon) -> ShellExample:
    daemon = make_daemon()
    daemon.sections = {}
    app = ShellExample(daemon)
    app.by_exec(instances="call")
    daemon.start()
    return app


def test_a_whole_call(shell_example: ShellExample) -> None:
    app = shell_example
    call = held(app, caller="sip:bob@example.org")
    assert shown(app.daemon, call)["caller"] == "sip:bob@example.org"
    for word in ("audioActivated", "audioDeactivated"):
        app.daemon.log_mentions(word)
    user(app.daemon, "call", "unhold", call)
    app.daemon.control.wait_for(call, "connected")
    for words in (["mute", call], ["dtmf", call, "12#"], ["unmute", call]):
        user(app.daemon, "call", *words)
        waits(lambda: not shown(app.daemon, call)["pending"], "nothing to be pending")
    assert hang_up(app, call)["reason"] == "localEnded"
    app.is_left_by_all()
    assert failures(app.daemon) == []


def test_a_call_that_the_user_begins(shell_example: ShellExample) -> None:
    app = shell_example
    call = begins(app.daemon)
    assert app.daemon.control.wait_for(call, "connected")["outgoing"]
    app.daemon.control.calls()
    app.daemon.kill()
    app.daemon.start()
    assert hang_up(app, call)["reason"] == "localEnded"
    app.is_left_by_all()
    assert failures(app.daemon) == []


def test_two_calls_have_a_handler_each(shell_example: ShellExample) -> None:
    app = shell_example
    calls = [connected(app), ringing(app)]
    assert len({app.daemon.control.call(call)["pid"] for call in calls}) == 2
    for call, reason in zip(calls, ("localEnded", "declined"), strict=True):
        assert hang_up(app, call)["reason"] == reason
    app.is_left_by_all()


@pytest.mark.parametrize("state", ["ringing", "connected"])
def test_the_daemon_is_killed(shell_example: ShellExample, state: str) -> None:
    app = shell_example
    call = {"ringing": ringing, "connected": connected}[state](app)
    # A list is read after all that was handed in before.
    app.daemon.control.get("/v1/calls?limit=1")
    app.daemon.kill()
    app.daemon.start()
    if state == "ringing":
        user(app.daemon, "call", "answer", call)
        app.daemon.control.wait_for(call, "connected")
    ended = hang_up(app, call)
    assert ended["reason"] == "localEnded"
    assert [hop["stage"] for hop in ended["timeline"]].count("rang") == 1
    app.is_left_by_all()


def test_another_start_goes_on_with_the_call_of_one_that_was_killed(shell_example: ShellExample) -> None:
    app = shell_example
    call = connected(app)
    os.kill(app.daemon.control.call(call)["pid"], signal.SIGKILL)
    waits(lambda: failures(app.daemon) == ["exited"], "the loss to be noticed")
    waits(lambda: "claimMs" not in app.daemon.control.call(call), "the claim")
    assert hang_up(app, call)["reason"] == "localEnded"


def test_a_call_that_the_owner_ends(shell_example: ShellExample) -> None:
    app = shell_example
    call = ringing(app)
    user(app.daemon, "call", "decline", call)
    ends(app.daemon, call, "declined")
    app.is_left_by_all()
