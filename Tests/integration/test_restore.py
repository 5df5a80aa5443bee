"""`ringwake backup restore`: what a backup has takes the place of what is here, or nothing changes."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from support.backups import (
    BACKED_UP, ENDS, NEWER, create, known, own_certificates, push_to, pushes, restore, rewritten, ring, tree,
)
from support.daemon import APP, Daemon
from support.h2client import H2Client
from support.programs import RINGWAKE, run
from support.pushing import push
from support.store import VERSION


@pytest.fixture
def daemon(make_daemon) -> Daemon:
    """A running daemon with an app and three calls."""
    daemon: Daemon = make_daemon()
    daemon.add_app(*ENDS)
    daemon.start()
    ring(daemon, BACKED_UP)
    return daemon


@pytest.mark.parametrize("runs", [True, False], ids=["running", "stopped"])
def test_the_backup_takes_the_place_of_what_is_here(daemon: Daemon, tmp_path: Path, runs: bool) -> None:
    file = create(daemon, tmp_path / "b.tar.zst")
    token, pid = daemon.device_token(), daemon.pid
    ring(daemon, NEWER)
    if not runs:
        daemon.stop()
    done = restore(daemon, file)
    assert done["state"] == "restored" and not done["store"]["isNewDevice"], done
    [aside] = [Path(path) for path in done["aside"] if "/state/" in path]
    assert known(daemon) == BACKED_UP and pushes(aside) == BACKED_UP + NEWER
    if runs:
        assert daemon.pid == pid
    else:
        daemon.start()
    assert daemon.device_token() == token
    ring(daemon, 1)
    daemon.kill()
    daemon.start()
    assert known(daemon) == BACKED_UP + 1
    state = daemon.directory / "state"
    assert not list(state.glob("restore.[pmr]*")), list(state.iterdir())


def test_second_copies_stand_in_for_files_that_are_gone_or_damaged(daemon: Daemon, tmp_path: Path) -> None:
    state = daemon.directory / "state"
    device, token = daemon.control.get("/v1/identity")["device"], daemon.device_token()
    daemon.stop()
    (state / "identity.json").unlink()
    (state / "apps" / f"{APP}.json").write_text("damaged")
    file = create(daemon, tmp_path / "b.tar.zst")
    shutil.rmtree(state)
    assert restore(daemon, file)["state"] == "restored"
    daemon.start()
    assert (daemon.control.get("/v1/identity")["device"], daemon.device_token()) == (device, token)


def test_a_dry_run_changes_nothing(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst")
    ring(daemon, NEWER)
    daemon.stop()
    (daemon.directory / "apps.d" / "other.toml").write_text("")
    before = tree(daemon.directory)
    said = restore(daemon, file, "--dry-run")
    assert said["state"] == "dry-run" and said["store"]["rows"]["push"] == BACKED_UP
    assert [change["change"] for change in said["files"]] == ["removed"]
    assert tree(daemon.directory) == before


def test_another_device_has_other_tokens_and_the_former_ones_are_gone(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst")
    token = daemon.device_token()
    identity = daemon.control.get("/v1/identity")
    begun = int(time.time() * 1000)
    done = restore(daemon, file, "--new-identity")
    assert done["store"]["isNewDevice"]
    assert daemon.device_token() != token
    now = daemon.control.get("/v1/identity")
    assert now["device"] != identity["device"]
    assert now["vendors"][0]["vendorIdentifier"] != identity["vendors"][0]["vendorIdentifier"]
    refused = push_to(daemon, token)
    assert refused.status == 410, refused
    assert begun <= json.loads(refused.body)["timestamp"] <= int(time.time() * 1000)
    ring(daemon, 1)


def test_a_running_daemon_whose_state_was_deleted_gets_it_back(daemon: Daemon, tmp_path: Path) -> None:
    """Its lock is on a file that is gone: only its socket says that it runs."""
    file = create(daemon, tmp_path / "b.tar.zst")
    token, pid = daemon.device_token(), daemon.pid
    shutil.rmtree(daemon.directory / "state")
    done = restore(daemon, file)
    assert done["state"] == "restored" and done["aside"] == [], done
    assert (daemon.pid, daemon.device_token(), known(daemon)) == (pid, token, BACKED_UP)
    ring(daemon, 1)


def test_a_configuration_that_would_not_start_is_not_restored_over_one_that_does(
    daemon: Daemon, tmp_path: Path
) -> None:
    certs = own_certificates(daemon)
    file = create(daemon, tmp_path / "b.tar.zst", "--no-keys")
    # Other keys: the certificate of the backup does not fit.
    shutil.rmtree(certs)
    own_certificates(daemon)
    before = tree(certs)
    said = restore(daemon, file, status=1)["message"]
    assert "would not start" in said and "--no-configuration" in said and tree(certs) == before
    ring(daemon, 1)
    assert restore(daemon, file, "--no-configuration")["state"] == "restored"
    ring(daemon, 1)
    daemon.stop()
    (certs / "server.key").unlink()
    # Nothing is lost by it now, and what is still to be done is said.
    assert any("server.key" in problem for problem in restore(daemon, file)["problems"])


def test_what_no_setting_names_in_the_folder_of_certificates_comes_along(
    daemon: Daemon, tmp_path: Path
) -> None:
    certs = own_certificates(daemon)
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse\n")
    before = tree(certs)
    assert "ca.key" in before and len(before) >= 4
    file = create(daemon, tmp_path / "b.tar.zst", "--passphrase-file", passphrase)
    daemon.stop()
    shutil.rmtree(certs)
    restore(daemon, file, "--passphrase-file", passphrase)
    assert tree(certs) == before
    daemon.start()
    ring(daemon, 1)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root: another machine-id in a mount namespace")
@pytest.mark.parametrize("keep", [False, True], ids=["by-itself", "kept"])
def test_another_machine_is_another_device_unless_told_otherwise(daemon: Daemon, tmp_path: Path, keep: bool) -> None:
    file = create(daemon, tmp_path / "b.tar.zst")
    token = daemon.device_token()
    daemon.stop()
    other = tmp_path / "machine-id"
    other.write_text("0123456789abcdef0123456789abcdef\n")
    script = 'mount --bind "$1" /etc/machine-id && shift && exec "$@"'
    done = run(
        "unshare", "--mount", "sh", "-c", script, "sh", other, RINGWAKE, "backup", "restore", file, "--yes", "--json",
        "--config", daemon.configuration, *(["--keep-identity"] if keep else []), env=daemon.environment(),
    )  # fmt: skip
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["store"]["isNewDevice"] != keep
    daemon.start()
    assert (daemon.device_token() == token) == keep


@pytest.mark.parametrize("runs", [True, False], ids=["running", "stopped"])
@pytest.mark.parametrize("portable", [True, False], ids=["portable", "raw"])
def test_a_merge_adds_what_is_not_here(daemon: Daemon, tmp_path: Path, runs: bool, portable: bool) -> None:
    file = create(daemon, tmp_path / "b.tar.zst", "--no-keys", *(["--portable"] if portable else []))
    daemon.stop()
    for path in (daemon.directory / "state").glob("store.*"):
        path.unlink()
    daemon.start()
    token = daemon.device_token()
    ring(daemon, NEWER)
    if not runs:
        daemon.stop()
    done = restore(daemon, file, "--merge")
    assert done["aside"] == [] and done["files"] == []
    assert known(daemon) == BACKED_UP + NEWER
    restore(daemon, file, "--merge")
    assert known(daemon) == BACKED_UP + NEWER
    if not runs:
        daemon.start()
    assert daemon.device_token() == token
    ring(daemon, 1)


def test_a_portable_backup_is_restored(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst", "--portable", "--no-keys")
    ring(daemon, NEWER)
    restore(daemon, file)
    assert known(daemon) == BACKED_UP
    assert len(daemon.control.get("/v1/calls")["calls"]) == BACKED_UP


def test_an_app_gets_another_name(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst")
    token, other = daemon.device_token(), "com.example.renamed"
    daemon.add_app(*ENDS, app=other)
    done = restore(daemon, file, "--no-configuration", "--map", f"{APP}={other}")
    assert done["state"] == "restored"
    calls = daemon.control.get("/v1/calls")["calls"]
    assert {call["app"] for call in calls} == {other} and len(calls) == BACKED_UP
    assert push_to(daemon, token).status == 410
    assert "there is no app" in restore(daemon, file, "--map", f"com.example.unknown={other}", status=5)["message"]
    for wrong in (APP, f"{APP}={other}=x", "=x", f"{APP}=/"):
        restore(daemon, file, "--map", wrong, status=2)


def test_the_configuration_comes_with_it(daemon: Daemon, tmp_path: Path) -> None:
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse\n")
    key = daemon.directory / "own.key"
    shutil.copy(daemon.credentials.server_key, key)
    text = daemon.configuration.read_text()
    assert str(daemon.credentials.server_key) in text
    daemon.configuration.write_text(text.replace(str(daemon.credentials.server_key), str(key)))
    file = create(daemon, tmp_path / "b.tar.zst", "--passphrase-file", passphrase)
    (text, secret, settings) = (key.read_bytes(), key.stat().st_mode, daemon.configuration.read_bytes())
    daemon.stop()
    app = next((daemon.directory / "apps.d").glob("*.toml"))
    contents = app.read_bytes()
    app.write_text("broken")
    (daemon.directory / "apps.d" / "other.toml").write_text("also broken")
    key.write_text("no key")
    daemon.configuration.write_text("this is no configuration")
    refused = restore(daemon, file, status=2)
    assert "name a --passphrase-file" in refused["message"]
    done = restore(daemon, file, "--passphrase-file", passphrase)
    assert {(Path(change["path"]).name, change["change"]) for change in done["files"]} == {
        (app.name, "replaced"), (key.name, "replaced"), (daemon.configuration.name, "replaced"),
    }  # fmt: skip
    assert (app.read_bytes(), key.read_bytes(), key.stat().st_mode) == (contents, text, secret)
    assert daemon.configuration.read_bytes() == settings
    aside = {Path(path).read_bytes() for path in done["aside"] if Path(path).is_file()}
    assert aside == {b"broken", b"no key", b"this is no configuration"}
    daemon.start()
    ring(daemon, 1)


def test_a_file_of_an_app_that_is_not_in_the_backup_is_moved_aside(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst")
    daemon.add_app(app="com.example.later")
    done = restore(daemon, file)
    assert [change["change"] for change in done["files"]] == ["removed"]
    assert [app["app"] for app in daemon.control.get("/v1/apps")["apps"]] == [APP]


def test_what_fails_changes_nothing(daemon: Daemon, tmp_path: Path) -> None:
    passphrase, wrong = tmp_path / "passphrase", tmp_path / "wrong"
    passphrase.write_text("correct horse\n")
    wrong.write_text("battery staple\n")
    sealed = create(daemon, tmp_path / "sealed.tar.zst", "--passphrase-file", passphrase)
    file = create(daemon, tmp_path / "b.tar.zst")
    daemon.stop()
    ours = daemon.credentials.server_certificate
    (daemon.directory / "state" / "restore.lock").touch(mode=0o600)
    before = tree(daemon.directory)

    def refuse(backup: Path, *words: object, status: int = 1) -> str:
        said = restore(daemon, backup, *words, status=status)["message"]
        assert tree(daemon.directory) == before, said
        return said

    assert "there is no backup" in refuse(tmp_path / "nothing", status=5)
    assert "passphrase" in refuse(sealed, "--passphrase-file", wrong)
    half = tmp_path / "half.tar.zst"
    half.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert "damaged or incomplete" in refuse(half)

    def newer(folder: Path, manifest: dict) -> None:
        connection = sqlite3.connect(folder / "store" / "store.db")
        connection.execute("PRAGMA user_version = 99")
        connection.commit()
        connection.close()

    said = refuse(rewritten(file, tmp_path / "newer.tar.zst", newer))
    assert "99" in said and str(VERSION) in said, said

    def foreign(folder: Path, manifest: dict) -> None:
        [member] = [member for member in manifest["members"] if member.get("origin") == str(ours)]
        member["origin"] = str(wrong)

    said = refuse(rewritten(file, tmp_path / "foreign.tar.zst", foreign))
    assert str(wrong) in said and "no file of the present configuration" in said
    assert wrong.read_text() == "battery staple\n"

    def unknown(folder: Path, manifest: dict) -> None:
        (folder / "configuration" / "ringwaked.toml").write_text("no = 'such key'\n")

    assert "no" in refuse(rewritten(file, tmp_path / "unknown.tar.zst", unknown), status=9)

    def nowhere(folder: Path, manifest: dict) -> None:
        [member] = [member for member in manifest["members"] if member.get("origin") == str(ours)]
        # A file is where a folder would have to be.
        member["origin"] = str(wrong / "certificate.pem")

    refuse(rewritten(file, tmp_path / "nowhere.tar.zst", nowhere), status=5)
    daemon.start()
    ring(daemon, 1)


def test_calls_are_not_ended_by_a_restore(make_daemon, tmp_path: Path) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    file = create(daemon, tmp_path / "b.tar.zst")
    assert push(daemon, str(uuid.uuid4())).status == 200
    assert "calls in progress" in restore(daemon, file, status=1)["message"]


def test_calls_of_the_backup_do_not_go_on(make_daemon, tmp_path: Path) -> None:
    """The backup is of this boot of the machine, and a call was in progress."""
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    assert push(daemon, str(uuid.uuid4())).status == 200
    file = create(daemon, tmp_path / "b.tar.zst")
    daemon.stop()
    restore(daemon, file)
    daemon.start()
    assert daemon.control.get("/v1/status")["activeCalls"] == 0
    assert [call["state"] for call in daemon.control.get("/v1/calls")["calls"]] == ["ended"]


def test_a_restore_that_is_killed_leaves_the_one_or_the_other(daemon: Daemon, tmp_path: Path) -> None:
    """Whenever it is killed, the daemon starts and rings, and the next restore is complete."""
    file = create(daemon, tmp_path / "b.tar.zst")
    ring(daemon, NEWER)
    daemon.stop()
    generator = random.Random(11)
    command = [RINGWAKE, "backup", "restore", file, "--yes", "--config", daemon.configuration]
    environment = {**os.environ, **daemon.environment()}
    begun = time.monotonic()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    took, found = time.monotonic() - begun, set()
    for _ in range(12):
        daemon.start()
        ring(daemon, NEWER)
        daemon.stop()
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
        )
        time.sleep(generator.random() * took)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        daemon.start()
        found.add(known(daemon))
        assert known(daemon) in (BACKED_UP, BACKED_UP + NEWER)
        ring(daemon, 1)
        daemon.stop()
        assert subprocess.run(command, env=environment, capture_output=True).returncode == 0
        assert known(daemon) == BACKED_UP
    assert BACKED_UP + NEWER in found


def test_two_restores_do_not_meet(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst")
    daemon.stop()
    lock = daemon.directory / "state" / "restore.lock"
    holder = subprocess.Popen(
        ["flock", lock, "sh", "-c", "echo held; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    assert "another restore runs" in restore(daemon, file, status=1)["message"]
    holder.communicate("\n")
    restore(daemon, file)


def test_a_stop_ends_a_restart(daemon: Daemon) -> None:
    """The daemon waits for a sender's request to end when it is told to stop for good."""
    fields = [(":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/3/device/" + "0" * 64)]
    with H2Client(daemon.host_and_port, daemon.credentials.context()) as client:
        client.send(fields, body=None, end=False)
        client.flush()
        daemon.control.post("/v1/restart")
        daemon.log_mentions("ringwaked is stopping")
        os.kill(daemon.pid, signal.SIGTERM)
        assert daemon.process.wait(20) == 0
    assert daemon.log.count("ringwaked is ready") == 1
    daemon.process = None


def test_a_restore_that_goes_on_says_where_the_former_state_is(daemon: Daemon) -> None:
    daemon.stop()
    state = daemon.directory / "state"
    (state / "before-restore-then").mkdir()
    (state / "restore.moving").mkdir()
    for path in list(state.iterdir()):
        if path.name not in ("lock", "store.reserve", "before-restore-then", "restore.moving"):
            path.rename(state / "restore.moving" / path.name)
    order = {"folder": "/none", "aside": "before-restore-then", "merges": False, "identity": "kept", "apps": {}}
    (state / "restore.moving" / "order.json").write_text(json.dumps(order))
    daemon.start()
    daemon.log_mentions(f"a backup was restored former-state={state}/before-restore-then")
    assert known(daemon) == BACKED_UP
