"""The command line against a real daemon: the user's commands, and a handler that is a shell script."""

import json
import re
import uuid

import pytest

from support.credentials import APP, TOPIC, Credentials
from support.daemon import Daemon
from support.handlers import Recorder, script
from support.programs import RINGWAKE, ringwake
from support.pushing import push, stages, start_call
from support.waiting import until

# A whole call in a handler of ten lines: report, wait for what the user does, say that it is done.
HANDLER = """#!/bin/sh
PATH=/usr/bin:/bin
payload=$(cat)
case $payload in *'"from":"sip:alice@example.com"'*) ;; *) exit 9 ;; esac
{ringwake} call report --caller sip:alice@example.com --name Alice --ring || exit 8
{ringwake} watch --json --call "$RINGWAKE_CALL" | while read -r event; do
    case $event in
    *'"action":"answer"'*) {ringwake} call fulfill answer ;;
    *'"action":"end"'*) {ringwake} call fulfill end ;;
    *'"state":"ended"'*) break ;;
    esac
done
"""


@pytest.fixture
def scripted(make_daemon) -> Daemon:
    """A daemon whose handler is a shell script around `ringwake`."""
    daemon = make_daemon()
    handler = script(daemon.directory / "handler", HANDLER.replace("{ringwake}", str(RINGWAKE)))
    daemon.set_handler([str(handler)])
    return daemon.start()


def shown(daemon: Daemon, call: str) -> dict:
    done = daemon.ringwake("call", "show", call, "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def reach(daemon: Daemon, call: str, state: str) -> dict:
    return until(lambda: (found := shown(daemon, call))["state"] == state and found, 20, f"call {call} to be {state}")


def ring(daemon: Daemon) -> str:
    call = str(uuid.uuid4())
    assert push(daemon, call, b'{"from":"sip:alice@example.com"}').status == 200
    reach(daemon, call, "ringing")
    return call


def test_a_whole_call(scripted: Daemon) -> None:
    call = ring(scripted)
    assert scripted.ringwake("call", "answer", call).returncode == 0
    assert reach(scripted, call, "connected")["callerName"] == "Alice"
    assert scripted.ringwake("call", "end", call).returncode == 0
    ended = reach(scripted, call, "ended")
    assert ended["reason"] == "localEnded"
    assert stages(ended) == [
        "received", "verified", "woke", "journaled", "reported", "rang", "answered", "connected", "audioActive", "hungUp",
        "ended",
    ]  # fmt: skip
    text = scripted.ringwake("call", "show", call).stdout
    for word in (call, "Alice", "ended (you hung up)", "ms"):
        assert word in text, text
    until(lambda: shown(scripted, call).get("pid") is None, 10, "the handler to leave")


def test_a_declined_call(scripted: Daemon) -> None:
    call = ring(scripted)
    assert scripted.ringwake("call", "decline", call).returncode == 0
    assert reach(scripted, call, "ended")["reason"] == "declined"


def test_exit_codes(daemon: Daemon) -> None:
    call, _ = start_call(daemon)
    missing = str(uuid.uuid4())
    for arguments, status in [
        (["call", "show", missing], 5),
        (["call", "answer", missing], 5),
        (["app", "show", "com.example.nobody"], 5),
        (["app", "remove", "com.example.nobody"], 5),
        (["call", "list", "--app", "com.example.nobody"], 5),
        (["push", "list", "--app", "com.example.nobody"], 5),
        (["watch", "--app", "com.example.nobody"], 5),
        (["dnd", "allow", "--app", "com.example.nobody"], 5),
        (["call", "answer", call], 1),
        (["app", "add", "not a bundle id", "--exec", "/bin/true"], 2),
        (["app", "add", APP, "--exec", "/bin/true"], 1),
        (["app", "add", "com.example.new", "--exec", "/no/such/program"], 5),
        (["app", "add", "com.example.new", "--exec", "relative"], 2),
        (["nonsense"], 2),
        (["watch", "--count", "9", "--timeout", "200ms", "--json"], 6),
        (["status"], 0),
        (["call", "list"], 0),
        (["app", "list"], 0),
    ]:
        done = daemon.ringwake(*arguments)
        assert done.returncode == status, (arguments, done)
        assert bool(done.stderr) == (status != 0), (arguments, done)
    assert not (daemon.directory / "apps.d" / "com.example.new.toml").exists()


@pytest.mark.parametrize("command", [["status"], ["app", "list"], ["app", "show", APP], ["call", "list"]])
def test_json_has_a_schema_everywhere(daemon: Daemon, command: list[str]) -> None:
    start_call(daemon)
    done = daemon.ringwake(*command, "--json")
    assert json.loads(done.stdout)["schema"] == 1
    assert "\x1b" not in daemon.ringwake(*command).stdout


def test_json_does_not_steer_the_terminal_that_shows_it(daemon: Daemon) -> None:
    call, _ = start_call(daemon)
    caller = "a\x7fb\u009b31mc\u202ed\u2066e\u200bfé"
    daemon.control.verb(call, "report", caller=caller)
    for command in (["call", "show", call], ["call", "list"], ["watch", "--call", call, "--count", "1"]):
        text = daemon.ringwake(*command, "--json").stdout
        assert not re.search("[\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069]", text), command
        assert "\\u009b31m" in text and "é" in text
        shown = json.loads(text)
        assert shown.get("caller", shown.get("calls", [{}])[0].get("caller")) == caller
        text = daemon.ringwake(*command).stdout
        assert not re.search("[\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069]", text), command


def test_push_by_app_needs_nothing_else(daemon: Daemon, handler: Recorder) -> None:
    done = daemon.ringwake("push", "--app", APP, "--payload", "-", input=b'{"by":"app"}', text=False, stdin=None)
    assert done.returncode == 0, done
    [call] = handler.wait_for_all(1)
    assert handler.wakes()[call].payload == b'{"by":"app"}'
    assert call.encode() in done.stdout


def credential(credentials: Credentials, kind: str) -> list[object]:
    return {
        "pem": ["--cert", credentials.provider_pem],
        "p12": ["--cert", credentials.provider_p12, "--password-file", credentials.p12_password_file],
        "token": ["--key", credentials.token_key, "--key-id", credentials.key_id, "--team", "DEVTEAM001"],
    }[kind]


@pytest.mark.parametrize("kind", ["pem", "p12", "token"])
@pytest.mark.parametrize("host", ["api.push.apple.com", "api.sandbox.push.apple.com"])
def test_push_speaks_to_apples_host_names(daemon: Daemon, handler: Recorder, kind: str, host: str) -> None:
    """As it would to Apple: same host name, same checks of the server's certificate, another address behind it."""
    address, port = daemon.host_and_port
    call = str(uuid.uuid4())
    done = ringwake(
        "push", "--token", daemon.device_token(), "--host", host, "--connect-to", f"{host}:443:{address}:{port}",
        "--ca", daemon.credentials.ca, "--topic", TOPIC, "--id", call, *credential(daemon.credentials, kind), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["status"] == 200
    handler.wait(call)


def test_push_says_why_it_was_refused(daemon: Daemon) -> None:
    address, port = daemon.host_and_port
    done = ringwake(
        "push", "--token", "00" * 32, "--host", address, "--port", port, "--ca", daemon.credentials.ca,
        "--topic", TOPIC, *credential(daemon.credentials, "pem"),
    )  # fmt: skip
    assert done.returncode == 7, done
    assert "BadDeviceToken" in done.stdout + done.stderr
    assert "400" in done.stdout + done.stderr


def test_push_to_where_nobody_listens(daemon: Daemon) -> None:
    done = ringwake(
        "push", "--token", "00" * 32, "--host", "127.0.0.1", "--port", 1, "--ca", daemon.credentials.ca,
        "--topic", TOPIC, *credential(daemon.credentials, "pem"),
    )  # fmt: skip
    assert done.returncode == 8, done


def test_push_checks_the_servers_certificate(daemon: Daemon, foreign_credentials: Credentials) -> None:
    address, port = daemon.host_and_port
    done = ringwake(
        "push", "--token", daemon.device_token(), "--host", address, "--port", port,
        "--ca", foreign_credentials.ca, "--topic", TOPIC, *credential(daemon.credentials, "pem"),
    )  # fmt: skip
    assert done.returncode == 8, done
    assert "certificate" in done.stderr
    assert not daemon.control.calls()
