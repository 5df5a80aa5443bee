"""`ringwake store`: what the store is, with a daemon and without; stores of other versions and other shapes."""

import json
import os
import sqlite3
import uuid
from pathlib import Path

from support.daemon import Daemon
from support.pushing import push
from support.store import VERSION
from support.waiting import until


def new_call() -> str:
    return str(uuid.uuid4())


def store(daemon: Daemon, *words: object, status: int = 0) -> dict:
    """What `ringwake store` prints; without a running daemon it reads the daemon's configuration."""
    options = [] if daemon.process else ["--config", daemon.configuration]
    done = daemon.ringwake("store", *words, *options, "--json")
    assert done.returncode == status, done
    return json.loads(done.stdout if status == 0 else done.stderr.splitlines()[-1])


def test_the_store_is_shown_with_a_daemon_and_without(make_daemon) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.write_configuration()
    nothing = store(daemon, "status", status=5)
    assert "or restore a backup" in nothing["message"]
    daemon.start()
    for _ in range(3):
        assert push(daemon, new_call()).status == 200
    running = store(daemon, "status")
    daemon.stop()
    idle = store(daemon, "status")
    for shown in (running, idle):
        assert shown["version"] == shown["currentVersion"] == VERSION >= shown["oldestVersion"]
        assert shown["file"] == str(daemon.directory / "state" / "store.db")
        assert shown["rows"]["push"] == shown["rows"]["call"] == 3
        assert "migration" not in shown and shown["freeBytes"] > shown["bytes"] > 0
    # To look at the store changes nothing.
    before = {path.name: path.read_bytes() for path in (daemon.directory / "state").glob("store.*")}
    assert "migration" not in store(daemon, "migrate", "--dry-run")
    assert store(daemon, "migrate")["version"] == VERSION
    store(daemon, "status")
    after = {path.name: path.read_bytes() for path in (daemon.directory / "state").glob("store.*")}
    assert {name: after[name] for name in before if name != "store.seal"} == {
        name: before[name] for name in before if name != "store.seal"
    }
    daemon.start()
    assert daemon.control.get("/v1/store")["rows"]["push"] == 3


def test_a_daemon_that_runs_keeps_its_store_for_itself(make_daemon) -> None:
    daemon: Daemon = make_daemon()
    daemon.start()
    done = daemon.run_to_its_end("--store", "migrate")
    assert done.returncode != 0 and "another ringwaked uses the state directory" in done.stderr
    assert store(daemon, "migrate")["version"] == VERSION


def test_a_newer_and_an_unreleased_store_refuse_the_start_and_the_command(make_daemon) -> None:
    daemon: Daemon = make_daemon()
    daemon.start()
    daemon.stop()
    path = daemon.directory / "state" / "store.db"
    for version, words in ((VERSION + 1, "newer version of Ringwake"), (3, "the oldest that this program reads is")):
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.close()
        before = path.read_bytes()
        refused = daemon.run_to_its_end()
        assert refused.returncode != 0 and words in refused.stderr, refused
        assert str(version) in refused.stderr
        for task in ("status", "migrate"):
            assert words in store(daemon, task, status=1)["message"]
        assert path.read_bytes() == before


def test_root_migrates_as_the_owner_of_the_state_directory(make_daemon) -> None:
    """What root makes there, the daemon of another user could not open."""
    daemon: Daemon = make_daemon()
    daemon.start()
    daemon.stop()
    state = daemon.directory / "state"
    user = 65_534
    daemon.directory.chmod(0o755)
    for path in [state, *state.rglob("*")]:
        os.chown(path, user, user)
    store(daemon, "status")
    store(daemon, "migrate")
    assert {path.stat().st_uid for path in [state, *state.rglob("*")]} == {user}


def test_a_store_that_somebody_changed_is_named_and_loses_nothing(make_daemon) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    calls = [new_call() for _ in range(5)]
    for call in calls:
        assert push(daemon, call).status == 200
    daemon.stop()
    connection = sqlite3.connect(daemon.directory / "state" / "store.db")
    connection.execute("ALTER TABLE push DROP COLUMN topic")
    connection.execute("CREATE INDEX mine ON push (outcome)")
    connection.close()
    daemon.start()
    [damage] = daemon.control.status()["damage"]
    assert "the table 'push' lacks the column 'topic'; there is an unknown index 'mine'" in damage["why"]
    assert daemon.control.get("/v1/store")["rows"]["push"] == 5
    done = daemon.ringwake("doctor")
    assert "lacks the column 'topic'" in done.stdout
    assert push(daemon, calls[1]).status == 200
    assert daemon.control.get("/v1/store")["rows"]["push"] == 5


def test_the_text_is_for_people(make_daemon) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    assert push(daemon, new_call()).status == 200
    done = daemon.ringwake("store", "status")
    assert done.returncode == 0
    shown = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert shown["version"] == str(VERSION) and shown["push"] == "1" and "epoch" not in shown
    done = daemon.ringwake("store", "migrate", "--dry-run")
    assert done.stdout.endswith(f"has version {VERSION}, the present one: there is nothing to migrate\n")


def test_a_copy_is_what_the_store_was_and_lives_as_long_as_its_client(make_daemon) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    for _ in range(3):
        assert push(daemon, new_call()).status == 200
    with daemon.control.copy_of_store() as lines:
        copy = next(Path(line["file"]) for line in lines if "file" in line)
        assert copy.stat().st_mode & 0o777 == 0o600 and copy.parent == daemon.directory / "state"
        assert push(daemon, new_call()).status == 200
        connection = sqlite3.connect(f"file:{copy}?immutable=1", uri=True)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM push").fetchone() == (3,)
        connection.close()
        refused = daemon.control.request("POST", "/v1/store/copy")
        assert refused[0] == 409 and "another client has a copy" in refused[1]["message"]
    until(lambda: not copy.exists(), 10, "the copy to go with its client")
    # What a killed daemon leaves is removed by the next start.
    with daemon.control.copy_of_store() as lines:
        assert any("file" in line for line in lines)
        daemon.kill()
    assert copy.exists()
    daemon.start()
    assert not copy.exists()
