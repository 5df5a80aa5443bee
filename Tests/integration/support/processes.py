"""What the kernel knows of a process."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .waiting import until

# A timer that is due later says nothing about the next minutes; seconds.
SOON = 300


def state(pid: int) -> str | None:
    """`R`, `S`, `Z` and so on, as proc(5) has them; nil when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()[0]


def is_running(pid: int) -> bool:
    return state(pid) not in (None, "Z")


def end(pid: int) -> None:
    """Kills a process, unless it ends by itself just now."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def stop(pid: int) -> None:
    """Stops a process as SIGSTOP does, and waits until it has: one that is busy may go on for a while."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: all(state == "T" for state in _thread_states(pid)), 10, f"process {pid} to stop")


def _thread_states(pid: int) -> Iterator[str]:
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        # A thread may end as it is looked at.
        with suppress(FileNotFoundError, ProcessLookupError):
            yield path.read_text().rpartition(")")[2].split()[0]


def members(group: int) -> list[int]:
    """The processes of a process group that run."""
    return [pid for pid, its in groups() if its == group]


def groups() -> Iterator[tuple[int, int]]:
    """Every process that runs, with its process group."""
    for pid, fields in _all():
        if fields[0] != "Z":
            yield pid, int(fields[2])


def zombies(parent: int) -> list[int]:
    """The children that ended and that nobody fetched."""
    return [pid for pid, fields in _all() if int(fields[1]) == parent and fields[0] == "Z"]


def _all() -> Iterator[tuple[int, list[str]]]:
    """Every process with what proc(5) says of it: state, parent, process group and so on."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                yield int(name), Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue


def armed_timers(pid: int) -> list[str]:
    """The timers of the boot clock that will wake it, as proc(5) has them: `(seconds, nanoseconds)` from now."""
    armed = []
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            facts = dict(line.partition(":")[::2] for line in path.read_text().splitlines())
        except FileNotFoundError:
            continue
        # CLOCK_BOOTTIME and CLOCK_BOOTTIME_ALARM, timerfd_create(2).
        if facts.get("clockid", "").strip() in ("7", "9") and facts["it_value"].strip() != "(0, 0)":
            armed.append(facts["it_value"].strip())
    return armed


def is_asleep(pid: int) -> bool:
    """Its first thread waits, and no timer will end that."""
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "S" and not armed_timers(pid)


def environment(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty when it is gone."""
    try:
        data = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return {}
    return dict(entry.decode(errors="replace").partition("=")[::2] for entry in data.split(b"\0") if entry)


def with_variable(name: str, value: str) -> list[int]:
    """The processes that were started with this variable."""
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and environment(int(pid)).get(name) == value]


def command_line(pid: int) -> list[str]:
    """The program and its arguments; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except (FileNotFoundError, ProcessLookupError):
        return []


def descriptors(pid: int) -> dict[int, str]:
    """The open descriptors and what they are."""
    folder = Path(f"/proc/{pid}/fd")
    found = {}
    for entry in folder.iterdir():
        try:
            found[int(entry.name)] = os.readlink(entry)
        except FileNotFoundError:
            continue
    return found


def voluntary_switches(pid: int) -> int:
    """How often its threads, all of them, gave up the processor to wait."""
    return sum(
        int(line.split()[1])
        for status in Path(f"/proc/{pid}/task").glob("*/status")
        for line in status.read_text().splitlines()
        if line.startswith("voluntary_ctxt_switches")
    )


def settled_switches(pid: int) -> int:
    """The count of voluntary switches once it has not changed for a second, and no timer will change it soon."""
    count, since = 0, time.monotonic()

    def settled() -> bool:
        nonlocal count, since
        now = voluntary_switches(pid)
        if now != count or any(int(left[1:].split(",")[0]) < SOON for left in armed_timers(pid)):
            count, since = now, time.monotonic()
        return time.monotonic() - since > 1

    until(settled, 60, lambda: f"the daemon to settle: {count} switches, {armed_timers(pid)}")
    return count


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def resident_kilobytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no VmRSS")
