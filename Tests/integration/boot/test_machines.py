"""What the tests rely on: a machine is not disturbed by another that runs at the same time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import machine
from support.machine import Root
from support.waiting import until

# A process of another pid namespace stands as 0 in the list of a group.
STRANGERS = "find /sys/fs/cgroup -name cgroup.procs -exec cat {} + 2>/dev/null | grep -c -x 0 || true"
WAITING, GO = "/var/lib/waiting", "/var/lib/go"


def test_machines_that_run_at_once_share_no_control_group(tmp_path: Path) -> None:
    if reason := machine.unavailable():
        pytest.skip(reason)
    with (
        Root.overlay(tmp_path / "one") as one,
        Root.overlay(tmp_path / "other") as other,
        ThreadPoolExecutor() as pool,
    ):
        first = pool.submit(one.boot, f"touch {WAITING}; until [ -e {GO} ]; do sleep 0.1; done")
        try:
            until(lambda: one.file(WAITING).exists() or first.done(), 60, "the first machine")
            second = other.boot(STRANGERS)
        finally:
            one.write(GO, "")
        assert (first.result().status, second.status) == (0, 0), second.end
    assert second.lines == ["0"], second.end
