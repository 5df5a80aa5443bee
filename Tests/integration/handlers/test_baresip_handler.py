"""`Examples/baresip-shell`: pushes from a real daemon, a real SIP client, and sipp as its server and its callers."""

import os
import signal

import pytest

from support import processes
from support.telephone import begins, ends, failures, send, shown, user, waits
from examples import BaresipExample

WAYS = ["cold", "warm"]


def rang(call: dict) -> int:
    """How often it rang."""
    return [hop["stage"] for hop in call["timeline"]].count("rang")


def answered(app: BaresipExample, call: str) -> None:
    app.daemon.control.wait_for(call, "ringing", 15)
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected", 15)


def is_left_alone(app: BaresipExample, way: str) -> None:
    """No client runs any more, or one that nobody can call."""
    if way == "cold":
        app.is_left_by_all()
    assert failures(app.daemon) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_whole_call(baresip_example, registrar, calls_in, way: str) -> None:
    app = baresip_example(way)
    alice = calls_in(app, "whole")
    answered(app, "whole")
    assert shown(app.daemon, "whole")["caller"] == "sip:alice@example.org"
    alice.sees("ACK ")
    user(app.daemon, "call", "hold", "whole")
    app.daemon.control.wait_for("whole", "held")
    alice.sees("a=sendonly")
    user(app.daemon, "call", "unhold", "whole")
    app.daemon.control.wait_for("whole", "connected")
    for verb in ("mute", "unmute"):
        user(app.daemon, "call", verb, "whole")
        waits(lambda: shown(app.daemon, "whole")["muted"] == (verb == "mute"), verb)  # noqa: B023
    user(app.daemon, "call", "dtmf", "whole", "1,2#")
    waits(lambda: not shown(app.daemon, "whole")["pending"], "nothing to be pending")
    user(app.daemon, "call", "end", "whole")
    assert ends(app.daemon, "whole", "localEnded")["missed"] is False
    alice.is_content()
    assert alice.count("BYE ") == 1
    waits(lambda: registrar.unregistrations() == registrar.registrations(), "the client to be registered no more")
    is_left_alone(app, way)
    log = app.client_log()
    assert [line[-2] for line in log.splitlines() if "DTMF digit: " in line] == ["1", "2", "#"]
    # What was sent, and what of it came back.
    [counts] = [line.split()[1:] for line in log.splitlines() if line.startswith("packets:")]
    assert all(int(count) > 10 for count in counts), log


@pytest.mark.parametrize("way", WAYS)
def test_the_user_declines(baresip_example, calls_in, way: str) -> None:
    app = baresip_example(way)
    alice = calls_in(app, "declined")
    app.daemon.control.wait_for("declined", "ringing", 15)
    user(app.daemon, "call", "decline", "declined")
    ends(app.daemon, "declined", "declined")
    alice.is_content()
    assert alice.count("SIP/2.0 486") == 1
    is_left_alone(app, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", ["ringing", "connected"])
def test_the_caller_hangs_up(baresip_example, calls_in, state: str, way: str) -> None:
    app = baresip_example(way)
    alice = calls_in(app, "hung-up")
    if state == "connected":
        answered(app, "hung-up")
        alice.sees("ACK ")
    app.daemon.control.wait_for("hung-up", state, 15)
    alice.hang_up()
    ended = ends(app.daemon, "hung-up", "remoteEnded")
    assert ended["missed"] is (state == "ringing")
    alice.is_content()
    is_left_alone(app, way)


@pytest.mark.parametrize("way", WAYS)
def test_the_caller_cancels_while_the_handler_is_waking(baresip_example, registrar, way: str) -> None:
    """Its server takes the call back by a push, and the client never sees an INVITE."""
    app = baresip_example(way)
    send(app.daemon, call="early")
    send(app.daemon, call="early", cancel=True)
    assert rang(ends(app.daemon, "early", "cancelled")) == 0
    waits(lambda: registrar.unregistrations() == registrar.registrations(), "the client to be registered no more")
    is_left_alone(app, way)


@pytest.mark.parametrize("way", WAYS)
def test_an_invite_that_never_comes(baresip_example, registrar, way: str) -> None:
    """Reported in time, it does not ring, and it is over soon."""
    app = baresip_example(way, invite=4)
    send(app.daemon, call="lost")
    app.daemon.control.wait_for("lost", "reported", 10)
    assert rang(ends(app.daemon, "lost", "remoteEnded", 20)) == 0
    waits(lambda: registrar.unregistrations() == registrar.registrations(), "the client to be registered no more")
    is_left_alone(app, way)


@pytest.mark.parametrize("way", WAYS)
def test_two_callers_at_once_and_one_client(baresip_example, calls_in, way: str) -> None:
    app = baresip_example(way)
    callers = {name: calls_in(app, name) for name in ("first", "second")}
    for name in callers:
        app.daemon.control.wait_for(name, "ringing", 15)
    assert len(app.clients()) == 1
    # One that rings still is no hindrance; one that goes on is held.
    for name in callers:
        answered(app, name)
        callers[name].sees("ACK ")
    assert app.daemon.control.call("first")["state"] == "held"
    callers["first"].sees("a=sendonly")
    assert callers["second"].count("a=sendonly") == 0
    user(app.daemon, "call", "end", "second")
    ends(app.daemon, "second", "localEnded")
    # The user hung up, and one call is held: that one goes on. The client does so by itself, and is told not to, before.
    app.daemon.control.wait_for("first", "connected")
    callers["first"].sees("a=sendrecv", 2)
    callers["first"].hang_up()
    ends(app.daemon, "first", "remoteEnded")
    for caller in callers.values():
        caller.is_content()
    is_left_alone(app, way)


def test_an_invite_that_is_faster_than_its_push(baresip_example, calls_in, invites) -> None:
    """Its server knows where the client is, as another call goes on."""
    app = baresip_example("warm")
    first = calls_in(app, "first")
    answered(app, "first")
    first.sees("ACK ")
    second = invites(app, "second")
    second.sees("SIP/2.0 180")
    send(app.daemon, call="second")
    answered(app, "second")
    second.sees("ACK ")
    second.hang_up()
    ends(app.daemon, "second", "remoteEnded")
    second.is_content()
    # The client resumes the other call by itself. Its user holds it, so it is held again.
    first.sees("a=sendonly", 2)
    assert app.daemon.control.call("first")["state"] == "held"
    first.hang_up()
    ends(app.daemon, "first", "remoteEnded")
    first.is_content()
    assert failures(app.daemon) == []


def test_a_client_with_a_call_registers_anew_when_no_invite_comes(
    baresip_example, registrar, calls_in, invites
) -> None:
    """Its server may have lost the registration."""
    app = baresip_example("warm")
    first = calls_in(app, "first")
    answered(app, "first")
    first.sees("ACK ")
    before = registrar.registrations()
    send(app.daemon, call="second")
    registrar.sees(r"Contact: .*expires=[1-9]", 2 * before + 2)
    second = invites(app, "second")
    answered(app, "second")
    second.sees("ACK ")
    for call in (first, second):
        user(app.daemon, "call", "end", call.call_id)
        ends(app.daemon, call.call_id, "localEnded")
        call.is_content()
    waits(lambda: registrar.unregistrations() == registrar.registrations(), "the client to be registered no more")


def test_an_invite_of_another_id_is_the_one_that_was_waited_for(baresip_example, registrar, invites) -> None:
    app = baresip_example("cold")
    send(app.daemon, call="of-the-push")
    registrar.sees(r"Contact: .*expires=[1-9]", 2)
    alice = invites(app, "of-the-invite")
    answered(app, "of-the-push")
    alice.sees("ACK ")
    user(app.daemon, "call", "end", "of-the-push")
    ends(app.daemon, "of-the-push", "localEnded")
    alice.is_content()
    is_left_alone(app, "cold")


def test_the_second_of_two_that_ring_is_answered(baresip_example, calls_in) -> None:
    app = baresip_example("warm")
    first, second = calls_in(app, "first"), calls_in(app, "second")
    app.daemon.control.wait_for("first", "ringing", 15)
    answered(app, "second")
    second.sees("ACK ")
    # It has sound in both directions, and the first one rings on.
    assert second.count("a=sendrecv") == 1 and app.daemon.control.call("first")["state"] == "ringing"
    user(app.daemon, "call", "decline", "first")
    ends(app.daemon, "first", "declined")
    first.is_content()
    user(app.daemon, "call", "end", "second")
    ends(app.daemon, "second", "localEnded")
    second.is_content()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", ["ringing", "connected"])
def test_the_daemon_is_killed(baresip_example, calls_in, state: str, way: str) -> None:
    app = baresip_example(way)
    alice = calls_in(app, "kept")
    if state == "connected":
        answered(app, "kept")
    app.daemon.control.wait_for("kept", state, 15)
    # A list is read after all that was handed in before.
    app.daemon.control.get("/v1/calls?limit=1")
    app.daemon.kill()
    app.daemon.start()
    waits(lambda: "claimMs" not in app.daemon.control.call("kept"), "the handler to be known again")
    assert app.daemon.control.call("kept")["state"] == state
    if state == "ringing":
        answered(app, "kept")
    alice.sees("ACK ")
    user(app.daemon, "call", "end", "kept")
    assert rang(ends(app.daemon, "kept", "localEnded")) == 1
    alice.is_content()
    is_left_alone(app, way)


@pytest.mark.parametrize("way", WAYS)
def test_the_caller_hangs_up_while_the_daemon_is_away(baresip_example, calls_in, way: str) -> None:
    app = baresip_example(way)
    alice = calls_in(app, "away")
    answered(app, "away")
    alice.sees("ACK ")
    app.daemon.control.get("/v1/calls?limit=1")
    app.daemon.kill()
    alice.hang_up()
    alice.is_content()
    app.daemon.start()
    ends(app.daemon, "away", "remoteEnded")
    is_left_alone(app, way)


def test_a_call_that_ends_while_the_handler_hears_nothing(baresip_example, calls_in) -> None:
    """It is told of it when it listens again, and leaves."""
    app = baresip_example("cold", ring="3s")
    alice = calls_in(app, "unheard")
    app.daemon.control.wait_for("unheard", "ringing", 15)
    pid = app.daemon.control.call("unheard")["pid"]
    app.daemon.control.get("/v1/calls?limit=1")
    app.daemon.kill()
    processes.stop(pid)
    app.daemon.start()
    ends(app.daemon, "unheard", "unanswered")
    os.kill(pid, signal.SIGCONT)
    alice.is_content()
    app.is_left_by_all()


@pytest.mark.parametrize("state", ["ringing", "connected"])
def test_another_start_goes_on_with_the_call_of_one_that_was_killed(baresip_example, calls_in, state: str) -> None:
    app = baresip_example("cold")
    alice = calls_in(app, "claimed")
    if state == "connected":
        answered(app, "claimed")
    app.daemon.control.wait_for("claimed", state, 15)
    lost, clients = app.daemon.control.call("claimed")["pid"], app.clients()
    os.kill(lost, signal.SIGKILL)
    waits(lambda: app.daemon.control.call("claimed").get("pid") not in (None, lost), "another handler")
    waits(lambda: "claimMs" not in app.daemon.control.call("claimed"), "the claim")
    if state == "ringing":
        answered(app, "claimed")
    assert app.clients() == clients
    alice.sees("ACK ")
    user(app.daemon, "call", "end", "claimed")
    assert rang(ends(app.daemon, "claimed", "localEnded")) == 1
    alice.is_content()
    app.is_left_by_all()
    assert failures(app.daemon) == ["exited"]


@pytest.mark.parametrize("way", WAYS)
def test_a_client_that_was_killed(baresip_example, registrar, calls_in, way: str) -> None:
    """Its call fails; and what the server believes of its registration does not matter to the next one."""
    app = baresip_example(way)
    calls_in(app, "broken")
    answered(app, "broken")
    [client] = app.clients()
    os.kill(client, signal.SIGKILL)
    ends(app.daemon, "broken", "failed")
    waits(lambda: not processes.is_running(client), "the client to be gone")
    alice = calls_in(app, "next")
    answered(app, "next")
    alice.sees("ACK ")
    alice.hang_up()
    ends(app.daemon, "next", "remoteEnded")
    assert app.clients() != [client]
    is_left_alone(app, way)


def test_a_client_that_has_lost_its_handler_for_good_is_ended(baresip_example, registrar, invites) -> None:
    """It notices with the next thing that the client tells, and waits whether another handler comes."""
    app = baresip_example("cold")
    send(app.daemon, call="woken")
    registrar.sees(r"Contact: .*expires=[1-9]", 2)
    waits(lambda: len(app.clients()) == 1, "the client to run")
    # Its commands are listened to a little later than it registers.
    app.daemon.control.wait_for("woken", "reported", 10)
    handler = app.daemon.control.call("woken")["pid"]
    waits(lambda: app.guards(handler), "the guard, in a session of its own")
    os.kill(handler, signal.SIGKILL)
    ends(app.daemon, "woken", "handlerFailed")
    alice = invites(app, "too-late")
    app.is_left_by_all()
    alice.sees("SIP/2.0 486")


def test_a_handler_that_stays_and_is_killed_is_gone_at_once(baresip_example) -> None:
    """Its guard outlives it by seconds, in which the daemon must not deliver calls to it."""
    app = baresip_example("warm")
    handler = app.started[0].pid
    waits(lambda: app.clients() and app.guards(handler), "the guard")
    guards = app.guards(handler)
    for guard in guards:
        os.kill(guard, signal.SIGSTOP)
    try:
        app.started[0].kill()
        waits(lambda: app.daemon.control.app(app.app)["connected"] == 0, "the daemon to know")
        assert app.guards(handler) == guards
    finally:
        for guard in guards:
            os.kill(guard, signal.SIGCONT)


def test_a_handler_that_is_told_to_leave_takes_its_client_along(baresip_example, calls_in) -> None:
    app = baresip_example("warm")
    alice = calls_in(app, "stopped")
    answered(app, "stopped")
    alice.sees("ACK ")
    app.started[0].terminate()
    assert app.started[0].wait(15) == 143
    alice.is_content()
    app.is_left_by_all()


def test_ids_that_would_be_commands_are_none(baresip_example, tmp_path) -> None:
    app = baresip_example("cold")
    touched = tmp_path / "touched"
    call = f"x]$(touch {touched})`touch {touched}`\"'\\%/é"
    send(app.daemon, call=call)
    send(app.daemon, call=call, cancel=True)
    waits(lambda: app.daemon.control.calls()[0]["state"] == "ended", "the call to end")
    app.is_left_by_all()
    assert not touched.exists()


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_the_user_begins_is_refused_at_once(baresip_example, registrar, way: str) -> None:
    app = baresip_example(way)
    ends(app.daemon, begins(app.daemon), "failed")
    is_left_alone(app, way)
