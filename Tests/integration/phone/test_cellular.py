"""A cellular call, as ModemManager tells of it: calls of ours make room for it."""

import pytest

from support.apps import App
from support.services import ModemManager
from support.telephone import PAYLOAD, connected, ends, hang_up, held, ringing, send, user, waits

# States in which a cellular call has the microphone, and those in which it only wants to.
BUSY = ["dialing", "ringing-out", "active"]


@pytest.fixture
def modem(system_bus) -> ModemManager:
    return ModemManager(system_bus)


def with_policy(telephone, system_bus, policy: str | None, *misdeeds: str) -> App:
    app = telephone(system_bus)
    rules = f'[calls]\nwhen_cellular = "{policy}"\n' if policy else ""
    app.by_exec(*misdeeds, more=PAYLOAD + rules).daemon.start()
    watches(app)
    return app


def watches(app: App) -> None:
    waits(lambda: app.daemon.control.status()["cellular"]["state"] == "watching", "the modem to be watched")


def is_active(app: App, expected: bool) -> None:
    waits(lambda: app.daemon.control.status()["cellular"]["active"] is expected, f"cellular to be {expected}")


@pytest.mark.parametrize("state", BUSY)
def test_our_call_is_held_for_a_cellular_one(telephone, system_bus, modem: ModemManager, state: str) -> None:
    app = with_policy(telephone, system_bus, None)
    call = connected(app)
    cellular = modem.add_call(1, state)
    app.daemon.control.wait_for(call, "held")
    app.waits_for("event", event="cellular")
    modem.change(cellular, "terminated")
    modem.delete(cellular)
    is_active(app, False)
    # Nobody but the user goes on with it.
    assert app.daemon.control.call(call)["state"] == "held"
    user(app.daemon, "call", "unhold", call)
    app.daemon.control.wait_for(call, "connected")


def test_or_it_is_ended_by_policy(telephone, system_bus, modem: ModemManager) -> None:
    app = with_policy(telephone, system_bus, "end")
    call = connected(app)
    modem.add_call(1, "active")
    ends(app.daemon, call, "localEnded")


def test_or_nothing_happens_by_policy(telephone, system_bus, modem: ModemManager) -> None:
    app = with_policy(telephone, system_bus, "keep")
    call = connected(app)
    modem.add_call(1, "active")
    is_active(app, True)
    assert app.daemon.control.call(call)["state"] == "connected"
    assert app.records("event", event="action", action="hold") == []


def test_a_cellular_call_that_rings_takes_nothing_until_it_is_answered(
    telephone, system_bus, modem: ModemManager
) -> None:
    app = with_policy(telephone, system_bus, None)
    call = connected(app)
    cellular = modem.add_call(1, "ringing-in")
    other = ringing(app)
    assert app.daemon.control.call(call)["state"] == "connected"
    user(app.daemon, "call", "decline", other)
    modem.change(cellular, "active")
    app.daemon.control.wait_for(call, "held")


def test_a_call_that_is_being_answered_is_held_once_it_is(telephone, system_bus, modem: ModemManager) -> None:
    app = with_policy(telephone, system_bus, None, "answer=slow:1")
    call = ringing(app)
    user(app.daemon, "call", "answer", call)
    modem.add_call(1, "active")
    app.daemon.control.wait_for(call, "held")


def test_all_of_several_cellular_calls_have_to_end(telephone, system_bus, modem: ModemManager) -> None:
    app = with_policy(telephone, system_bus, None)
    first, second = modem.add_call(1, "active"), modem.add_call(2, "held")
    is_active(app, True)
    modem.delete(first)
    modem.change(second, "active")
    is_active(app, True)
    modem.delete(second)
    is_active(app, False)


def test_a_call_that_comes_meanwhile_is_rejected_by_policy(telephone, system_bus, modem: ModemManager) -> None:
    app = telephone(system_bus).by_exec(more=PAYLOAD + '[calls]\nwhen_busy = "reject"\n')
    app.daemon.start()
    watches(app)
    modem.add_call(1, "active")
    is_active(app, True)
    ends(app.daemon, send(app.daemon), "busy")


def test_the_user_may_answer_all_the_same(telephone, system_bus, modem: ModemManager) -> None:
    app = with_policy(telephone, system_bus, None)
    modem.add_call(1, "active")
    is_active(app, True)
    connected(app)


def test_a_call_that_was_there_before_the_daemon_counts(telephone, system_bus, modem: ModemManager) -> None:
    modem.add_call(1, "active")
    app = with_policy(telephone, system_bus, None)
    is_active(app, True)


def test_a_call_that_is_held_already_stays_so(telephone, system_bus, modem: ModemManager) -> None:
    app = with_policy(telephone, system_bus, None)
    call = held(app)
    modem.add_call(1, "active")
    is_active(app, True)
    assert len(app.records("event", event="action", action="hold")) == 1
    hang_up(app, call)


def test_modem_manager_that_dies_has_no_calls_any_more(telephone, system_bus, modem: ModemManager) -> None:
    app = with_policy(telephone, system_bus, None)
    modem.add_call(1, "active")
    is_active(app, True)
    modem.service.stop()
    is_active(app, False)
    # And comes again.
    again = ModemManager(system_bus)
    again.add_call(1, "active")
    is_active(app, True)


def test_without_modem_manager_nothing_is_asked_for(telephone, system_bus) -> None:
    app = telephone(system_bus).by_exec(more=PAYLOAD)
    app.daemon.start()
    waits(lambda: app.daemon.control.status()["cellular"]["state"] == "unavailable", "it to be found absent")
    call = connected(app)
    hang_up(app, call)


def test_it_can_be_turned_off(telephone, system_bus, modem: ModemManager) -> None:
    app = telephone(system_bus, cellular="watch = false").by_exec(more=PAYLOAD)
    app.daemon.start()
    assert app.daemon.control.status()["cellular"]["state"] == "off"
    modem.add_call(1, "active")
    call = connected(app)
    hang_up(app, call)
