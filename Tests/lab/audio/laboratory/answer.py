"""What a person waits for: from the answer that the handler has fulfilled to the event that the session is active."""

import os
import re
import resource
import select
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from .desktop import Desktop
from .outcome import Outcome, Table, median, milliseconds, quantile
from .programs import LABORATORY, audio, benchmark, control, peer
from measure.servers import APP, Peer, Ringwaked
from support.waiting import until

ROUNDS = 40
STREAMS = (3, 30)
# Rounds in which the reads of /proc are counted: strace makes them too slow to be timed.
COUNTED = 5
# As a share of pactl's time, and of the resident client's.
PACTL_AIM, RESIDENT_AIM = 0.2, 1.5
# Seconds before each sample: what the one before left to do is over by then.
PAUSE = 0.05
TIMEOUT = 30
RINGWAKE, PACTL, RESIDENT = "Ringwake, at the handler", "pactl, a process for each change", "a resident client in C"


def measure(quick: bool) -> list[Outcome]:
    return [_measure(kind, streams, 5 if quick else ROUNDS) for kind in audio.SERVERS for streams in STREAMS]


def _measure(kind: str, streams: int, count: int) -> Outcome:
    with ExitStack() as stack:
        desktop = Desktop(kind, streams, stack)
        telephone = Telephone(desktop, stack)
        resident = Peer(peer("resident"), "microphone", environment=desktop.server.environment())
        stack.callback(resident.stop)
        # Starts ringwake-audio, which stays for some seconds after a call.
        telephone.call()
        samples: dict[str, list[tuple[int, int]]] = {RINGWAKE: [], PACTL: [], RESIDENT: []}
        for _ in range(count):
            samples[RINGWAKE].append(telephone.call())
            samples[PACTL].append(_by(desktop, resident, _pactl))
            samples[RESIDENT].append(_by(desktop, resident, _resident))
        return _outcome(desktop, samples, count, telephone.reads(COUNTED))


def _outcome(desktop: Desktop, samples: dict[str, list[tuple[int, int]]], count: int, reads: float) -> Outcome:
    outcome = Outcome(Table(
        f"From the fulfilled answer to the active session: {desktop.server.kind}, {desktop.count} streams",
        f"{count} rounds, one sample of each in a round, on a desktop of {desktop.processes()} processes. The streams "
        "are muted and the microphone is opened. Ringwake: a handler that ringwaked has started, from just before it "
        "writes that the answer is fulfilled until it has read the event audioActivated; the processor time is that of "
        "ringwaked and ringwake-audio. pactl: a process for each change, one after the other, as scripts do. The "
        "client in C is connected, knows the streams, and sends all changes at once; until the last acknowledgement. "
        f"In every round it was looked whether all is changed. Reads of /proc: counted by strace in {COUNTED} further "
        "calls. Milliseconds.",
        ["", "median", "p90", "max", "CPU", "reads of /proc", "x pactl", "x C"], command="Tests/lab/audio/run",
    ))  # fmt: skip
    medians = {name: median([took for took, _ in values]) for name, values in samples.items()}
    for name, values in samples.items():
        times = [took for took, _ in values]
        outcome.table.add(
            name, milliseconds(medians[name]), milliseconds(quantile(times, 0.9)), milliseconds(max(times)),
            milliseconds(median([cpu for _, cpu in values])), f"{reads:.0f}" if name == RINGWAKE else "",
            f"{medians[name] / medians[PACTL]:.2f}", f"{medians[name] / medians[RESIDENT]:.2f}",
        )  # fmt: skip
    for other, what, aim in ((PACTL, "pactl", PACTL_AIM), (RESIDENT, "a resident client in C", RESIDENT_AIM)):
        if (ratio := medians[RINGWAKE] / medians[other]) > aim:
            place = f"{desktop.server.kind}, {desktop.count} streams"
            outcome.missed.append(f"to activate, {place}: {ratio:.2f}x {what}, the aim is {aim}x")
    return outcome


class Telephone:
    """`ringwaked` with one app, on a desktop."""

    def __init__(self, desktop: Desktop, stack: ExitStack) -> None:
        self.desktop = desktop
        fifo = desktop.server.folder / "handler"
        os.mkfifo(fifo)
        # Both ends: no handler is to wait for a reader, and no reader to see the end of a handler.
        self.fifo = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        stack.callback(os.close, self.fifo)
        self.rest = b""
        handler = [sys.executable, "-B", str(LABORATORY / "laboratory" / "handler.py"), str(fifo)]
        more = f'[audio]\nbackend = "program"\nprogram = "{benchmark.BIN / "ringwake-audio"}"\n'
        self.daemon = Ringwaked(handler, more=more, environment=desktop.server.environment())
        stack.callback(self.daemon.stop)
        self.control = control.Control(self.daemon.runtime / "control.sock")

    def call(self) -> tuple[int, int]:
        """One call from its push to its end: how long it took to activate, and how long that ran on a processor."""
        self._push()
        call = self._says("ringing")
        time.sleep(PAUSE)
        processes = [self.daemon.process.pid, self._agent()]
        before = sum(map(_cpu, processes))
        self.control.verb(call, "answer")
        took = int(self._says("activated"))
        cpu = sum(map(_cpu, processes)) - before
        until(self.desktop.is_in_call, TIMEOUT, "everything to be silent")
        self.control.verb(call, "end")
        self.control.wait_for(call, "ended")
        until(self.desktop.is_as_before, TIMEOUT, "everything to be heard again")
        time.sleep(PAUSE)
        return took, cpu

    def reads(self, count: int) -> float:
        """How many files of /proc an activation reads, as a mean of so many calls."""
        trace = self.desktop.server.folder / "trace"
        found = 0
        for _ in range(count):
            self._push()
            call = self._says("ringing")
            time.sleep(PAUSE)
            strace = subprocess.Popen(
                ["strace", "-f", "-qq", "-e", "trace=openat", "-o", trace, "-p", str(self._agent())],
                stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            status = Path(f"/proc/{self._agent()}/status")
            until(lambda at=status: "TracerPid:\t0\n" not in at.read_text(), TIMEOUT, "strace")
            self.control.verb(call, "answer")
            self._says("activated")
            strace.terminate()
            strace.wait()
            found += len(re.findall(r'"/proc/\d+/stat"', trace.read_text()))
            self.control.verb(call, "end")
            self.control.wait_for(call, "ended")
            until(self.desktop.is_as_before, TIMEOUT, "everything to be heard again")
        return found / count

    def _push(self) -> None:
        daemon = self.daemon
        subprocess.run(
            [benchmark.RINGWAKE, "push", "--app", APP, "--socket", daemon.runtime / "control.sock",
             "--cert", daemon.certificate, "--ca", daemon.ca],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def _says(self, what: str) -> str:
        """What the handler says next, which is to be this."""
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.fifo], [], [], TIMEOUT)
            assert ready, f"the handler does not say '{what}'; the daemon:\n{self.daemon.log.read_text()}"
            self.rest += os.read(self.fifo, 4096)
        line, self.rest = self.rest.split(b"\n", 1)
        said, value = line.decode().split()
        assert said == what, f"the handler says '{said}' and not '{what}'"
        return value

    def _agent(self) -> int:
        pid = self.daemon.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return next(int(one) for one in children if Path(f"/proc/{one}/comm").read_text() == "ringwake-audio\n")


def _by(desktop: Desktop, resident: Peer, change) -> tuple[int, int]:
    """One sample of another way to make the changes."""
    sample = change(desktop, resident)
    until(desktop.is_in_call, TIMEOUT, "everything to be silent")
    resident.step(" ".join(map(str, [0, *desktop.indexes])))
    until(desktop.is_as_before, TIMEOUT, "everything to be heard again")
    time.sleep(PAUSE)
    return sample


def _resident(desktop: Desktop, resident: Peer) -> tuple[int, int]:
    took, cpu = resident.step(" ".join(map(str, [1, *desktop.indexes])))
    return took, cpu


def _pactl(desktop: Desktop, _: Peer) -> tuple[int, int]:
    before = _children_cpu()
    start = time.monotonic_ns()
    for index in desktop.indexes:
        desktop.server.pactl("set-sink-input-mute", index, 1)
    desktop.server.pactl("set-source-mute", "microphone", 0)
    return time.monotonic_ns() - start, _children_cpu() - before


def _cpu(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def _children_cpu() -> int:
    """Of all processes that were waited for, in nanoseconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)
