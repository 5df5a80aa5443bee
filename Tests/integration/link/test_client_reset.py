"""A device and its gateway that no longer agree about registrations: what stays, what is taken, what ends."""

import json
import shutil
import uuid
from pathlib import Path

import pytest
from support.daemon import Daemon
from support.links import Device, make_device, make_gateway, pair, send
from support.waiting import until


@pytest.fixture
def gateway(make_daemon) -> Daemon:
    return make_gateway(make_daemon).start()


def linked_device(make_daemon, gateway: Daemon, settings: str = "") -> Device:
    device = make_device(make_daemon)
    device.settings["link"] = settings
    device.start()
    pair(gateway, device)
    return device


def reset(device: Device) -> dict:
    return device.link.get("reset") or {}


def provoke(gateway: Daemon, device: Device) -> None:
    done = gateway.ringwake("gateway", "reset", device.link["device"][:12])
    assert done.returncode == 0, done


def push(gateway: Daemon, device: Device, token: str) -> None:
    call = str(uuid.uuid4())
    answer = send(gateway, token, call)
    assert (answer.status, answer.reason) == (200, None), (gateway.log, device.log)
    device.recorders[0].wait(call)


def test_a_device_that_was_restored_from_an_older_state_keeps_what_it_has_and_takes_what_it_lacks(
    make_daemon, gateway: Daemon
) -> None:
    device = linked_device(make_daemon, gateway)
    old = device.device_token()
    device.stop()
    shutil.copytree(device.directory / "state", device.directory / "backup")
    device.start()
    device.wait_until_linked()
    # Senders get this token after the backup.
    assert device.ringwake("app", "renew-tokens", "com.example.phone").returncode == 0
    new = device.device_token()
    device.wait_until_linked()
    assert send(gateway, old, str(uuid.uuid4())).status == 410
    device.stop()
    shutil.rmtree(device.directory / "state")
    shutil.copytree(device.directory / "backup", device.directory / "state")
    device.start()
    until(lambda: reset(device).get("result") == "recovered", 30, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    assert reset(device)["code"] == "gateway-ahead"
    # The later token still reaches the app; the earlier one had ended, and the app has another to show.
    push(gateway, device, new)
    shown = device.device_token()
    assert shown not in (old, new)
    push(gateway, device, shown)
    assert send(gateway, old, str(uuid.uuid4())).status == 410
    folder = Path(reset(device)["copies"])
    assert {path.name for path in folder.iterdir()} == {"before.json", "gateway.json", "after.json"}


def test_what_is_only_on_the_device_expires_in_the_mode_discard(make_daemon, gateway: Daemon) -> None:
    device = linked_device(make_daemon, gateway, 'on_disagreement = "discard"')
    token = device.device_token()
    provoke(gateway, device)
    until(lambda: reset(device).get("result") == "discarded", 30, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    # Both sides had it: it stays.
    assert device.device_token() == token
    push(gateway, device, token)


def test_a_manual_reset_waits_for_a_person_and_pushes_come_meanwhile(make_daemon, gateway: Daemon) -> None:
    device = linked_device(make_daemon, gateway, 'on_disagreement = "manual"')
    token = device.device_token()
    provoke(gateway, device)
    until(lambda: reset(device).get("result") == "waiting", 30, lambda: f"{device.link}\n{device.log}")
    until(lambda: device.link["state"] == "linked", 30, lambda: str(device.link))
    push(gateway, device, token)
    assert device.ringwake("link", "reset").returncode == 0
    assert reset(device)["result"] == "waiting"
    assert device.ringwake("link", "reset", "--now").returncode == 0
    until(lambda: reset(device)["result"] == "recovered", 30, lambda: f"{device.link}")
    device.wait_until_linked()
    push(gateway, device, token)
    done = device.ringwake("link", "reset", "--now")
    assert done.returncode == 1 and "agree" in done.stderr


def test_a_gateway_can_forbid_to_recover(make_daemon) -> None:
    gateway = make_gateway(make_daemon, "recovery = false\n").start()
    device = linked_device(make_daemon, gateway)
    provoke(gateway, device)
    until(lambda: reset(device).get("result") == "waiting", 30, lambda: f"{device.link}\n{device.log}")
    done = device.ringwake("link", "reset", "--now", "--mode", "recover")
    assert done.returncode == 4, done
    assert device.ringwake("link", "reset", "--now").returncode == 0
    until(lambda: reset(device)["result"] == "discarded", 30, lambda: f"{device.link}")
    device.wait_until_linked()


def test_hooks_get_the_copies(make_daemon, gateway: Daemon, tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.write_text(f'#!/bin/sh\ncp -r "$RINGWAKE_RESET_DIRECTORY" {tmp_path}/$1\n')
    hook.chmod(0o755)
    lines = f'before_reset = ["{hook}", "before"]\nafter_reset = ["{hook}", "after"]\n'
    device = linked_device(make_daemon, gateway, lines)
    provoke(gateway, device)
    after = tmp_path / "after" / "after.json"
    until(lambda: after.exists() and after.read_text().endswith("}"), 30, lambda: f"{device.link}\n{device.log}")
    assert json.loads((tmp_path / "before" / "before.json").read_text())["registrations"]


def test_a_new_store_of_the_gateway_gets_the_registrations_when_the_device_is_paired_again(
    make_daemon, gateway: Daemon
) -> None:
    device = linked_device(make_daemon, gateway)
    address = gateway.control.get("/v1/gateway")["address"]
    gateway.stop()
    shutil.rmtree(gateway.directory / "state")
    gateway.sections["gateway"] = f'listen = "{address}"\naddress = "127.0.0.1"\n'
    gateway.write_configuration()
    gateway.start()
    # It doesn't know the device: a person has to pair it again.
    until(lambda: device.link.get("problem"), 60, lambda: f"{device.link}\n{device.log}")
    assert device.ringwake("link", "unpair").returncode == 0
    pair(gateway, device)
    push(gateway, device, device.device_token())
