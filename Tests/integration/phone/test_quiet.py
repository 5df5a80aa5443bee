"""With buses, services, connected handlers and lists, a daemon that has nothing to do does nothing still."""

import datetime
import time

import pytest

from support import processes
from support.services import Logind, ModemManager, Notifications
from support.telephone import PAYLOAD, connected, hang_up, user, waits
from test_idle import IDLE, settled_switches


@pytest.mark.alone
def test_with_everything_connected_after_a_call_nothing_wakes_it(telephone, session_bus, system_bus) -> None:
    Logind(system_bus)
    Notifications(session_bus)
    ModemManager(system_bus)
    app = telephone(session_bus, system_bus, ring='vibrate = ["/bin/true"]')
    app.by_exec(more=PAYLOAD + '[calls]\nringer = "daemon"\n')
    app.daemon.start()
    waits(lambda: app.daemon.control.status()["cellular"]["state"] == "watching", "the modem to be watched")
    app.connect()
    user(app.daemon, "block", "add", "+49900*")
    # A schedule is there, and not in force, whatever day it is.
    far = (datetime.date.today() + datetime.timedelta(days=3)).strftime("%a").lower()
    user(app.daemon, "dnd", "schedule", "add", far, "10:00-11:00")
    hang_up(app, connected(app))
    before = settled_switches(app.daemon.pid)
    time.sleep(IDLE)
    assert processes.voluntary_switches(app.daemon.pid) == before
    assert processes.threads(app.daemon.pid) == 2


@pytest.mark.alone
def test_a_call_that_goes_on_wakes_nobody(telephone, system_bus) -> None:
    """One deadline, hours away, is all that there is."""
    Logind(system_bus)
    app = telephone(system_bus).by_exec(more=PAYLOAD)
    app.daemon.start()
    connected(app)
    before = settled_switches(app.daemon.pid)
    time.sleep(IDLE)
    assert processes.voluntary_switches(app.daemon.pid) == before
