"""Calls that the user begins: what a handler may not do, and what a kill must not."""

import os
import signal

import pytest

from support.apps import App
from support.control import Control
from support.credentials import APP
from support.telephone import (
    BOB, OTHER_APP, PAYLOAD, allow_two_apps, begin, connected, ends, held, outgoing, strikes, user, waits,
)  # fmt: skip


def pair(telephone, *misdeeds: str, **options) -> tuple[App, App]:
    """Two apps, and handlers that do these."""
    app = telephone(**options)
    allow_two_apps(app.daemon)
    app.by_exec(*misdeeds, more=PAYLOAD)
    return app, App(app.daemon, OTHER_APP)


@pytest.mark.parametrize("to", [BOB, "112"])
def test_a_handler_does_not_end_calls_of_other_apps_in_a_loop(telephone, to: str) -> None:
    app, other = pair(telephone)
    other.only_connected(more=PAYLOAD)
    app.daemon.start()
    first = connected(app)
    with app.daemon.control.handler(OTHER_APP) as stream:
        handler = Control(app.daemon.control_socket, next(iter(stream))["secret"])
        answers = [handler.request("POST", "/v1/calls", {"to": to, "others": "end"})[0] for _ in range(30)]
        assert answers.count(200) <= 10 and set(answers) <= {200, 409, 429}, answers
        if to == BOB:
            app.daemon.control.wait_for(first, "held")
        # The user goes before it.
        user(app.daemon, "call", "start", "--app", APP, "--end-others", BOB)


def test_a_call_is_started_once_though_the_daemon_dies_as_its_handler_begins(telephone, tmp_path) -> None:
    app, other = pair(telephone, "hold=slow:1", calls={"action": "20s"})
    starts = tmp_path / "starts"
    script = tmp_path / "handler.sh"
    script.write_text(f"#!/bin/sh\nkill -9 $PPID\necho start >> {starts}\nexec sleep 60\n")
    script.chmod(0o755)
    other.configure(f'exec = ["{script}"]')
    app.daemon.start()
    connected(app)
    call = begin(other)
    waits(starts.exists, "the handler to begin")
    script.write_text(f"#!/bin/sh\necho start >> {starts}\nexec sleep 60\n")
    app.daemon.kill()
    app.daemon.start()
    ends(app.daemon, call, "handlerFailed", 30)
    assert starts.read_text() == "start\n"


def test_strikes_do_not_end_an_emergency_call_that_waits(telephone) -> None:
    app = outgoing(telephone, strikes='limit = 1\nwindow = "1h"', calls={"action": "2s"})
    first = connected(app)
    os.kill(app.running()[0], signal.SIGSTOP)
    call = begin(app, to="112")
    ends(app.daemon, first, "localEnded")
    app.daemon.control.wait_for(call, "connected", 60)
    assert strikes(app.daemon)["struckOut"]


@pytest.mark.parametrize("to", [" ", "\t", "sip:a\nb@example.org"])
def test_nobody_is_called(phone: App, to: str) -> None:
    status, answer = phone.daemon.control.request("POST", "/v1/calls", {"to": to})
    assert (status, answer["error"]) == (400, "invalid-request")
