"""Calls by RingwakeKit: the handler of Examples/swift-handler, started for a call or running anyway."""

import json
import os
import signal
import uuid
from collections.abc import Callable

import pytest

from support.credentials import APP
from support.pushing import push
from support.telephone import BOB, begins, connected, ends, failures, hang_up, ringing, send, shown, user, waits
from swift_handler import SwiftHandler


def ringwake(call: str, **members: object) -> bytes:
    """A payload of the preset `ringwake`."""
    return json.dumps({"ringwake": {"call": call} | members}).encode()


def test_a_whole_call(either: SwiftHandler) -> None:
    app, control = either.app, either.daemon.control
    call = connected(app, caller="sip:bob@example.org")
    assert shown(app.daemon, call)["caller"] == "sip:bob@example.org"
    for verb, state in (("hold", "held"), ("unhold", "connected")):
        user(app.daemon, "call", verb, call)
        control.wait_for(call, state)
    for words in (("mute",), ("dtmf", "12#"), ("unmute",)):
        user(app.daemon, "call", words[0], call, *words[1:])
        waits(lambda: not control.call(call)["pending"], f"{words} to be done")
    ended = hang_up(app, call)
    assert ended["reason"] == "localEnded"
    either.says(f"did: dtmf 12# {call}")
    assert either.count(f"did: answer {call}") == 1 and failures(app.daemon) == []
    # It is told of the last end if it is still there: one that was started leaves with its call.
    assert either.audio(call)[:3] == ["on", "off", "on"]


def test_a_call_that_the_user_begins(either: SwiftHandler) -> None:
    call = begins(either.daemon, "--app", APP)
    either.daemon.control.wait_for(call, "connected")
    ended = hang_up(either.app, call)
    assert ended["reason"] == "localEnded" and failures(either.daemon) == []
    either.says(f"did: start {call}")


def test_an_app_that_calls_somebody(make_handler: Callable[..., SwiftHandler]) -> None:
    handler = make_handler().only_connected()
    handler.daemon.start()
    process = handler.calls(BOB)
    waits(handler.daemon.control.calls, "the call to be there")
    [call] = [one["call"] for one in handler.daemon.control.calls()]
    handler.daemon.control.wait_for(call, "connected")
    assert shown(handler.daemon, call)["caller"] == BOB
    hang_up(handler.app, call)
    assert process.wait(30) == 0
    handler.says(f"did: end {call}")


def test_an_app_whose_call_is_refused_says_so(make_handler: Callable[..., SwiftHandler]) -> None:
    handler = make_handler().only_connected()
    handler.daemon.start()
    assert handler.calls("").wait(30) == 1
    assert "'to' has 1 to 256 bytes" in " ".join(handler.lines)


def test_audio_is_told_once_and_its_end_once(warm: SwiftHandler) -> None:
    for _ in range(3):
        call = connected(warm.app)
        hang_up(warm.app, call)
        waits(lambda call=call: warm.audio(call) == ["on", "off"], "the end of its audio")


@pytest.mark.skipif("RINGWAKE_EXAMPLES_DIR" in os.environ, reason="the handlers may be of another version")
def test_kit_and_daemon_know_each_other(warm: SwiftHandler) -> None:
    """Both are of this build, so neither lacks anything."""
    kits = warm.daemon.control.app(warm.app.app)["kits"]
    assert kits == [{"version": warm.daemon.control.status()["version"], "lacks": [], "daemonLacks": []}]


def test_a_started_handler_ends_with_its_call(cold: SwiftHandler) -> None:
    hang_up(cold.app, ringing(cold.app))
    cold.is_gone()
    assert failures(cold.daemon) == []


def test_a_handler_that_stays_takes_the_next_call(warm: SwiftHandler) -> None:
    [pid] = warm.running()
    for _ in range(3):
        call = ringing(warm.app)
        assert warm.pid(call) == pid
        hang_up(warm.app, call)
    assert warm.running() == [pid]


def test_a_call_that_is_cancelled_while_its_handler_wakes(cold: SwiftHandler) -> None:
    """Nothing rings afterwards, and no client is left running."""
    call = str(uuid.uuid4())
    assert push(cold.daemon, str(uuid.uuid4()), ringwake(call)).status == 200
    assert push(cold.daemon, str(uuid.uuid4()), ringwake(call, cancel=True)).status == 200
    ends(cold.daemon, call, "cancelled")
    cold.is_gone()


def test_a_ringing_call_that_is_cancelled(either: SwiftHandler) -> None:
    call = str(uuid.uuid4())
    assert push(either.daemon, str(uuid.uuid4()), ringwake(call)).status == 200
    either.daemon.control.wait_for(call, "ringing")
    assert push(either.daemon, str(uuid.uuid4()), ringwake(call, cancel="answeredElsewhere")).status == 200
    ends(either.daemon, call, "answeredElsewhere")
    either.says(f"call: {call} ended answeredElsewhere")


def test_two_calls_have_one_handler(either: SwiftHandler) -> None:
    first, second = ringing(either.app), ringing(either.app)
    control = either.daemon.control
    assert either.pid(first) == either.pid(second) and len(either.running()) == 1
    for call in (first, second):
        user(either.daemon, "call", "answer", call)
        control.wait_for(call, "connected")
    control.wait_for(first, "held")
    hang_up(either.app, second)
    # The only one that is left goes on by itself.
    control.wait_for(first, "connected")
    hang_up(either.app, first)
    assert failures(either.daemon) == []


def test_a_call_is_claimed_by_the_next_start_of_its_handler(cold: SwiftHandler) -> None:
    call = connected(cold.app)
    lost = cold.pid(call)
    os.kill(lost, signal.SIGKILL)
    cold.says(f"push: claim {call}")
    waits(lambda: "claimMs" not in shown(cold.daemon, call), "the claim")
    assert cold.pid(call) != lost
    assert hang_up(cold.app, call)["reason"] == "localEnded"
    cold.is_gone()


def test_a_handler_that_comes_anew_claims_the_call_of_the_one_that_died(warm: SwiftHandler) -> None:
    call = ringing(warm.app)
    os.kill(warm.pid(call), signal.SIGKILL)
    waits(lambda: "claimMs" in warm.daemon.control.call(call), "the loss to be noticed")
    warm.run()
    warm.says(f"push: claim {call}")
    waits(lambda: "claimMs" not in warm.daemon.control.call(call), "the claim")
    user(warm.daemon, "call", "answer", call)
    warm.daemon.control.wait_for(call, "connected")
    hang_up(warm.app, call)


def test_where_senders_push_to_is_told_and_told_anew_when_it_changes(warm: SwiftHandler) -> None:
    host, port = warm.daemon.host_and_port
    warm.says(f"push to: {host} {port}, with a CA")
    warm.daemon.sections["senders"] = 'development = "phone.example.org:2197"'
    warm.daemon.write_configuration()
    user(warm.daemon, "reload")
    warm.says("push to: phone.example.org 2197, with a CA")


def test_tokens_that_are_renewed_are_told(warm: SwiftHandler) -> None:
    warm.says("credentials: development")
    token = warm.daemon.device_token()
    file = warm.daemon.directory / "apps.d" / f"{APP}.toml"
    text = file.read_text()
    user(warm.daemon, "app", "remove", APP)
    warm.says("credentials: none")
    file.write_text(text)
    user(warm.daemon, "reload")
    warm.says("credentials: development", count=2)
    assert warm.daemon.device_token() != token
    send(warm.daemon)
    waits(lambda: any(line.startswith("rings: ") for line in warm.lines), "a call by the new token")


def test_a_handler_is_told_before_and_after_protected_data_are_locked(make_handler) -> None:
    handler = make_handler().only_connected()
    daemon = handler.daemon
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"\n'
    daemon.start()
    handler.run()
    handler.says("protected data: available")
    user(daemon, "protection", "lock")
    handler.says("protected data: unavailable", seconds=60)
    user(daemon, "protection", "unlock")
    handler.says("protected data: available", 2)
    told = [line.split(": ")[1] for line in handler.lines if line.startswith("protected data: ")]
    assert [state.partition("(")[0] for state in told] == [
        "available", "willBecomeUnavailable", "unavailable", "available"
    ]  # fmt: skip
    # It takes calls all the same.
    hang_up(handler.app, connected(handler.app))
