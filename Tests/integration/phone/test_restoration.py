"""The daemon is killed in every state of a call, with its handler alive or dead: what goes on, and what does not."""

import os
import signal
import sqlite3
import time
import uuid
from collections.abc import Callable

import pytest

from support import processes
from support.apps import App
from support.services import Systemd
from support.telephone import (
    PAYLOAD, connected, ends, failures, hang_up, held, ringing, send, shown, user, waits,
)  # fmt: skip


def restart(app: App, handlers: str = "alive", at_once: bool = False) -> None:
    """The daemon is killed and started again; meanwhile its handlers live on, or die too.

    `at_once`: what happened last may not be on the disk yet.
    """
    if not at_once:
        # A list is read after all that was handed in before.
        app.daemon.control.get("/v1/calls?limit=1")
    app.daemon.kill()
    if handlers == "dead":
        for pid in app.running():
            processes.end(pid)
        waits(lambda: not app.running(), "the handlers to be gone")
    app.daemon.start()


class State:
    """How a call gets into a state, and what its handler does so that it stays there."""

    def __init__(self, *misdeeds: str, reach: Callable[[App], str]) -> None:
        self.misdeeds = misdeeds
        self.reach = reach


def woken(app: App) -> str:
    call = send(app.daemon)
    app.woken(call)
    return call


def reported(app: App) -> str:
    call = send(app.daemon)
    app.daemon.control.wait_for(call, "reported")
    return call


def answering(app: App) -> str:
    call = ringing(app)
    user(app.daemon, "call", "answer", call)
    app.waits_for("event", event="action", action="answer", call=call)
    return call


def ending(app: App) -> str:
    call = connected(app)
    user(app.daemon, "call", "end", call)
    app.waits_for("event", event="action", action="end", call=call)
    return call


STATES = {
    "woken": State("report=skip", reach=woken), "reported": State("report=provisional", reach=reported),
    "ringing": State(reach=ringing), "answering": State("answer=skip", reach=answering),
    "connected": State(reach=connected), "held": State(reach=held), "ending": State("end=skip", reach=ending),
}  # fmt: skip
# Misdeeds of the first of several handlers are done by all of them with this.
ALWAYS = {"answer=skip": "answer!=skip", "end=skip": "end!=skip"}
LONG = {"report": "60s", "action": "60s", "ring": "60s", "claim": "10s"}


@pytest.fixture
def in_state(telephone) -> Callable[[str], tuple[App, str]]:
    """Brings a call into a state: the app, and the call. `stays`: its handler never does what takes it out of it."""

    def bring(name: str, stays: bool = False) -> tuple[App, str]:
        state = STATES[name]
        misdeeds = [ALWAYS.get(misdeed, misdeed) if stays else misdeed for misdeed in state.misdeeds]
        app = telephone(calls=LONG).by_exec(*misdeeds, more=PAYLOAD)
        app.daemon.start()
        call = state.reach(app)
        assert app.daemon.control.call(call)["state"] == name
        return app, call

    return bring


# With its handler alive

@pytest.mark.parametrize("name", STATES)
def test_a_call_goes_on_with_the_handler_that_runs(in_state, name: str) -> None:
    app, call = in_state(name, stays=True)
    # A list is read after all that was handed in before: now its push is on the disk, and it says so.
    app.daemon.control.get("/v1/calls?limit=1")
    before = app.daemon.control.call(call)
    restart(app)
    now = app.daemon.control.call(call)
    # That its push is durable is sure; when it became so may not have been written down any more.
    for seen in (before, now):
        [hop] = [hop for hop in seen["timeline"] if hop["stage"] == "journaled"]
        hop["atUs"] = None
    same = ["state", "pid", "attempt", "caller", "muted", "ringer", "receivedAt", "timeline", "reason"]
    assert {member: now.get(member) for member in same} == {member: before.get(member) for member in same}
    # How long it rings or lasts went on meanwhile; what a handler has to do it has its whole time for once more.
    if name in ("ringing", "connected", "held"):
        assert now["deadlineMs"] <= before["deadlineMs"]
    else:
        assert 0 < now["deadlineMs"] <= 60_000
    assert len(app.lives()) == 1 and failures(app.daemon) == []
    assert app.daemon.control.status()["restoration"]["restored"] >= 1


@pytest.mark.parametrize("handlers", ["alive", "dead"])
@pytest.mark.parametrize("name", STATES)
def test_a_kill_at_once_leaves_a_call_that_can_be_ended(in_state, name: str, handlers: str) -> None:
    app, call = in_state(name)
    restart(app, handlers, at_once=True)
    now = app.daemon.control.call(call)
    if name == "ending":
        assert now["reason"] == "localEnded", now
    if now["state"] not in ("ending", "ended"):
        user(app.daemon, "call", "end", call)
    ended = app.daemon.control.wait_for(call, "ended", 15)
    assert [hop["stage"] for hop in ended["timeline"]].count("rang") <= 1
    assert failures(app.daemon) == []


def test_the_handler_that_runs_goes_on_with_its_secret(in_state) -> None:
    app, call = in_state("connected")
    pid = app.daemon.control.call(call)["pid"]
    secret = processes.environment(pid)["RINGWAKE_WAKE_SECRET"]
    restart(app)
    done = app.daemon.ringwake("call", "ended", call, env={"RINGWAKE_WAKE_SECRET": secret})
    assert done.returncode == 0, done
    ends(app.daemon, call, "remoteEnded")


@pytest.mark.parametrize(("name", "verb", "then"), [("ringing", "answer", "connected"), ("connected", "hold", "held")])
@pytest.mark.parametrize("way", ["exec", "stay"])
def test_a_handler_that_listens_again_goes_on_as_if_nothing_had_been(
    telephone, way: str, name: str, verb: str, then: str
) -> None:
    app = telephone(calls=LONG).by_exec(way=way, more=PAYLOAD)
    app.daemon.start()
    call = STATES[name].reach(app)
    restart(app)
    app.waits_for("listens", count=2, status=200)
    user(app.daemon, "call", verb, call)
    app.daemon.control.wait_for(call, then)
    assert len(app.lives()) == 1 and failures(app.daemon) == []
    hang_up(app, call)


def test_so_does_one_that_came_by_itself(telephone) -> None:
    app = telephone(calls=LONG).only_connected(more=PAYLOAD)
    app.daemon.start()
    process = app.connect()
    call = connected(app)
    restart(app)
    app.waits_for("listens", count=2, status=200)
    user(app.daemon, "call", "hold", call)
    app.daemon.control.wait_for(call, "held")
    assert app.daemon.control.call(call)["pid"] == process.pid
    hang_up(app, call)
    connected(app)


def test_a_handler_that_dies_after_the_restart_is_noticed(in_state) -> None:
    app, call = in_state("connected")
    restart(app)
    lost = app.daemon.control.call(call)["pid"]
    os.kill(lost, signal.SIGKILL)
    waits(lambda: app.daemon.control.call(call).get("pid") not in (None, lost), "a claim")
    assert app.woken(call, kind="claim") and app.daemon.control.call(call)["state"] == "connected"


def test_a_unit_that_runs_is_found_again(telephone, system_bus) -> None:
    app, systemd = telephone(system_bus, calls=LONG), Systemd(system_bus)
    app.by_transient_unit(more=PAYLOAD).daemon.start()
    call = connected(app)
    [started] = systemd.records("started")
    restart(app)
    assert app.daemon.control.call(call)["pid"] == started["pid"]
    os.kill(started["pid"], signal.SIGKILL)
    waits(lambda: app.daemon.control.call(call).get("pid") not in (None, started["pid"]), "a claim")
    assert len(systemd.records("started")) == 2


# With its handler dead

@pytest.mark.parametrize("name", ["woken", "reported"])
def test_a_call_that_had_not_rung_is_given_to_a_new_handler(in_state, name: str) -> None:
    app, call = in_state(name)
    restart(app, "dead")
    now = app.daemon.control.wait_for(call, "ringing", 15)
    # Nobody saw how it died.
    assert failures(app.daemon) == [] and now["attempt"] == 2 and len(app.lives()) == 2
    user(app.daemon, "call", "decline", call)
    ends(app.daemon, call, "declined")


@pytest.mark.parametrize("name", ["ringing", "connected", "held"])
def test_a_call_that_rang_is_claimed_and_rings_no_second_time(in_state, name: str) -> None:
    app, call = in_state(name)
    restart(app, "dead")
    waits(lambda: app.daemon.control.call(call).get("pid") == app.lives()[-1] and len(app.lives()) == 2, "a claim")
    now = app.daemon.control.wait_for(call, name)
    assert [hop["stage"] for hop in now["timeline"]].count("rang") == 1
    assert app.woken(call, kind="claim") and failures(app.daemon) == []
    hang_up(app, call)


def test_a_call_that_was_being_answered_is_answered_by_the_claimant(in_state) -> None:
    app, call = in_state("answering")
    restart(app, "dead")
    app.daemon.control.wait_for(call, "connected", 15)


@pytest.mark.parametrize("handlers", ["alive", "dead"])
def test_what_the_user_ended_stays_ended(in_state, handlers: str) -> None:
    app, call = in_state("ending", stays=True)
    restart(app, handlers)
    if handlers == "dead":
        ends(app.daemon, call, "localEnded")
    assert app.daemon.control.call(call)["reason"] == "localEnded"
    assert app.records("woken", kind="claim") == []


def test_a_call_that_ended_is_not_restored(phone: App) -> None:
    call = connected(phone)
    hang_up(phone, call)
    restart(phone)
    assert phone.daemon.control.call(call)["state"] == "ended"
    assert phone.daemon.control.status()["restoration"]["restored"] == 0
    assert len(phone.lives()) == 1


def test_deadlines_that_passed_meanwhile_are_over_at_once(telephone) -> None:
    app = telephone(calls={"ring": "2s"}).by_exec(more=PAYLOAD)
    app.daemon.start()
    call = ringing(app)
    app.daemon.kill()
    time.sleep(2.2)
    app.daemon.start()
    assert ends(app.daemon, call, "unanswered")["missed"]


def test_calls_of_several_handlers_go_back_to_each(telephone) -> None:
    app = telephone(calls=LONG).by_exec(more=PAYLOAD, instances="call")
    app.daemon.start()
    calls = [ringing(app) for _ in range(4)]
    before = {call: app.daemon.control.call(call)["pid"] for call in calls}
    assert len(set(before.values())) == 4
    app.daemon.kill()
    # A stopped one runs still. Only now: the kernel continues the stopped children of a process that ends.
    processes.stop(before[calls[0]])
    os.kill(before[calls[1]], signal.SIGKILL)
    app.daemon.start()
    now = {call: app.daemon.control.call(call).get("pid") for call in calls}
    assert [now[call] == before[call] for call in calls] == [True, False, True, True]
    waits(lambda: app.daemon.control.call(calls[1]).get("pid"), "the dead one's call to be claimed")
    os.kill(before[calls[0]], signal.SIGCONT)


def test_calls_that_wait_for_a_busy_handler_wait_on(telephone) -> None:
    app = telephone(calls=LONG).by_exec("report!=skip", more=PAYLOAD)
    app.daemon.start()
    first = woken(app)
    second = send(app.daemon)
    restart(app)
    assert app.daemon.control.call(first)["state"] == "woken"
    assert app.daemon.control.call(second)["state"] in ("queued", "woken")
    assert len(app.lives()) == 1


@pytest.mark.parametrize("times", [5])
def test_it_is_killed_again_and_again(in_state, times: int) -> None:
    app, call = in_state("connected")
    before = app.daemon.control.call(call)
    for _ in range(times):
        restart(app)
    now = app.daemon.control.call(call)
    assert (now["state"], now["pid"], now["timeline"]) == (before["state"], before["pid"], before["timeline"])
    hang_up_ended = user(app.daemon, "call", "end", call)
    assert hang_up_ended.returncode == 0


def test_a_stop_in_good_order_restores_as_a_kill_does(in_state) -> None:
    app, call = in_state("connected")
    pid = app.daemon.control.call(call)["pid"]
    app.daemon.stop()
    app.daemon.start()
    now = app.daemon.control.call(call)
    if processes.is_running(pid):
        assert (now["state"], now["pid"]) == ("connected", pid)
    else:
        ends(app.daemon, call, now.get("reason", "handlerFailed"))


# Muted, pending, rung by the daemon

def test_what_else_is_known_of_a_call_is_kept(telephone) -> None:
    app = telephone(calls=LONG).by_exec("dtmf!=skip", more=PAYLOAD)
    app.daemon.start()
    user(app.daemon, "block", "add", "+4989*", "--identify", "--label", "Bavaria")
    call = connected(app, caller="+4989123", name="Bob")
    user(app.daemon, "call", "mute", call)
    waits(lambda: shown(app.daemon, call)["muted"], "the mute")
    user(app.daemon, "call", "dtmf", call, "42#")
    app.waits_for("misdeed", moment="dtmf")
    before = shown(app.daemon, call)
    restart(app)
    now = shown(app.daemon, call)
    for member in ("muted", "caller", "callerName", "identifiedAs", "state", "pid"):
        assert now[member] == before[member], member
    assert [(one["action"], one["digits"]) for one in now["pending"]] == [("dtmf", "42#")]


def test_a_call_that_the_daemon_rings_for_goes_on_ringing(telephone) -> None:
    app = telephone(calls=LONG).by_exec("wake=crash", more=PAYLOAD + '[calls]\nfallback = "ring"\n')
    app.daemon.start()
    call = send(app.daemon)
    app.daemon.control.wait_for(call, "ringing")
    restart(app)
    assert (shown(app.daemon, call)["state"], shown(app.daemon, call)["ringer"]) == ("ringing", "daemon")
    assert failures(app.daemon) == ["exited"]
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected")


def test_another_boot_moves_deadlines_and_asks_for_nothing_of_the_last(telephone) -> None:
    """The machine was restarted meanwhile: its handlers are gone, and instants of its boot clock mean nothing."""
    app = telephone(calls=LONG).by_exec(more=PAYLOAD)
    app.daemon.start()
    first, second = ringing(app), connected(app)
    app.daemon.kill()
    for pid in app.running():
        processes.end(pid)
    # Under this name the store knows the boot that the daemon runs in: let it have been another one.
    with sqlite3.connect(app.daemon.directory / "state" / "store.db") as store:
        assert store.execute("UPDATE boot SET name = ?", (str(uuid.uuid4()),)).rowcount == 1
    store.close()
    app.daemon.start()
    for call in (first, second):
        now = app.daemon.control.wait_for(call, "ended", 20)
        assert now["reason"] in ("handlerFailed", "unanswered", "failed"), now
    connected(app)
