"""Damaged and removed files, and a clock that was ahead: named, and calls go on."""

import os
import random
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from support.credentials import APP, Credentials
from support.daemon import Daemon, owns_nothing
from support.doctor import doctor
from support.flood import new_call
from support.h2client import H2Client
from support.programs import as_nobody
from support.pushing import push, start_call
from support.store import read_store

DAY = 86_400_000


def pushed(daemon: Daemon, count: int) -> list[str]:
    """Ids of pushes that were answered 200. The journal is at rest then: it writes some facts after the answer."""
    calls = [new_call(random.Random()) for _ in range(count)]
    for call in calls:
        assert push(daemon, call, apns_expiration="1700000000").status == 200
    # A list is read after all that was to be written before.
    daemon.control.get("/v1/calls?limit=1")
    return calls


def state(daemon: Daemon) -> Path:
    return daemon.directory / "state"


def first_line(daemon: Daemon) -> str:
    return daemon.ringwake("status").stdout.splitlines()[0]


@pytest.fixture
def daemon(make_daemon) -> Daemon:
    daemon = make_daemon()
    daemon.add_app()
    return daemon


@pytest.mark.parametrize("contents", [b"", b"\0" * 300, b"{"], ids=["empty", "zeros", "cut"])
@pytest.mark.parametrize("name", ["tokens.json", f"apps/{APP}.json"])
def test_a_damaged_token_file_costs_nothing(daemon: Daemon, name: str, contents: bytes) -> None:
    daemon.start()
    token = daemon.device_token()
    assert "out of order" not in first_line(daemon)
    daemon.stop()
    (state(daemon) / name).write_bytes(contents)
    daemon.start()
    assert daemon.device_token() == token
    start_call(daemon)
    [found] = daemon.control.status()["damage"]
    assert f"{name} was damaged" in found["why"] and "second copy is used" in found["why"], found
    assert contents in [Path(file).read_bytes() for file in found["files"]]
    assert first_line(daemon).endswith("out of order: damaged files")
    assert len([line for line in daemon.log.splitlines() if f"{name} was damaged" in line]) == 1
    doctor(daemon).problem("store", f"{name} was damaged", "rm ")


def test_an_app_whose_tokens_are_lost_with_their_copy_is_called_as_before(daemon: Daemon) -> None:
    daemon.start()
    token = daemon.device_token()
    daemon.stop()
    for name in (f"apps/{APP}.json", f"copies/apps/{APP}.json"):
        (state(daemon) / name).write_bytes(b"?")
    daemon.start()
    shown = daemon.device_token()
    assert shown != token
    for known in (token, shown):
        call = new_call(random.Random())
        with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
            assert client.push(known, b"{}", apns_id=call).status == 200
        daemon.control.wait_for(call, "woken")


def test_a_removed_log_is_named_with_the_pushes_that_it_costs(daemon: Daemon) -> None:
    daemon.start()
    pushed(daemon, 60)
    daemon.kill()
    (state(daemon) / "store.db-wal").unlink()
    daemon.start()
    [found] = daemon.control.status()["damage"]
    # The rest had been moved into the store.
    lost = 60 - len(daemon.control.get("/v1/pushes?limit=500")["pushes"])
    assert lost > 0 and f"its newest {lost} pushes are lost, although they were answered 200" in found["why"], found
    assert f"newest {lost} pushes are lost" in daemon.log
    doctor(daemon).problem("store", f"newest {lost} pushes are lost")
    start_call(daemon)


def test_a_kill_and_a_stop_lose_nothing_and_are_no_loss(daemon: Daemon) -> None:
    calls: list[str] = []
    for end in (Daemon.kill, Daemon.stop) * 3:
        daemon.start()
        calls += pushed(daemon, 7)
        end(daemon)
    daemon.start()
    assert daemon.control.status()["damage"] == []
    daemon.stop()
    assert set(calls) <= read_store(state(daemon)).pushes


def taken_after_damage(daemon: Daemon) -> str:
    """A call whose push is refused when the damage is found by it, and sent again, as a sender does."""
    call = new_call(random.Random())
    answer = push(daemon, call)
    # The damage may have been found before, as the journal was tidied up.
    assert answer.status == 503 or daemon.control.status()["damage"]
    assert answer.status == 200 or push(daemon, call).status == 200
    return call


@pytest.mark.parametrize("garbage", [b"\xa5", b"\0"], ids=["noise", "zeros"])
def test_a_store_that_is_overwritten_while_it_is_in_use_is_replaced(daemon: Daemon, garbage: bytes) -> None:
    daemon.start()
    pushed(daemon, 30)
    daemon.stop()
    daemon.start()
    path = state(daemon) / "store.db"
    before = path.stat().st_mtime_ns
    with path.open("r+b") as store:
        size = store.seek(0, 2)
        store.seek(0)
        store.write(garbage * size)
    # However coarse the file system's clock is.
    os.utime(path, ns=(before, before + 1_000_000_000))
    call = taken_after_damage(daemon)
    after = pushed(daemon, 5)
    [found] = daemon.control.status()["damage"]
    assert "store.db was damaged" in found["why"], found
    assert daemon.control.status()["journal"]["state"] == "working"
    daemon.kill()
    daemon.start()
    assert daemon.control.status()["damage"] == [found]
    daemon.stop()
    assert {call, *after} <= read_store(state(daemon)).pushes


@pytest.mark.parametrize("part", [0, 2], ids=["emptied", "half"])
def test_a_log_that_is_cut_while_it_is_in_use_is_found_before_the_next_200(daemon: Daemon, part: int) -> None:
    daemon.start()
    pushed(daemon, 30)
    log = state(daemon) / "store.db-wal"
    os.truncate(log, log.stat().st_size // part if part else 0)
    call = taken_after_damage(daemon)
    [found] = daemon.control.status()["damage"]
    assert "was cut" in found["why"] and "pushes are lost" in found["why"], found
    daemon.kill()
    daemon.start()
    daemon.stop()
    assert call in read_store(state(daemon)).pushes


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_token_files_of_another_owner_refuse_the_start_and_stay_where_they_are(make_daemon) -> None:
    """As a backup that root has put back leaves them."""
    daemon: Daemon = make_daemon(user=as_nobody())
    copy = daemon.directory / "certs"
    shutil.copytree(daemon.credentials.directory, copy)
    daemon.credentials = Credentials(copy)
    daemon.add_app("true")
    owns_nothing(daemon.directory)
    daemon.start()
    token = daemon.device_token()
    daemon.stop()
    names = ("tokens.json", f"apps/{APP}.json")
    files = [state(daemon) / folder / name for folder in (".", "copies") for name in names]
    for file in files:
        os.chown(file, 0, 0)
    done = daemon.run_to_its_end()
    assert (done.returncode, "tokens.json" in done.stderr, "Permission denied" in done.stderr) == (1, True, True), done
    assert not (state(daemon) / "damaged").exists()
    for file in files:
        os.chown(file, 65534, 65534)
    daemon.start()
    assert daemon.device_token() == token and daemon.control.status()["damage"] == []


def ahead(daemon: Daemon) -> None:
    """The state of a daemon whose clock was a year ahead when pushes arrived."""
    daemon.start()
    pushed(daemon, 3)
    daemon.stop()
    with sqlite3.connect(state(daemon) / "store.db") as store:
        store.execute("UPDATE push SET received_wall = received_wall + ?", (365 * DAY,))
    store.close()
    (state(daemon) / "store.seal").unlink()


def test_a_clock_that_was_ahead_is_shown_and_accepted(daemon: Daemon) -> None:
    ahead(daemon)
    daemon.start()
    clock = daemon.control.status()["clock"]
    if clock["state"] == "right":
        pytest.skip("a time service keeps this machine's clock, which the next test is about")
    year = time.gmtime(time.time() + 364 * 86_400).tm_year
    assert clock["state"] == "behind" and clock["until"].startswith(str(year)), clock
    for _ in range(3):
        assert push(daemon, new_call(random.Random())).status == 503
    assert len([line for line in daemon.log.splitlines() if "clock cannot be right" in line]) == 1, daemon.log
    assert first_line(daemon).endswith("out of order: clock") and clock["until"] in daemon.ringwake("status").stdout
    assert "ringwake clock accept" in doctor(daemon).named("clock", clock["until"])["message"]
    assert daemon.ringwake("clock", "accept").returncode == 0
    start_call(daemon)
    assert daemon.control.status()["clock"] == {"state": "right"}
    daemon.kill()
    daemon.start()
    assert daemon.control.status()["clock"] == {"state": "right"}
    start_call(daemon)


def test_a_time_service_mends_the_journal_for_good(daemon: Daemon, native) -> None:
    ahead(daemon)
    daemon.user = ["env", f"LD_PRELOAD={native.folder / 'clock.so'}"]
    daemon.start()
    start_call(daemon)
    assert "the journal is corrected" in daemon.log
    daemon.stop()
    # The next start has no network.
    daemon.user = []
    daemon.start()
    assert daemon.control.status()["clock"] == {"state": "right"}
    start_call(daemon)
