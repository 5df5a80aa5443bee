"""What handlers leave behind when they end, and a handler that takes all processes for itself."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import processes
from support.control import Control
from support.credentials import APP, Credentials
from support.daemon import Daemon
from support.handlers import Wake
from support.programs import as_nobody
from support.pushing import start_call
from support.waiting import until

PYTHON = ["/usr/bin/python3", "-SEc"]

# Each orphan leads a session of its own, and its parent is gone. One program of its own has no secret.
ORPHANS = """
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))
for _ in range(200):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.pause()
        os._exit(0)
    os.wait()
if os.fork() == 0:
    os.setsid()
    del os.environ["RINGWAKE_WAKE_SECRET"]
    os.execv("/bin/sleep", ["sleep", "60"])
open(sys.argv[1], "w").close()
signal.pause()
"""

# Not as wild as it might be, for the sake of the tests beside it; each leaves the group, the session and its parent.
BOMB = """
import os, sys, time
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except BlockingIOError:
        open(sys.argv[1], "w").close()
        time.sleep(0.02)
"""

# As ringwake-baresip does, whose client is to outlive it.
WITHOUT_SECRET = """
import os
os.environ["RINGWAKE_WAKE_SECRET"] = ""
os.execv("/bin/sleep", ["sleep", "60"])
"""

OTHER = "com.example.other"
# Of nobody else. Root is exempt from the limit.
BOMBERS = 61_234
LIMIT = 200


def marked(wake: Wake) -> list[int]:
    return processes.with_variable("RINGWAKE_WAKE_SECRET", wake.secret)


@contextmanager
def cleared(wake: Wake) -> Iterator[None]:
    """Kills what a test that fails leaves behind."""
    try:
        yield
    finally:
        while found := marked(wake):
            for pid in found:
                processes.end(pid)


def survivors(call: str) -> list[int]:
    """The programs that the call's handler started without its secret."""
    its = processes.with_variable("RINGWAKE_CALL", call)
    return [pid for pid in its if "RINGWAKE_WAKE_SECRET" not in processes.environment(pid)]


@pytest.mark.parametrize("end", ["exits", "is killed", "misses its deadline", "was started by an earlier daemon"])
def test_orphans_of_a_handler_that_has_ended_are_killed(make_daemon, end: str) -> None:
    daemon = make_daemon()
    daemon.calls = {"report": "20s" if end == "misses its deadline" else "60s"}
    ready = daemon.directory / "ready"
    daemon.add_app(*PYTHON, ORPHANS, str(ready))
    daemon.start()
    call, wake = start_call(daemon)
    with cleared(wake):
        until(ready.exists, 10, "the orphans")
        until(lambda: len(survivors(call)) == 1, 5, "only the program without the secret")
        [survivor] = survivors(call)
        assert len(marked(wake)) == 201
        match end:
            case "exits":
                os.kill(wake.pid, signal.SIGUSR1)
            case "is killed":
                os.kill(wake.pid, signal.SIGKILL)
            case "was started by an earlier daemon":
                daemon.kill()
                daemon.start()
                os.kill(wake.pid, signal.SIGUSR1)
        try:
            until(lambda: not marked(wake), 20, "the orphans to be killed")
            until(lambda: not processes.zombies(daemon.pid), 5, "the daemon to reap them")
            daemon.log_mentions("left behind")
            assert survivors(call) == [survivor]
        finally:
            os.kill(survivor, signal.SIGKILL)
    # The daemon is its parent, unless an earlier one was.
    until(lambda: not processes.is_running(survivor), 5, "the survivor to end")
    until(lambda: not processes.zombies(daemon.pid), 5, "the daemon to reap it")
    daemon.check_alive()


def test_orphans_that_end_while_the_handler_runs_are_reaped(make_daemon) -> None:
    daemon = make_daemon()
    daemon.calls = {"report": "60s"}
    ready = daemon.directory / "ready"
    daemon.add_app(*PYTHON, ORPHANS.replace("    signal.pause()", "    os._exit(0)"), str(ready))
    daemon.start()
    call, wake = start_call(daemon)
    until(ready.exists, 10, "the orphans")
    with cleared(wake):
        until(lambda: not processes.zombies(daemon.pid), 5, "the daemon to reap them")
        until(lambda: len(survivors(call)) == 1, 5, "only the program without the secret")
        [survivor] = survivors(call)
        os.kill(survivor, signal.SIGKILL)
        assert processes.is_running(wake.pid)


def test_handlers_that_have_removed_their_secret_are_not_taken_for_one(make_daemon) -> None:
    daemon = make_daemon()
    daemon.calls = {"report": "60s"}
    daemon.add_app(*PYTHON, WITHOUT_SECRET)
    daemon.add_app(*PYTHON, WITHOUT_SECRET, app=OTHER)
    daemon.settings["team.topics"] = [APP + ".voip", OTHER + ".voip"]
    daemon.start()
    pids = []
    for app in (APP, OTHER):
        call, wake = start_call(daemon, app)
        pids.append(wake.pid)
        until(lambda: processes.environment(pids[-1]).get("RINGWAKE_WAKE_SECRET") == "", 10, "the handler to remove it")
    try:
        daemon.kill()
        daemon.start()
        third, _ = start_call(daemon, APP)
        os.kill(pids[0], signal.SIGKILL)
        # The daemon looks for what is left after this.
        until(lambda: daemon.control.call(third)["attempt"] == 1 and not processes.is_running(pids[0]), 10, "its end")
        call, _ = start_call(daemon, APP)
        assert processes.is_running(pids[1])
    finally:
        for pid in pids:
            processes.end(pid)


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_a_fork_bomb_of_one_app_fails_no_call_of_another(make_daemon) -> None:
    user = ["setpriv", f"--reuid={BOMBERS}", f"--regid={BOMBERS}", "--clear-groups", "--"]
    daemon = make_daemon(user=[*user, "prlimit", f"--nproc={LIMIT}", "--"])
    full = daemon.directory / "full"
    daemon.add_app(*PYTHON, BOMB, str(full))
    other = daemon.add_app(app=OTHER)
    daemon.settings["team.topics"] = [APP + ".voip", OTHER + ".voip"]
    belongs_to_bombers(daemon)
    daemon.start()
    bombed, wake = start_call(daemon)
    with cleared(wake):
        until(full.exists, 20, "the kernel to refuse another process")
        call, handler = start_call(daemon, OTHER)
        Control(daemon.control_socket, handler.secret).verb(call, "report", ring=True)
        assert daemon.control.call(call)["state"] == "ringing"
        assert daemon.control.wait_for(bombed, "ended")["reason"] == "handlerFailed"
        until(lambda: not marked(wake), 10, "the bomb to be gone")
        until(lambda: not processes.zombies(daemon.pid), 5, "the daemon to reap it")
        daemon.log_mentions("has used up the processes")
        assert processes.is_running(handler.pid)
    assert other.count() == 1
    daemon.check_alive()


def belongs_to_bombers(daemon: Daemon) -> None:
    copy = daemon.directory / "certs"
    shutil.copytree(daemon.credentials.directory, copy)
    daemon.credentials = Credentials(copy)
    for path in [daemon.directory, *Path(daemon.directory).rglob("*")]:
        os.chown(path, BOMBERS, BOMBERS)
