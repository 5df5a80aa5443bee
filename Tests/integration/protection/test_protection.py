"""Keys of stored data, and the lock of the device: what opens them, who may lock, and what everybody is told."""

import json
import os
import shutil
import signal
import uuid

import pytest

from support.control import Control
from support.credentials import APP, Credentials
from support.daemon import owns_nothing
from support.doctor import doctor
from support.programs import RINGWAKE, as_nobody, run
from support.protection import ALL, LOCK_TIMEOUT, UNTIL_FIRST, by_key_file, by_passphrase, make, reborn, states
from support.pushing import push, start_call
from support.services import Logind
from support.waiting import until

# What opens the keys


def test_without_a_key_it_is_off_and_everybody_says_why(make_daemon) -> None:
    daemon, protection = make(make_daemon)
    daemon.start()
    message = protection.message
    assert (message["state"], message["protectedDataAvailable"]) == ("off", True)
    assert "systemd passes no credential 'ringwake-protection'" in message["why"]
    assert daemon.control.status()["protection"] == {
        "state": "off", "why": message["why"], "protectedDataAvailable": True
    }  # fmt: skip
    assert not protection.file.exists()
    assert "no credential" in daemon.ringwake("status").stdout
    found = doctor(daemon).named("protection", "stored data is not encrypted", "no credential")
    assert found["state"] == "note"
    assert protection.ask("lock")[0] == 409


def test_a_key_file_is_made_and_opens_the_same_keys_after_a_kill(make_daemon) -> None:
    daemon, protection = by_key_file(make_daemon)
    message = protection.message
    assert (message["state"], message["source"]) == ("unlocked", "keyFile")
    assert protection.available == ALL and protection.generations == dict.fromkeys(ALL, 1)
    key = daemon.directory / "root.key"
    assert key.stat().st_mode & 0o777 == 0o600 and len(key.read_bytes()) == 32
    assert protection.file.stat().st_mode & 0o777 == 0o600
    reborn(daemon)
    assert protection.message["state"] == "unlocked" and protection.generations == dict.fromkeys(ALL, 1)
    # No secret is in the log, the status or the file.
    secret = key.read_bytes()
    assert secret not in protection.file.read_bytes() and secret.hex() not in daemon.log


def test_a_credential_of_systemd_opens_the_keys(make_daemon) -> None:
    daemon, protection = make(make_daemon)
    folder = daemon.directory / "credentials"
    folder.mkdir()
    (folder / "ringwake-protection").write_bytes(os.urandom(32))
    (folder / "ringwake-protection").chmod(0o400)
    daemon.variables["CREDENTIALS_DIRECTORY"] = str(folder)
    daemon.start()
    assert (protection.message["state"], protection.message["source"]) == ("unlocked", "credential")


def test_a_missing_key_locks_and_calls_ring_until_it_is_back(make_daemon) -> None:
    daemon, protection = by_key_file(make_daemon)
    key = daemon.directory / "root.key"
    away = key.rename(key.with_suffix(".away"))
    daemon.sections["protection"] = 'root_key = "auto"'
    daemon.write_configuration()
    reborn(daemon)
    message = protection.message
    assert (message["state"], message["unusable"], message["protectedDataAvailable"]) == ("locked", True, False)
    assert "doesn't exist" in message["why"] and "doesn't exist" in daemon.log
    assert "protection" in daemon.ringwake("status").stdout.splitlines()[0]
    doctor(daemon).problem("protection", "cannot be used", "doesn't exist")
    assert start_call(daemon)
    done = daemon.ringwake("protection", "unlock")
    assert done.returncode == 1 and "doesn't exist" in done.stderr
    away.rename(key)
    assert daemon.ringwake("protection", "unlock").returncode == 0
    assert protection.message["state"] == "unlocked" and "unusable" not in protection.message


def test_a_damaged_file_of_keys_stops_no_call_and_is_not_replaced(make_daemon) -> None:
    daemon, protection = by_key_file(make_daemon)
    good = protection.file.read_bytes()
    copy = protection.file.parent / "copies" / protection.file.name
    assert copy.read_bytes() == good
    # One of the two is enough.
    protection.file.write_bytes(good[: len(good) // 2])
    reborn(daemon)
    assert protection.message["state"] == "unlocked" and protection.file.read_bytes() == good
    assert "its second copy is used" in daemon.log
    for file in (protection.file, copy):
        file.write_bytes(good[: len(good) // 2])
    reborn(daemon)
    assert protection.message["unusable"] and "is damaged" in protection.message["why"]
    assert start_call(daemon)
    assert protection.file.read_bytes() == good[: len(good) // 2]
    protection.file.write_bytes(good)
    assert daemon.ringwake("protection", "unlock").returncode == 0
    assert protection.available == ALL and protection.generations == dict.fromkeys(ALL, 1)


def test_a_key_file_that_others_may_read_is_refused(make_daemon) -> None:
    daemon, protection = by_key_file(make_daemon)
    (daemon.directory / "root.key").chmod(0o644)
    reborn(daemon)
    assert "chmod 600" in protection.message["why"]
    # A daemon that has read it before the change goes on, and the doctor sees the mode.
    (daemon.directory / "root.key").chmod(0o600)
    reborn(daemon)
    (daemon.directory / "root.key").chmod(0o640)
    doctor(daemon).problem("protection", "other users may read", "root.key")


# The lock


def test_a_lock_is_told_before_and_after_and_a_locked_device_rings(make_daemon) -> None:
    daemon, protection = by_key_file(make_daemon)
    with daemon.control.events() as device, daemon.control.handler(APP) as handler:
        assert next(iter(handler))["event"] == "handler"
        assert daemon.ringwake("protection", "lock").returncode == 0
        assert protection.message["state"] == "unlocked"
        for stream in (device, handler):
            seen = stream.until("protectedData", state="willBecomeUnavailable")[-1]
            assert 0 < seen["deadlineMs"] <= 10_000 and "key" not in json.dumps(seen).lower()
            assert states(stream, "unavailable") == ["unavailable"]
        assert protection.available == {UNTIL_FIRST} and protection.message["lockedMs"] >= 0
        assert daemon.control.status()["protection"]["protectedDataAvailable"] is False
        call = str(uuid.uuid4())
        assert push(daemon, call).status == 200
        daemon.control.wait_for(call, "woken")
        # A stream that begins now begins with it.
        with daemon.control.events() as late:
            assert states(late, "unavailable") == ["unavailable"]
        assert doctor(daemon).named("protection", "has been locked")["state"] == "note"
        # A restart unlocks nothing, and what was readable since the first unlocking stays so.
        reborn(daemon)
        assert protection.message["state"] == "locked" and protection.available == {UNTIL_FIRST}
    with daemon.control.events() as device:
        assert states(device, "unavailable") == ["unavailable"]
        assert daemon.ringwake("protection", "unlock").returncode == 0
        assert states(device, "available") == ["available"]
    assert protection.available == ALL
    reborn(daemon)
    assert protection.message["state"] == "unlocked"


def test_a_handler_reads_whether_data_are_available_and_decides_nothing(make_daemon) -> None:
    daemon, protection = by_key_file(make_daemon)
    with daemon.control.handler(APP) as stream:
        secret = next(iter(stream))["secret"]
        handler = Control(daemon.control_socket, secret)
        assert handler.get("/v1/status")["protectedDataAvailable"] is True
        for verb in ("lock", "unlock", "rekey", "delete", "passphrase"):
            assert handler.request("POST", f"/v1/protection/{verb}", {})[0] == 403
        assert handler.request("GET", "/v1/protection")[0] == 403
    assert protection.message["state"] == "unlocked"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be two users")
def test_members_of_the_group_may_look_and_lock_and_others_nothing(make_daemon) -> None:
    daemon, protection = make(make_daemon)
    daemon.settings["control_group"] = "nogroup"
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"'
    daemon.start()
    member = as_nobody()

    def ask(*words: str, user: list[str]) -> int:
        return run(*user, RINGWAKE, "protection", *words, env=daemon.environment()).returncode

    assert ask("status", user=member) == 0
    for words in (["unlock"], ["rekey"], ["delete", "complete", "--yes"]):
        assert ask(*words, user=member) == 4, words
    assert protection.generations == dict.fromkeys(ALL, 1)
    assert ask("lock", user=member) == 0
    protection.waits_until("locked")
    stranger = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "--"]
    assert ask("status", user=stranger) == 4


def test_the_screen_in_front_locks_the_systems_daemon(make_daemon, system_bus) -> None:
    logind = Logind(system_bus)
    logind.add_session("c1", user=0)
    daemon, protection = make(make_daemon)
    daemon.variables |= system_bus.environment()
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"\nlock = "session"'
    daemon.start()
    assert protection.waits_until("unlocked")["session"] == "unlocked"
    with daemon.control.events() as device:
        logind.lock("c1", True)
        assert states(device, "unavailable") == ["willBecomeUnavailable", "unavailable"]
        assert protection.message["session"] == "locked" and protection.available == {UNTIL_FIRST}
        assert "the screen is locked" in protection.message["why"]
        logind.lock("c1", False)
        assert states(device, "available") == ["available"]
        # An unlocking within the grace period drops nothing.
        logind.lock("c1", True)
        assert states(device, "willBecomeUnavailable") == ["willBecomeUnavailable"]
        logind.lock("c1", False)
        assert states(device, "available") == ["available"]


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be another user")
def test_a_users_daemon_follows_its_own_sessions(make_daemon, system_bus) -> None:
    logind = Logind(system_bus)
    logind.add_session("other", user=1000)
    daemon, protection = make(make_daemon, user=as_nobody())
    daemon.variables |= system_bus.environment()
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"'
    copy = daemon.directory / "certs"
    shutil.copytree(daemon.credentials.directory, copy)
    copy.chmod(0o755)
    daemon.credentials = Credentials(copy)
    daemon.write_configuration()
    owns_nothing(daemon.directory)
    daemon.start()
    # Nobody has logged in: even what the first unlocking opens is closed.
    until(lambda: protection.message["session"] == "locked", 20, "logind's answer")
    assert protection.message["state"] == "locked" and protection.available == set()
    logind.add_session("c1", user=65534)
    logind.announce("c1")
    protection.waits_until("unlocked")
    logind.lock("c1", True)
    protection.waits_until("locked")
    assert protection.available == {UNTIL_FIRST}


def test_without_logind_the_lock_is_not_known_and_only_commands_lock(make_daemon) -> None:
    daemon, protection = by_key_file(make_daemon, 'lock = "session"')
    message = protection.waits_until("unlocked")
    assert message["session"] == "unknown" and "logind" in message["sessionWhy"]
    assert "logind" in daemon.ringwake("protection", "status").stdout
    assert daemon.ringwake("protection", "lock").returncode == 0
    protection.waits_until("locked")
    assert daemon.ringwake("protection", "unlock").returncode == 0


def test_a_logind_that_comes_again_ends_no_lock_by_command(make_daemon, system_bus) -> None:
    logind = Logind(system_bus)
    logind.add_session("c1", user=0)
    daemon, protection = make(make_daemon)
    daemon.variables |= system_bus.environment()
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"\nlock = "session"'
    daemon.start()
    protection.waits_until("unlocked")
    assert daemon.ringwake("protection", "lock").returncode == 0
    protection.waits_until("locked")
    logind.service.stop()
    until(lambda: protection.message["session"] == "unknown", LOCK_TIMEOUT, "logind to be gone")
    # It has its sessions from the start, as the real one has.
    daemon.process.send_signal(signal.SIGSTOP)
    logind = Logind(system_bus)
    logind.add_session("c1", user=0)
    daemon.process.send_signal(signal.SIGCONT)
    until(lambda: protection.message["session"] == "unlocked", LOCK_TIMEOUT, "logind to be there again")
    assert protection.message["state"] == "locked"
    # The user does unlock it.
    logind.lock("c1", True)
    until(lambda: protection.message["session"] == "locked", LOCK_TIMEOUT, "logind's signal to arrive")
    logind.lock("c1", False)
    protection.waits_until("unlocked")


def test_a_screen_that_unlocks_gives_no_passphrase(make_daemon, system_bus) -> None:
    logind = Logind(system_bus)
    logind.add_session("c1", user=0)
    daemon, protection = make(make_daemon, 'root_key = "passphrase"\nlock = "session"')
    daemon.variables |= system_bus.environment()
    daemon.start()
    protection.set_passphrase("correct horse")
    logind.lock("c1", True)
    protection.waits_until("locked")
    logind.lock("c1", False)
    until(lambda: protection.message["session"] == "unlocked", LOCK_TIMEOUT, "logind's signal to arrive")
    assert protection.message["state"] == "locked"
    assert protection.unlock("correct horse").returncode == 0


# Keys


def test_new_keys_and_deleted_ones(make_daemon) -> None:
    daemon, protection = by_key_file(make_daemon)
    assert daemon.ringwake("protection", "rekey", "complete").returncode == 0
    assert protection.generations == {"complete": 2, "completeUnlessOpen": 1, UNTIL_FIRST: 1}
    assert daemon.ringwake("protection", "rekey").returncode == 0
    assert protection.generations == {"complete": 3, "completeUnlessOpen": 2, UNTIL_FIRST: 2}
    asked = daemon.ringwake("protection", "delete", "complete")
    assert asked.returncode == 2 and "--yes" in asked.stderr and protection.generations["complete"] == 3
    done = daemon.ringwake("protection", "delete", "complete", "--yes", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["schema"] == 1
    after = protection.generations
    assert after["complete"] == 4
    reborn(daemon)
    assert protection.generations == after
    wrong = daemon.ringwake("protection", "delete", "secret", "--yes")
    assert wrong.returncode == 2 and "the classes are complete," in wrong.stderr


def test_locked_keys_are_neither_renewed_nor_deleted(make_daemon) -> None:
    daemon, protection = by_passphrase(make_daemon)
    reborn(daemon)
    before = protection.file.read_bytes()
    for words in (["rekey"], ["delete", "complete", "--yes"], ["passphrase"]):
        done = daemon.ringwake("protection", *words, env={"RINGWAKE_PASSWORD": "x"})
        assert done.returncode == 1 and "unlock" in done.stderr, words
    assert protection.file.read_bytes() == before


def test_what_needs_a_restart_says_so(make_daemon) -> None:
    daemon, _ = by_key_file(make_daemon)
    daemon.sections["protection"] = 'root_key = "off"'
    daemon.write_configuration()
    daemon.process.send_signal(signal.SIGHUP)
    until(
        lambda: daemon.control.status().get("reload", {}).get("needsRestart") == ["protection"], 10,
        lambda: f"the reload to say so: {daemon.control.status().get('reload')}",
    )  # fmt: skip
