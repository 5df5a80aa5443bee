"""`ringwake backup create`, `list`, `show` and `verify`: everything into one file, while pushes arrive."""

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import tarfile
import time
import uuid
from pathlib import Path

import pytest

from support.daemon import Daemon
from support.programs import RINGWAKE, run
from support.pushing import push
from support.store import VERSION
from support.waiting import until


@pytest.fixture
def daemon(make_daemon) -> Daemon:
    """A running daemon with an app and three calls."""
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    for _ in range(3):
        assert push(daemon, str(uuid.uuid4())).status == 200
    return daemon


def backup(daemon: Daemon, *words: object, status: int = 0, **options) -> dict:
    done = daemon.ringwake("backup", "create", *words, "--config", daemon.configuration, "--json", **options)
    assert done.returncode == status, done
    return json.loads(done.stdout if status == 0 else done.stderr.splitlines()[-1])


def look(*words: object, status: int = 0) -> dict:
    done = run(RINGWAKE, "backup", *words, "--json")
    assert done.returncode == status, done
    return json.loads(done.stdout if status == 0 else done.stderr.splitlines()[-1])


def unpack(file: str, folder: Path) -> Path:
    """By the system's tar: the backup is a file like others."""
    folder.mkdir()
    done = run("tar", "--zstd", "-xf", file, "-C", folder)
    assert done.returncode == 0, done
    return folder


def test_a_running_daemons_backup_has_everything(daemon: Daemon, tmp_path: Path) -> None:
    made = backup(daemon, "--to", tmp_path, "--no-keys")
    assert Path(made["file"]).stat().st_mode & 0o777 == 0o600 and made["keys"] == "left-out"
    shown = look("show", made["file"])
    names = {member["name"]: member for member in shown["members"]}
    assert {"store/store.db", "state/tokens.json", "configuration/ringwaked.toml"} <= names.keys()
    assert shown["kind"] == "raw" and shown["store"]["version"] == VERSION
    assert {name for name in names if name.startswith("state/apps/")}
    assert {"state/copies/tokens.json", "state/copies/identity.json"} <= names.keys()
    assert not [name for name in names if "callers.index" in name or name.endswith("lock")]
    credentials = daemon.credentials
    origins = {member.get("origin") for member in shown["members"]}
    assert str(credentials.server_certificate) in origins and str(credentials.server_key) not in origins
    assert look("verify", made["file"])["members"] == shown["members"]
    [listed] = look("list", tmp_path)["backups"]
    assert listed["file"] == made["file"] and listed["manifest"]["members"] == shown["members"]
    folder = unpack(made["file"], tmp_path / "unpacked")
    connection = sqlite3.connect(folder / "store" / "store.db")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("SELECT count(*) FROM push").fetchone() == (3,)
    connection.close()
    assert (folder / "configuration" / "ringwaked.toml").read_bytes() == daemon.configuration.read_bytes()
    checked = run("sha256sum", "--check", "manifest.sha256", cwd=folder)
    assert checked.returncode == 0, checked
    assert not (daemon.directory / "state" / "store.copy").exists()


def test_without_a_daemon_the_store_itself_is_backed_up(daemon: Daemon, tmp_path: Path) -> None:
    daemon.stop()
    made = backup(daemon, "--to", tmp_path / "by-name.tar.zst", "--no-keys")
    assert made["file"] == str(tmp_path / "by-name.tar.zst")
    assert look("verify", made["file"])["store"]["version"] == VERSION
    assert not (daemon.directory / "state" / "store.copy").exists()
    daemon.start()


def test_a_portable_backup_has_the_records_of_an_export(daemon: Daemon, tmp_path: Path) -> None:
    daemon.stop()
    made = backup(daemon, "--portable", "--no-keys", "--to", tmp_path)
    folder = unpack(made["file"], tmp_path / "unpacked")
    exported = tmp_path / "exported.jsonl"
    done = daemon.ringwake("backup", "export", "--to", exported, "--config", daemon.configuration)
    assert done.returncode == 0, done
    records = (folder / "portable" / "records.jsonl").read_text().splitlines()
    assert records[1:] == exported.read_text().splitlines()[1:] and len(records) > 6


def test_keys_need_their_passphrase(daemon: Daemon, tmp_path: Path) -> None:
    refused = backup(daemon, "--to", tmp_path, status=2)
    assert "name a --passphrase-file" in refused["message"] and list(tmp_path.iterdir()) == []
    passphrase, other = tmp_path / "passphrase", tmp_path / "other"
    passphrase.write_text("correct horse\n")
    other.write_text("battery staple\n")
    made = backup(daemon, "--to", tmp_path, "--passphrase-file", passphrase)
    assert made["keys"] == "encrypted"
    look("verify", made["file"], "--passphrase-file", passphrase)
    wrong = look("verify", made["file"], "--passphrase-file", other, status=1)
    assert "passphrase" in wrong["message"]
    folder = unpack(made["file"], tmp_path / "unpacked")
    key = daemon.credentials.server_key.read_bytes()
    line = key.splitlines()[1]
    assert all(line not in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_old_backups_go_and_a_hook_gets_the_new_one(daemon: Daemon, tmp_path: Path) -> None:
    foreign = tmp_path / "ringwake-notes.tar.zst"
    foreign.write_text("not ours")
    said = tmp_path / "said"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\necho \"$1\" >> {said}\n")
    hook.chmod(0o755)
    made = []
    for _ in range(4):
        made.append(backup(daemon, "--to", tmp_path, "--no-keys", "--keep", "2", "--hook", hook)["file"])
    assert sorted(str(path) for path in tmp_path.glob("ringwake-2*")) == made[2:]
    assert foreign.exists() and said.read_text().splitlines() == made
    # What the hook has not copied is perhaps the only backup.
    hook.write_text("#!/bin/sh\nexit 3\n")
    failed = backup(daemon, "--to", tmp_path, "--no-keys", "--keep", "1", "--hook", hook, status=1)
    assert "was made" in failed["message"] and "ended with 3" in failed["message"]
    failed = backup(daemon, "--to", tmp_path, "--no-keys", "--keep", "1", "--hook", tmp_path / "nothing", status=1)
    assert "was made" in failed["message"] and "No such file" in failed["message"]
    assert len(list(tmp_path.glob("ringwake-2*"))) == 4
    # Another machine's stay.
    name = tmp_path / "hostname"
    name.write_text("other")
    done = run(
        "unshare", "--uts", "sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh", "other", RINGWAKE, "backup", "create",
        "--to", tmp_path, "--no-keys", "--keep", "1", "--config", daemon.configuration, env=daemon.environment(),
    )  # fmt: skip
    assert done.returncode == 0 and len(list(tmp_path.glob("ringwake-2*"))) == 5, done
    assert len(look("list", tmp_path)["backups"]) == 6


def test_what_cannot_be_written_leaves_nothing(daemon: Daemon, tmp_path: Path) -> None:
    there = tmp_path / "there.tar.zst"
    there.write_text("somebody's")
    assert "exists" in backup(daemon, "--to", there, "--no-keys", status=1)["message"]
    assert there.read_text() == "somebody's"
    backup(daemon, "--to", tmp_path / "nowhere" / "file.tar.zst", "--no-keys", status=5)
    assert "there is no folder" in backup(daemon, "--to", tmp_path / "nowhere", "--no-keys", status=5)["message"]
    nothing = look("verify", tmp_path / "nothing.tar.zst", status=5)
    assert "there is no backup" in nothing["message"]
    damaged = tmp_path / "damaged.tar.zst"
    good = Path(backup(daemon, "--to", tmp_path / "good.tar.zst", "--no-keys")["file"])
    contents = good.read_bytes()
    for spoiled in (contents[: len(contents) // 2], contents[:100] + b"x" + contents[101:], b"", b"text"):
        damaged.write_bytes(spoiled)
        look("verify", damaged, status=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.tar.zst", "good.tar.zst", "there.tar.zst"]


@pytest.mark.skipif(os.getuid() != 0, reason="needs root: it makes files of another user")
def test_a_link_of_the_daemons_user_leads_nowhere(daemon: Daemon, tmp_path: Path) -> None:
    """Root reads in the folder of another user, who decides what a name stands for."""
    daemon.stop()
    state = daemon.directory / "state"
    secret = tmp_path / "secret"
    secret.write_text("root's secret")
    secret.chmod(0o600)
    daemon.directory.chmod(0o755)
    for path in [state, *state.rglob("*")]:
        os.chown(path, 65_534, 65_534)
    (state / "link.json").symlink_to(secret)
    os.link(secret, state / "hard.json")
    made = backup(daemon, "--to", tmp_path / "one.tar.zst", "--no-keys")
    assert made["foreign"] == [str(state / "hard.json")]
    names = [member["name"] for member in look("show", made["file"])["members"]]
    assert "state/tokens.json" in names and not [name for name in names if "link.json" in name or "hard.json" in name]


def test_a_backup_that_is_killed_is_none_or_whole(daemon: Daemon, tmp_path: Path) -> None:
    state = daemon.directory / "state"
    # Large enough that a kill meets each part.
    (state / "ballast").write_bytes(random.Random(5).randbytes(8 << 20))
    generator = random.Random(7)
    command = [RINGWAKE, "backup", "create", "--to", tmp_path, "--no-keys", "--config", daemon.configuration]
    environment = {**os.environ, **daemon.environment()}
    begun = time.monotonic()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    took = time.monotonic() - begun
    for _ in range(12):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(generator.random() * took)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for path in tmp_path.glob("ringwake-2*.tar.zst"):
            look("verify", path)
        assert push(daemon, str(uuid.uuid4())).status == 200
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done
    assert [path for path in tmp_path.iterdir() if not path.name.endswith(".tar.zst")] == []
    until(lambda: not (state / "store.copy").exists(), 20, "the daemon to remove the copy")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root: it hides a library in a mount namespace")
def test_without_libarchive_what_needs_it_says_what_to_install(daemon: Daemon, tmp_path: Path) -> None:
    library = re.search(r"libarchive\.so\.13 .*=> (\S+)", run("ldconfig", "-p").stdout)[1]
    hide = 'mount --bind /dev/null "$1" && shift && exec "$@"'
    done = run(
        "unshare", "--mount", "sh", "-c", hide, "sh", os.path.realpath(library), RINGWAKE, "backup", "create", "--to",
        tmp_path, "--no-keys", "--config", daemon.configuration, env=daemon.environment(),
    )  # fmt: skip
    assert done.returncode == 1 and "libarchive" in done.stderr and "libarchive13" in done.stderr, done


def test_the_archive_is_a_plain_tar(daemon: Daemon, tmp_path: Path) -> None:
    """Owners and times say nothing about the machine that cannot be shown."""
    made = backup(daemon, "--to", tmp_path, "--no-keys")
    plain = tmp_path / "plain.tar"
    with plain.open("wb") as target:
        subprocess.run(["zstd", "-dc", made["file"]], stdout=target, check=True)
    with tarfile.open(plain) as tar:
        members = tar.getmembers()
    assert members[0].name == "manifest.json" and all(member.isreg() for member in members)
