"""Strangers attack the port for pushes, while an honest sender pushes: each of its pushes is answered 200."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.attacks import ATTACKS
from support.daemon import Daemon
from support.h2client import H2Client

PUSHES = 60
# A push that comes too late is answered 200 and starts no call.
PAST = "1"
# Which limit each attack meets; the daemon counts it.
LIMITS = {
    "silent": "unprovenPlaces", "idle": "unprovenPlaces", "bodies": "unprovenBytes", "window": "unprovenBytes",
    "pings": "pings", "settings": "settings", "refusals": "refusals",
}  # fmt: skip
# Of what 269,809 refusals wrote before, a two hundredth.
LOG_BYTES = 256 * 1024


@contextlib.contextmanager
def attack(name: str, daemon: Daemon) -> Iterator[None]:
    """A stranger at work, in a process of its own."""
    host, port = daemon.host_and_port
    process = subprocess.Popen(
        [sys.executable, "-B", "-m", "support.attacks", name, host, str(port)], cwd=Path(__file__).parent,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout and process.stdout.readline() == "ready\n"
        yield
        assert process.poll() is None, "the attack has ended by itself"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", ATTACKS)
def test_an_honest_sender_gets_its_answers_while_strangers_attack(name: str, daemon: Daemon) -> None:
    token, authorization = daemon.device_token(), daemon.credentials.authorization()
    context = daemon.credentials.context(alpn=["h2"])
    with H2Client(daemon.host_and_port, context) as known:
        assert known.push(token, authorization=authorization).status == 200
        log_before = daemon.log_file.stat().st_size
        with attack(name, daemon):
            for number in range(PUSHES):
                if number % 2:
                    answer = known.push(token, authorization=authorization, apns_expiration=PAST)
                else:
                    with H2Client(daemon.host_and_port, context) as fresh:
                        answer = fresh.push(token, authorization=authorization, apns_expiration=PAST)
                assert (answer.status, answer.reason) == (200, None), f"push {number}"
    status = daemon.control.status()
    assert status["pushes"]["limitsMet"].get(LIMITS[name], 0) > 0, status["pushes"]
    assert daemon.log_file.stat().st_size - log_before < LOG_BYTES + PUSHES * 1024
