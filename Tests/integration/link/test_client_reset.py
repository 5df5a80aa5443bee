"""A device and its gateway that no longer agree about registrations: what stays, what is taken, what ends."""

import json
import shutil
import stat
import uuid
from pathlib import Path

import pytest
from support.credentials import APP
from support.daemon import Daemon
from support.doctor import doctor
from support.links import Device, address, devices, fix_port, make_device, make_gateway, pair, send
from support.waiting import until
from support.watching import Watcher


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


def replace_app(device: Device, former: str, app: str) -> None:
    for words in (["remove", former], ["add", app, "--exec", "/bin/true"]):
        done = device.ringwake("app", *words)
        assert done.returncode == 0, done


def test_a_restored_device_that_counts_on_to_the_same_revision_disagrees(make_daemon, gateway: Daemon) -> None:
    """Both have as many apps at the same revision, and not the same ones."""
    device = make_device(make_daemon).start()
    first, second, third = (f"com.example.{name}" for name in ("first", "second", "third"))
    assert device.ringwake("app", "add", first, "--exec", "/bin/true").returncode == 0
    pair(gateway, device)
    place = address(gateway)
    device.stop()
    backup = device.directory / "backup"
    for name in ("state", "apps.d"):
        shutil.copytree(device.directory / name, backup / name)
    device.start()
    replace_app(device, first, second)
    device.wait_until_linked()
    revision = device.link["revision"]
    device.stop()
    gateway.stop()
    fix_port(gateway, place)
    for name in ("state", "apps.d"):
        shutil.rmtree(device.directory / name)
        shutil.copytree(backup / name, device.directory / name)
    device.start()
    replace_app(device, first, third)
    assert device.link["revision"] == revision
    gateway.start()
    until(lambda: reset(device), 60, lambda: f"{device.link}\n{device.log}\n{gateway.log}")
    device.wait_until_linked()
    assert {one["app"] for one in devices(gateway)[0]["apps"]} == {APP, third}, (gateway.log, device.log)


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
    # Everything that a person looks at names the command.
    command = "'ringwake link reset --now'"
    assert command in doctor(device).problem("link", "registrations differ")["hint"]
    assert command in device.ringwake("status").stdout
    line = next(one for one in device.ringwake("link", "status").stdout.splitlines() if "waiting: " in one)
    assert command in line
    assert device.ringwake("link", "reset", "--now").returncode == 0
    until(lambda: reset(device)["result"] == "recovered", 30, lambda: f"{device.link}")
    device.wait_until_linked()
    assert doctor(device).named("link", "linked to")["state"] == "ok"
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


def seen(events: list[dict]) -> list[str]:
    """Resets and woken calls, in order."""
    return [
        event["reset"]["result"] if event["event"] == "linkReset" else event["call"]
        for event in list(events)
        if event["event"] == "linkReset" or event["event"] == "call" and event["state"] == "woken"
    ]


def test_streams_go_on_through_a_reset_and_miss_nothing(make_daemon, gateway: Daemon) -> None:
    device = linked_device(make_daemon, gateway)
    token, calls = device.device_token(), [str(uuid.uuid4()) for _ in range(6)]
    whole, app = Watcher(device), Watcher(device, f"?app={APP}")
    for call in calls[:2]:
        assert send(gateway, token, call).status == 200
        device.recorders[0].wait(call)
    provoke(gateway, device)
    for call in calls[2:4]:
        assert send(gateway, token, call).status == 200
    until(lambda: "recovered" in seen(whole.events), 30, lambda: f"{whole.events}\n{device.log}")
    device.wait_until_linked()
    for call in calls[4:]:
        assert send(gateway, token, call).status == 200
    for watcher in (whole, app):
        until(lambda: calls[-1] in seen(watcher.events), 30, lambda: f"{watcher.events}\n{device.log}")  # noqa: B023
        told = seen(watcher.events)
        assert [one for one in told if one in calls] == calls
        resets = [one for one in told if one not in calls]
        assert resets == ["begun", "recovered"]
        assert told.index(calls[1]) < told.index("begun") and told.index("recovered") < told.index(calls[4])
        before, after = (event for event in watcher.events if event["event"] == "linkReset")
        # Which link, why, what is done, and both copies, which nobody may write.
        assert before["device"] == device.link["device"] and before["gateway"] == device.link["gateway"]
        assert before["reset"] | {"result": "recovered"} == after["reset"] == reset(device)
        assert before["reset"]["mode"] == "recover" and before["reset"]["code"] == reset(device)["code"]
        folder = Path(after["reset"]["copies"])
        assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == dict.fromkeys(
            ("before.json", "gateway.json", "after.json"), 0o400
        )
    # Once the daemon has ended, the streams have.
    device.stop()
    for watcher in (whole, app):
        watcher.__exit__(None)


def test_a_stream_is_told_of_a_reset_that_waits_for_a_person(make_daemon, gateway: Daemon) -> None:
    device = linked_device(make_daemon, gateway, 'on_disagreement = "manual"')
    watcher = Watcher(device)
    provoke(gateway, device)
    until(lambda: seen(watcher.events) == ["waiting"], 30, lambda: f"{watcher.events}\n{device.log}")
    assert device.ringwake("link", "reset", "--now", "--mode", "discard").returncode == 0
    until(lambda: len(seen(watcher.events)) == 3, 30, lambda: f"{watcher.events}\n{device.log}")
    assert seen(watcher.events) == ["waiting", "begun", "discarded"]
    # A device without a place for copies changes nothing, and says so.
    folder = device.directory / "state" / "resets"
    shutil.rmtree(folder)
    folder.write_text("no folder")
    device.wait_until_linked()
    provoke(gateway, device)
    until(lambda: seen(watcher.events)[-1] == "waiting", 30, lambda: f"{watcher.events}\n{device.log}")
    assert device.ringwake("link", "reset", "--now").returncode == 0
    until(lambda: seen(watcher.events)[3:] == ["waiting", "failed"], 30, lambda: f"{watcher.events}\n{device.log}")


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
