"""`ringwake setup --ephemeral`: a real device for one test of a sender, gone with whoever started it."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsTLSClientProtocol

from support import processes
from support.programs import RINGWAKE, ringwake
from support.waiting import until

COMMAND = [str(RINGWAKE), "setup", "--ephemeral", "--json"]
# Starts the command line given as its arguments, reports its PID and stays: a parent that can be killed.
PARENT = "import subprocess, sys; child = subprocess.Popen(sys.argv[1:]); print(child.pid, flush=True); child.wait()"


@pytest.fixture
def variables(tmp_path_factory) -> Iterator[dict[str, str]]:
    """Lets endpoints make their folders in one that is looked at; a socket's path is short."""
    folder = Path("/tmp") / f"ringwake-e{os.getpid()}"
    folder.mkdir()
    yield {**os.environ, "TMPDIR": str(folder), "NO_COLOR": "1"}
    for path in folder.iterdir():
        subprocess.run(["rm", "-rf", path], check=True)
    folder.rmdir()


def folders(variables: dict[str, str]) -> list[Path]:
    return list(Path(variables["TMPDIR"]).iterdir())


def start(variables: dict[str, str], *arguments: str) -> tuple[subprocess.Popen, dict]:
    process = subprocess.Popen(
        [*COMMAND, *arguments], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return process, json.loads(process.stdout.readline())


def gone(variables: dict[str, str], message: dict) -> None:
    daemon = message["endpoint"]["pid"]
    until(lambda: not processes.is_running(daemon), 15, "the daemon to end")
    until(lambda: not folders(variables), 15, "the folder to go")


def users_of(folder: str) -> list[str]:
    """The processes that were started with something in this folder, as their PIDs."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if folder.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("end", ["input", "daemon killed"])
def test_the_handler_of_a_call_in_progress_ends_too(variables: dict[str, str], end: str) -> None:
    process, message = start(variables)
    sender = message["sender"]
    key = Path(sender["key"]).read_text()
    assert push_by_aioapns(sender, key=key, key_id=sender["keyID"], team_id=sender["teamID"]) == "200"
    socket = {"RINGWAKE_SOCKET": message["endpoint"]["controlSocket"]}
    until(lambda: '"ringing"' in ringwake("call", "list", "--json", env=socket).stdout, 10, "the call to ring")
    assert users_of(message["endpoint"]["directory"])
    if end == "input":
        process.stdin.close()
    else:
        os.kill(message["endpoint"]["pid"], signal.SIGKILL)
    process.wait(15)
    gone(variables, message)
    until(lambda: not users_of(message["endpoint"]["directory"]), 30, "its processes to end")


def push_by_aioapns(sender: dict, **auth) -> str:
    async def work() -> str:
        client = APNs(**auth, topic=sender["topic"], ssl_context=ssl.create_default_context(cafile=sender["ca"]))
        members = {"APNS_SERVER": sender["host"], "APNS_PORT": sender["port"]}
        client.pool.protocol_class = type("Protocol", (APNsTLSClientProtocol,), members)
        request = NotificationRequest(
            device_token=sender["tokens"]["development"], message={"call": "x"}, push_type=PushType.VOIP
        )
        try:
            return (await asyncio.wait_for(client.send_notification(request), 20)).status
        finally:
            client.pool.close()

    return asyncio.run(work())


def test_a_sender_gets_200_with_the_key_and_a_call_rings_and_is_answered(variables: dict[str, str]) -> None:
    process, message = start(variables)
    sender, socket = message["sender"], {"RINGWAKE_SOCKET": message["endpoint"]["controlSocket"]}
    key = Path(sender["key"]).read_text()
    assert push_by_aioapns(sender, key=key, key_id=sender["keyID"], team_id=sender["teamID"]) == "200"
    found = lambda state: [  # noqa: E731
        call["call"] for call in json.loads(ringwake("call", "list", "--json", env=socket).stdout)["calls"]
        if call["state"] == state
    ]  # fmt: skip
    [call] = until(lambda: found("ringing"), 10, "the call to ring")
    assert ringwake("call", "answer", call, env=socket).returncode == 0
    until(lambda: found("connected"), 10, "the call to be connected")
    assert ringwake("call", "end", call, env=socket).returncode == 0
    until(lambda: found("ended"), 10, "the call to end")
    process.stdin.close()
    assert process.wait(15) == 0
    gone(variables, message)


def test_two_endpoints_live_side_by_side_with_what_was_asked_for(variables: dict[str, str]) -> None:
    first, one = start(variables, "--app", "com.example.door", "--team", "OTHERTEAM1")
    second, two = start(variables)
    assert one["sender"]["topic"] == "com.example.door.voip" and one["sender"]["teamID"] == "OTHERTEAM1"
    assert one["sender"]["port"] != two["sender"]["port"]
    assert one["endpoint"]["controlSocket"] == one["endpoint"]["directory"] + "/run/control.sock"
    assert len(folders(variables)) == 2
    first.send_signal(signal.SIGTERM)
    assert first.wait(15) == 0
    assert folders(variables) == [Path(two["endpoint"]["directory"])]
    second.send_signal(signal.SIGINT)
    assert second.wait(15) == 0
    gone(variables, two)


def test_it_ends_with_a_parent_that_is_killed(variables: dict[str, str]) -> None:
    # The test holds both ends of the pipe that is standard input: only the parent's death can end it.
    reading, writing = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *COMMAND], env=variables, stdin=reading, stdout=subprocess.PIPE, text=True
    )
    child = int(parent.stdout.readline())
    message = json.loads(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    gone(variables, message)
    until(lambda: not processes.is_running(child), 15, "the program to end")
    os.close(reading)
    os.close(writing)


def test_killed_itself_it_leaves_no_daemon_and_the_next_one_clears_up(variables: dict[str, str]) -> None:
    process, message = start(variables)
    process.kill()
    process.wait()
    until(lambda: not processes.is_running(message["endpoint"]["pid"]), 15, "the daemon to end")
    assert folders(variables) == [Path(message["endpoint"]["directory"])]
    second, other = start(variables)
    assert folders(variables) == [Path(other["endpoint"]["directory"])]
    second.stdin.close()
    assert second.wait(15) == 0
    gone(variables, other)


def test_a_daemon_that_dies_is_an_error_and_nothing_is_left(variables: dict[str, str]) -> None:
    process, message = start(variables)
    os.kill(message["endpoint"]["pid"], signal.SIGKILL)
    assert process.wait(15) == 1
    gone(variables, message)


def test_a_daemon_that_cannot_start_is_an_error_with_its_reason(variables: dict[str, str]) -> None:
    first, message = start(variables)
    address = f"127.0.0.1:{message['sender']['port']}"
    done = subprocess.run([*COMMAND, "--listen", address], env=variables, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and done.stdout == "", done
    assert address in json.loads(done.stderr)["message"]
    assert len(folders(variables)) == 1
    first.stdin.close()
    assert first.wait(15) == 0
    gone(variables, message)
