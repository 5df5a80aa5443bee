"""Starting on a store that is locked, damaged, newer, foreign or half-made: a clear refusal, or a start that says so."""

import errno
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.credentials import APP, Credentials
from support.daemon import Daemon, owns_nothing
from support.flood import new_call
from support.native import Native
from support.programs import as_nobody
from support.promises import open_store
from support.pushing import push, start_call
from support.recording import Kind, read_recording
from support.replay import Replay
from support.store import read_contents, read_store
from support.waiting import until

# Exit status of `in-use`, `conflict` and `system`: Documentation/errors.md.
REFUSED = 1


def lived_in(daemon: Daemon, pushes: int = 3, ends=Daemon.stop) -> Path:
    """The state directory of a daemon that has ended, with some pushes in its store."""
    daemon.add_app("true")
    daemon.start()
    for _ in range(pushes):
        assert push(daemon, new_call(random.Random())).status == 200
    ends(daemon)
    return daemon.directory / "state"


def files(state: Path) -> dict[str, bytes]:
    """The files of a store; an empty one says nothing."""
    found = {path.name: path.read_bytes() for path in state.glob("store.db*") if path.is_file()}
    return {name: contents for name, contents in found.items() if contents}


def assert_refused(daemon: Daemon, *words: str) -> str:
    """It ends at once with one message that has these words, and leaves the store as it was."""
    state = daemon.directory / "state"
    before = files(state)
    done = daemon.run_to_its_end()
    assert done.returncode == REFUSED, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
    assert "\n" not in done.stderr.strip(), f"more than one message:\n{done.stderr}"
    assert files(state) == before
    return done.stderr


def test_a_second_daemon_on_the_same_state_is_refused(make_daemon) -> None:
    first, second = make_daemon(), make_daemon()
    first.add_app()
    first.start()
    call, _ = start_call(first)
    second.settings["state_directory"] = str(first.directory / "state")
    done = second.run_to_its_end()
    assert (done.returncode, "another ringwaked" in done.stderr) == (REFUSED, True), done.stderr
    assert str(first.directory / "state") in done.stderr
    assert first.control.call(call)["state"] == "woken"
    assert push(first, new_call(random.Random())).status == 200


@pytest.mark.parametrize("statement", ["BEGIN EXCLUSIVE", "SELECT * FROM push"])
def test_a_store_that_a_tool_has_open_is_refused(make_daemon, statement: str) -> None:
    daemon = make_daemon()
    state = lived_in(daemon)
    # In another process: locks are a process's own, and closing any descriptor of the file gives them up.
    script = (
        "import sqlite3, sys; tool = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "tool.execute(sys.argv[2]).fetchall(); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(state / "store.db"), statement],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as tool:  # fmt: skip
        assert tool.stdout.readline() == b"open\n"
        done = daemon.run_to_its_end()
        tool.stdin.close()
        assert tool.wait(10) == 0
    assert (done.returncode, "in use" in done.stderr, "store.db" in done.stderr) == (REFUSED, True, True), done.stderr
    daemon.start()
    assert len(daemon.control.get("/v1/pushes")["pushes"]) == 3


def test_a_running_daemon_lets_no_tool_into_its_store(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    start_call(daemon)
    tool = sqlite3.connect(daemon.directory / "state" / "store.db", timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        tool.execute("SELECT * FROM push").fetchall()
    tool.close()
    assert push(daemon, new_call(random.Random())).status == 200


def test_a_newer_store_is_refused(make_daemon) -> None:
    daemon = make_daemon()
    state = lived_in(daemon)
    change(state, "PRAGMA user_version = 99")
    assert_refused(daemon, "store.db", "newer version of Ringwake")


def change(state: Path, statement: str) -> None:
    connection = sqlite3.connect(state / "store.db", isolation_level=None)
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"This is no store.\n" * 300, id="text"),
        pytest.param(lambda data: b"\0" * len(data), id="zeros"),
        pytest.param(lambda data: data[:4096] + b"\xa5" * (len(data) - 4096), id="all-but-the-head"),
        pytest.param(lambda data: data[: len(data) // 2 + 100], id="cut"),
        pytest.param(lambda data: data[:68] + b"\0\0\0\7" + data[72:], id="of another program"),
    ],
)
def test_a_damaged_store_is_set_aside_as_it_is_and_calls_go_on(make_daemon, damage) -> None:
    daemon = make_daemon()
    state = lived_in(daemon, pushes=20)
    store = state / "store.db"
    bad = damage(store.read_bytes())
    store.write_bytes(bad)
    daemon.start()
    [found] = daemon.control.status()["damage"]
    assert "store.db was damaged" in found["why"] and "pushes are lost" in found["why"], found
    assert bad in [Path(file).read_bytes() for file in found["files"]]
    assert found["why"][:60] in daemon.log
    assert push(daemon, new_call(random.Random())).status == 200
    daemon.stop()
    daemon.start()
    # It is named until somebody removes it.
    assert daemon.control.status()["damage"] == [found]
    for file in found["files"]:
        os.unlink(file)
    assert daemon.control.status()["damage"] == []


@pytest.mark.parametrize("is_running", [False, True], ids=["before the start", "while it runs"])
def test_a_damaged_page_loses_no_promise(make_daemon, is_running: bool) -> None:
    """Wherever one page is damaged: the daemon goes on, and answers 200 only for what it has."""
    daemon = make_daemon()
    state = lived_in(daemon, pushes=40)
    store = state / "store.db"
    whole = store.read_bytes()
    found = 0
    for page in range(1, len(whole) // 4096):
        for name in ("store.db-wal", "store.db-shm", "store.seal"):
            (state / name).unlink(missing_ok=True)
        shutil.rmtree(state / "damaged", ignore_errors=True)
        damaged = whole[: page * 4096] + b"\xa5" * 4096 + whole[(page + 1) * 4096 :]
        store.write_bytes(whole if is_running else damaged)
        daemon.start()
        if is_running:
            before = store.stat().st_mtime_ns
            with store.open("r+b") as file:
                file.seek(page * 4096)
                file.write(b"\xa5" * 4096)
            os.utime(store, ns=(before, before + 1_000_000_000))
        answers = {call: push(daemon, call) for call in (new_call(random.Random()) for _ in range(3))}
        assert {answer.status for answer in answers.values()} <= {200, 503}
        for call, answer in answers.items():
            status = daemon.control.request("GET", f"/v1/pushes/{call}")[0]
            assert answer.status == 503 or status == 200, f"page {page}: answered 200 and not found"
        daemon.control.request("GET", "/v1/calls?limit=500")
        daemon.control.request("GET", "/v1/pushes?limit=500")
        found += len(daemon.control.status()["damage"])
        daemon.check_alive()
        daemon.stop()
    assert found > 0


def test_what_a_store_lacks_at_its_end_is_no_damage(make_daemon) -> None:
    """A log whose end was never written, or is rubbish, is what a power cut leaves."""
    daemon = make_daemon()
    state = lived_in(daemon, ends=Daemon.kill)
    log = state / "store.db-wal"
    for tail in (b"", b"\xa5" * 5000, b"\0" * 9000):
        log.write_bytes(log.read_bytes() + tail)
        daemon.start()
        assert daemon.control.get("/v1/pushes")["pushes"], "the pushes before it are gone"
        assert push(daemon, new_call(random.Random())).status == 200
        daemon.kill()
    read_store(state)


def test_every_store_that_a_power_cut_can_leave_is_started_on(make_daemon, native: Native) -> None:
    """The first moments of a store are the most delicate: it has to become one. Later ones are drawn."""
    first: Daemon = make_daemon()
    log = first.directory / "recording"
    first.user = native.preload(first.directory / "state", "recorder.so", RECORDER_LOG=log)
    lived_in(first)
    entries = read_recording(log)
    images = {}
    replay, generator = Replay(entries), random.Random(3)
    moments = 0
    while replay.now < len(entries):
        if entries[replay.now].kind in (Kind.WRITE, Kind.TRUNCATE, Kind.SYNC, Kind.UNLINK):
            moments += 1
            if moments < 60 or generator.random() < 0.1:
                for image in (replay.seen(), replay.cut(generator), replay.safe(), replay.scattered(generator)):
                    images[tuple(sorted((name, bytes(contents)) for name, contents in image.items()))] = moments
        replay.step()
    assert len(images) > 20
    second: Daemon = make_daemon()
    second.add_app("true")
    state = second.directory / "state"
    for image in generator.sample(sorted(images), min(40, len(images))):
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir(0o700)
        for name, contents in image:
            (state / name).write_bytes(contents)
        expected = open_store(dict(image), second.directory / "opened", read_contents).pushes
        second.start()
        listed = {one["pushId"] for one in second.control.get("/v1/pushes?limit=500")["pushes"]}
        assert expected <= listed, f"moment {images[image]}: pushes of the store are gone"
        assert push(second, new_call(random.Random())).status == 200
        second.kill()


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_a_store_that_cannot_be_written_is_refused(make_daemon) -> None:
    daemon = make_daemon(user=as_nobody())
    copy = daemon.directory / "certs"
    shutil.copytree(daemon.credentials.directory, copy)
    daemon.credentials = Credentials(copy)
    daemon.add_app("true")
    owns_nothing(daemon.directory)
    daemon.start()
    daemon.stop()
    store = daemon.directory / "state" / "store.db"
    os.chown(store, 0, 0)
    store.chmod(0o644)
    assert_refused(daemon, "store.db", "can only be read")
    store.chmod(0o600)
    assert_refused(daemon, "store.db", "open")


def test_a_folder_in_place_of_the_store_is_set_aside(make_daemon) -> None:
    daemon = make_daemon()
    store = daemon.directory / "state" / "store.db"
    (store / "inside").mkdir(parents=True)
    (daemon.directory / "state").chmod(0o700)
    daemon.add_app("true")
    daemon.start()
    [found] = daemon.control.status()["damage"]
    assert "it is not a file" in found["why"], found
    assert [file for file in found["files"] if (Path(file) / "inside").is_dir()], found
    assert push(daemon, new_call(random.Random())).status == 200


@pytest.mark.parametrize(("fault", "word"), [("open", "create"), ("write", "write"), ("sync", "durable")])
def test_a_disk_that_fails_at_the_start_is_said(make_daemon, make_faults, fault: str, word: str) -> None:
    daemon: Daemon = make_daemon()
    faults = make_faults()
    lived_in(daemon, ends=Daemon.kill)
    daemon.user = faults.prefix(daemon.directory / "state")
    faults.set(**{fault: errno.EIO})
    daemon.start()
    journal = daemon.control.status()["journal"]
    assert (journal["state"], faults.count(fault) > 0) == ("failing", True), journal
    assert "Input/output error" in journal["why"] and word in journal["why"] and "store.db" in journal["why"], journal
    assert push(daemon, new_call(random.Random())).status == 503
    faults.set()
    # The push is an attempt itself, so its sender need not wait for the next one.
    assert push(daemon, new_call(random.Random())).status in (200, 503)
    until(lambda: len(daemon.control.get("/v1/pushes")["pushes"]) >= 3, 10, "the pushes of the last run")


def test_a_disk_that_hangs_at_the_start_does_not_hang_the_stop(make_daemon, make_faults) -> None:
    daemon: Daemon = make_daemon()
    faults = make_faults()
    state = lived_in(daemon, ends=Daemon.kill)
    daemon.user = faults.prefix(state)
    faults.set(hang=1)
    with daemon.log_file.open("ab") as log:
        starting = subprocess.Popen(
            daemon.command(), cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env=os.environ | daemon.variables,
        )  # fmt: skip
    try:
        until(lambda: faults.count("hang"), 10, "the disk to hang")
        starting.terminate()
        # It may not have come to watching signals.
        assert starting.wait(15) in (0, -signal.SIGTERM), daemon.log
    finally:
        starting.kill()
        starting.wait()
    faults.set()
    daemon.start()
    assert len(daemon.control.get("/v1/pushes")["pushes"]) == 3


def test_a_disk_that_stalls_at_the_start_delays_it(make_daemon, make_faults) -> None:
    daemon: Daemon = make_daemon()
    faults = make_faults()
    state = lived_in(daemon, ends=Daemon.kill)
    daemon.user = faults.prefix(state)
    faults.set(stall=500)
    began = time.monotonic()
    daemon.start()
    assert time.monotonic() - began >= 0.5 and faults.count("stall") > 0
    assert len(daemon.control.get("/v1/pushes")["pushes"]) == 3
    assert daemon.control.app(APP)
    daemon.stop()


def test_the_store_and_its_log_are_the_daemons_alone(make_daemon) -> None:
    """Payloads are in them."""
    daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    start_call(daemon)
    state = daemon.directory / "state"
    files = [path for path in state.iterdir() if path.name.startswith("store.db")]
    assert {path.name for path in files} == {"store.db", "store.db-wal"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_a_store_that_is_moved_away_takes_no_more_pushes(make_daemon) -> None:
    """What would be written then would be durable, and lost."""
    daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    before, refused = new_call(random.Random()), new_call(random.Random())
    assert push(daemon, before).status == 200
    store = daemon.directory / "state" / "store.db"
    store.rename(daemon.directory / "elsewhere.db")
    answer = push(daemon, refused)
    assert (answer.status, answer.reason) == (503, "ServiceUnavailable")
    journal = daemon.control.status()["journal"]
    assert (journal["state"], "moved" in journal["why"]) == ("failing", True), journal
    (daemon.directory / "elsewhere.db").rename(store)
    assert push(daemon, refused).status == 200
    assert daemon.control.status()["journal"]["state"] == "working"
    daemon.stop()
    assert {before, refused} <= read_store(daemon.directory / "state").pushes
