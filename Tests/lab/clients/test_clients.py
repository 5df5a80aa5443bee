"""Senders in other languages, by the HTTP/2 client that comes with each, and PyAPNs2. `run` starts this file."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from support.credentials import TEAM, TOPIC
from support.daemon import Daemon
from support.handlers import Recorder

HERE = Path(__file__).parent
PROGRAMS = {
    "node": ["node", HERE / "push.mjs"],
    "java": ["java", HERE / "Push.java"],
    "go": ["go", "run", HERE / "push.go"],
}


def arguments(daemon: Daemon) -> list:
    host, port = daemon.host_and_port
    credentials = daemon.credentials
    return [host, str(port), credentials.ca, credentials.token_key, credentials.key_id, TEAM, TOPIC, daemon.device_token()]


def run(command: list, environment: dict[str, str] | None = None) -> list[str]:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_client(daemon: Daemon, handler: Recorder, program: str) -> None:
    calls = [str(uuid.uuid4()) for _ in range(20)]
    *accepted, refused = [line.split(" ", 2) for line in run([*PROGRAMS[program], *arguments(daemon), *calls])]
    assert [(status, call) for status, call, *_ in accepted] == [("200", call) for call in calls]
    assert refused[0] == "400" and json.loads(refused[2]) == {"reason": "BadDeviceToken"}
    for call in calls:
        assert json.loads(handler.wait(call).payload) == {"n": 1}


def test_pyapns2(daemon: Daemon, handler: Recorder) -> None:
    libraries = {**os.environ, "PYTHONPATH": os.environ["PYAPNS2"]}
    lines = run([sys.executable, "-B", HERE / "push_apns2.py", *arguments(daemon), "20"], libraries)
    assert lines == ["accepted"] * 20 + ["BadDeviceToken"]
    payloads = [json.loads(wake.payload) for wake in handler.wait_for_all(20).values()]
    assert sorted(payload["n"] for payload in payloads) == list(range(20))
