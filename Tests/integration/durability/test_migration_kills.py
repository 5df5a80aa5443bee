"""A migration of a released version's store that is killed at a system call: the store is the former or the new, whole.

Each call that changes a file is one case. The suite takes every so many, `RINGWAKE_TEST_EVERY=1` all of them.
"""

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from support.daemon import Daemon
from support.programs import RINGWAKED, run
from support.store import RELEASED, VERSION, read_store

CALLS = (
    "pwrite64,write,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,rmdir,fsync,fdatasync,ftruncate,"
    "fallocate,openat"
)
EVERY = int(os.environ.get("RINGWAKE_TEST_EVERY", "11"))
# More than a migration makes.
MOST = 3_000


def exported(daemon: Daemon) -> list[dict]:
    done = run(RINGWAKED, "--store", "export", "--config", daemon.configuration)
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()][1:]


def version(state: Path) -> int:
    connection = sqlite3.connect(f"file:{state}/store.db?mode=ro", uri=True)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


@pytest.mark.parametrize("released", sorted(RELEASED.glob("*/*.db")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_migration_killed_at_a_call(make_daemon, tmp_path: Path, released: Path) -> None:
    daemon: Daemon = make_daemon()
    daemon.write_configuration()
    state = daemon.directory / "state"
    command = [RINGWAKED, "--store", "migrate", "--config", daemon.configuration]

    def begin() -> None:
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir(mode=0o700)
        shutil.copy(released, state / "store.db")

    former = int(released.parent.name.removeprefix("version-"))
    begin()
    assert version(state) == former < VERSION
    assert run(*command).returncode == 0
    read_store(state)
    whole = exported(daemon)
    assert len(whole) > 2
    found, number = set(), 1
    while number < MOST:
        begin()
        done = run(
            "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={CALLS}",
            "-e", f"inject={CALLS}:signal=KILL:when={number}", *command,
        )  # fmt: skip
        # Between two renames there is none, and the next start puts it in its place.
        if (state / "store.db").exists():
            found.add(version(state))
        if done.returncode == 0:
            break
        again = run(*command)
        assert again.returncode == 0, (number, again)
        assert "damage" not in again.stdout, (number, again)
        assert exported(daemon) == whole, number
        assert not list(state.glob("store.version-*")) and not (state / "store.new").exists(), number
        number += EVERY
    assert number < MOST and found == {former, VERSION}, (number, found)
