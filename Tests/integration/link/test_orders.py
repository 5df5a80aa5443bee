"""Orders of a gateway's operator: what he was told is on the disk."""

import errno
import threading
from collections.abc import Iterator

import pytest
from support.daemon import Daemon
from support.links import devices, make_device, make_gateway, pair
from support.native import Faults, Native
from support.waiting import until

ORDERS = {"revoke": ("revoke", "{name}"), "move": ("move", "--all", "--to", "push2.example.com:8883")}


@pytest.fixture
def site(make_daemon, tmp_path) -> Iterator[tuple[Daemon, Faults, str]]:
    """A gateway whose disk can be made to fail, and the name of its device, which is away."""
    faults = Faults(Native.make(tmp_path))
    gateway = make_gateway(make_daemon)
    gateway.user = faults.prefix(gateway.directory / "state")
    gateway.start()
    device = make_device(make_daemon).start()
    pair(gateway, device)
    device.kill()
    until(lambda: devices(gateway)[0]["state"] == "offline", 30, lambda: gateway.log)
    yield gateway, faults, devices(gateway)[0]["name"]
    faults.clear_away()


def is_ordered(gateway: Daemon, order: str) -> bool:
    device = devices(gateway)[0]
    return device["state"] == "revoked" if order == "revoke" else "movesTo" in device


def order(gateway: Daemon, which: str, name: str):
    return gateway.ringwake("gateway", *(word.format(name=name) for word in ORDERS[which]))


@pytest.mark.parametrize("which", ORDERS)
def test_an_order_is_answered_when_it_is_on_the_disk(site, which: str) -> None:
    gateway, faults, name = site
    faults.set(hang=1)
    done = []
    person = threading.Thread(target=lambda: done.append(order(gateway, which, name)))
    person.start()
    until(lambda: faults.count("hang") > 0, 30, lambda: gateway.log)
    assert is_ordered(gateway, which), "it holds at once"
    assert not done, "and is not answered yet"
    faults.set()
    person.join(30)
    assert done and done[0].returncode == 0, (done, gateway.log)
    gateway.kill()
    gateway.start()
    assert is_ordered(gateway, which)


@pytest.mark.parametrize("which", ORDERS)
def test_an_order_that_cannot_be_stored_says_so(site, which: str) -> None:
    gateway, faults, name = site
    faults.set(sync=errno.EIO)
    done = order(gateway, which, name)
    assert done.returncode != 0 and "order it again" in done.stderr, done
    faults.set()
    until(lambda: order(gateway, which, name).returncode == 0 or which == "revoke", 30, lambda: gateway.log)
