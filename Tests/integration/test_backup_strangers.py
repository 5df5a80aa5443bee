"""Backups and other users: what they own decides nothing for root, and what lies in the way stops no daemon."""

import json
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from support.backups import BACKED_UP, ENDS, NEWER, create, known, restore, rewritten, ring, tree
from support.daemon import Daemon
from support.programs import RINGWAKE, run

NOBODY = 65_534

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root: it makes files of other users")


@pytest.fixture
def daemon(make_daemon) -> Daemon:
    daemon: Daemon = make_daemon()
    daemon.add_app(*ENDS)
    daemon.start()
    ring(daemon, BACKED_UP)
    return daemon


def give_away(daemon: Daemon) -> Path:
    """The state directory becomes another user's."""
    state = daemon.directory / "state"
    for path in [state, *state.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return state


def test_root_takes_no_paths_from_a_daemon(daemon: Daemon, tmp_path: Path) -> None:
    """The daemon's user decides what answers on its socket."""
    status = daemon.control.get("/v1/status")
    store = daemon.control.get("/v1/store")
    secret = tmp_path / "secret"
    secret.write_text("of root alone")
    secret.chmod(0o600)
    evil = tmp_path / "evil.toml"
    evil.write_text(daemon.configuration.read_text())
    path = daemon.control_socket
    daemon.stop()
    path.unlink(missing_ok=True)
    answers = {"/v1/status": status, "/v1/store": store, "/v1/store/copy": {"percent": 100, "file": str(secret), "bytes": 13}}
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                body = json.dumps(answers[connection.recv(65_536).split()[1].decode()]).encode() + b"\n"
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))

    threading.Thread(target=serve, daemon=True).start()
    try:
        command = ["backup", "create", "--no-keys", "--config", daemon.configuration, "--to"]
        done = daemon.ringwake(*command, tmp_path / "one.tar.zst")
        assert done.returncode == 4 and "outside of" in done.stderr, done
        done = daemon.ringwake("backup", "export", "--to", tmp_path / "x.jsonl", "--config", daemon.configuration)
        assert done.returncode == 4 and "outside of" in done.stderr, done
        assert not list(tmp_path.glob("*.jsonl*"))
        # Also if it names a process of root's.
        status |= {"configuration": str(evil), "pid": os.getpid()}
        done = daemon.ringwake(*command, tmp_path / "two.tar.zst")
        assert done.returncode == 1 and "the daemon says that its configuration" in done.stderr, done
        status["configuration"], status["stateDirectory"] = str(daemon.configuration), str(tmp_path)
        done = daemon.ringwake(*command, tmp_path / "three.tar.zst")
        assert done.returncode == 1 and "the daemon says that its state directory" in done.stderr, done
        assert not list(tmp_path.glob("*.tar.zst"))
    finally:
        listener.close()
        path.unlink()


def test_root_believes_a_daemon_that_root_runs(daemon: Daemon, tmp_path: Path) -> None:
    done = daemon.ringwake("backup", "create", "--no-keys", "--to", tmp_path / "b.tar.zst")
    assert done.returncode == 0, done
    assert run(RINGWAKE, "backup", "verify", tmp_path / "b.tar.zst").returncode == 0


def test_root_writes_and_removes_nothing_where_others_decide(daemon: Daemon, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    command = ["backup", "create", "--no-keys", "--config", daemon.configuration, "--to"]
    for target in (folder, folder / "one.tar.zst"):
        done = daemon.ringwake(*command, target)
        assert done.returncode == 4 and str(folder) in done.stderr, done
    file = create(daemon, tmp_path / "b.tar.zst")
    done = daemon.ringwake(
        "backup", "restore", file, "--yes", "--config", daemon.configuration, env={"TMPDIR": str(folder)}
    )
    assert done.returncode == 4 and "TMPDIR" in done.stderr, done
    assert list(folder.iterdir()) == []


def test_what_cannot_be_moved_stays_or_is_refused_before_anything_changes(daemon: Daemon, tmp_path: Path) -> None:
    # The daemon's user has to get into the folder where it is unpacked.
    open_folder = daemon.directory / "kept"
    open_folder.mkdir(mode=0o755)
    file = create(daemon, open_folder / "b.tar.zst")
    ring(daemon, NEWER)
    daemon.stop()
    state = give_away(daemon)
    closed = tmp_path / "b.tar.zst"
    shutil.copy(file, closed)
    assert "/var/tmp" in restore(daemon, closed, status=4)["message"]
    roots = state / "notes"
    roots.mkdir(mode=0o755)
    (roots / "of-root").touch()
    (Path(os.fsdecode(os.fsencode(state) + b"/\xff\xfe"))).touch()
    done = restore(daemon, file)
    assert done["state"] == "restored" and known(daemon) == BACKED_UP
    assert (roots / "of-root").exists()
    # One that is in the way of a restored file.
    apps = state / "apps"
    os.chown(apps, 0, 0)
    before = tree(state)
    refused = restore(daemon, file, status=1)["message"]
    assert "cannot be moved aside" in refused and str(apps) in refused
    before.pop("restore.lock", None)
    assert {name: content for name, content in tree(state).items() if name != "restore.lock"} == before


@pytest.mark.parametrize("what", ["no-order", "garbage", "no-records", "file", "link"])
def test_a_restore_that_cannot_be_used_keeps_no_daemon_from_starting(daemon: Daemon, tmp_path: Path, what: str) -> None:
    daemon.stop()
    ready = daemon.directory / "state" / "restore.ready"
    order = {"folder": "/nonexistent", "aside": "before-restore-x", "merges": True, "identity": "kept", "apps": {}}
    if what == "file":
        ready.write_text("no folder")
    elif what == "link":
        (daemon.directory / "state" / "restore.moving").symlink_to(tmp_path)
        (tmp_path / "theirs").touch()
    else:
        ready.mkdir()
        if what == "garbage":
            (ready / "order.json").write_text("no order")
        if what == "no-records":
            (ready / "order.json").write_text(json.dumps(order))
    daemon.start()
    ring(daemon, 1)
    assert known(daemon) == BACKED_UP + 1
    if what == "link":
        assert (tmp_path / "theirs").exists()
    elif what != "file":
        daemon.log_mentions("a backup was not restored")
        assert (daemon.directory / "state" / "restore.unusable").is_dir()


def test_a_hostile_backup_reaches_nothing_else(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst")
    daemon.stop()
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "shadow").write_text("root's")
    certificate = str(daemon.credentials.server_certificate)
    before = tree(daemon.directory)

    def around(folder: Path, manifest: dict) -> None:
        [member] = [member for member in manifest["members"] if member.get("origin") == certificate]
        member["origin"] = f"{daemon.directory}/../{victim.relative_to('/tmp')}/shadow"

    said = restore(daemon, rewritten(file, tmp_path / "around.tar.zst", around), status=1)["message"]
    assert "leads to another place" in said

    def elsewhere(folder: Path, manifest: dict) -> None:
        path = folder / "configuration" / "ringwaked.toml"
        path.write_text(path.read_text().replace('state_directory = "state"', f'state_directory = "{victim}"'))

    said = restore(daemon, rewritten(file, tmp_path / "elsewhere.tar.zst", elsewhere), status=1)["message"]
    assert "is no state directory" in said
    assert tree(victim).keys() == {"shadow"} and tree(daemon.directory) == before


def test_a_restore_keeps_the_room_for_calls(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst")
    reserve = daemon.directory / "state" / "store.reserve"
    number = reserve.stat().st_ino
    restore(daemon, file)
    assert reserve.stat().st_ino == number


def test_a_merge_removes_nothing_that_is_here(make_daemon, tmp_path: Path) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app(*ENDS)
    daemon.sections["journal"] = "pushes = 10000"
    daemon.start()
    ring(daemon, 1)
    file = create(daemon, tmp_path / "b.tar.zst", "--portable", "--no-keys")

    def many(folder: Path, manifest: dict) -> None:
        path = folder / "portable" / "records.jsonl"
        lines = path.read_text().splitlines()
        [call] = [line for line in lines if '"kind":"call"' in line]
        [push] = [line for line in lines if '"kind":"push"' in line]
        identifier = json.loads(push)["call"]
        calls = [call.replace(identifier, f"call-{n}").replace('"number":1,', f'"number":{n + 2},') for n in range(10_000)]
        pushes = [
            push.replace(json.loads(push)["id"], f"00000000-0000-4000-8000-{n:012}").replace(identifier, f"call-{n}")
            for n in range(10_000)
        ]
        records = [*calls, *pushes]
        path.write_text("\n".join([lines[0], *records, json.dumps({"kind": "end", "records": len(records)})]) + "\n")

    daemon.stop()
    full = rewritten(file, tmp_path / "full.tar.zst", many)
    refused = restore(daemon, full, "--merge", status=1)["message"]
    assert "journal.pushes is 10000" in refused and known(daemon) == 1
    daemon.start()
    ring(daemon, 1)
    assert run(RINGWAKE, "backup", "verify", full).returncode == 0
