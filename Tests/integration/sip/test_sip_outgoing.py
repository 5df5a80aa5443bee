"""The user of the phone calls somebody: ringwaked wakes the handler, baresip calls through Kamailio, and sipp answers."""

import uuid

import pytest
from sip.capture import Capture
from sip.exchange import CALLER, DEVICE, SERVER, Exchange
from sip.phone import Phone
from sip.telephones import calls, telephone
from support.telephone import begins, user
from support.waiting import until

ALICE = f"sip:alice@{SERVER}"


@pytest.fixture
def phone(phone: Phone) -> Phone:
    return phone.is_handled_in("C")


def in_state(phone: Phone, call: str, state: str) -> dict:
    return phone.daemon.control.wait_for(call, state, 30)


def test_two_calls_out_and_both_sides_hear_each_other(phone: Phone, exchange: Exchange, capture: Capture) -> None:
    phone.start().known()
    for _ in range(2):
        capture.clear()
        with telephone(exchange) as alice:
            call = begins(phone.daemon, to=ALICE)
            connected = in_state(phone, call, "connected")
            assert connected["outgoing"] and connected["caller"] == ALICE
            until(lambda: min(capture.rtp(CALLER), capture.rtp(DEVICE)) >= 25, 30, "speech both ways")
            user(phone.daemon, "call", "hold", call)
            in_state(phone, call, "held")
            until(lambda: any(b"a=sendonly" in packet.data for packet in capture.messages("INVITE")), 30, "a hold by SIP")
            user(phone.daemon, "call", "unhold", call)
            in_state(phone, call, "connected")
            user(phone.daemon, "call", "end", call)
            alice.is_content()
        ended = phone.ended(call, "localEnded")
        stages = [hop["stage"] for hop in ended["timeline"]]
        assert [stage for stage in stages if stage in ("dialled", "connecting", "connected")] == [
            "dialled", "connecting", "connected"
        ]  # fmt: skip
        assert all(capture.messages(kind) for kind in ("INVITE", "180 INVITE", "200 INVITE", "ACK", "BYE"))
        phone.is_asleep()


def test_a_busy_line(phone: Phone, exchange: Exchange) -> None:
    phone.start().known()
    with telephone(exchange, "is_busy") as alice:
        call = begins(phone.daemon, to=ALICE)
        alice.is_content()
    assert not phone.ended(call, "busy")["missed"]
    phone.is_asleep()


def test_the_user_gives_up_before_anybody_answers(phone: Phone, exchange: Exchange) -> None:
    phone.start().known()
    with telephone(exchange, "rings") as alice:
        call = begins(phone.daemon, to=ALICE)
        until(lambda: "connecting" in str(phone.daemon.control.call(call)["timeline"]), 30, "it to ring there")
        user(phone.daemon, "call", "end", call)
        alice.is_content()
    phone.ended(call, "localEnded")
    phone.is_asleep()


def test_a_push_comes_meanwhile_and_obeys_the_rule(phone: Phone, exchange: Exchange) -> None:
    """It rings as a waiting call; when it is answered, the call that went out is held."""
    phone.start().known()
    with telephone(exchange) as alice:
        out = begins(phone.daemon, to=ALICE)
        in_state(phone, out, "connected")
        coming = str(uuid.uuid4())
        with calls(exchange, coming, pause_ms=2000) as caller:
            phone.rings(coming, 30)
            phone.answers(coming)
            assert phone.daemon.control.call(out)["state"] == "held"
            caller.ends()
        phone.ended(coming, "remoteEnded")
        user(phone.daemon, "call", "end", out)
        alice.is_content()
    phone.ended(out, "localEnded")
    phone.is_asleep()


@pytest.mark.parametrize("state", ["connecting", "connected"])
def test_the_daemon_is_killed_while_it_goes_on(phone: Phone, exchange: Exchange, state: str) -> None:
    phone.start().known()
    with telephone(exchange, "answers" if state == "connected" else "rings") as alice:
        call = begins(phone.daemon, to=ALICE)
        in_state(phone, call, state)
        until(lambda: phone.daemon.control.call(call).get("pid"), 30, "the handler to be known")
        phone.daemon.control.calls()
        phone.daemon.kill()
        phone.daemon.start()
        assert in_state(phone, call, state)["outgoing"]
        until(lambda: not phone.daemon.control.call(call).get("claimMs"), 30, "the handler to be there")
        user(phone.daemon, "call", "end", call)
        alice.is_content()
    phone.ended(call, "localEnded")
    phone.is_asleep()


def test_two_that_are_called_one_after_the_other_are_not_mixed_up(phone: Phone, exchange: Exchange, capture) -> None:
    """The user hangs up before the first has answered anything, and calls a number that there is not."""
    phone.start().known()
    with telephone(exchange, "says_nothing") as alice:
        first = begins(phone.daemon, to=ALICE)
        until(lambda: capture.messages("INVITE"), 30, "the first to be called")
        second = begins(phone.daemon, to=f"sip:112@{SERVER}")
        assert phone.ended(first, "localEnded")
        assert phone.ended(second, "failed")
        alice.is_content()
    # The first was given up, and the second got the answer to its own INVITE.
    assert {message.call for message in capture.messages("CANCEL")} == {capture.messages("INVITE")[0].call}
    phone.is_asleep()


@pytest.mark.parametrize("to", ["sip:a b@example.org", 'sip:"a@example.org', "sip:<a@example.org"])
def test_what_is_no_address_is_not_called(phone: Phone, capture: Capture, to: str) -> None:
    phone.start().known()
    phone.ended(begins(phone.daemon, to=to), "failed")
    assert not capture.messages("INVITE")
