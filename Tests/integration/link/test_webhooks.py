"""What became of a push is posted to the webhook of its sender's team: signed, in order, at least once."""

import hashlib
import json
import os
import stat
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.credentials import APP
from support.daemon import Daemon
from support.links import Device, make_device, make_gateway, pair
from support.waiting import until
from support.webhooks import Receiver, Team


@pytest.fixture
def linked(make_daemon) -> tuple[Daemon, Device]:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    pair(gateway, device)
    return gateway, device


@pytest.fixture
def receive(credentials) -> Iterator[Callable[..., Receiver]]:
    receivers: list[Receiver] = []

    def make(**options) -> Receiver:
        receivers.append(Receiver(credentials, **options))
        return receivers[-1]

    yield make
    for receiver in receivers:
        receiver.stop()


def ring(daemon: Daemon, call: str) -> None:
    wake = daemon.recorders[0].wait(call)
    done = daemon.ringwake("call", "report", call, "--ring", env={"RINGWAKE_WAKE_SECRET": wake.secret, "RINGWAKE_APP": APP})
    assert done.returncode == 0, done


def test_each_state_of_a_push_for_a_linked_device_is_posted(linked, receive, tmp_path: Path) -> None:
    gateway, device = linked
    team = Team(gateway, receive(), tmp_path, "HOOKTEAM01")
    token, call = device.device_token(), str(uuid.uuid4())
    team.send(token, call)
    ring(device, call)
    team.wait(call, "rang")
    assert device.ringwake("call", "decline", call).returncode == 0
    last = team.wait(call, "ended")
    assert last["reason"] == "declined", last
    # The later one says what the earlier one said, and more.
    posted = [[(hop["stage"], hop["atUs"]) for hop in one["timeline"]] for one in team.receipts(call)]
    assert all(later[: len(earlier)] == earlier for earlier, later in zip(posted, posted[1:])), posted
    # It says what the gateway answers, and what the device itself has in its journal.
    assert last.pop("tokenHash") == hashlib.sha256(bytes.fromhex(token)).hexdigest()
    assert json.loads(gateway.ringwake("push", "show", call, "--json").stdout) == last
    own = json.loads(device.ringwake("push", "show", call, "--json").stdout)
    assert (own["state"], own["reason"]) == (last["state"], last["reason"])
    assert [hop["stage"] for hop in own["timeline"]] == [hop["stage"] for hop in last["timeline"]]
    assert team.status["delivered"] >= 2 and team.status["failed"] == 0


def test_a_push_for_an_app_of_the_daemon_itself_is_posted_too_and_again_after_a_kill(
    daemon: Daemon, receive, tmp_path: Path
) -> None:
    team = Team(daemon, receive(), tmp_path, "HOOKTEAM01")
    ended, call = str(uuid.uuid4()), str(uuid.uuid4())
    team.send(daemon.device_token(), ended)
    ring(daemon, ended)
    assert daemon.ringwake("call", "decline", ended).returncode == 0
    assert team.wait(ended, "ended")["reason"] == "declined"
    team.send(daemon.device_token(), call)
    ring(daemon, call)
    team.wait(call, "rang")
    assert daemon.ringwake("call", "answer", call).returncode == 0
    answered = team.wait(call, "answered")
    before = {one: len(team.receipts(one)) for one in (ended, call)}
    daemon.kill()
    daemon.start()
    until(
        lambda: all(len(team.receipts(one)) > count for one, count in before.items()), 60,
        lambda: f"the receipts after the kill: {daemon.log}",
    )  # fmt: skip
    # What was said before the kill still counts.
    assert team.receipts(ended)[-1] == team.receipts(ended)[before[ended] - 1]
    assert team.receipts(call)[-1]["timeline"][: len(answered["timeline"])] == answered["timeline"]


def test_what_a_server_misses_while_it_is_down_comes_later(linked, receive, tmp_path: Path, credentials) -> None:
    gateway, device = linked
    receiver = receive()
    team = Team(gateway, receiver, tmp_path, "HOOKTEAM01")
    receiver.stop()
    call = str(uuid.uuid4())
    team.send(device.device_token(), call)
    until(lambda: team.status["failed"] > 0, 60, lambda: str(team.status))
    assert team.status["waiting"] >= 1 and "problem" in team.status
    assert "the webhook of HOOKTEAM01" in team.ringwake("list")
    team.receiver = receive(port=receiver.port)
    receipt = team.wait(call, "woke")
    assert receipt["timeline"][0]["stage"] == "received"
    until(lambda: "problem" not in team.status, 60, lambda: str(team.status))


def test_a_request_is_repeated_as_it_was(linked, receive, tmp_path: Path) -> None:
    gateway, device = linked
    statuses = iter([500, 503, 307])
    receiver = receive()
    # Nobody follows a redirection, and nobody reads an answer to its end.
    elsewhere = {"location": receiver.url.replace("/receipts", "/elsewhere")}
    receiver.answer = lambda _: (next(statuses, 200), elsewhere, b"x" * 1_000_000)
    team = Team(gateway, receiver, tmp_path, "HOOKTEAM01")
    call = str(uuid.uuid4())
    team.send(device.device_token(), call)
    until(lambda: team.status["delivered"] > 0, 60, lambda: f"{team.status}\n{gateway.log}")
    first, *again = team.receiver.requests[:4]
    assert [(one.id, one.body) for one in again] == [(first.id, first.body)] * 3
    assert team.status["failed"] == 3
    assert {one.path for one in team.receiver.requests} == {"/receipts"}


def test_a_server_that_never_answers_delays_no_other_team_and_no_push(linked, receive, tmp_path: Path) -> None:
    gateway, device = linked
    release = threading.Event()

    def wait(_: object) -> tuple:
        release.wait(120)
        return 200, {}, b""

    dead, well = Team(gateway, receive(answer=wait), tmp_path, "DEADTEAM01"), Team(gateway, receive(), tmp_path, "WELLTEAM01")
    token, calls = device.device_token(), [str(uuid.uuid4()) for _ in range(8)]
    dead.send(token, calls[0])
    until(lambda: dead.receiver.requests, 60, lambda: gateway.log)
    well.send(token, calls[1])
    well.wait(calls[1], "woke")
    assert dead.status["failed"] == 0, "the dead server's request ended before the other team's was made"
    for call in calls[2:]:
        # Each at the team that has a good server, and at the other.
        well.send(token, call)
        dead.send(token, str(uuid.uuid4()))
    for call in calls[1:]:
        well.wait(call, "woke")
    # One request at a time, and it is still the first.
    assert len(dead.receiver.requests) == 1 and dead.status["waiting"] >= 7
    release.set()
    dead.wait(calls[0], "woke")


def test_a_gateway_that_was_killed_posts_the_receipts_of_the_last_day_again(linked, receive, tmp_path: Path) -> None:
    gateway, device = linked
    team = Team(gateway, receive(), tmp_path, "HOOKTEAM01")
    address = gateway.control.get("/v1/gateway")["address"]
    token, call = device.device_token(), str(uuid.uuid4())
    team.send(token, call)
    ring(device, call)
    team.wait(call, "rang")
    gateway.kill()
    assert device.ringwake("call", "decline", call).returncode == 0
    gateway.sections["gateway"] = f'listen = "{address}"\naddress = "127.0.0.1"\n'
    gateway.write_configuration()
    gateway.start()
    assert team.wait(call, "ended")["reason"] == "declined"


def test_a_server_that_is_gone_is_left_alone_until_a_reload(linked, receive, tmp_path: Path) -> None:
    gateway, device = linked
    statuses = iter([410])
    team = Team(gateway, receive(answer=lambda _: (next(statuses, 200), {}, b"")), tmp_path, "HOOKTEAM01")
    token, calls = device.device_token(), [str(uuid.uuid4()) for _ in range(3)]
    team.send(token, calls[0])
    until(lambda: "410" in team.status.get("problem", ""), 60, lambda: str(team.status))
    team.send(token, calls[1])
    device.recorders[0].wait(calls[1])
    assert team.status["waiting"] == 0 and len(team.receiver.requests) == 1
    assert gateway.ringwake("reload").returncode == 0
    team.send(token, calls[2])
    team.wait(calls[2], "woke")


def test_the_command_makes_changes_and_removes_a_webhook(daemon: Daemon, receive, tmp_path: Path) -> None:
    team = Team(daemon, receive(), tmp_path, "HOOKTEAM01")
    secrets = daemon.directory / "teams.d" / "HOOKTEAM01.webhook"
    assert secrets.read_text() == team.secret + "\n"
    assert stat.S_IMODE(os.stat(secrets).st_mode) == 0o600
    assert team.secret not in team.ringwake("show", team.id, "--json") + team.ringwake("list") + daemon.log
    assert team.secret not in daemon.ringwake("status", "--json").stdout
    for url in ("http://example.org/", "ftp://localhost/", "https://user:secret@example.org/", "https://"):
        assert "http only for 127.0.0.1" in team.ringwake("webhook", "set", team.id, url, status=2)
    # A new secret beside the former one: both sign, and a receiver with either is content.
    changed = json.loads(team.ringwake("webhook", "set", team.id, team.receiver.url, "--ca", team.receiver.ca, "--new-secret", "--json"))
    assert secrets.read_text().split() == [changed["webhookSecret"], team.secret]
    call = str(uuid.uuid4())
    team.send(daemon.device_token(), call)
    team.wait(call, "woke")
    assert team.receiver.requests[-1].verified(changed["webhookSecret"])
    # A server that nobody vouches for is not trusted.
    team.ringwake("webhook", "set", team.id, team.receiver.url)
    team.send(daemon.device_token(), str(uuid.uuid4()))
    until(lambda: "certificate" in team.status.get("problem", ""), 60, lambda: str(team.status))
    team.ringwake("webhook", "remove", team.id)
    assert not secrets.exists() and "webhooks" not in daemon.control.get("/v1/status")
    assert "no webhook" in team.ringwake("webhook", "remove", team.id, status=5)


def test_a_secret_that_cannot_be_read_is_said_and_the_team_stays_as_it_was(daemon: Daemon, receive, tmp_path: Path) -> None:
    team = Team(daemon, receive(), tmp_path, "HOOKTEAM01")
    secrets = daemon.directory / "teams.d" / "HOOKTEAM01.webhook"
    secrets.write_text("whsec_short\n")
    assert "whsec_" in daemon.ringwake("reload").stdout + daemon.log
    call = str(uuid.uuid4())
    team.send(daemon.device_token(), call)
    team.wait(call, "woke")
