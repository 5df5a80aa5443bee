"""Fixtures: the example handlers on daemons of their own."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from examples import BaresipExample, Caller, PythonExample
from support.daemon import Daemon
from sip_peers import Registrar, SIPCaller
from support.telephone import PAYLOAD, send

# The id of a call is the Call-ID of its INVITE.
SIP_PAYLOAD = '[payload]\ncall = "/call"\ncancel = "/cancel"\n'


@pytest.fixture
def callers() -> Iterator[Callable[[], Caller]]:
    """Makes callers for the Python example."""
    made: list[Caller] = []

    def make() -> Caller:
        made.append(Caller())
        return made[-1]

    yield make
    for caller in made:
        caller.hang_up()


@pytest.fixture
def python_example(make_daemon: Callable[..., Daemon]) -> Callable[..., PythonExample]:
    """The Python example, on a daemon that runs, in this way of being woken: `python_example("stay")`."""

    def make(way: str, more: str = PAYLOAD, **calls: str) -> PythonExample:
        daemon = make_daemon()
        daemon.calls |= calls
        # As a daemon is that nobody configured: handlers that fail too often are not started any more.
        daemon.sections = {}
        app = PythonExample(daemon)
        match way:
            case "exec":
                app.by_exec(more=more)
            case "stay":
                app.by_exec("--stay", more=more)
            case "connected":
                app.only_connected(more=more)
            case "socket":
                app.by_socket(more=more)
                app.start_listening()
        daemon.start()
        if way == "connected":
            app.start_connected()
        return app

    return make


@pytest.fixture
def registrar(tmp_path: Path) -> Iterator[Registrar]:
    """Where the client of the baresip example registers."""
    packages = {"sipp": "sip-tester", "baresip": "baresip-core"}
    if missing := [package for program, package in packages.items() if not shutil.which(program)]:
        pytest.fail(f"apt-get install --no-install-recommends {' '.join(missing)}")
    peer = Registrar(tmp_path)
    yield peer
    peer.clear_away()


@pytest.fixture(params=["shell", "C"])
def baresip_example(
    make_daemon: Callable[..., Daemon], registrar: Registrar, request: pytest.FixtureRequest
) -> Callable[..., BaresipExample]:
    """A handler around baresip on a daemon that runs: `cold`, started for each call, or `warm`, which is there."""

    def make(way: str, invite: int = 60, **calls: str) -> BaresipExample:
        daemon = make_daemon()
        # What happens too late is another test's, which says how late that is.
        daemon.calls |= {"report": "60s", "action": "60s", "claim": "60s"} | calls
        daemon.sections = {}
        app = BaresipExample(daemon, registrar.port, BaresipExample.in_c if request.param == "C" else None)
        app.environment["INVITE_TIMEOUT"] = str(invite)
        if way == "cold":
            app.by_exec(str(app.folder), more=SIP_PAYLOAD)
        else:
            app.only_connected(more=SIP_PAYLOAD)
        daemon.start()
        if way == "warm":
            app.start_connected()
        return app

    return make


@pytest.fixture
def invites(tmp_path: Path) -> Iterator[Callable[..., SIPCaller]]:
    """Alice sends an INVITE to the client, which has to listen: `invites(app, "call-id")`."""
    made: list[SIPCaller] = []

    def invite(app: BaresipExample, call_id: str) -> SIPCaller:
        made.append(SIPCaller(tmp_path, call_id, app.sip_port))
        return made[-1]

    yield invite
    for caller in made:
        caller.clear_away()


@pytest.fixture
def calls_in(invites: Callable[..., SIPCaller], registrar: Registrar) -> Callable[..., SIPCaller]:
    """Alice calls, as her SIP server would let her: a push first, and the INVITE when the client has registered."""

    def call(app: BaresipExample, call_id: str) -> SIPCaller:
        before = registrar.registrations()
        is_there = any(one["state"] != "ended" for one in app.daemon.control.calls())
        send(app.daemon, call=call_id)
        if not is_there:
            registrar.sees(r"Contact: .*expires=[1-9]", 2 * before + 2)
        return invites(app, call_id)

    return call
