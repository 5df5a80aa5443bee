"""What became of a push: the gateway learns it from the device, and tells the sender and nobody else."""

import json
import secrets
import time
import uuid
from pathlib import Path

import pytest
from support import mqtt
from support.credentials import APP, TOPIC
from support.daemon import Daemon
from support.h2client import H2Client
from support.links import Device, invitation, make_device, make_gateway, pair, send
from support.sites import address
from support.waiting import until


@pytest.fixture
def linked(make_daemon) -> tuple[Daemon, Device]:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    pair(gateway, device)
    return gateway, device


def ask(gateway: Daemon, token: str, push_id: str, **fields: str) -> tuple[int, dict]:
    """What the sender is told."""
    fields = {"authorization": gateway.credentials.authorization(), "apns-topic": TOPIC} | fields
    path = f"/3/device/{token}/pushes/{push_id}"
    head = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", path), *fields.items()]
    with H2Client(gateway.host_and_port, gateway.credentials.context()) as client:
        answer = client.request(head, None)
    return answer.status, json.loads(answer.body)


def state(gateway: Daemon, token: str, push_id: str) -> str:
    return ask(gateway, token, push_id)[1].get("state", "")


def test_a_sender_learns_each_state_of_its_push(linked) -> None:
    gateway, device = linked
    token, call = device.device_token(), str(uuid.uuid4())
    assert send(gateway, token, call).status == 200
    assert state(gateway, token, call) in ("forwarded", "woken", "journaled")
    wake = device.recorders[0].wait(call)
    until(lambda: state(gateway, token, call) == "woken", 10, lambda: str(ask(gateway, token, call)))
    done = device.ringwake("call", "report", call, "--ring", env={"RINGWAKE_WAKE_SECRET": wake.secret, "RINGWAKE_APP": APP})
    assert done.returncode == 0, done
    until(lambda: state(gateway, token, call) == "ringing", 10, lambda: str(ask(gateway, token, call)))
    done = device.ringwake("call", "decline", call)
    assert done.returncode == 0, done
    stages = lambda: [hop["stage"] for hop in ask(gateway, token, call)[1]["timeline"]]  # noqa: E731
    until(lambda: stages()[-1] == "ended", 10, lambda: str(ask(gateway, token, call)))
    status, receipt = ask(gateway, token, call)
    assert (status, receipt["state"], receipt["reason"]) == (200, "ended", "declined"), receipt
    assert stages()[0] == "received" and "rang" in stages(), receipt
    # The operator of the gateway sees the same.
    assert json.loads(gateway.ringwake("push", "show", call, "--json").stdout) == receipt


def test_a_push_for_a_device_that_is_away_is_queued(linked) -> None:
    gateway, device = linked
    token, call = device.device_token(), str(uuid.uuid4())
    device.kill()
    assert send(gateway, token, call).status == 200
    assert state(gateway, token, call) == "queued"
    device.start()
    until(lambda: state(gateway, token, call) == "woken", 10, lambda: str(ask(gateway, token, call)))


def test_the_operator_finds_a_push_by_the_beginning_of_its_id(linked) -> None:
    gateway, device = linked
    token, start = device.device_token(), str(uuid.uuid4())[:8]
    calls = [f"{start}-{number}{str(uuid.uuid4())[10:]}" for number in (1, 2)]
    device.kill()
    until(lambda: gateway.control.get("/v1/gateway")["online"] == 0, 30, "the end of the link")
    for call in calls:
        assert send(gateway, token, call).status == 200
    shown = gateway.ringwake("push", "show", calls[1][:10].upper())
    assert shown.stdout.startswith(f"push {calls[1]} for a linked device\n"), shown
    # Nothing has happened to it yet: no heading of stages.
    assert "queued" in shown.stdout and "stage" not in shown.stdout, shown.stdout
    both = gateway.ringwake("push", "show", start)
    assert both.returncode == 1 and all(call in both.stderr for call in calls), both
    assert f"several pushes begin with '{start}'" in both.stderr and "more characters" in both.stderr
    assert gateway.ringwake("push", "show", start[:3]).returncode != 0
    # A daemon that is no gateway knows none.
    assert "several" not in device.start().ringwake("push", "show", "0" * 8).stderr


def test_a_gateway_that_starts_again_gets_the_receipts_of_the_last_day_again(linked) -> None:
    gateway, device = linked
    token, call = device.device_token(), str(uuid.uuid4())
    port = gateway.control.get("/v1/gateway")["address"]
    assert send(gateway, token, call).status == 200
    device.recorders[0].wait(call)
    gateway.kill()
    gateway.sections["gateway"] = f'listen = "{port}"\naddress = "127.0.0.1"\n'
    gateway.write_configuration()
    gateway.start()
    until(lambda: state(gateway, token, call) == "woken", 60, lambda: str(ask(gateway, token, call)))


def test_nobody_else_is_told(linked) -> None:
    gateway, device = linked
    token, call = device.device_token(), str(uuid.uuid4())
    assert send(gateway, token, call).status == 200
    assert ask(gateway, token, str(uuid.uuid4())) == (404, {"reason": "UnknownPush"})
    assert ask(gateway, token, call, authorization="bearer x.y.z")[0] == 403
    assert ask(gateway, "0" * 64, call) == (400, {"reason": "BadDeviceToken"})


def test_a_push_to_an_app_of_the_daemon_itself_can_be_asked_for_too(daemon: Daemon) -> None:
    call = str(uuid.uuid4())
    assert send(daemon, daemon.device_token(), call).status == 200
    daemon.recorders[0].wait(call)
    until(lambda: state(daemon, daemon.device_token(), call) == "woken", 10, "the state")


@pytest.mark.parametrize(
    ("slot", "team", "is_told"),
    [("own", "DEVTEAM001", True), ("own", "OTHERTEAM1", False), ("none", "DEVTEAM001", False)],
)
def test_a_device_tells_only_of_pushes_to_its_apps_by_teams_that_may_send_them(
    make_daemon, tmp_path: Path, slot: str, team: str, is_told: bool
) -> None:
    """Anything else would be posted to a team that never sent it, signed by the gateway."""
    gateway = make_gateway(make_daemon).start()
    key = mqtt.DeviceKey.make(tmp_path)
    assert mqtt.pair(address(gateway), key, invitation(gateway)["code"]).reason == 0
    registration = mqtt.registration(key.token())
    push_id = str(uuid.uuid4())
    receipt = {
        "slot": registration["slot"] if slot == "own" else secrets.token_hex(4), "id": push_id, "sender": team,
        "state": "ended", "reason": "declined", "attempt": 1, "at": int(time.time() * 1000),
        "stages": [{"stage": "received", "atUs": 0}],
    }  # fmt: skip
    with mqtt.Link(address(gateway), key) as link:
        assert link.connect(revision=0).reason == 0
        assert link.publish({"op": "registrations", "revision": 1, "registrations": [registration]}).reason == 0
        assert link.publish({"op": "receipts", "receipts": [receipt]}).reason == 0
    done = gateway.ringwake("push", "show", push_id)
    assert (done.returncode == 0) == is_told, done
