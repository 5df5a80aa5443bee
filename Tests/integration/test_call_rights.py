"""Who may do what on the control socket: the owner, a handler with its wake secret, any other user."""

import json
from pathlib import Path

import pytest

from support.control import Control
from support.credentials import APP
from support.daemon import Daemon
from support.programs import RINGWAKE, as_nobody, run
from support.pushing import start_call

OTHER = "com.example.other"

needs_root = pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")


@pytest.fixture
def two_apps(make_daemon) -> Daemon:
    daemon = make_daemon()
    daemon.settings["team.topics"] = [APP + ".voip", OTHER + ".voip"]
    daemon.add_app()
    daemon.add_app(app=OTHER)
    return daemon.start()


def test_a_secret_of_another_app_does_nothing(two_apps: Daemon) -> None:
    call, _ = start_call(two_apps)
    _, others = start_call(two_apps, app=OTHER)
    stranger = Control(two_apps.control_socket, others.secret)
    for method, target, body in [
        ("POST", f"/v1/calls/{call}/report?app={APP}", {"ring": True}),
        ("POST", f"/v1/calls/{call}/ended?app={APP}", None),
        ("GET", f"/v1/calls/{call}?app={APP}", None),
        ("GET", f"/v1/calls?app={APP}", None),
        ("GET", f"/v1/events?app={APP}", None),
    ]:
        status, answer = stranger.request(method, target, body)
        assert (status, answer["error"]) == (403, "not-permitted"), target
    assert stranger.request("POST", f"/v1/calls/{call}/report", {"ring": True})[0] in (403, 404)
    assert two_apps.control.call(call)["state"] == "woken"
    assert [message["app"] for message in stranger.calls()] == [OTHER]


@pytest.mark.parametrize("secret", ["wrong", "0" * 64, "é"])
def test_a_wrong_secret_is_refused_even_for_the_owners_uid(daemon: Daemon, secret: str) -> None:
    call, _ = start_call(daemon)
    status, answer = Control(daemon.control_socket, secret).request("POST", f"/v1/calls/{call}/report", {"ring": True})
    assert (status, answer["error"]) == (403, "not-permitted")
    assert daemon.control.call(call)["state"] == "woken"


def test_a_wrong_secret_gives_the_command_line_exit_4(daemon: Daemon) -> None:
    call, _ = start_call(daemon)
    done = daemon.ringwake("call", "report", call, env={"RINGWAKE_WAKE_SECRET": "wrong"})
    assert done.returncode == 4, done
    assert "secret" in done.stderr


def test_a_handler_does_not_administer(daemon: Daemon) -> None:
    call, wake = start_call(daemon)
    handler = Control(daemon.control_socket, wake.secret)
    handler.verb(call, "report", ring=True)
    for method, target in [
        ("POST", "/v1/reload"), ("GET", "/v1/apps"), ("GET", f"/v1/apps/{APP}"), ("DELETE", f"/v1/apps/{APP}"),
    ]:  # fmt: skip
        assert handler.request(method, target)[0] == 403, target
    assert daemon.control.call(call)["state"] == "ringing"


def test_a_secret_ends_with_its_handler(daemon: Daemon) -> None:
    call, wake = start_call(daemon)
    handler = Control(daemon.control_socket, wake.secret)
    daemon.recorders[0].clear_away()
    daemon.control.wait_for(call, "ended")
    assert handler.request("GET", "/v1/calls")[0] == 403


def ask(socket: Path, method: str, path: str, *options: object) -> tuple[int, dict]:
    """A request of nobody's, who is in the group nogroup."""
    done = run(
        *as_nobody(), "curl", "--silent", "--show-error", "--unix-socket", socket, "--request", method, *options,
        "--write-out", "\\n%{http_code}", f"http://localhost{path}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    body, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(body)


@needs_root
def test_any_user_reads_the_status_and_nothing_else(daemon: Daemon) -> None:
    call, wake = start_call(daemon)
    status, answer = ask(daemon.status_socket, "GET", "/v1/status")
    assert status == 200 and set(answer) <= {"schema", "version", "uptimeMs", "connection", "networkNamespace"}
    secret = ["--header", f"Authorization: Bearer {wake.secret}"]
    for method, path in [
        ("GET", "/v1/calls"), ("GET", f"/v1/calls/{call}"), ("GET", "/v1/events"), ("GET", "/v1/apps"),
        ("GET", f"/v1/apps/{APP}"), ("DELETE", f"/v1/apps/{APP}"), ("POST", "/v1/reload"), ("GET", "/v1/audio"),
        ("POST", f"/v1/calls/{call}/answer"), ("POST", f"/v1/calls/{call}/report"),
    ]:  # fmt: skip
        # Neither root nor a secret helps on this socket.
        for status, answer in [
            ask(daemon.status_socket, method, path, *secret), Control(daemon.status_socket).request(method, path)
        ]:  # fmt: skip
            assert (status, answer["error"]) == (403, "not-permitted"), path
    connect = run(*as_nobody(), "curl", "--silent", "--unix-socket", daemon.control_socket, "http://localhost/v1/calls")
    assert connect.returncode == 7, "the kernel keeps strangers away from the control socket"


@needs_root
def test_a_member_of_the_group_handles_calls_and_administers_nothing(make_daemon) -> None:
    daemon = make_daemon()
    daemon.settings["control_group"] = "nogroup"
    daemon.add_app()
    daemon.start()
    call, wake = start_call(daemon)
    socket = daemon.control_socket
    for method, path in [
        ("POST", "/v1/reload"), ("GET", "/v1/apps"), ("GET", f"/v1/apps/{APP}"), ("DELETE", f"/v1/apps/{APP}"),
        ("DELETE", f"/v1/apps/{APP}/strikes"), ("GET", f"/v1/apps/{APP}/credentials"), ("GET", "/v1/lists"),
        ("PUT", f"/v1/apps/{APP}/state"), ("GET", "/v1/refusals"),
    ]:  # fmt: skip
        assert ask(socket, method, path)[0] == 403, path
    # The wake secret makes a handler of it, for its own app.
    handler = ["--header", f"Authorization: Bearer {wake.secret}"]
    report = ["--data", '{"ring": true}']
    status, answer = ask(socket, "POST", f"/v1/calls/{call}/report", *handler, *report)
    assert (status, answer["state"]) == (200, "ringing")
    assert ask(socket, "GET", f"/v1/calls/{call}", *handler)[1]["state"] == "ringing"
    assert ask(socket, "GET", f"/v1/apps/{APP}", *handler)[0] == 403
    assert ask(socket, "PUT", "/v1/dnd", "--data", '{"state": "on"}')[0] == 200
    assert ask(socket, "GET", "/v1/dnd")[1]["state"] == "on"
    assert ask(socket, "POST", f"/v1/calls/{call}/decline")[0] == 200


@needs_root
def test_the_command_line_of_another_user_exits_with_4(daemon: Daemon) -> None:
    environment = daemon.environment()
    done = run(*as_nobody(), RINGWAKE, "status", env=environment)
    assert done.returncode == 0 and "ringwake-control" in done.stdout
    for command in (["call", "list"], ["power"], ["status", "--features"]):
        done = run(*as_nobody(), RINGWAKE, *command, env=environment)
        assert done.returncode == 4, done
        assert "root" in done.stderr


def test_files_with_tokens_are_the_owners_alone(daemon: Daemon) -> None:
    token = daemon.device_token()
    start_call(daemon)
    for path in (daemon.directory / "state").rglob("*"):
        if path.is_file() and token in path.read_text(errors="replace"):
            assert path.stat().st_mode & 0o077 == 0, path
    assert token not in daemon.log
    assert "RINGWAKE_WAKE_SECRET" not in daemon.log
