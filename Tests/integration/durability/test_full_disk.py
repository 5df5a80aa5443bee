"""A disk that is really full, or really mounted for reading: a small file system in a mount namespace of its own."""

import random
import shutil

import pytest

from support.flood import new_call
from support.pushing import push
from support.small_disk import can_mount, disk, fill, mount_at_start, small_disk
from support.store import read_store

# Room for the store with a little log, in bytes.
SIZE = 2 * 1024 * 1024


pytestmark = pytest.mark.skipif(not can_mount(), reason="a small file system needs root and mount(2)")


def test_on_a_full_disk_history_gives_way_to_pushes(make_daemon) -> None:
    daemon = make_daemon()
    mount_at_start(daemon, small_disk(f"size={2 * SIZE}"))
    handler = daemon.add_app("true")
    daemon.start()
    first = new_call(random.Random())
    assert push(daemon, first, apns_expiration="1700000000").status == 200
    fill(disk(daemon) / "filler")
    accepted = [new_call(random.Random()) for _ in range(800)]
    for call in accepted:
        assert push(daemon, call, apns_expiration="1700000000").status == 200
    woken = new_call(random.Random())
    assert push(daemon, woken).status == 200
    handler.wait(woken)
    journal = daemon.control.status()["journal"]
    assert (journal["state"], journal["gaveWay"] > 0) == ("working", True), journal
    assert len([line for line in daemon.log.splitlines() if "give way to new ones" in line]) == 1, daemon.log
    assert "the disk is full" in daemon.ringwake("status").stdout
    copy = daemon.directory / "copy"
    shutil.copytree(disk(daemon), copy)
    # The newest are in the files, also when the daemon is killed now; the oldest made room.
    pushes = read_store(copy).pushes
    assert {*accepted[-50:], woken} <= pushes and first not in pushes


def test_a_file_system_that_no_daemon_has_used_and_none_can_write_is_said(make_daemon) -> None:
    """There are no tokens, so nobody can call yet."""
    daemon = make_daemon()
    mount_at_start(daemon, small_disk(f"size={SIZE},ro"))
    daemon.add_app("true")
    done = daemon.run_to_its_end()
    assert done.returncode == 1
    assert "Read-only file system" in done.stderr, done.stderr
