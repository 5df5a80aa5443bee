"""What becomes of a call, and of the caller, when the phone does not wake or the push does not get through."""

import contextlib
import os
import signal
import sqlite3
import uuid
from collections.abc import Callable

import pytest
from sip.capture import Capture
from sip.exchange import DEVICE, SERVER, Exchange
from sip.phone import Phone
from sip.telephones import calls, register
from support import processes
from support.credentials import TOPIC
from support.waiting import until

# Kamailio's `children`: so many workers read SIP.
WORKERS = 4
# A caller who hears within this, in seconds, has not waited for the timeout of SIP, which is 32.
SOON = 10


@pytest.fixture(scope="module")
def exchange(make_exchange: Callable[..., Exchange]) -> Exchange:
    return make_exchange(RINGWAKE_PUSH_SECONDS=2, RINGWAKE_WAIT_MS=4000)


def test_a_device_that_is_off(phone: Phone, exchange: Exchange) -> None:
    phone.start().known()
    # Nobody says so: packets for it are lost.
    exchange.device.ip("link", "set", "eth0", "arp", "off")
    exchange.device.ip("address", "flush", "dev", "eth0")
    try:
        with calls(exchange, str(uuid.uuid4()), "refused") as caller:
            caller.ends(SOON)
    finally:
        exchange.device.ip("link", "set", "eth0", "arp", "on")
        exchange.device.ip("address", "add", f"{DEVICE}/24", "dev", "eth0")
        exchange.device.ip("route", "replace", "default", "via", SERVER)


def test_a_push_service_that_is_not_there(phone: Phone) -> None:
    phone.start().known()
    phone.daemon.stop()
    with calls(phone.exchange, str(uuid.uuid4()), "refused") as caller:
        caller.ends(SOON)


def test_a_phone_that_wakes_and_does_not_register(phone: Phone, exchange: Exchange) -> None:
    exchange.set(RINGWAKE_WAIT_MS=2000)
    phone.start("/bin/sh", "-c", "exec sleep 30").known()
    call = str(uuid.uuid4())
    with calls(phone.exchange, call, "refused") as caller:
        caller.ends()
    phone.ended(call, "cancelled")


def test_a_push_service_that_hangs_holds_up_nobody_else(phone: Phone, exchange: Exchange, capture: Capture) -> None:
    exchange.set(RINGWAKE_WAIT_MS=15000)
    phone.start().known()
    processes.stop(phone.daemon.pid)
    try:
        with contextlib.ExitStack() as stack:
            callers = [
                stack.enter_context(calls(exchange, str(uuid.uuid4()), "refused", port=5070 + number))
                for number in range(WORKERS + 1)
            ]
            heard = lambda: {packet.call for packet in capture.messages("INVITE")}  # noqa: E731
            until(lambda: len(heard()) > WORKERS, 5, "all INVITEs to come")
            # With its workers blocked, the server would answer nothing.
            assert None not in [exchange.options() for _ in range(20)]
            assert all(caller.process.poll() is None for caller in callers), "the pushes did not hang"
            for caller in callers:
                caller.ends()
    finally:
        os.kill(phone.daemon.pid, signal.SIGCONT)


def test_a_token_that_is_gone_is_forgotten(phone: Phone, exchange: Exchange) -> None:
    phone.start()
    exchange.forget("bob")
    register(exchange, "0" * 64, TOPIC)
    register(exchange, "0" * 64, TOPIC, seconds=0)
    with calls(exchange, str(uuid.uuid4()), "refused") as caller:
        caller.ends(SOON)
    assert "0" * 64 not in exchange.ask("htable.dump", "ringwake")


def test_a_token_that_comes_while_a_push_goes_to_the_former_one_is_kept(phone: Phone, exchange: Exchange) -> None:
    exchange.set(RINGWAKE_PUSH_SECONDS=60, RINGWAKE_WAIT_MS=60000)
    phone.start()
    exchange.forget("bob")
    register(exchange, "0" * 64, TOPIC)
    register(exchange, "0" * 64, TOPIC, seconds=0)
    token = phone.daemon.device_token()
    processes.stop(phone.daemon.pid)
    try:
        with calls(exchange, str(uuid.uuid4()), "refused") as caller:
            connections = lambda: exchange.server.exec("ss", "-Htn", "dst", DEVICE).stdout  # noqa: E731
            until(connections, 10, "the push to be under way")
            register(exchange, token, TOPIC)
            os.kill(phone.daemon.pid, signal.SIGCONT)
            caller.ends(SOON)
    finally:
        os.kill(phone.daemon.pid, signal.SIGCONT)
    assert token in exchange.ask("htable.dump", "ringwake")
    exchange.restart_server()
    assert token in exchange.ask("htable.dump", "ringwake"), "the database has it too"


def test_a_token_that_cannot_be_stored_is_used_and_the_log_says_so(exchange: Exchange) -> None:
    exchange.forget("bob")
    with contextlib.closing(sqlite3.connect(exchange.folder / "ringwake.db")) as database:
        database.execute("alter table ringwake_tokens rename to away")
        try:
            register(exchange, "1" * 64, TOPIC)
            until(lambda: "the token of bob could not be written to the database" in exchange.log, 10, "a warning")
        finally:
            database.execute("alter table away rename to ringwake_tokens")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (r"Alice \"A.\" Example", 'Alice "A." Example'),
        (r"Mallory\", \"cancel\":true, \"x\":\"", 'Mallory", "cancel":true, "x":"'),
        # ISO 8859-1, which is no UTF-8: the call comes without a name.
        ("Jörg".encode("latin-1"), None),
    ],
)
def test_what_the_caller_calls_himself(phone: Phone, name: str | bytes, shown: str | None) -> None:
    phone.start("/bin/sh", "-c", "exec sleep 30").known()
    call = str(uuid.uuid4())
    with calls(phone.exchange, call, "cancel", name=name) as caller:
        woken = phone.daemon.control.wait_for(call, "woken")
        caller.cancels()
        caller.ends()
    assert woken.get("callerName") == shown
    assert woken["caller"].startswith("sip:alice@")
    phone.ended(call, "cancelled")
