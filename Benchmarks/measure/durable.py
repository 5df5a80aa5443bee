"""Durable pushes under load, beside a server in C with the same SQLite durability, and one without a journal."""

import time
from dataclasses import dataclass, field

from .cpu import device, load
from .disk import Disk
from .report import Table, median
from .servers import JournalServer, Nghttpd, Peer, Ringwaked, Server

ROUNDS = 5
# Connections, streams on each, and pushes in a round. In all 90,000: ringwaked begins to remove old ones at 100,000.
LOADS = [(1, 1, 500), (8, 1, 1500), (8, 8, 6000), (8, 32, 10_000)]
# Calls that run at a time are bounded, by 512 for an app.
WAITING_CALLS = 480
# 1970: a push that is recorded as missed and wakes nobody.
EXPIRED = 1
# Seconds that the second thread gets to tidy up what it put off; that work belongs to the pushes before.
SETTLE = 0.05
C_SERVER = "C, SQLite"


@dataclass
class Figures:
    """What one server did under one load, round by round."""

    cpu_ns: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    median_ns: list[float] = field(default_factory=list)
    slow_ns: list[float] = field(default_factory=list)
    batch: list[float] = field(default_factory=list)


def measure(quick: bool) -> Table:
    rounds = 2 if quick else ROUNDS
    loads = [(connections, streams, pushes // (10 if quick else 1)) for connections, streams, pushes in LOADS]
    disks = {"ringwaked": Disk(), C_SERVER: Disk()}
    server = Ringwaked(["/bin/true"], log_level="error", disk=disks["ringwaked"])
    servers: dict[str, Server] = {
        "nghttpd, no journal": Nghttpd(server),
        C_SERVER: JournalServer(server, disks[C_SERVER]),
        "ringwaked": server,
    }
    figures: dict[tuple[str, int], Figures] = {}
    peers = {
        (name, index): load(
            measured, "-" if measured is not server else server.certificate,
            Nghttpd.PATH if isinstance(measured, Nghttpd) else device(server), "-", connections, streams, EXPIRED,
        )
        for name, measured in servers.items()
        for index, (connections, streams, _) in enumerate(loads)
    }  # fmt: skip
    waiting = Figures()
    for _ in range(rounds):
        for index, (_, _, pushes) in enumerate(loads):
            for name, measured in servers.items():
                noted = figures.setdefault((name, index), Figures())
                one_round(noted, measured, peers[name, index], pushes, disks.get(name))
        round_of_waiting_calls(waiting)
    for peer in peers.values():
        peer.stop()
    for measured in [*servers.values(), *disks.values()]:
        measured.stop()
    return table(rounds, loads, servers, figures, waiting)


def one_round(noted: Figures, server: Server, peer: Peer, pushes: int, disk: Disk | None) -> None:
    cpu, syncs = server.cpu_ns(), disk.log_syncs() if disk else 0
    succeeded, took, median_ns, slow_ns = peer.step(pushes)
    if succeeded != pushes:
        raise SystemExit(f"{type(server).__name__}: {succeeded} of {pushes} pushes were answered with 200")
    time.sleep(SETTLE)
    noted.cpu_ns.append((server.cpu_ns() - cpu) / pushes)
    noted.rate.append(pushes / took * 1e9)
    noted.median_ns.append(median_ns)
    noted.slow_ns.append(slow_ns)
    if disk:
        noted.batch.append(pushes / (disk.log_syncs() - syncs))


def round_of_waiting_calls(noted: Figures) -> None:
    """Calls that come while their app's one handler is busy with the first: on a daemon of their own each time."""
    disk = Disk()
    server = Ringwaked(["/bin/sleep", "60"], log_level="error", instances="app", disk=disk)
    connections, streams, _ = LOADS[-1]
    peer = load(server, server.certificate, device(server), "-", connections, streams, "-")
    time.sleep(SETTLE)
    one_round(noted, server, peer, WAITING_CALLS, disk)
    peer.stop(), server.stop(), disk.stop()


def table(
    rounds: int, loads: list[tuple[int, int, int]], servers: dict[str, Server],
    figures: dict[tuple[str, int], Figures], waiting: Figures,
) -> Table:  # fmt: skip
    result = Table(
        "Durable pushes",
        f"{rounds} rounds in turn. Every push has an apns-id of its own and is answered 200 when its rows, one in "
        "`push` and one in `call`, are on the disk: SQLite, write-ahead log, synchronous FULL, one commit for all "
        "that waits. The pushes have expired, so that no handler's work is among it: ringwaked verifies each "
        "(sender, token, topic, headers, JSON payload), makes a call that ends as missed, journals both, tells "
        "listeners (there are none), and writes with the next commit when each push became durable. The server "
        "written in C (peers/journal_server.c) has the same TLS, HTTP/2, tables, settings, second thread and size of "
        "batch; it verifies nothing and writes the two rows. nghttpd answers with an empty file. In the last row "
        f"calls wait for a handler that is busy: each also has its payload stored, and {WAITING_CALLS} come at once "
        "to a daemon that has just started. Processor time of all threads, in user and kernel mode; the client runs "
        "on the same machine. Medians of the rounds. Pushes for each fdatasync of the log are counted by a library "
        "in front of it.",
        [
            "", "us CPU per push", "x C", "pushes per CPU-second", "pushes/s", "answer p50 ms", "p99 ms",
            "pushes per sync",
        ],
        command="Benchmarks/run durable",
    )  # fmt: skip
    for index, (connections, streams, _) in enumerate(loads):
        base = median(figures[C_SERVER, index].cpu_ns)
        for name in servers:
            add(result, f"{name}, {connections} x {streams}", figures[name, index], base)
    connections, streams, _ = loads[-1]
    add(result, f"ringwaked, calls that wait, {connections} x {streams}", waiting, base)
    return result


def add(result: Table, name: str, noted: Figures, base: float) -> None:
    cpu = median(noted.cpu_ns)
    result.add(
        name, f"{cpu / 1000:.1f}", f"{cpu / base:.2f}", f"{1e9 / cpu:,.0f}", f"{median(noted.rate):,.0f}",
        f"{median(noted.median_ns) / 1e6:.2f}", f"{median(noted.slow_ns) / 1e6:.2f}",
        f"{median(noted.batch):.1f}" if noted.batch else "",
    )  # fmt: skip
