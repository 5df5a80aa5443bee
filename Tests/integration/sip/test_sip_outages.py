"""Outages between the SIP server and the device, and calls that the device lets nobody hear."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sip.capture import Capture
from sip.exchange import CALLER, DEVICE, SERVER, Exchange
from sip.phone import Phone
from sip.telephones import calls
from support.telephone import user
from support.waiting import until

# A caller who hears within this, in seconds, has not waited until the server gives the phone up.
AT_ONCE = 15


@pytest.fixture(scope="module")
def exchange(make_exchange: Callable[..., Exchange]) -> Exchange:
    return make_exchange(RINGWAKE_PUSH_SECONDS=1, RINGWAKE_WAIT_MS=2 * AT_ONCE * 1000)


@pytest.fixture
def pushes_of(exchange: Exchange) -> Callable[[str], int]:
    """How many pushes of a call have failed by now."""
    return lambda call: sum(call in line and "push of" in line for line in exchange.log.splitlines())


@contextmanager
def cut(exchange: Exchange) -> Iterator[None]:
    """The device cannot be reached, and nobody says so: packets for it are lost."""
    exchange.device.ip("link", "set", "eth0", "arp", "off")
    exchange.device.ip("address", "flush", "dev", "eth0")
    try:
        yield
    finally:
        exchange.device.ip("link", "set", "eth0", "arp", "on")
        exchange.device.ip("address", "add", f"{DEVICE}/24", "dev", "eth0")
        exchange.device.ip("route", "replace", "default", "via", SERVER)


def test_a_daemon_that_restarts_gets_the_call(phone: Phone, pushes_of: Callable[[str], int]) -> None:
    phone.start().known()
    phone.daemon.stop()
    call = str(uuid.uuid4())
    with calls(phone.exchange, call) as caller:
        until(lambda: pushes_of(call) >= 2, 10, "the server to push again")
        phone.daemon.start()
        phone.rings(call)
        phone.answers(call)
        caller.ends()
    phone.ended(call, "remoteEnded")
    phone.is_asleep()


def test_a_daemon_that_restarts_gets_the_call_of_a_registered_phone(
    phone: Phone, exchange: Exchange, capture: Capture, pushes_of: Callable[[str], int]
) -> None:
    """Its client answers 180 by itself, but its handler rings for calls that it knows from a push."""
    phone.start().known()
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    with calls(exchange, first, "hung_up") as one:
        phone.rings(first)
        phone.answers(first)
        phone.daemon.stop()
        with calls(exchange, second, "cancel", port=5071) as other:
            until(lambda: capture.messages("180 INVITE", second), 10, "the registered phone to answer")
            failed = pushes_of(second)
            until(lambda: pushes_of(second) > failed, 10, "the server to push again")
            phone.daemon.start()
            phone.rings(second)
            other.cancels()
            other.ends()
        phone.declines(first)
        one.ends()
    phone.ended(first, "localEnded")


def test_a_token_that_goes_meanwhile_holds_up_no_missed_call(
    phone: Phone, exchange: Exchange, pushes_of: Callable[[str], int]
) -> None:
    exchange.set(RINGWAKE_WAIT_MS=2000)
    phone.start().known()
    phone.daemon.stop()

    def given_up() -> str:
        call = str(uuid.uuid4())
        with calls(exchange, call, "refused") as caller:
            caller.ends()
        until(lambda: f"push of missed {call}" in exchange.log, 10, "the call to be pushed as missed")
        return call

    given_up()
    exchange.forget("bob")
    until(lambda: "0" in exchange.ask("mqueue.get_size", "ringwake_missed"), 10, "the push to be dropped")
    phone.daemon.start()
    phone.known()
    phone.daemon.stop()
    call = given_up()
    phone.daemon.start()
    phone.ended(call, "cancelled")


def test_a_link_that_is_away_for_seconds_costs_no_call(
    phone: Phone, exchange: Exchange, pushes_of: Callable[[str], int]
) -> None:
    phone.start().known()
    call = str(uuid.uuid4())
    with calls(exchange, call) as caller:
        with cut(exchange):
            until(lambda: pushes_of(call) >= 1, 10, "a push to fail")
        phone.rings(call)
        phone.answers(call)
        caller.ends()
    phone.ended(call, "remoteEnded")


@pytest.mark.parametrize("ending", ["given up", "cancelled"])
def test_a_call_that_the_outage_outlasts_is_missed_later(
    phone: Phone, exchange: Exchange, pushes_of: Callable[[str], int], ending: str
) -> None:
    if ending == "given up":
        exchange.set(RINGWAKE_WAIT_MS=2000)
    phone.start().known()
    phone.daemon.stop()
    call = str(uuid.uuid4())
    with calls(exchange, call, "refused" if ending == "given up" else "cancel") as caller:
        until(lambda: pushes_of(call) >= 1, 10, "a push to fail")
        if ending == "cancelled":
            caller.cancels()
        caller.ends()
    phone.daemon.start()
    missed = phone.ended(call, "cancelled")
    assert missed["caller"].startswith("sip:alice@") and missed["callerName"] == "Alice"
    phone.is_asleep()
    assert call not in exchange.ask("htable.dump", "ringwake_open")
    assert "bob" not in exchange.ask("htable.dump", "ringwake_waiting")


def test_a_call_that_must_not_ring_ends_at_once(phone: Phone, exchange: Exchange) -> None:
    phone.start().known()
    user(phone.daemon, "dnd", "on")
    call = str(uuid.uuid4())
    with calls(exchange, call, "refused") as caller:
        caller.ends(AT_ONCE)
    assert phone.daemon.control.call(call)["state"] == "ended"
    assert "bob" not in exchange.ask("htable.dump", "ringwake_waiting")


def test_a_call_that_must_not_ring_does_not_reach_a_registered_phone(
    phone: Phone, exchange: Exchange, capture: Capture
) -> None:
    phone.start().known()
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    with calls(exchange, first, pause_ms=4000) as one:
        phone.rings(first)
        phone.answers(first)
        user(phone.daemon, "block", "add", f"sip:alice@{CALLER}:5071")
        with calls(exchange, second, "refused", port=5071) as other:
            other.ends(AT_ONCE)
        one.ends()
    phone.ended(first, "remoteEnded")
    assert not capture.messages("180 INVITE", second)
    assert all(packet.destination[0] != DEVICE for packet in capture.messages("INVITE", second))


def test_a_cancellation_after_a_restart_of_the_server_stops_the_ring(phone: Phone, exchange: Exchange) -> None:
    phone.start().known()
    call = str(uuid.uuid4())
    with calls(exchange, call, "cancel") as caller:
        phone.rings(call)
        exchange.restart_server()
        caller.cancels()
        phone.ended(call, "cancelled")
    phone.is_asleep()
