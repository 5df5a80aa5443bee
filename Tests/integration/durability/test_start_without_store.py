"""A daemon that starts while its store cannot be used: it says so, calls ring from memory, and when the store can be used
it goes on as a start would have."""

import contextlib
import random
import shutil
import sqlite3
from dataclasses import dataclass

import pytest

from support.control import Control
from support.daemon import Daemon
from support.doctor import doctor
from support.flood import new_call
from support.pushing import push, start_call
from support.small_disk import FILL, can_mount, disk, mount_at_start, remount, small_disk
from support.store import read_store
from support.waiting import until
from support.watching import Watcher

pytestmark = pytest.mark.skipif(not can_mount(), reason="a small file system needs root and mount(2)")

# The state of the last run on a file system that is full, with no reserve.
FULL = f'{small_disk("size=3m")} && cp -a "$0-before/." "$0" && rm "$0/store.reserve" && {{ {FILL}; }}'


# The store as noise of less than its size.
GARBAGE = 'rm "$0"/store.db* && head -c 20000 /dev/urandom >"$0/store.db"'


@dataclass
class Fault:
    """What is wrong with the store at the start."""

    script: str
    # Of the daemon's reason.
    why: str
    # Whether the store itself is lost.
    is_lost: bool = False


FAULTS = {
    "full": Fault(FULL, "disk is full"),
    "read-only": Fault('mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"', "can only be read"),
    "garbage, full": Fault(f"{FULL}; {GARBAGE}; {FILL}", "full", is_lost=True),
    "folder, full": Fault(f'{FULL}; rm "$0"/store.db* && mkdir "$0/store.db"; {FILL}', "full", is_lost=True),
}  # fmt: skip


def mend(daemon: Daemon, fault: str) -> None:
    if fault == "read-only":
        remount(daemon, "bind,rw")
    else:
        (disk(daemon) / "filler").unlink()


def failing(daemon: Daemon, why: str) -> dict | None:
    """The journal's state if it fails for this reason."""
    journal = daemon.control.status()["journal"]
    return journal if journal["state"] == "failing" and why in journal["why"] else None


@pytest.mark.parametrize("unrecorded", ["ring", "missed"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_daemon_without_a_store_starts_and_is_whole_again_without_a_restart(
    make_daemon, fault: str, unrecorded: str
) -> None:
    daemon: Daemon = make_daemon()
    handler = daemon.add_app()
    daemon.calls = {"report": "60s" if unrecorded == "ring" else "4s", "unrecorded": unrecorded}
    daemon.start()
    token = daemon.device_token()
    waiting, waker = start_call(daemon)
    if fault == "read-only":
        assert daemon.ringwake("dnd", "on").returncode == 0
    # In order, so that there is no log whose room a start could use.
    daemon.stop()
    shutil.copytree(daemon.directory / "state", daemon.directory / "state-before", copy_function=shutil.copy2)
    mount_at_start(daemon, FAULTS[fault].script)

    daemon.start()
    assert daemon.device_token() == token
    # A store that can be opened on a full disk fails with the first record.
    journal = until(lambda: failing(daemon, FAULTS[fault].why), 10, lambda: f"{daemon.control.status()['journal']}")
    assert journal["sinceMs"] >= 0
    assert daemon.ringwake("status").stdout.splitlines()[0].endswith("out of order: store")
    doctor(daemon).problem("store", FAULTS[fault].why)
    call = new_call(random.Random())
    with Watcher(daemon) as watcher:
        # Rules that the store has are in force when it is open.
        answer = push(daemon, call)
        assert (answer.status, answer.reason) == (503, "ServiceUnavailable")
        wake = handler.wait(call)
        rung = Control(daemon.control_socket, wake.secret).verb(call, "report", ring=True)
        assert (rung["state"], rung.get("reason")) == (
            ("ringing", None) if unrecorded == "ring" else ("ended", "failed")
        ), rung
        if fault == "read-only":
            refused = daemon.ringwake("dnd", "off")
            assert refused.returncode != 0 and "before the journal is open" in refused.stderr, refused
        mend(daemon, fault)
        # Opened or not: on a full disk a store that needs no change can be opened.
        assert len([line for line in daemon.log.splitlines() if line.startswith("error journal")]) == 1, daemon.log
        # By itself, with no push.
        until(lambda: daemon.control.status()["journal"]["state"] == "working", 40, lambda: daemon.log)
        assert daemon.device_token() == token
        # The sender's repeat makes no second call.
        assert push(daemon, call).status == 200
        assert push(daemon, new_call(random.Random())).status == 200
        damage = daemon.control.status()["damage"]
        assert ["store.db was damaged" in one["why"] for one in damage] == [True] * FAULTS[fault].is_lost, damage
        is_active = daemon.control.status()["doNotDisturb"]["active"]
        assert is_active == (fault == "read-only"), "the rules of the last run"
        assert daemon.ringwake("dnd", "off").returncode == 0
        if unrecorded == "ring" and not FAULTS[fault].is_lost:
            # Its handler runs still, and has the rights that it had.
            restored = Control(daemon.control_socket, waker.secret).verb(waiting, "report")
            assert (restored["state"], restored["attempt"]) == ("reported", 1), restored
        listed = {one["call"]: one for one in daemon.control.get("/v1/calls?limit=500")["calls"]}
        if unrecorded == "missed":
            assert (listed[call]["state"], listed[call]["missed"]) == ("ended", True), listed[call]
        copy = daemon.directory / "copy"
        shutil.copytree(disk(daemon), copy)
        daemon.stop()
    assert list(watcher.calls("ringing")) == ([call] if unrecorded == "ring" else [])
    stored = read_store(copy)
    with contextlib.closing(sqlite3.connect(copy / "store.db")) as store:
        numbers = dict(store.execute("SELECT lower(id), number FROM call").fetchall())
    assert numbers[call] > numbers.get(waiting, 0)
    assert call in stored.pushes and (call in stored.rung) == (unrecorded == "ring")
    assert (waiting in stored.pushes) == (not FAULTS[fault].is_lost)


def test_a_full_disk_with_its_reserve_costs_a_start_nothing(make_daemon) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app("true")
    daemon.start()
    before = new_call(random.Random())
    assert push(daemon, before).status == 200
    daemon.stop()
    shutil.copytree(daemon.directory / "state", daemon.directory / "state-before", copy_function=shutil.copy2)
    # What is to be made is a whole store.
    mount_at_start(daemon, FULL.replace('&& rm "$0/store.reserve"', f"&& {GARBAGE}"))
    daemon.start()
    status = daemon.control.status()
    assert (status["journal"]["state"], len(status["damage"])) == ("working", 1), status
    assert push(daemon, new_call(random.Random())).status == 200
    assert not (disk(daemon) / "store.reserve").exists()


def test_an_app_that_is_new_on_a_full_disk_costs_the_others_nothing(make_daemon) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app("true")
    daemon.start()
    token = daemon.device_token()
    daemon.stop()
    shutil.copytree(daemon.directory / "state", daemon.directory / "state-before", copy_function=shutil.copy2)
    other = "com.example.other"
    daemon.add_app("true", app=other)
    mount_at_start(daemon, FULL)
    daemon.start()
    assert "tokens of new apps cannot be stored" in daemon.log
    assert daemon.device_token() == token and not daemon.control.app(other).get("tokens")
    mend(daemon, "full")
    assert daemon.ringwake("reload").returncode == 0
    assert daemon.control.app(other)["tokens"] and daemon.device_token() == token
