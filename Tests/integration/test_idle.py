"""Idle means idle; and the daemon is one thread of one small program."""

import re
import time

import pytest

from support import processes
from support.daemon import Daemon
from support.h2client import H2Client
from support.pushing import start_call
from support.waiting import until

# How long nothing may happen, in seconds; Benchmarks/run looks for 60.
IDLE = 5


def settled_switches(pid: int) -> int:
    """The count of voluntary switches once it has not changed for a second."""
    seen: list[int] = []

    def settled() -> bool:
        seen.append(processes.voluntary_switches(pid))
        time.sleep(0.1)
        return len(seen) > 10 and len(set(seen[-10:])) == 1

    until(settled, 20, lambda: f"the daemon to settle: {seen[-10:]}")
    return seen[-1]


@pytest.mark.alone
def test_an_idle_daemon_does_not_wake_up(daemon: Daemon) -> None:
    before = settled_switches(daemon.pid)
    time.sleep(IDLE)
    assert processes.voluntary_switches(daemon.pid) == before


@pytest.mark.alone
def test_nor_does_one_with_idle_connections_after_a_call(daemon: Daemon) -> None:
    call, _ = start_call(daemon)
    daemon.control.verb(call, "end")
    daemon.control.verb(call, "fulfill", action="end")
    daemon.recorders[0].clear_away()
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        assert client.push("00" * 32).status == 400
        with daemon.control.events():
            before = settled_switches(daemon.pid)
            time.sleep(IDLE)
            assert processes.voluntary_switches(daemon.pid) == before


def test_it_has_two_threads_the_loop_and_the_journal(daemon: Daemon) -> None:
    assert processes.threads(daemon.pid) == 2
    start_call(daemon)
    assert processes.threads(daemon.pid) == 2


def test_every_descriptor_is_closed_on_exec(daemon: Daemon) -> None:
    with H2Client(daemon.host_and_port, daemon.credentials.context()), daemon.control.events():
        start_call(daemon)
        seen = 0
        for number in processes.descriptors(daemon.pid):
            try:
                info = open(f"/proc/{daemon.pid}/fdinfo/{number}").read()
            except FileNotFoundError:
                # Closed since they were listed, as the handler's request is once it has been started.
                continue
            seen += 1
            flags = int(re.search(r"flags:\s+([0-7]+)", info)[1], 8)
            assert number <= 2 or flags & 0o2000000, f"descriptor {number} is inherited by handlers"
        assert seen > 10, "the daemon's own descriptors were looked at"
