"""What a handler says of a call that it has reported: `update`."""

import pytest

from support.apps import App
from support.telephone import connected, ringing, shown, user

BOB = "sip:bob@example.org"


def changed(app: App, call: str, **members: object) -> dict:
    """The event of an update, as every observer gets it."""
    with app.daemon.control.events(f"?call={call}") as stream:
        stream.until("call", call=call)
        app.daemon.control.verb(call, "update", **members)
        return stream.until("call", call=call)[-1]


def test_a_name_that_is_found_while_it_rings(phone: App) -> None:
    call = ringing(phone)
    event = changed(phone, call, callerName="Alice Miller")
    assert (event["state"], event["callerName"]) == ("ringing", "Alice Miller")
    assert "Alice Miller" in phone.daemon.ringwake("call", "show", call).stdout


def test_a_transfer_and_video(phone: App) -> None:
    call = connected(phone)
    assert changed(phone, call, callerName="Alice", video=True)["video"] is True
    event = changed(phone, call, caller=BOB, video=False)
    assert (event["caller"], event.get("callerName"), event["video"]) == (BOB, None, False)
    # The log has whom it was with in the end, also after a kill.
    phone.daemon.kill()
    phone.daemon.start()
    message = shown(phone.daemon, call)
    assert (message["caller"], message.get("callerName"), message["video"]) == (BOB, None, False)


def test_an_update_while_it_rings_outlives_a_kill(phone: App) -> None:
    call = ringing(phone)
    phone.daemon.control.verb(call, "update", callerName="Alice Miller", supportsHold=False)
    phone.daemon.kill()
    phone.daemon.start()
    message = shown(phone.daemon, call)
    assert (message["callerName"], message["supportsHold"]) == ("Alice Miller", False)


def test_a_listed_name_follows_the_caller(phone: App) -> None:
    user(phone.daemon, "block", "add", "+4989123456", "--identify", "--label", "Dr. Bauer")
    call = connected(phone)
    assert changed(phone, call, caller="+49 89 123456")["identifiedAs"] == "Dr. Bauer"
    assert "identifiedAs" not in changed(phone, call, caller=BOB)


def test_what_the_app_cannot_do(phone: App) -> None:
    call = connected(phone)
    user(phone.daemon, "call", "update", call, "--no-hold", "--no-dtmf")
    assert "not possible" in phone.daemon.ringwake("call", "show", call).stdout
    phone.daemon.kill()
    phone.daemon.start()
    phone.daemon.control.wait_for(call, "connected")
    for words in (("hold", call), ("dtmf", call, "1")):
        assert "does not support" in user(phone.daemon, "call", *words, status=1).stderr
    second = ringing(phone)
    user(phone.daemon, "call", "answer", second, status=1)
    user(phone.daemon, "call", "answer", second, "--end-others")
    phone.daemon.control.wait_for(second, "connected")
    phone.daemon.control.wait_for(call, "ended")


@pytest.mark.parametrize("body", [{}, {"caller": None}, {"ring": True}, {"caller": "a\0b"}, {"video": 1}, "x", None])
def test_what_is_no_update(phone: App, body: object) -> None:
    call = ringing(phone)
    status, answer = phone.daemon.control.request("POST", f"/v1/calls/{call}/update", body)
    assert (status, answer["error"]) == (400, "invalid-request"), answer


def test_an_update_of_a_call_that_has_ended(phone: App) -> None:
    call = connected(phone)
    user(phone.daemon, "call", "end", call)
    phone.daemon.control.wait_for(call, "ended")
    status, answer = phone.daemon.control.request("POST", f"/v1/calls/{call}/update", {"caller": BOB})
    assert (status, answer["error"]) == (409, "conflict")
