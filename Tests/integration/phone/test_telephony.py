"""The cellular network of the device, as apps read it and are told of it: ModemManager says it, or nobody."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support import api, processes
from support.apps import App
from support.control import Control, EventStream
from support.credentials import APP
from support.services import ModemManager
from support.telephone import PAYLOAD, user, waits

LTE, NR, UMTS = 1 << 14, 1 << 15, 1 << 5
HOME, ROAMING = 1, 5
EXAMPLE = {"OperatorName": "Example", "OperatorCode": "26201"}


def read(app: App, control: Control | None = None) -> list[dict]:
    answer = (control or app.daemon.control).get("/v1/telephony")
    api.check(answer, "TelephonyMessage")
    return answer["modems"]


def told(app: App, stream: EventStream, lines: Iterator[dict]) -> list[dict]:
    """The networks of the next event of them; the daemon answers the same."""
    for event in lines:
        if event["event"] == "telephony":
            api.check(event, "EventMessage")
            assert event["modems"] == read(app)
            return event["modems"]
    raise AssertionError("the stream ended")


@pytest.fixture
def app(telephone, system_bus) -> App:
    app = telephone(system_bus).by_exec(more=PAYLOAD)
    app.daemon.start()
    return app


def watched(app: App) -> None:
    waits(lambda: app.daemon.control.status()["cellular"]["state"] == "watching", "ModemManager to be seen")


@contextmanager
def handler(app: App) -> Iterator[tuple[EventStream, Iterator[dict], Control]]:
    with app.daemon.control.handler(APP) as stream:
        lines = iter(stream)
        yield stream, lines, Control(app.daemon.control_socket, next(lines)["secret"])


def test_without_a_modem_there_is_nothing(app: App, system_bus) -> None:
    assert read(app) == [], "nor ModemManager"
    with handler(app) as (stream, lines, control):
        manager = ModemManager(system_bus)
        watched(app)
        assert read(app) == read(app, control) == []
        # Its modem makes calls, and has no network that it says. So the first event is of another.
        manager.plug_in(3, AccessTechnologies=0, RegistrationState=2)
        assert told(app, stream, lines) == [{"id": "3", "registration": "searching", "roaming": False}]
    assert user(app.daemon, "telephony").stdout.splitlines()[1].split() == ["3", "-", "-", "searching", "-"]


def test_a_modem_is_followed_from_its_beginning_to_its_end(app: App, system_bus) -> None:
    manager = ModemManager(system_bus, has_modem=False)
    watched(app)
    with handler(app) as (stream, lines, control):
        modem = manager.plug_in(AccessTechnologies=0, RegistrationState=0)
        assert told(app, stream, lines) == [{"id": "1", "registration": "notRegistered", "roaming": False}]
        manager.turn(modem, RegistrationState=HOME, **EXAMPLE)
        home = {
            "id": "1", "operatorName": "Example", "mobileCountryCode": "262", "mobileNetworkCode": "01",
            "registration": "home", "roaming": False,
        }  # fmt: skip
        assert told(app, stream, lines) == [home]
        manager.turn(modem, AccessTechnologies=LTE)
        assert told(app, stream, lines) == [home | {"radioAccessTechnology": "lte"}]
        manager.turn(modem, AccessTechnologies=LTE | NR)
        assert told(app, stream, lines) == [home | {"radioAccessTechnology": "nrNSA"}]
        manager.turn(modem, RegistrationState=ROAMING, OperatorName="Elsewhere", OperatorCode="310260")
        roaming = {
            "id": "1", "operatorName": "Elsewhere", "mobileCountryCode": "310", "mobileNetworkCode": "260",
            "registration": "roaming", "roaming": True, "radioAccessTechnology": "nrNSA",
        }  # fmt: skip
        assert told(app, stream, lines) == [roaming]
        assert read(app, control) == [roaming]
        # Who reads events from now on begins with it.
        with app.daemon.control.events() as events:
            assert events.until("telephony")[-1]["modems"] == [roaming]
        second = manager.plug_in(2, AccessTechnologies=UMTS, RegistrationState=HOME, **EXAMPLE)
        assert [one["id"] for one in told(app, stream, lines)] == ["1", "2"]
        manager.pull_out(modem)
        assert told(app, stream, lines) == [home | {"id": "2", "radioAccessTechnology": "wcdma"}]
        manager.pull_out(second)
        assert told(app, stream, lines) == []


def test_a_modem_manager_that_restarts_is_asked_again(app: App, system_bus) -> None:
    manager = ModemManager(system_bus, has_modem=False)
    manager.plug_in(AccessTechnologies=LTE, RegistrationState=HOME, **EXAMPLE)
    with handler(app) as (stream, lines, _):
        assert told(app, stream, lines)[0]["operatorName"] == "Example"
        manager.service.stop()
        assert told(app, stream, lines) == []
        again = ModemManager(system_bus, has_modem=False)
        again.plug_in(7, AccessTechnologies=UMTS, RegistrationState=ROAMING, OperatorName="Other", OperatorCode="20801")
        [now] = told(app, stream, lines)
        assert (now["id"], now["operatorName"], now["roaming"]) == ("7", "Other", True)


def test_a_daemon_that_restarts_says_it_again(app: App, system_bus) -> None:
    manager = ModemManager(system_bus, has_modem=False)
    manager.plug_in(AccessTechnologies=LTE, RegistrationState=HOME, **EXAMPLE)
    app.daemon.stop()
    app.daemon.start()
    with handler(app) as (stream, lines, _):
        assert told(app, stream, lines)[0]["radioAccessTechnology"] == "lte"


def test_while_nobody_reads_events_the_modem_wakes_nobody_and_who_asks_gets_what_is_true(
    app: App, system_bus
) -> None:
    manager = ModemManager(system_bus, has_modem=False)
    modem = manager.plug_in(AccessTechnologies=LTE, RegistrationState=HOME, **EXAMPLE)
    watched(app)
    with handler(app) as (stream, lines, _):
        assert told(app, stream, lines)[0]["radioAccessTechnology"] == "lte"
    # The daemon sees that the reader has left before it answers.
    waits(lambda: app.daemon.control.app(APP)["connected"] == 0, "the handler to be gone")
    read(app)
    before = processes.settled_switches(app.daemon.pid)
    for technology in (NR, UMTS, LTE, NR):
        manager.turn(modem, AccessTechnologies=technology)
    assert processes.voluntary_switches(app.daemon.pid) == before
    assert read(app)[0]["radioAccessTechnology"] == "nr"
    shown = json.loads(user(app.daemon, "telephony", "--json").stdout)
    assert shown["modems"][0]["radioAccessTechnology"] == "nr"


def test_what_a_modem_says_is_not_trusted(app: App, system_bus) -> None:
    manager = ModemManager(system_bus, has_modem=False)
    watched(app)
    with handler(app) as (stream, lines, _):
        manager.plug_in(
            AccessTechnologies=4294967295, RegistrationState=4294967295, OperatorName="\x1b[31m" + "x" * 5000,
            OperatorCode="2620١",
        )  # fmt: skip
        [modem] = told(app, stream, lines)
        assert len(modem.pop("operatorName")) == 64
        assert modem == {"id": "1", "registration": "unknown", "roaming": False}
    done = user(app.daemon, "telephony")
    assert "\x1b" not in done.stdout and "?[31m" in done.stdout


def test_strangers_are_refused_and_an_app_reads_it(app: App, system_bus) -> None:
    ModemManager(system_bus)
    with handler(app) as (_, _, control):
        assert read(app, control) == []
        assert control.request("GET", "/v1/telephony?app=1")[0] == 400
        assert control.request("POST", "/v1/telephony")[0] == 400
    assert Control(app.daemon.control_socket, "00" * 32).request("GET", "/v1/telephony")[0] == 403
    status = Control(app.daemon.control_socket.parent / "status.sock")
    assert status.request("GET", "/v1/telephony")[0] == 403


def test_nothing_is_read_of_a_modem_that_is_not_watched(telephone, system_bus) -> None:
    manager = ModemManager(system_bus, has_modem=False)
    manager.plug_in(AccessTechnologies=LTE, RegistrationState=HOME, **EXAMPLE)
    app = telephone(system_bus, cellular="watch = false").by_exec(more=PAYLOAD)
    app.daemon.start()
    assert read(app) == []
    assert user(app.daemon, "telephony").stdout == "no modem\n"


def test_a_modem_manager_that_refuses_is_named(app: App, system_bus) -> None:
    manager = ModemManager(system_bus, has_modem=False)
    watched(app)
    error = 'raise dbus.exceptions.DBusException("no", name="org.freedesktop.DBus.Error.AccessDenied")'
    manager.replace(ModemManager.manager, "GetManagedObjects", "", "a{oa{sa{sv}}}", error)
    status, answer = app.daemon.control.request("GET", "/v1/telephony")
    assert (status, answer["error"]) == (502, "unreachable") and "AccessDenied" in answer["message"], answer
