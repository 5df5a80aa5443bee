"""`ringwake call wait` and `ringwake call swap`."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator

import pytest

from support import processes, programs
from support.apps import App
from support.telephone import (
    OTHER_APP, PAYLOAD, allow_two_apps, begins, connected, held, ringing, send, user, waits,
)  # fmt: skip

Waiting = Callable[..., subprocess.Popen]


@pytest.fixture
def waiting(phone: App) -> Iterator[Waiting]:
    """Starts the command."""
    started = []

    def start(*words: object) -> subprocess.Popen:
        started.append(
            subprocess.Popen(
                [programs.RINGWAKE, "call", "wait", "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, env=os.environ | phone.daemon.environment(),
            )
        )  # fmt: skip
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def is_listening(process: subprocess.Popen) -> bool:
    """Whether it waits for events: in the one call of poll(2) that has no end."""
    with open(f"/proc/{process.pid}/syscall") as current:
        return any(word.startswith("0xffffffff") for word in current.read().split()[3:4])


def seen(process: subprocess.Popen) -> dict:
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    return json.loads(out)


def test_a_call_that_comes_later(phone: App, waiting: Waiting) -> None:
    process = waiting()
    waits(lambda: is_listening(process), "the command to wait")
    call = ringing(phone)
    assert seen(process)["call"] == call


def test_a_call_that_rings_already_and_other_states(phone: App, waiting: Waiting) -> None:
    call = ringing(phone)
    assert seen(waiting())["call"] == call
    process = waiting("--state", "held", "--state", "connected", call)
    user(phone.daemon, "call", "answer", call)
    message = seen(process)
    assert (message["call"], message["state"]) == (call, "connected")
    # The first characters are enough for a call that is there.
    process = waiting("--state", "ended", call[:8])
    user(phone.daemon, "call", "end", call)
    assert seen(process)["reason"] == "localEnded"


def test_a_call_that_ends_first(phone: App, waiting: Waiting) -> None:
    call = ringing(phone)
    process = waiting("--state", "connected", call)
    waits(lambda: is_listening(process), "the command to wait")
    user(phone.daemon, "call", "decline", call)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1 and "has ended" in err and "connected" in err
    late = phone.daemon.ringwake("call", "wait", "--state", "connected", call)
    assert late.returncode == 1 and "has ended" in late.stderr
    assert phone.daemon.ringwake("call", "wait", "--state", "ended", call).returncode == 0


def test_no_call_in_time(phone: App) -> None:
    done = phone.daemon.ringwake("call", "wait", "--timeout", "1s")
    assert done.returncode == 6 and "ringing" in done.stderr
    done = phone.daemon.ringwake("call", "wait", "--state", "awake")
    assert done.returncode == 2 and "connected" in done.stderr


def test_a_daemon_that_hangs_does_not_lengthen_the_timeout(phone: App) -> None:
    pid = phone.daemon.process.pid
    processes.stop(pid)
    try:
        # A request alone would wait for 10 s.
        for command in (["call", "wait"], ["call", "wait", "7b0e"], ["watch"]):
            done = phone.daemon.ringwake(*command, "--timeout", "1s", timeout=8)
            assert done.returncode == 6 and "did not answer in time" in done.stderr
    finally:
        os.kill(pid, signal.SIGCONT)


def test_calls_of_another_app_do_not_count(telephone) -> None:
    app = telephone()
    allow_two_apps(app.daemon)
    app.by_exec(more=PAYLOAD)
    App(app.daemon, OTHER_APP).only_connected(more=PAYLOAD)
    app.daemon.start()
    ringing(app)
    done = app.daemon.ringwake("call", "wait", "--app", OTHER_APP, "--timeout", "1s")
    assert done.returncode == 6
    call = send(app.daemon, OTHER_APP)
    done = app.daemon.ringwake("call", "wait", "--json", "--app", OTHER_APP, "--state", "queued")
    assert json.loads(done.stdout)["call"] == call


def test_the_daemon_is_killed_meanwhile(phone: App, waiting: Waiting) -> None:
    # A call that is not there yet is waited for by its whole id.
    process = waiting("--state", "connected", "the-next-call")
    waits(lambda: is_listening(process), "the command to wait")
    phone.daemon.kill()
    phone.daemon.start()
    assert begins(phone.daemon, "--call", "the-next-call") == "the-next-call"
    assert seen(process)["call"] == "the-next-call"


def test_swap(phone: App) -> None:
    first = held(phone)
    second = connected(phone)
    done = user(phone.daemon, "call", "swap", "--json")
    assert json.loads(done.stdout)["call"] == first
    phone.daemon.control.wait_for(first, "connected")
    phone.daemon.control.wait_for(second, "held")
    assert "is connected already" in user(phone.daemon, "call", "swap", first, status=1).stderr
    user(phone.daemon, "call", "end", second)
    phone.daemon.control.wait_for(second, "ended")
    assert "no call is held" in user(phone.daemon, "call", "swap", status=5).stderr
