"""How much longer a call takes to ring while other users of the machine try to prevent it."""

import os
import subprocess
import tempfile
import time
from pathlib import Path

from . import programs
from .answer import client
from .report import Table, quantile
from .servers import Peer, Ringwaked

SAMPLES = 200
WARM_UP = 20
# Seconds before each call.
REST = 0.02
# Seconds from an attack's begin to the first call.
LEAD = 1.0
# What other users do: the arguments of `peers/stranger.c`, each list one process.
ATTACKS = {
    "30 connections that pipeline": [("pipeline", 30)],
    "a loop of connect()": [("connect", 600)],
    "64 idle connections": [("hold", 64)],
    "200 users, each pipelining": [("users", 200)],
    "180 host names watched": [("watch", 60)] * 3,
}


class Ring:
    """Makes calls ring, one after the other."""

    def __init__(self, server: Ringwaked, fifo: Path):
        self.server, self.fifo = server, fifo
        self.push: Peer | None = None

    def sample(self) -> int | None:
        """Nanoseconds from the push to the answer that says that the call rings; None: it did not."""
        self.push = self.push or client(self.server, self.server.certificate, self.server.token, self.fifo)
        try:
            return self.push.step()[0]
        except SystemExit:
            # The client ends when there is no stamp for five seconds: the call is lost.
            self.push = None
            return None


def measure(quick: bool) -> Table:
    count = 20 if quick else SAMPLES
    table = Table(
        "Other users of the machine",
        f"{count} calls for each row, and as many without the attack before it, each {REST * 1000:.0f} ms after the one "
        "before: from just before the push is written to the handler's answer that its call rings. The handler is a C "
        "program that reports on the control socket; the attackers are users without rights. `stranger.c` says what "
        "they do. *owner*: a request for the status, by root, after each call. Milliseconds. Aim: p99 at most 3x, the "
        "owner's requests below 50 ms, no call lost.",
        ["", "p50", "p99", "without: p99", "x", "calls lost", "owner p99", "CPU of ringwaked"],
        command="Benchmarks/run strangers",
    )
    if os.geteuid() != 0:
        table.add("not measured: only root can become other users", *[""] * 7)
        return table
    with tempfile.TemporaryDirectory(prefix="ringwake-bench-") as folder:
        fifo = Path(folder) / "rang"
        os.mkfifo(fifo)
        server = Ringwaked([str(programs.peer("ring_handler")), str(fifo)])
        # Everybody may go there, as to /run/ringwake; then the socket's own mode decides.
        server.runtime.chmod(0o755)
        ring = Ring(server, fifo)
        for _ in range(WARM_UP):
            ring.sample()
        for name, attack in ATTACKS.items():
            quiet, _, _ = calls(ring, server, count)
            processes = [begin(server, *arguments) for arguments in attack]
            time.sleep(LEAD)
            before, start = server.cpu_ns(), time.monotonic()
            values, lost, requests = calls(ring, server, count)
            load = (server.cpu_ns() - before) / 1e9 / (time.monotonic() - start)
            for process in processes:
                process.stdin.close()
                process.wait(20)
            p99 = quantile(values, 0.99) if values else float("nan")
            table.add(
                name, milliseconds(quantile(values, 0.5) if values else float("nan")), milliseconds(p99),
                milliseconds(quantile(quiet, 0.99)), f"{p99 / quantile(quiet, 0.99):.2f}", f"{lost} of {count}",
                milliseconds(quantile(requests, 0.99)), f"{load * 100:.0f} %",
            )  # fmt: skip
        if ring.push:
            ring.push.stop()
        server.stop()
    return table


def calls(ring: Ring, server: Ringwaked, count: int) -> tuple[list[int], int, list[int]]:
    values: list[int] = []
    requests: list[int] = []
    lost = 0
    for _ in range(count):
        time.sleep(REST)
        value = ring.sample()
        if value is None:
            lost += 1
        else:
            values.append(value)
        # Lost calls take five seconds each: some are proof enough.
        if lost == 5:
            break
        start = time.monotonic_ns()
        try:
            server.control("/v1/status")
        except OSError:
            pass
        requests.append(time.monotonic_ns() - start)
    return values, lost, requests


def begin(server: Ringwaked, way: str, count: int) -> subprocess.Popen:
    # A daemon without a status socket answers strangers on the control socket.
    status = server.runtime / "status.sock"
    place = status if status.exists() else server.runtime / "control.sock"
    return subprocess.Popen([programs.peer("stranger"), place, way, str(count)], stdin=subprocess.PIPE)


def milliseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.1f}"
