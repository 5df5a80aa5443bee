"""A disk that is really full, or really mounted for reading: a small file system in a mount namespace of its own."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import programs
from support.daemon import Daemon
from support.flood import new_call
from support.pushing import push
from support.store import read_store
from support.waiting import until

# Room for the store with a little log, in bytes.
SIZE = 2 * 1024 * 1024


def can_mount() -> bool:
    """Whether the tests may have a mount namespace of their own."""
    if os.getuid() != 0 or not shutil.which("unshare") or not shutil.which("mount"):
        return False
    return programs.run("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt").returncode == 0


pytestmark = pytest.mark.skipif(not can_mount(), reason="a small file system needs root and mount(2)")


@pytest.fixture
def on_small_disk(make_daemon) -> Iterator[Callable[..., Daemon]]:
    """Makes daemons whose state directory is a file system of its own, mounted with these options."""

    def make(options: str = f"size={SIZE}", then: str = "true") -> Daemon:
        daemon: Daemon = make_daemon()
        state = daemon.directory / "state"
        state.mkdir(mode=0o700)
        script = f'mount -t tmpfs -o mode=700,{options} none "{state}" && {then} && exec "$@"'
        daemon.user = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
        return daemon

    yield make


def disk(daemon: Daemon) -> Path:
    """The state directory as the daemon sees it: its namespace is reached through its process."""
    return Path(f"/proc/{daemon.pid}/root") / str(daemon.directory / "state").lstrip("/")


def fill(path: Path) -> None:
    """Takes what room is left."""
    with path.open("ab", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


def push_until(daemon: Daemon, status: int, bound: int = 3000) -> tuple[list[str], str]:
    """Sends pushes until one is answered so: those that were answered 200 before, and that one."""
    accepted = []
    for _ in range(bound):
        call = new_call(random.Random())
        answer = push(daemon, call, apns_expiration="1700000000")
        if answer.status == status:
            return accepted, call
        assert answer.status == 200
        accepted.append(call)
    raise AssertionError(f"{bound} pushes and no {status}")


def test_a_full_disk_refuses_pushes_until_there_is_room(on_small_disk) -> None:
    daemon = on_small_disk()
    handler = daemon.add_app("true")
    daemon.start()
    fill(disk(daemon) / "filler")
    accepted, refused = push_until(daemon, 503)
    answer = push(daemon, refused)
    assert (answer.status, answer.reason) == (503, "ServiceUnavailable")
    journal = daemon.control.status()["journal"]
    assert (journal["state"], "full" in journal["why"]) == ("failing", True), journal
    # The wake does not wait for room.
    woken = new_call(random.Random())
    assert push(daemon, woken).status == 503
    handler.wait(woken)
    (disk(daemon) / "filler").unlink()
    assert push(daemon, refused).status == 200
    assert daemon.control.status()["journal"]["state"] == "working"
    assert len([line for line in daemon.log.splitlines() if "disk is full" in line]) == 1, daemon.log
    copy = daemon.directory / "copy"
    shutil.copytree(disk(daemon), copy)
    # Everything that was answered is in the files, also when the daemon is killed now.
    assert {*accepted, refused} <= read_store(copy).pushes


def test_a_disk_that_fills_by_pushes_alone_keeps_each_promise(on_small_disk) -> None:
    daemon = on_small_disk()
    daemon.add_app("true")
    daemon.start()
    accepted, _ = push_until(daemon, 503)
    assert len(accepted) > 50
    until(lambda: daemon.control.status()["journal"]["state"] == "failing", 5, "the journal to fail")
    copy = daemon.directory / "copy"
    shutil.copytree(disk(daemon), copy)
    assert set(accepted) <= read_store(copy).pushes


def test_a_full_disk_at_the_start_is_said(on_small_disk) -> None:
    daemon = on_small_disk(then='dd if=/dev/zero of="$0"/filler 2>/dev/null; true')
    daemon.user[-1] = str(daemon.directory / "state")
    daemon.add_app("true")
    done = daemon.run_to_its_end()
    assert done.returncode == 1
    assert "No space left" in done.stderr or "disk is full" in done.stderr, done.stderr


def test_a_read_only_file_system_at_the_start_is_said(on_small_disk) -> None:
    daemon = on_small_disk(then='mount -o remount,ro "$0"')
    daemon.user[-1] = str(daemon.directory / "state")
    daemon.add_app("true")
    done = daemon.run_to_its_end()
    assert done.returncode == 1
    assert "Read-only file system" in done.stderr or "can only be read" in done.stderr, done.stderr
