"""The daemon as a service: reload, stop, death and what outlives it."""

import json
import os
import signal
import time
import uuid

import pytest

from support import processes
from support.control import Control
from support.credentials import APP, Credentials
from support.daemon import Daemon
from support.h2client import H2Client, push_fields
from support.pushing import push, start_call
from support.waiting import until


def test_sighup_takes_a_new_app_in(daemon: Daemon) -> None:
    other = "com.example.other"
    daemon.settings["team.topics"] = [APP + ".voip", other + ".voip"]
    daemon.write_configuration()
    daemon.add_app(app=other)
    os.kill(daemon.pid, signal.SIGHUP)
    until(lambda: daemon.control.request("GET", f"/v1/apps/{other}")[0] == 200, 5, "the new app")
    start_call(daemon, app=other)
    start_call(daemon)


@pytest.mark.parametrize("how", ["SIGHUP", "reload"])
@pytest.mark.parametrize("fault", ["syntax", "unknown key", "certificate", "app"])
def test_a_reload_of_a_broken_file_keeps_the_old_settings(daemon: Daemon, how: str, fault: str) -> None:
    token = daemon.device_token()
    match fault:
        case "syntax":
            daemon.write_configuration(daemon.text() + "\n[[[ broken")
        case "unknown key":
            daemon.write_configuration(daemon.text() + "\nsurprise = 1\n")
        case "certificate":
            daemon.settings["server.certificate"] = "nowhere.pem"
            daemon.write_configuration()
        case "app":
            daemon.set_handler(["relative"])
    says = {"syntax": "ringwaked.toml", "unknown key": "surprise", "certificate": "nowhere.pem", "app": "exec"}[fault]
    if how == "SIGHUP":
        os.kill(daemon.pid, signal.SIGHUP)
        daemon.log_mentions(says)
    else:
        done = daemon.ringwake("reload")
        assert done.returncode == 9, done
        assert says in done.stdout + done.stderr
    assert daemon.device_token() == token
    start_call(daemon)
    daemon.check_alive()


def test_a_reload_changes_the_server_certificate(
    daemon: Daemon, foreign_credentials: Credentials
) -> None:
    daemon.settings["server.certificate"] = str(foreign_credentials.server_certificate)
    daemon.settings["server.key"] = str(foreign_credentials.server_key)
    daemon.write_configuration()
    context = daemon.credentials.context(certificate=True)
    with H2Client(daemon.host_and_port, context) as open_before:
        assert daemon.ringwake("reload").returncode == 0
        assert open_before.push(daemon.device_token()).status == 200, "open connections stay"
    with H2Client(daemon.host_and_port, foreign_credentials.context()) as client:
        answer = client.push(daemon.device_token(), authorization=daemon.credentials.authorization())
        assert answer.status == 200


def test_a_reload_that_takes_a_ca_away_ends_the_connections_that_it_vouched_for(
    daemon: Daemon, foreign_credentials: Credentials
) -> None:
    token = daemon.device_token()
    with (
        H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as certified,
        H2Client(daemon.host_and_port, daemon.credentials.context()) as by_token,
    ):
        assert certified.push(token).status == 200
        daemon.settings["server.provider_cas"] = [str(foreign_credentials.ca)]
        daemon.write_configuration()
        assert daemon.ringwake("reload").returncode == 0
        certified.wait_for_close()
        assert certified.goaway and certified.goaway.error_code == 0
        assert by_token.push(token, authorization=daemon.credentials.authorization()).status == 200
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as again:
        assert again.push(token).reason == "BadCertificate"


def test_sigterm_says_goaway_to_open_connections(daemon: Daemon) -> None:
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        assert client.push(daemon.device_token()).status == 200
        os.kill(daemon.pid, signal.SIGTERM)
        client.wait_for_close()
        assert client.goaway
        assert client.goaway.error_code == 0
        assert client.goaway.last_stream_id == 1
        assert client.goaway.additional_data == b'{"reason":"Shutdown"}'
    daemon.stop()
    assert not daemon.control_socket.exists()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_with_a_request_half_way_and_a_stream_open(daemon: Daemon, stop: signal.Signals) -> None:
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        client.push(daemon.device_token())
        client.send(push_fields(daemon.device_token()), b'{"half":', end=False)
        with daemon.control.events() as events, daemon.connect():
            os.kill(daemon.pid, stop)
            daemon.process.wait(15)
            list(events)  # It ends in good order, not in the middle of a chunk.
    daemon.stop()


def test_a_handler_outlives_a_daemon_that_is_killed(make_daemon) -> None:
    """And does not die of its output either: nobody reads the pipe any more."""
    daemon = make_daemon()
    sign = daemon.directory / "sign"
    loop = f"i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; echo $i >{sign}; sleep 0.02; done"
    daemon.add_app("sh", "-c", loop)
    daemon.start()
    call, wake = start_call(daemon)
    until(sign.exists, 5, "the handler to begin")
    daemon.kill()
    seen = int(sign.read_text() or 0)
    until(lambda: int(sign.read_text() or 0) > seen + 20, 10, "the handler to go on printing")
    assert processes.is_running(wake.pid)
    # The next daemon starts beside it and serves.
    daemon.start()
    # The call is its own still.
    assert (daemon.control.call(call)["attempt"], daemon.control.call(call)["pid"]) == (1, wake.pid)
    start_call(daemon)
    assert processes.is_running(wake.pid)


def test_a_handler_outlives_a_daemon_that_stops(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    _, wake = start_call(daemon)
    daemon.stop()
    assert processes.is_running(wake.pid), "a restart of the daemon does not take a call along"


def test_tokens_survive_a_restart_and_a_kill(daemon: Daemon) -> None:
    token = daemon.device_token()
    daemon.stop()
    daemon.start()
    assert daemon.device_token() == token
    daemon.kill()
    daemon.start()
    assert daemon.device_token() == token
    start_call(daemon)


def test_a_removed_app_is_410_with_the_time_also_after_a_restart(daemon: Daemon) -> None:
    token = daemon.device_token()
    before = int(time.time() * 1000)
    assert daemon.ringwake("app", "remove", APP).returncode == 0
    after = int(time.time() * 1000)
    assert not (daemon.directory / "apps.d" / f"{APP}.toml").exists()
    first = gone(daemon, token)
    assert before <= first <= after
    daemon.stop()
    daemon.start()
    assert gone(daemon, token) == first, "the true time, not that of the question"


def gone(daemon: Daemon, token: str) -> int:
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        answer = client.push(token)
    assert (answer.status, answer.reason, answer.frames) == (410, "Unregistered", ["headers", "data+end"])
    body = json.loads(answer.body)
    assert set(body) == {"reason", "timestamp"} and type(body["timestamp"]) is int
    return body["timestamp"]


def test_an_app_that_comes_back_has_a_new_token(daemon: Daemon) -> None:
    old = daemon.device_token()
    command = daemon.recorders[0].exec
    assert daemon.ringwake("app", "remove", APP).returncode == 0
    daemon.set_handler(command)
    assert daemon.ringwake("reload").returncode == 0
    new = daemon.device_token()
    assert new != old
    gone(daemon, old)
    call = str(uuid.uuid4())
    assert push(daemon, call).status == 200


def test_app_add_and_what_it_writes(make_daemon) -> None:
    daemon = make_daemon()
    daemon.start()
    done = daemon.ringwake("app", "add", APP, "--exec", "/bin/true", "--json")
    assert done.returncode == 0, done
    file = daemon.directory / "apps.d" / f"{APP}.toml"
    assert "/bin/true" in file.read_text()
    assert daemon.control.app(APP)["exec"] == ["/bin/true"]
    assert daemon.run_to_its_end("--check-config").returncode == 0
    call = str(uuid.uuid4())
    assert push(daemon, call).status == 200
    assert daemon.control.wait_for(call, "ended")["detail"].endswith("status 0")


def test_status_counts_what_happened(daemon: Daemon) -> None:
    call, wake = start_call(daemon)
    Control(daemon.control_socket, wake.secret).verb(call, "report")
    push(daemon, call, apns_priority="7")
    status = daemon.control.status()
    assert status["pid"] == daemon.pid
    last = status["pushes"].pop("lastRefused")
    assert (last["reason"], last["acceptedSince"]) == ("BadPriority", 0)
    assert status["pushes"] == {"accepted": 1, "refused": {"BadPriority": 1}, "failedConnections": {}, "limitsMet": {}}
    assert (status["apps"], status["activeCalls"]) == (1, 1)
    assert status["controlSocket"] == str(daemon.control_socket)
    assert status["serverCertificate"]["daysLeft"] > 0
    assert status["wakeups"]["total"] >= sum(status["wakeups"]["byCause"].values()) > 0
