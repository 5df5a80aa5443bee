"""Who the device is to the vendors of apps: one identifier for each, which outlives all but the last app's removal."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from support.control import Control
from support.credentials import APP, TEAM
from support.daemon import Daemon
from support.doctor import doctor
from support.h2client import H2Client
from support.programs import RINGWAKE, as_nobody, run
from support.pushing import start_call

# The same team, and one without a team.
DOOR, RADIO, RADIO_2 = "com.example.door", "org.example.radio", "org.example.radio2"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@pytest.fixture
def device(make_daemon) -> Daemon:
    daemon = make_daemon()
    daemon.settings["team.topics"] = [APP + ".voip", DOOR + ".voip"]
    for app in (APP, DOOR, RADIO, RADIO_2):
        daemon.add_app(app=app)
    return daemon.start()


def identity(daemon: Daemon) -> dict:
    return daemon.control.get("/v1/identity")


def vendor_id(daemon: Daemon, app: str) -> str:
    return daemon.control.app(app)["vendorIdentifier"]


def state(daemon: Daemon) -> Path:
    return daemon.directory / "state"


def reborn(daemon: Daemon) -> None:
    daemon.kill()
    daemon.start()


def remove(daemon: Daemon, app: str) -> None:
    done = daemon.ringwake("app", "remove", app)
    assert done.returncode == 0, done


def add(daemon: Daemon, app: str) -> None:
    daemon.set_handler(["/bin/true"], app=app)
    daemon.control.post("/v1/reload")


def test_each_vendor_has_one_and_a_killed_daemon_has_the_same(device: Daemon) -> None:
    known = identity(device)
    of_team, of_prefix = known["vendors"]
    assert (of_team["team"], of_team["apps"]) == (TEAM, [DOOR, APP])
    assert (of_prefix["prefix"], of_prefix["apps"]) == ("org.example", [RADIO, RADIO_2])
    ids = [known["device"], of_team["vendorIdentifier"], of_prefix["vendorIdentifier"]]
    assert len(set(ids)) == 3 and all(UUID.fullmatch(one) for one in ids), ids
    assert vendor_id(device, APP) == vendor_id(device, DOOR) == ids[1]
    assert device.control.app(RADIO)["vendor"] == "org.example.*"
    reborn(device)
    assert identity(device) == known
    # Nothing of the file is in the log, and nobody else reads it.
    assert not any(one in device.log for one in ids)
    assert (state(device) / "identity.json").stat().st_mode & 0o777 == 0o600


def test_it_stays_until_the_last_app_of_the_vendor_is_removed(device: Daemon) -> None:
    first, other = vendor_id(device, RADIO), vendor_id(device, APP)
    remove(device, RADIO)
    # A file that is gone is no removal.
    (device.directory / "apps.d" / f"{RADIO_2}.toml").unlink()
    device.control.post("/v1/reload")
    reborn(device)
    add(device, RADIO)
    assert vendor_id(device, RADIO) == first
    add(device, RADIO_2)
    remove(device, RADIO_2)
    remove(device, RADIO)
    # It is forgotten on the disk before the removal is answered.
    device.kill()
    assert first not in (state(device) / "identity.json").read_text()
    assert first not in (state(device) / "copies/identity.json").read_text()
    device.start()
    add(device, RADIO)
    assert vendor_id(device, RADIO) not in (first, other)
    assert vendor_id(device, APP) == other


def test_another_team_is_another_vendor(device: Daemon) -> None:
    former = vendor_id(device, RADIO)
    (device.directory / "apps.d" / f"{RADIO}.toml").write_text(f'team = "{TEAM}"\n[wake]\nconnected = true\n')
    device.control.post("/v1/reload")
    assert vendor_id(device, RADIO) == vendor_id(device, APP) != former
    assert vendor_id(device, RADIO_2) == former


def test_a_wrong_file_changes_no_vendor(device: Daemon) -> None:
    before = identity(device)
    device.stop()
    (device.directory / "teams.d").mkdir()
    (device.directory / "teams.d" / "OTHERTEAM1.toml").write_text("nonsense")
    (device.directory / "apps.d" / f"{RADIO}.toml").write_text("nonsense")
    device.start()
    assert device.control.app(RADIO)["state"] == "broken"
    assert vendor_id(device, RADIO) == before["vendors"][1]["vendorIdentifier"]
    assert vendor_id(device, APP) == before["vendors"][0]["vendorIdentifier"]
    assert identity(device) == before


def test_a_handler_gets_its_own_and_nobody_sees_the_others(device: Daemon) -> None:
    _, wake = start_call(device)
    handler = Control(device.control_socket, wake.secret)
    assert handler.get(f"/v1/apps/{APP}/credentials")["vendorIdentifier"] == vendor_id(device, APP)
    for method, target in [
        ("GET", "/v1/identity"), ("POST", "/v1/identity/reset"), ("POST", "/v1/identity/accept"),
        ("GET", f"/v1/apps/{RADIO}/credentials"), ("GET", f"/v1/apps/{APP}"),
    ]:  # fmt: skip
        assert handler.request(method, target)[0] == 403, target
    if as_nobody():
        done = run(*as_nobody(), RINGWAKE, "identity", "show", env=device.environment())
        assert done.returncode in (3, 4) and not UUID.search(done.stdout + done.stderr), done
    # The status is for people of the group too.
    assert not UUID.search(json.dumps(device.control.status()))


def test_a_reset_makes_another_device_of_it(device: Daemon) -> None:
    before, token = identity(device), device.device_token()
    refused = device.ringwake("identity", "reset")
    assert refused.returncode == 2 and "--yes" in refused.stderr
    assert identity(device) == before
    with device.control.events(f"?app={APP}") as events:
        done = device.ringwake("identity", "reset", "--yes", "--json")
        assert done.returncode == 0, done
        events.until("credentials", app=APP, valid=True)
    after = json.loads(done.stdout)
    ids = [one[name] for one in (before, after) for name in ["device"]]
    ids += [vendor["vendorIdentifier"] for one in (before, after) for vendor in one["vendors"]]
    assert len(set(ids)) == 6
    reborn(device)
    assert identity(device) == after
    assert device.device_token() != token
    with H2Client(device.host_and_port, device.credentials.context(certificate=True)) as client:
        answer = client.push(token, b"{}", apns_topic=APP + ".voip")
        assert (answer.status, json.loads(answer.body)["reason"]) == (410, "ExpiredToken")
    kept = device.device_token()
    assert device.ringwake("identity", "reset", "--keep-tokens", "--yes").returncode == 0
    assert device.device_token() == kept and identity(device)["device"] != after["device"]


def write(daemon: Daemon, **members: object) -> None:
    """Changes the stored identity, of a daemon that does not run, with the right checksum."""
    contents = json.loads((state(daemon) / "identity.json").read_text()) | members
    contents.pop("check")
    text = json.dumps(contents, separators=(",", ":"), sort_keys=True).replace("/", "\\/")
    contents["check"] = hashlib.sha256(text.encode()).hexdigest()
    for name in ("identity.json", "copies/identity.json"):
        (state(daemon) / name).write_text(json.dumps(contents, separators=(",", ":"), sort_keys=True))


@pytest.mark.skipif(not Path("/etc/machine-id").exists(), reason="this machine has no id")
@pytest.mark.parametrize("answer", ["accept", "reset"])
def test_a_copied_device_is_named_until_somebody_decides(device: Daemon, answer: str) -> None:
    before = identity(device)
    assert before["machine"] == "same" and "identity" not in device.control.status()
    assert Path("/etc/machine-id").read_text().strip() not in (state(device) / "identity.json").read_text()
    device.kill()
    write(device, machine="00" * 32)
    device.start()
    now = identity(device)
    assert now == before | {"machine": "other"}
    status = device.control.status()["identity"]
    assert status["state"] == "copied" and "ringwake identity reset" in status["why"]
    assert "another machine" in device.ringwake("status").stdout and "another machine" in device.log
    assert doctor(device).named("identity", "another machine", "ringwake identity")["state"] == "warning"
    assert device.ringwake("identity", answer, *(["--yes"] if answer == "reset" else [])).returncode == 0
    reborn(device)
    assert "identity" not in device.control.status()
    assert (identity(device) == before) == (answer == "accept")


def test_a_damaged_file_is_replaced_by_its_copy(device: Daemon) -> None:
    before = identity(device)
    device.kill()
    (state(device) / "identity.json").write_bytes(b"{")
    device.start()
    assert identity(device) == before
    [found] = device.control.status()["damage"]
    assert "identity.json was damaged" in found["why"]
    assert "identity.json was damaged" in device.log


def test_a_lost_identity_is_another_one_and_said(device: Daemon) -> None:
    before, token = identity(device), device.device_token()
    device.kill()
    for name in ("identity.json", "copies/identity.json"):
        (state(device) / name).write_bytes(b"{}")
    device.start()
    assert identity(device)["device"] != before["device"] and "new identity" in device.log
    assert vendor_id(device, APP) != before["vendors"][0]["vendorIdentifier"]
    assert len(device.control.status()["damage"]) == 1 and device.device_token() == token
    start_call(device)


def test_a_newer_versions_identity_stops_the_start(device: Daemon) -> None:
    device.stop()
    write(device, schema=2)
    done = device.run_to_its_end()
    assert done.returncode == 1 and "newer version" in done.stderr, done
