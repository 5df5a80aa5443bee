"""The payload reaches the handler byte for byte, whatever JSON it is written in."""

import json
import os
import uuid
from pathlib import Path

import pytest

from support import processes
from support.credentials import APP, TOPIC
from support.daemon import Daemon
from support.h2client import H2Client
from support.handlers import Recorder
from support.waiting import until

# A VoIP payload's greatest size in bytes: "Generating a remote notification", Apple.
VOIP_LIMIT = 5120

# Signals 32 and 33 as a mask: glibc keeps them for itself, and its posix_spawn leaves them ignored.
LIBRARY_SIGNALS = 0b11 << 31

PAYLOADS = {
    "empty object": b"{}",
    "white space everywhere": b' \t\r\n{ \n "a" : [ 1 , 2 ] ,\t"b" :\r{ } }\n \t',
    "duplicate keys": b'{"call":"one","call":"two","call":"one"}',
    "numbers that no type holds": b'{"big":123456789012345678901234567890,"e":1E+400,"z":-0.0,"t":1e-999,"d":0.10}',
    "escapes": b'{"a":"\\u0000\\u001f\\ud83d\\ude00\\/\\"\\\\\\b\\f\\n\\r\\t","\\u0041":1,"A":2}',
    "unusual unicode": '{"a":"‮rtl​ e\u0301 é 👩‍👩‍👧‍👦 \U0010ffff \ufeff \u2028\u2029 \ufdd0"}'.encode(),
    "unicode keys": '{"Grüße":"世界","":"","emoji 🐙":null}'.encode(),
    "deep": b'{"a":' + b"[" * 60 + b"]" * 60 + b"}",
    "names of the message's own members": b'{"payload":{"payload":1},"schema":99,"app":"other","call":"x"}',
    "what a shell would read": b'{"a":"$(touch /tmp/x) `id` ; rm -rf / & %s %n \'"}',
    "exactly the limit": b'{"x":"' + b"y" * (VOIP_LIMIT - 8) + b'"}',
}


@pytest.fixture(scope="module")
def shared(credentials):
    """One daemon for all payloads."""
    daemon = Daemon(credentials)
    daemon.add_app("true")
    try:
        yield daemon.start()
        daemon.stop()
    finally:
        daemon.clear_away()


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_the_payload_arrives_byte_for_byte(shared: Daemon, payload: bytes) -> None:
    call = str(uuid.uuid4())
    with H2Client(shared.host_and_port, shared.credentials.context(certificate=True)) as client:
        answer = client.push(shared.device_token(), payload, apns_id=call)
    assert (answer.status, answer.reason, answer.frames) == (200, None, ["headers+end"])
    wake = shared.recorders[0].wait(call)
    assert wake.payload == payload
    # What stands before it is the daemon's own.
    head = wake.stdin.partition(b'"payload":')[0].decode()
    message = json.loads(head + '"payload":0}')
    assert message.pop("age_ms") >= 0 and message.pop("deadline_ms") > 0
    assert message == {
        "schema": 1, "kind": "call", "app": APP, "topic": TOPIC, "call": call, "attempt": 1, "payload": 0,
    }  # fmt: skip


def test_the_message_says_what_the_handler_needs(daemon: Daemon, handler: Recorder) -> None:
    call = str(uuid.uuid4())
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        assert client.push(daemon.device_token(), b'{"a":1}', apns_id=call).status == 200
    wake = handler.wait(call)
    message = wake.message
    assert list(message)[-1] == "payload"
    assert (message["app"], message["topic"], message["call"], message["attempt"]) == (APP, TOPIC, call, 1)
    assert 0 <= message["age_ms"] < 5000
    assert 0 < message["deadline_ms"] <= 5000
    environment = wake.environment
    assert environment["RINGWAKE_SOCKET"] == str(daemon.control_socket)
    assert (environment["RINGWAKE_APP"], environment["RINGWAKE_CALL"]) == (APP, call)
    assert len(environment["RINGWAKE_WAKE_SECRET"]) >= 32


def test_a_handler_starts_with_nothing_of_the_daemons(make_daemon) -> None:
    """Own process group, no descriptor above 2, default signals: DESIGN section 6's exec."""
    daemon = make_daemon()
    handler = daemon.add_app()
    daemon.start()
    call = str(uuid.uuid4())
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        assert client.push(daemon.device_token(), apns_id=call).status == 200
    wake = handler.wait(call)
    assert os.getpgid(wake.pid) == wake.pid
    # The shell of the recorder holds its script open; what it becomes holds nothing but what the daemon gave.
    until(lambda: "sleep" in processes.command_line(wake.pid), 5, "the recorder to become 'sleep'")
    until(lambda: set(processes.descriptors(wake.pid)) == {0, 1, 2}, 5, lambda: str(processes.descriptors(wake.pid)))
    lines = Path(f"/proc/{wake.pid}/status").read_text().splitlines()
    status = dict(line.partition(":\t")[::2] for line in lines)
    assert int(status["SigBlk"], 16) == 0
    assert int(status["SigIgn"], 16) & ~LIBRARY_SIGNALS == 0


@pytest.mark.parametrize("size", [VOIP_LIMIT + 1, 40_000, 500_000])
def test_one_byte_over_the_limit_is_too_large(daemon: Daemon, handler: Recorder, size: int) -> None:
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        answer = client.push(daemon.device_token(), b'{"x":"' + b"y" * (size - 8) + b'"}')
        assert (answer.status, answer.reason) == (413, "PayloadTooLarge")
        assert answer.frames == ["headers", "data+end"]
        assert client.push(daemon.device_token()).status == 200
    assert handler.count() <= 1
