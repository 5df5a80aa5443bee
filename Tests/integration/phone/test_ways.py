"""Every way of waking a handler: a call from its push to its end, with the user at the command line."""

import json
import signal
import socket
import subprocess

import pytest

from support import processes
from support.apps import App
from support.credentials import APP
from support.programs import RINGWAKE
from support.services import Systemd
from support.sockets import listens
from support.telephone import (
    OTHER_APP, PAYLOAD, allow_two_apps, connected, ends, failures, hang_up, ringing, send, shown, user, waits,
)  # fmt: skip

NAME = "org.example.Phone"
WHOLE_LIFE = {
    "received", "verified", "woke", "journaled", "reported", "rang", "answered", "connected", "audioActive", "hungUp",
    "ended",
}  # fmt: skip


def whole_call(app: App) -> dict:
    """From the push to hanging up; what is left of the call."""
    call = connected(app, caller="sip:bob@example.org")
    assert shown(app.daemon, call)["caller"] == "sip:bob@example.org"
    ended = hang_up(app, call)
    assert (ended["reason"], ended["attempt"]) == ("localEnded", 1)
    assert {hop["stage"] for hop in ended["timeline"]} == WHOLE_LIFE
    assert failures(app.daemon, app.app) == []
    return ended


# exec

def test_a_handler_that_the_daemon_starts(phone: App) -> None:
    whole_call(phone)
    assert phone.woken(phone.records("woken")[0]["call"])["way"] == "exec"
    waits(lambda: not phone.running(), "the handler to leave")


# A transient unit, and a unit of a template: with the fake systemd

def test_a_handler_in_a_transient_unit_of_a_fake_systemd(telephone, system_bus) -> None:
    app, systemd = telephone(system_bus), Systemd(system_bus)
    app.by_transient_unit(more=PAYLOAD).daemon.start()
    call = connected(app)
    [begun] = systemd.records("StartTransientUnit")
    assert APP in begun["unit"] and begun["unit"].endswith(".service"), begun
    # Everybody can read a unit's properties.
    [started] = systemd.records("started")
    secret = "".join(processes.environment(started["pid"]).get("RINGWAKE_WAKE_SECRET", "none"))
    assert "secret" not in json.dumps(begun).lower() and secret not in json.dumps(begun["properties"])
    assert shown(app.daemon, call)["pid"] == started["pid"] == app.lives()[0]
    hang_up(app, call)
    systemd.service.waits_for("ended", unit=begun["unit"])
    assert failures(app.daemon) == []


def test_a_units_processes_need_no_secret(telephone, system_bus) -> None:
    """Their control group says whose they are. A child of the handler, in the same group, has its rights too."""
    app, systemd = telephone(system_bus), Systemd(system_bus)
    app.by_transient_unit(more=PAYLOAD).daemon.start()
    call = send(app.daemon)
    if not systemd.makes_groups():
        pytest.skip("no control groups can be made here")
    app.daemon.control.wait_for(call, "ringing")
    assert app.said("report")["status"] == 200


def test_a_unit_of_a_template_of_a_fake_systemd(telephone, system_bus) -> None:
    app, systemd = telephone(system_bus), Systemd(system_bus)
    app.by_unit("phone@.service", systemd.units, more=PAYLOAD, instances="call").daemon.start()
    call = send(app.daemon, caller="sip:bob@example.org")
    [begun] = [systemd.service.waits_for("StartUnit")]
    assert begun["unit"].startswith("phone@") and call.split("-")[0] in begun["unit"], begun
    if not systemd.makes_groups():
        pytest.skip("no control groups can be made here, and nothing else gives this handler its rights")
    app.daemon.control.wait_for(call, "ringing")
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected")
    assert shown(app.daemon, call)["caller"] == "sip:bob@example.org"
    hang_up(app, call)
    waits(lambda: not app.running(), "the unit to end")
    assert failures(app.daemon) == []


def test_a_unit_that_does_not_exist_is_a_strike_that_names_it(telephone, system_bus) -> None:
    app, systemd = telephone(system_bus), Systemd(system_bus)
    app.configure('unit = "absent@.service"\nmanager = "system"').daemon.start()
    ended = ends(app.daemon, send(app.daemon), "handlerFailed")
    assert "absent@" in ended["detail"], ended
    assert failures(app.daemon) == ["didNotStart"]
    assert systemd.records("started") == []


def test_a_unit_that_the_user_ends_is_stopped_with_its_children(telephone, system_bus) -> None:
    """What a handler leaves running is its unit's, and ends with it."""
    app, systemd = telephone(system_bus, calls={"report": "500ms"}), Systemd(system_bus)
    app.configure('exec = ["/bin/sh", "-c", "sleep 300 & sleep 300 & wait"]\nway = "unit"\nmanager = "system"')
    app.daemon.start()
    ends(app.daemon, send(app.daemon), "handlerFailed")
    [started] = systemd.records("started")
    waits(lambda: not processes.members(started["pid"]), "the unit's processes to end")
    assert failures(app.daemon) == ["didNotReport"]


def test_without_a_system_bus_a_unit_cannot_be_started_and_it_says_why(telephone) -> None:
    app = telephone()
    app.by_transient_unit().daemon.start()
    ended = ends(app.daemon, send(app.daemon), "handlerFailed")
    assert "bus" in ended["detail"], ended
    assert failures(app.daemon) == ["didNotStart"]


# D-Bus

def test_a_handler_that_the_bus_starts(telephone, session_bus) -> None:
    app = telephone(session_bus)
    session_bus.activates(NAME, app.command("dbus", "session", NAME))
    app.by_dbus(NAME, more=PAYLOAD).daemon.start()
    whole_call(app)
    assert len(app.lives()) == 1


def test_a_handler_on_the_bus_that_runs_gets_each_call(telephone, session_bus) -> None:
    app = telephone(session_bus)
    process = app.run("dbus", "session", NAME)
    app.waits_for("on bus")
    app.by_dbus(NAME, more=PAYLOAD, instances="call").daemon.start()
    calls = [connected(app) for _ in range(2)]
    assert shown(app.daemon, calls[0])["pid"] == process.pid
    for call in calls:
        user(app.daemon, "call", "end", call)
        ends(app.daemon, call, "localEnded")
    assert app.lives() == [process.pid] and failures(app.daemon) == []


def test_a_name_that_nobody_owns_or_starts_is_a_strike_that_names_it(telephone, session_bus) -> None:
    app = telephone(session_bus).by_dbus("org.example.Nobody")
    app.daemon.start()
    ended = ends(app.daemon, send(app.daemon), "handlerFailed")
    assert "org.example.Nobody" in ended["detail"], ended
    assert failures(app.daemon) == ["didNotStart"]


def test_a_handler_that_leaves_the_bus_before_it_reports_is_gone(telephone, session_bus) -> None:
    app = telephone(session_bus)
    process = app.run("dbus", "session", NAME, "report=crash")
    app.waits_for("on bus")
    app.by_dbus(NAME).daemon.start()
    ends(app.daemon, send(app.daemon), "handlerFailed")
    assert process.wait(10) == -signal.SIGKILL
    assert failures(app.daemon) == ["exited"]


# A listening socket

def test_a_handler_that_listens(telephone) -> None:
    app = telephone()
    process = app.listen()
    app.by_socket(more=PAYLOAD).daemon.start()
    whole_call(app)
    assert app.records("woken")[0]["way"] == "socket" and app.lives() == [process.pid]


def test_a_handler_that_listens_takes_calls_side_by_side(telephone) -> None:
    app = telephone()
    app.listen()
    app.by_socket(more=PAYLOAD, instances="call").daemon.start()
    calls = [ringing(app) for _ in range(3)]
    for call in calls:
        user(app.daemon, "call", "decline", call)
    for call in calls:
        ends(app.daemon, call, "declined")


def test_a_listener_that_systemd_socket_activate_starts(telephone) -> None:
    app = telephone()
    program = app.command("socket", app.socket)
    activator = ["systemd-socket-activate", f"--listen={app.socket}", *program]
    app.started.append(subprocess.Popen(activator, stderr=subprocess.DEVNULL, start_new_session=True))
    waits(lambda: listens(app.socket), "the socket")
    app.by_socket(more=PAYLOAD).daemon.start()
    assert app.lives() == []
    whole_call(app)


@pytest.mark.parametrize("there", [False, True])
def test_a_socket_that_nobody_listens_on_is_a_strike_that_names_it(telephone, there: bool) -> None:
    app = telephone()
    if there:
        app.listen().kill()
    app.by_socket().daemon.start()
    ended = ends(app.daemon, send(app.daemon), "handlerFailed")
    assert str(app.socket) in ended["detail"], ended
    assert failures(app.daemon) == ["didNotStart"]


# A handler that keeps a connection

@pytest.mark.parametrize("instances", ["app", "call"])
def test_a_connected_handler_gets_everything_and_nothing_is_started(telephone, instances: str) -> None:
    app = telephone().by_exec(more=PAYLOAD, instances=instances)
    app.daemon.start()
    process = app.connect()
    assert json.loads(user(app.daemon, "app", "show", APP, "--json").stdout)["connected"] == 1
    for _ in range(2):
        whole_call(app)
    assert app.lives() == [process.pid]
    assert {record["way"] for record in app.records("woken")} == {"delivered"}


def test_a_started_handler_that_stays_gets_the_next_call_by_its_connection(telephone) -> None:
    app = telephone().by_exec(way="stay", more=PAYLOAD)
    app.daemon.start()
    whole_call(app)
    whole_call(app)
    assert len(app.lives()) == 1
    assert [record["way"] for record in app.records("woken")] == ["exec", "delivered"]


def test_an_app_whose_handler_only_connects_misses_calls_without_it(telephone) -> None:
    app = telephone().only_connected(more=PAYLOAD)
    app.daemon.start()
    ended = ends(app.daemon, send(app.daemon), "handlerFailed")
    assert ended["missed"] and "connect" in ended["detail"], ended
    app.connect()
    whole_call(app)


def test_when_the_connected_handler_leaves_the_next_call_starts_one(telephone) -> None:
    app = telephone().by_exec(more=PAYLOAD)
    app.daemon.start()
    process = app.connect()
    whole_call(app)
    process.kill()
    process.wait()
    gone = lambda: not json.loads(user(app.daemon, "app", "show", APP, "--json").stdout)["connected"]  # noqa: E731
    waits(gone, "the daemon to notice")
    call = ringing(app)
    assert app.woken(call)["way"] == "exec"
    assert failures(app.daemon) == []


def test_a_handler_that_leaves_while_it_is_greeted_is_not_taken_for_one_that_listens(phone: App) -> None:
    first = ringing(phone)
    secret = processes.environment(phone.daemon.control.call(first)["pid"])["RINGWAKE_WAKE_SECRET"]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(phone.daemon.control.path))
        head = f"GET /v1/apps/{APP}/handler HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {secret}\r\n\r\n"
        connection.sendall(head.encode())
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    # It would be delivered to nobody.
    hang_up(phone, ringing(phone))
    assert failures(phone.daemon) == []


def test_the_newest_connected_handler_gets_the_call(telephone) -> None:
    app = telephone().only_connected(more=PAYLOAD)
    app.daemon.start()
    app.connect()
    newer = app.connect()
    call = ringing(app)
    assert app.woken(call)["pid"] == newer.pid


def test_a_ninth_connected_handler_is_refused(telephone) -> None:
    app = telephone().only_connected()
    app.daemon.start()
    for _ in range(8):
        app.connect()
    process = app.run("connected", app.daemon.control_socket, APP)
    record = app.waits_for("listens", pid=process.pid)
    assert record["status"] in (409, 429), record
    assert json.loads(user(app.daemon, "app", "show", APP, "--json").stdout)["connected"] == 8


def test_ringwake_app_connect_is_a_handler_in_the_shell(telephone) -> None:
    app = telephone().only_connected(more=PAYLOAD)
    app.daemon.start()
    with subprocess.Popen(
        [RINGWAKE, "app", "connect", APP], stdout=subprocess.PIPE, text=True, env=app.daemon.environment()
    ) as process:
        assert process.stdout
        hello = json.loads(process.stdout.readline())
        assert hello["event"] == "handler" and hello["secret"]
        call = send(app.daemon, caller="sip:bob@example.org")
        wake = next(event for line in process.stdout if (event := json.loads(line))["event"] == "wake")
        assert (wake["push"]["call"], wake["push"]["payload"]) == (call, {"caller": "sip:bob@example.org"})
        done = app.daemon.ringwake("call", "report", call, "--ring", env={"RINGWAKE_WAKE_SECRET": hello["secret"]})
        assert done.returncode == 0, done
        app.daemon.control.wait_for(call, "ringing")
        process.terminate()


# All of them

def test_a_slow_app_does_not_delay_another(telephone) -> None:
    app = telephone(calls={"report": "30s"})
    allow_two_apps(app.daemon)
    app.by_exec("wake!=slow:20")
    other = App(app.daemon, OTHER_APP).by_exec()
    app.daemon.start()
    slow = [send(app.daemon) for _ in range(3)]
    app.woken(slow[0])
    ringing(other)
    states = [app.daemon.control.call(call)["state"] for call in slow]
    assert states == ["woken", "queued", "queued"]
