"""What a sender does wrong is named on the device, although the sender is told less."""

import json
import socket
import subprocess
import uuid

import pytest

from support.credentials import APP, Credentials
from support.daemon import Daemon
from support.programs import run
from support.pushing import push
from support.waiting import until


def attempts(daemon: Daemon) -> list[dict]:
    return daemon.control.get("/v1/refusals")["refusals"]


def test_a_refused_push_shows_its_cause(daemon: Daemon, foreign_credentials: Credentials) -> None:
    call = str(uuid.uuid4())
    answer = push(daemon, call, authorization=foreign_credentials.authorization())
    assert (answer.status, answer.reason) == (403, "InvalidProviderToken")
    [refusal] = attempts(daemon)
    assert (refusal["pushId"].lower(), refusal["reason"]) == (call, "InvalidProviderToken")
    assert foreign_credentials.key_id in refusal["cause"], "the log's words, which the sender is not told"
    for written in (call, call[:8].upper()):
        shown = daemon.ringwake("push", "show", written)
        assert shown.returncode == 0 and refusal["cause"] in shown.stdout, shown
    listed = daemon.ringwake("push", "list", "--refused").stdout
    assert refusal["cause"] in listed and "InvalidProviderToken" in listed
    assert json.loads(daemon.ringwake("push", "show", call, "--json").stdout)["cause"] == refusal["cause"]
    assert daemon.ringwake("push", "show", str(uuid.uuid4())).returncode == 5


def test_push_by_app_prints_the_cause_below_the_answer(daemon: Daemon, foreign_credentials: Credentials) -> None:
    host, port = daemon.host_and_port
    done = daemon.ringwake(
        "push", "--app", APP, "--host", host, "--port", port, "--ca", daemon.credentials.ca,
        "--key", foreign_credentials.token_key, "--team", "DEVTEAM001",
    )  # fmt: skip
    assert done.returncode == 7, done
    [refusal] = attempts(daemon)
    assert refusal["cause"] in done.stdout, done


def curl(daemon: Daemon, *options: object, scheme: str = "https") -> subprocess.CompletedProcess:
    host, port = daemon.host_and_port
    return run("curl", "--silent", "--max-time", "10", *options, f"{scheme}://{host}:{port}/3/device/{'0' * 64}")


@pytest.mark.parametrize(
    ("options", "scheme", "reason", "says"),
    [
        (["--http2"], "https", "serverNotTrusted", "does not trust"),
        ([], "http", "notTLS", "https://"),
        (["--http1.1", "--insecure"], "https", "notHTTP2", "HTTP/2"),
        (["--insecure", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"], "https", "oldTLS", "TLS 1.2"),
    ],
)
def test_a_connection_that_fails_before_a_push_is_named(
    daemon: Daemon, options: list[str], scheme: str, reason: str, says: str
) -> None:
    assert curl(daemon, *options, scheme=scheme).returncode != 0
    [refusal] = until(lambda: attempts(daemon), 10, "the daemon to see it fail")
    assert refusal["reason"] == reason and says in refusal["cause"] and "pushId" not in refusal, refusal
    assert daemon.control.status()["pushes"]["failedConnections"] == {reason: 1}
    daemon.log_mentions(f"warning a sender's connection failed before a push")
    assert reason in daemon.ringwake("status").stdout
    assert says in daemon.ringwake("push", "list", "--refused").stdout


def test_a_client_that_only_connects_has_made_no_mistake(daemon: Daemon) -> None:
    socket.create_connection(daemon.host_and_port).close()
    push(daemon, str(uuid.uuid4()))
    assert attempts(daemon) == []
    assert daemon.control.status()["pushes"]["failedConnections"] == {}


