"""A backup or a restore that is killed at a system call: what is there is the former or the new, whole.

Each call that changes the disk is one case. The suite takes every so many, `RINGWAKE_TEST_EVERY=1` all of them.
"""

import os
import shutil
import uuid
from pathlib import Path

import pytest

from support.backups import BACKED_UP, ENDS, NEWER, create, known, ring
from support.daemon import Daemon
from support.programs import RINGWAKE, RINGWAKED, run
from support.pushing import push

# What changes anything that another process can find. Opening a new file is not among them: a program opens many that are
# there, and before it opens another new one, it makes one of these calls.
CALLS = (
    "write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync,ftruncate,"
    "fallocate,fchmod,fchown,chmod,chown,flock"
)
EVERY = int(os.environ.get("RINGWAKE_TEST_EVERY", "11"))
# More than a restore makes.
MOST = 400


def traced(folder: Path, program: Path, number: int) -> Path:
    """The programs in a folder of their own, of which one is killed at a call."""
    folder.mkdir(exist_ok=True)
    for real in (RINGWAKE, RINGWAKED):
        path = folder / real.name
        path.unlink(missing_ok=True)
        if real != program:
            # A program looks for the other one beside its own path, which is not that of a symbolic link.
            shutil.copy(real, path)
            continue
        path.write_text(
            f'#!/bin/sh\nexec strace -qq -o /dev/null -e trace={CALLS} '
            f'-e inject={CALLS}:signal=KILL:when={number} {real} "$@"\n'
        )
        path.chmod(0o755)
    return folder


@pytest.fixture
def daemon(make_daemon) -> Daemon:
    daemon: Daemon = make_daemon()
    daemon.add_app(*ENDS)
    daemon.start()
    return daemon


@pytest.mark.parametrize("program", [RINGWAKED, RINGWAKE], ids=lambda path: path.name)
def test_restore_killed_at_a_call(daemon: Daemon, tmp_path: Path, program: Path) -> None:
    ring(daemon, BACKED_UP)
    file = create(daemon, tmp_path / "b.tar.zst")
    ring(daemon, NEWER)
    daemon.stop()
    app = next((daemon.directory / "apps.d").glob("*.toml"))
    backed_up = app.read_text()
    app.write_text(backed_up + "# newer\n")
    state, kept = daemon.directory / "state", tmp_path / "kept"
    shutil.copytree(state, kept)
    environment = {**os.environ, **daemon.environment()}
    found, number = set(), 1
    while number < MOST:
        shutil.rmtree(state)
        shutil.copytree(kept, state)
        app.write_text(backed_up + "# newer\n")
        folder = traced(tmp_path / "bin", program, number)
        command = ["backup", "restore", file, "--yes", "--config", daemon.configuration]
        done = run(folder / "ringwake", *command, env=environment)
        found.add(known(daemon))
        assert known(daemon) in (BACKED_UP, BACKED_UP + NEWER), (number, done)
        assert app.read_text() in (backed_up, backed_up + "# newer\n"), number
        if number % (EVERY * 5) == 1:
            daemon.start()
            ring(daemon, 1)
            daemon.stop()
        if done.returncode == 0:
            break
        again = run(RINGWAKE, *command, env=environment)
        assert again.returncode == 0, (number, done, again)
        assert known(daemon) == BACKED_UP and app.read_text() == backed_up, number
        number += EVERY
    assert number < MOST and found == {BACKED_UP, BACKED_UP + NEWER}, (number, found)


@pytest.mark.parametrize("program", [RINGWAKED, RINGWAKE], ids=lambda path: path.name)
def test_create_killed_at_a_call(daemon: Daemon, tmp_path: Path, program: Path) -> None:
    ring(daemon, BACKED_UP)
    daemon.stop()
    environment = {**os.environ, **daemon.environment()}
    target, number = tmp_path / "backups", 1
    target.mkdir()
    while number < MOST:
        folder = traced(daemon.directory / "bin", program, number)
        command = ["backup", "create", "--to", target / f"ringwake-2026-01-01T{number:06}Z.tar.zst", "--no-keys", "--config", daemon.configuration]
        done = run(folder / "ringwake", *command, env=environment)
        for path in target.glob("*.tar.zst"):
            assert run(RINGWAKE, "backup", "verify", path).returncode == 0, (number, path)
        assert known(daemon) == BACKED_UP, number
        if done.returncode == 0:
            break
        number += EVERY
    assert number < MOST
    done = run(RINGWAKE, "backup", "create", "--to", target, "--no-keys", "--config", daemon.configuration, env=environment)
    assert done.returncode == 0, done
    assert all(path.name.endswith(".tar.zst") for path in target.iterdir()), list(target.iterdir())
    assert not (daemon.directory / "state" / "store.copy").exists()
    daemon.start()
    assert push(daemon, str(uuid.uuid4())).status == 200
