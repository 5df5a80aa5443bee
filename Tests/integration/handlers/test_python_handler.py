"""`Examples/python-handler`, woken by real pushes in each way that Python's standard library can be woken in."""

import os
import signal
import socket

import pytest

from support import processes
from support.services import Systemd
from support.telephone import (
    PAYLOAD, begins, connected, ends, failures, hang_up, held, ringing, send, shown, user, waits,
)  # fmt: skip
from examples import PythonExample

WAYS = ["exec", "stay", "connected", "socket"]
KEEPS_STATE = PAYLOAD + "[restoration]\nstate = true\n"


def rang(call: dict) -> int:
    """How often it rang."""
    return [hop["stage"] for hop in call["timeline"]].count("rang")


def restart(app: PythonExample) -> None:
    """The daemon is killed with all that it knew, and started again."""
    # A list is read after all that was handed in before.
    app.daemon.control.get("/v1/calls?limit=1")
    app.daemon.kill()
    app.daemon.start()


@pytest.mark.parametrize("way", WAYS)
def test_a_whole_call(python_example, callers, way: str) -> None:
    app, caller = python_example(way), callers()
    call = held(app, caller="sip:bob@example.org", name="Bob", line=caller.port)
    said = shown(app.daemon, call)
    assert (said["caller"], said["callerName"]) == ("sip:bob@example.org", "Bob")
    user(app.daemon, "call", "unhold", call)
    app.daemon.control.wait_for(call, "connected")
    user(app.daemon, "call", "mute", call)
    waits(lambda: shown(app.daemon, call)["muted"], "the call to be muted")
    user(app.daemon, "call", "unmute", call)
    waits(lambda: not shown(app.daemon, call)["muted"], "the call not to be muted")
    user(app.daemon, "call", "dtmf", call, "12#")
    waits(lambda: not shown(app.daemon, call)["pending"], "nothing to be pending")
    assert hang_up(app, call)["reason"] == "localEnded"
    caller.hears(f"ready {call}", "answer", "hold", "unhold", "mute", "unmute", "dtmf 12#", "end")
    caller.hears_the_end()
    assert failures(app.daemon) == []
    if way == "exec":
        for word in ("audioActivated", "audioDeactivated"):
            app.daemon.log_mentions(f"{word} {call}")
        app.is_left_by_all()


@pytest.mark.parametrize("way", WAYS)
def test_the_caller_hangs_up(python_example, callers, way: str) -> None:
    app, caller = python_example(way), callers()
    call = connected(app, line=caller.port)
    caller.hang_up()
    ends(app.daemon, call, "remoteEnded")
    assert failures(app.daemon) == []


@pytest.mark.parametrize("way", WAYS)
def test_the_caller_is_gone_before_the_handler_is_awake(python_example, callers, way: str) -> None:
    app, gone = python_example(way), callers()
    gone.hang_up()
    call = send(app.daemon, line=gone.port)
    ended = ends(app.daemon, call, "remoteEnded")
    assert rang(ended) == 0 and failures(app.daemon) == []
    # The next one comes through.
    caller = callers()
    assert hang_up(app, connected(app, line=caller.port))["reason"] == "localEnded"
    if way == "exec":
        app.is_left_by_all()


def test_the_caller_cancels_by_a_push_while_the_handler_is_waking(python_example) -> None:
    app = python_example("exec", more=PAYLOAD + 'call = "/id"\ncancel = "/cancel"\n')
    # Its line opens never: nobody takes the connection.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        taken = [socket.socket() for _ in range(4)]
        for one in taken:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        send(app.daemon, id="c1", line=full.getsockname()[1])
        waits(lambda: "pid" in app.daemon.control.call("c1"), "the handler to be started")
        send(app.daemon, id="c1", cancel=True)
        assert rang(ends(app.daemon, "c1", "cancelled")) == 0
        app.is_left_by_all()
        for one in taken:
            one.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", ["ringing", "connected"])
def test_the_daemon_is_killed(python_example, callers, state: str, way: str) -> None:
    app, caller = python_example(way), callers()
    call = {"ringing": ringing, "connected": connected}[state](app, line=caller.port)
    restart(app)
    waits(lambda: "claimMs" not in app.daemon.control.call(call), "the handler to be known again")
    assert app.daemon.control.call(call)["state"] == state
    if state == "ringing":
        user(app.daemon, "call", "answer", call)
        app.daemon.control.wait_for(call, "connected")
    ended = hang_up(app, call)
    assert ended["reason"] == "localEnded" and rang(ended) == 1
    caller.hears(f"ready {call}", "answer", "end")
    assert failures(app.daemon) == []


@pytest.mark.parametrize("way", ["exec", "connected"])
def test_the_caller_hangs_up_while_the_daemon_is_away(python_example, callers, way: str) -> None:
    app, caller = python_example(way), callers()
    call = connected(app, line=caller.port)
    app.daemon.control.get("/v1/calls?limit=1")
    app.daemon.kill()
    caller.hang_up()
    app.daemon.start()
    ends(app.daemon, call, "remoteEnded")


def test_a_call_that_ends_while_the_handler_hears_nothing(python_example, callers) -> None:
    """It is told of it when it listens again, and leaves."""
    app, caller = python_example("exec", ring="3s"), callers()
    call = ringing(app, line=caller.port)
    pid = app.daemon.control.call(call)["pid"]
    app.daemon.control.get("/v1/calls?limit=1")
    app.daemon.kill()
    processes.stop(pid)
    app.daemon.start()
    ends(app.daemon, call, "unanswered")
    os.kill(pid, signal.SIGCONT)
    caller.hears_the_end()
    app.is_left_by_all()


@pytest.mark.parametrize("way", WAYS)
def test_two_calls_of_one_handler(python_example, callers, way: str) -> None:
    app, first, second = python_example(way), callers(), callers()
    calls = [connected(app, line=first.port), ringing(app, line=second.port)]
    # Of a handler on a socket the daemon knows no process.
    pids = [app.daemon.control.call(call).get("pid") for call in calls]
    assert pids[0] == pids[1] and (way == "socket" or pids[0])
    # To take the second one the first is held.
    user(app.daemon, "call", "answer", calls[1])
    app.daemon.control.wait_for(calls[1], "connected")
    assert app.daemon.control.call(calls[0])["state"] == "held"
    for call in calls:
        assert hang_up(app, call)["reason"] == "localEnded"
    first.hears(f"ready {calls[0]}", "answer", "hold", "end")
    second.hears(f"ready {calls[1]}", "answer", "end")
    assert failures(app.daemon) == []


@pytest.mark.parametrize("state", ["ringing", "connected"])
def test_another_start_goes_on_with_the_call_of_one_that_was_killed(python_example, callers, state: str) -> None:
    app, caller = python_example("exec", more=KEEPS_STATE), callers()
    call = {"ringing": ringing, "connected": connected}[state](app, line=caller.port)
    waits(lambda: kept(app) == {call: caller.port}, "the line to be kept")
    lost = app.daemon.control.call(call)["pid"]
    os.kill(lost, signal.SIGKILL)
    waits(lambda: app.daemon.control.call(call).get("pid") not in (None, lost), "another handler")
    waits(lambda: "claimMs" not in app.daemon.control.call(call), "the claim")
    waits(lambda: f"again {call}" in caller.words, "the line to be open again")
    if state == "ringing":
        user(app.daemon, "call", "answer", call)
        app.daemon.control.wait_for(call, "connected")
    ended = hang_up(app, call)
    assert ended["reason"] == "localEnded" and rang(ended) == 1
    # By a datagram, which comes when it comes.
    waits(lambda: caller.words[-1] == "end", "the caller to hear the end")
    assert failures(app.daemon) == ["exited"]


def kept(app: PythonExample) -> dict:
    status, answer = app.daemon.control.request("GET", f"/v1/apps/{app.app}/state")
    return answer["lines"] if status == 200 else {}


def test_a_second_connected_handler_claims(python_example, callers) -> None:
    app, caller = python_example("connected"), callers()
    call = connected(app, line=caller.port)
    app.started[0].kill()
    app.started[0].wait()
    app.start_connected()
    waits(lambda: "claimMs" not in app.daemon.control.call(call), "the claim")
    assert hang_up(app, call)["reason"] == "localEnded"


def test_a_caller_that_hangs_up_while_it_rings_is_missed(python_example, callers) -> None:
    app, caller = python_example("exec"), callers()
    call = ringing(app, line=caller.port)
    caller.hang_up()
    assert ends(app.daemon, call, "remoteEnded")["missed"]


def test_a_unit_of_systemd_fetches_what_it_was_woken_for(make_daemon, system_bus, callers) -> None:
    daemon, caller = make_daemon(), callers()
    daemon.variables |= system_bus.environment()
    systemd = Systemd(system_bus)
    app = PythonExample(daemon)
    environment = [f"RINGWAKE_SOCKET={daemon.control_socket}", f"RINGWAKE_APP={app.app}"]
    unit = systemd.units / "phone@.service"
    unit.write_text("\n".join(["/usr/bin/env", *environment, *app.command("unit")]))
    app.configure('unit = "phone@.service"\nmanager = "system"', more=PAYLOAD)
    daemon.start()
    call = send(daemon, line=caller.port)
    if not systemd.makes_groups():
        pytest.skip("no control groups can be made here, and nothing else gives this handler its rights")
    daemon.control.wait_for(call, "ringing")
    user(daemon, "call", "answer", call)
    daemon.control.wait_for(call, "connected")
    assert hang_up(app, call)["reason"] == "localEnded"
    caller.hears(f"ready {call}", "answer", "end")


def test_what_the_payload_says_is_not_believed(python_example) -> None:
    """Lines that are none, and callers that are no text: the call rings, and nobody is on its line."""
    app = python_example("exec")
    for line in ("127.0.0.1:1", [1], -1, 10**9):
        call = send(app.daemon, line=line, caller={"a": 1}, name=7)
        app.daemon.control.wait_for(call, "ended" if isinstance(line, int) else "ringing")
        user(app.daemon, "call", "end", call, status=0 if not isinstance(line, int) else 1)
    assert failures(app.daemon) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_the_user_begins_is_refused_at_once(python_example, way: str) -> None:
    app = python_example(way)
    ends(app.daemon, begins(app.daemon), "failed")
    assert failures(app.daemon) == []
