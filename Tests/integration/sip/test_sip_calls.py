"""sipp calls a number at Kamailio, Kamailio pushes, Ringwake wakes the handler, and baresip takes the held call."""

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from sip.capture import Capture
from sip.exchange import CALLER, DEVICE, Exchange
from sip.phone import HANDLERS, Phone
from sip.telephones import calls
from support.waiting import until

# A caller who hears within this, in seconds, has not waited for the server to give the phone up.
SOON = 20


@pytest.fixture(scope="module")
def exchange(make_exchange: Callable[..., Exchange]) -> Exchange:
    return make_exchange(RINGWAKE_WAIT_MS=2 * SOON * 1000)


@pytest.fixture(params=HANDLERS)
def phone(phone: Phone, request: pytest.FixtureRequest) -> Phone:
    """Each of the examples, one after the other."""
    return phone.is_handled_in(request.param)


def test_a_call_wakes_the_phone_and_both_hear_each_other(phone: Phone, capture: Capture) -> None:
    phone.start().known()
    call = str(uuid.uuid4())
    with calls(phone.exchange, call, pause_ms=1000) as caller:
        ringing = phone.rings(call)
        assert ringing["caller"] == f"sip:alice@{CALLER}:5070"
        assert ringing["callerName"] == "Alice"
        phone.answers(call)
        caller.ends()
    phone.ended(call, "remoteEnded")
    phone.is_asleep()
    assert all(capture.messages(kind, call) for kind in ("INVITE", "180 INVITE", "200 INVITE", "ACK", "BYE"))
    # A second of speech is 50 packets each way.
    assert min(capture.rtp(CALLER), capture.rtp(DEVICE)) >= 25


def test_a_phone_that_stays_is_not_registered_and_takes_the_call(phone: Phone, capture: Capture) -> None:
    phone.start().stay().known()
    (client,) = phone.clients()
    for _ in range(2):
        capture.clear()
        call = str(uuid.uuid4())
        with calls(phone.exchange, call) as caller:
            phone.rings(call)
            phone.answers(call)
            caller.ends()
        phone.ended(call, "remoteEnded")
        until(phone.is_unregistered, 10, "the phone to unregister")
        assert phone.clients() == [client]
        assert min(capture.rtp(CALLER), capture.rtp(DEVICE)) >= 25


def test_the_phone_hangs_up(phone: Phone) -> None:
    phone.start().known()
    call = str(uuid.uuid4())
    with calls(phone.exchange, call, "hung_up") as caller:
        phone.rings(call)
        phone.answers(call)
        phone.declines(call)
        caller.ends()
    phone.ended(call, "localEnded")
    phone.is_asleep()


# With a dead registration the INVITE has gone to a second contact, from which nothing will come.
@pytest.mark.parametrize("registered", [None, "udp"])
def test_the_caller_hears_at_once_that_the_phone_declines(phone: Phone, registered: str | None) -> None:
    phone.start().known(registered)
    call = str(uuid.uuid4())
    with calls(phone.exchange, call, "declined") as caller:
        phone.rings(call)
        phone.declines(call)
        caller.ends(SOON)
    phone.ended(call, "declined")
    phone.is_asleep()


@pytest.mark.parametrize("registered", [None, "udp"])
def test_a_call_that_is_cancelled_while_the_phone_wakes_leaves_no_client(
    phone: Phone, capture: Capture, tmp_path: Path, registered: str | None
) -> None:
    gate = tmp_path / "awake"
    phone.start("/bin/sh", "-c", f'until [ -e {gate} ]; do sleep 0.1; done; exec "$0" "$@"').known(registered)
    call = str(uuid.uuid4())
    with calls(phone.exchange, call, "cancel") as caller:
        phone.daemon.control.wait_for(call, "woken")
        caller.cancels()
        caller.ends(SOON)
    gate.touch()
    phone.ended(call, "cancelled")
    phone.is_asleep()
    assert not capture.messages("200 INVITE", call) and not capture.messages("180 INVITE", call)


def test_a_call_that_is_cancelled_while_it_rings_leaves_no_client(phone: Phone) -> None:
    phone.start().known()
    call = str(uuid.uuid4())
    with calls(phone.exchange, call, "cancel") as caller:
        phone.rings(call)
        caller.cancels()
        caller.ends()
    # The phone hears of it by SIP and by a push.
    ended = phone.daemon.control.wait_for(call, "ended")
    assert ended["reason"] in ("cancelled", "remoteEnded"), ended
    phone.is_asleep()


def test_two_callers_at_once_get_one_client(phone: Phone, capture: Capture) -> None:
    phone.start().known()
    capture.clear()
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    exchange = phone.exchange
    with calls(exchange, first, port=5070) as one, calls(exchange, second, "declined", port=5071) as other:
        phone.rings(first)
        phone.rings(second)
        assert len(phone.clients()) == 1
        phone.declines(second)
        other.ends()
        phone.answers(first)
        assert len(phone.clients()) == 1
        one.ends()
    phone.ended(first, "remoteEnded")
    phone.ended(second, "declined")
    phone.is_asleep()
    # One client registers under one Call-ID (RFC 3261 section 10.2).
    assert len({packet.call for packet in capture.messages("REGISTER")}) == 1


# Over TCP the server sees at once that nobody is there, over UDP never.
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_dead_registration_does_not_swallow_the_call(phone: Phone, transport: str) -> None:
    phone.start().known(transport)
    call = str(uuid.uuid4())
    with calls(phone.exchange, call) as caller:
        phone.rings(call)
        phone.answers(call)
        caller.ends()
    phone.ended(call, "remoteEnded")
    phone.is_asleep()


def test_a_call_during_another(phone: Phone) -> None:
    phone.start().known()
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    with calls(phone.exchange, first, pause_ms=3000) as one:
        phone.rings(first)
        phone.answers(first)
        # The client is registered now: it gets the INVITE beside the push, and rings once.
        with calls(phone.exchange, second, "declined", port=5071) as other:
            phone.rings(second)
            assert len(phone.clients()) == 1
            phone.declines(second)
            other.ends()
        one.ends()
    phone.ended(first, "remoteEnded")
    phone.ended(second, "declined")
    phone.is_asleep()


def test_a_server_that_was_restarted_still_wakes_the_phone(phone: Phone, exchange: Exchange) -> None:
    phone.start().known()
    exchange.restart_server()
    call = str(uuid.uuid4())
    with calls(exchange, call) as caller:
        phone.rings(call)
        phone.answers(call)
        caller.ends()
    phone.ended(call, "remoteEnded")
    phone.is_asleep()
