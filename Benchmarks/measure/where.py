"""Where the time between a push and its handler goes: the kernel's tracepoints, by `perf`."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from . import programs
from .report import Table, median
from .servers import HOST, TOPIC, Peer, Ringwaked

SAMPLES = 200
WARM_UP = 20
PAUSE = 0.005
# System calls that are counted one by one; the others are summed up.
SHOWN = 14


@dataclass
class Event:
    """A line of `perf script`."""

    process: int
    thread: int
    nanoseconds: int
    name: str
    # The number of the system call; -1 for other events.
    call: int


LINE = re.compile(r"\s*(\d+)/(\d+)\s+(\d+)\.(\d+):\s+(\S+):\s*(.*)")


def measure(quick: bool) -> list[Table]:
    if not shutil.which("perf") or os.geteuid() != 0:
        print("left out: 'where' needs perf (linux-perf), and root")
        return []
    count = 40 if quick else SAMPLES
    with tempfile.TemporaryDirectory(prefix="ringwake-bench-") as folder:
        push_fifo, floor_fifo = Path(folder) / "push", Path(folder) / "floor"
        os.mkfifo(push_fifo), os.mkfifo(floor_fifo)
        handler = programs.peer("handler")
        server = Ringwaked([str(handler), str(push_fifo)])
        floor = Peer("spawn_floor", handler, floor_fifo)
        push = Peer("push_client", HOST, server.port, server.ca, server.certificate, server.token, TOPIC, push_fifo)
        for _ in range(WARM_UP):
            floor.step(), push.step()
        time.sleep(0.5)
        pids = {"daemon": server.process.pid, "sender": push.process.pid, "floor": floor.process.pid}
        cpu = threads_cpu(server.process.pid)
        events = traced(Path(folder) / "perf.data", pids, lambda: steps(count, floor, push))
        cpu = {name: (after - cpu[name]) / count for name, after in threads_cpu(server.process.pid).items()}
        push.stop(), floor.stop(), server.stop()
    return [stages(events, pids, count), calls(events, pids, cpu, count)]


def steps(count: int, *peers: Peer) -> None:
    for _ in range(count):
        for peer in peers:
            time.sleep(PAUSE)
            peer.step()
    time.sleep(0.2)


def threads_cpu(pid: int) -> dict[str, int]:
    """Nanoseconds that each thread has run, by its name."""
    return {
        (task / "comm").read_text().strip(): int((task / "schedstat").read_text().split()[0])
        for task in Path(f"/proc/{pid}/task").iterdir()
    }


def traced(data: Path, pids: dict[str, int], work) -> list[Event]:
    """The events of these processes and of their children while `work` runs."""
    recorder = subprocess.Popen(
        ["perf", "record", "--quiet", "--mmap-pages", "4096", "-e", "raw_syscalls:sys_enter", "-e", "raw_syscalls:sys_exit",
         "-e", "sched:sched_process_exec", "-o", data, "-p", ",".join(str(pid) for pid in pids.values())],
    )  # fmt: skip
    # It says nothing when it is ready, but its file has its header by then.
    while not data.exists() or data.stat().st_size == 0:
        time.sleep(0.05)
    time.sleep(0.5)
    work()
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    script = subprocess.run(
        ["perf", "script", "--ns", "-F", "pid,tid,time,event,trace", "-i", data],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    found = []
    for line in script.splitlines():
        if not (match := LINE.match(line)):
            continue
        process, thread, seconds, fraction, name, rest = match.groups()
        number = re.match(r"NR (-?\d+)", rest)
        found.append(
            Event(int(process), int(thread), int(seconds) * 10**9 + int(fraction), name.rpartition(":")[2],
                  int(number[1]) if number else -1))  # fmt: skip
    return sorted(found, key=lambda event: event.nanoseconds)


def names() -> dict[int, str]:
    """The system calls of this machine, by number."""
    header = subprocess.run(
        ["cc", "-E", "-dM", "-"], input="#include <sys/syscall.h>\n", check=True, capture_output=True, text=True
    ).stdout
    return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)", header)}


@dataclass
class Start:
    """One start of a program, by the index of its events."""

    by: str
    clone: int
    exec: int


def starts(events: list[Event], pids: dict[str, int]) -> list[Start]:
    """The handlers that the daemon and the bare posix_spawn started."""
    number = {name: number for number, name in names().items()}
    owners = {pid: who for who, pid in pids.items()}
    found: list[Start] = []
    clones: dict[str, int] = {}
    for index, event in enumerate(events):
        if event.name == "sys_enter" and event.call == number["clone3"] and event.process in owners:
            clones[owners[event.process]] = index
        if event.name == "sched_process_exec" and clones:
            # posix_spawn returns after execve: a clone belongs to the next program.
            by = max(clones, key=lambda who: clones[who])
            found.append(Start(by, clones.pop(by), index))
    return found


def stages(events: list[Event], pids: dict[str, int], count: int) -> Table:
    number = {name: number for number, name in names().items()}
    spans: dict[str, dict[str, list[float]]] = {"daemon": {}, "floor": {}}
    waits = [number[name] for name in ("epoll_wait", "epoll_pwait") if name in number]

    def before(index: int, thread: int, name: str, *wanted: int) -> int:
        """The newest such event before this one; -1 if there is none."""
        for candidate in range(index - 1, max(-1, index - 2000), -1):
            event = events[candidate]
            if event.thread == thread and event.name == name and event.call in wanted:
                return candidate
        return -1

    for start in starts(events, pids):
        thread = events[start.exec].thread
        first = next(
            (index for index in range(start.exec, len(events))
             if events[index].thread == thread and events[index].name == "sys_enter"), -1)  # fmt: skip
        marks = {
            "process made and program loaded: clone3 to the end of execve": (start.clone, start.exec),
            "the program's first pages: to its first system call": (start.exec, first),
        }
        if start.by == "daemon":
            # The handler's input is a file in memory, and the only one that the loop writes.
            given = before(start.clone, pids["daemon"], "sys_enter", number["pwrite64"])
            woken = before(given, pids["daemon"], "sys_exit", *waits)
            sent = before(woken, pids["sender"], "sys_enter", number["write"], number["sendto"], number["sendmsg"])
            marks = {
                "the sender's write until the loop wakes": (sent, woken),
                "TLS, HTTP/2, every check, the new call, its hand-over to the journal": (woken, given),
                "the handler's input, its descriptors and attributes": (given, start.clone),
            } | marks
        if min(index for mark in marks.values() for index in mark) < 0:
            continue
        for name, (one, other) in marks.items():
            span = events[other].nanoseconds - events[one].nanoseconds
            spans[start.by].setdefault(name, []).append(span)
    table = Table(
        "Where the time of a woken handler goes",
        f"{count} pushes and as many bare posix_spawn calls of the same program, in turn, after 5 ms of rest each, seen by "
        "tracepoints, which cost about a microsecond for each system call. Medians in microseconds.",
        ["", "ringwaked", "bare posix_spawn"],
        command="Benchmarks/run where",
    )
    for name, values in spans["daemon"].items():
        other = spans["floor"].get(name)
        table.add(name, f"{median(values) / 1000:.0f}", f"{median(other) / 1000:.0f}" if other else "")
    return table


def calls(events: list[Event], pids: dict[str, int], cpu: dict[str, float], count: int) -> Table:
    """The system calls of a woken call, until its handler has exited and its end is on the disk."""
    table = Table(
        "System calls and processor time of a woken call",
        f"Of the {count} pushes above, for each: from the push to the end of its call, whose handler exits at once. The "
        "child is counted from clone3 to execve.",
        ["", "loop", "journal", "child"],
        command="Benchmarks/run where",
    )
    known = names()
    columns: dict[str, Counter[str]] = {"loop": Counter(), "journal": Counter(), "child": Counter()}
    ends = {
        events[start.exec].thread: events[start.exec].nanoseconds
        for start in starts(events, pids) if start.by == "daemon"
    }  # fmt: skip
    daemon = pids["daemon"]
    for event in events:
        if event.name != "sys_enter":
            continue
        name = known.get(event.call, str(event.call))
        if event.thread in ends:
            if event.nanoseconds < ends[event.thread]:
                columns["child"][name] += 1
        elif event.process == daemon:
            columns["loop" if event.thread == daemon else "journal"][name] += 1
    table.add("processor time, us", *(f"{cpu.get(name, 0) / 1000:.0f}" for name in ("ringwaked", "journal")), "")
    total: Counter[str] = sum(columns.values(), Counter())
    for name, _ in total.most_common(SHOWN):
        table.add(name, *(f"{columns[column][name] / count:.1f}" for column in columns))
    rest = [name for name, _ in total.most_common()[SHOWN:]]
    table.add("all others", *(f"{sum(columns[column][name] for name in rest) / count:.1f}" for column in columns))
    return table
