"""Memory after the start, and what a connection costs: its handshake, and while it is idle."""

import time

from .report import Table
from .servers import HOST, Nghttpd, Nginx, NIOServer, Peer, Ringwaked, Server

# Fewer than half of the places that ringwaked has for senders that have not proven themselves: beyond, it ends idle ones.
CONNECTIONS = 240


def measure(quick: bool) -> list[Table]:
    count = 60 if quick else CONNECTIONS
    server = Ringwaked(["/bin/true"])
    time.sleep(0.5)
    start = server.memory_kb()
    memory = Table(
        "Memory",
        "After the start with one app, from smaps_rollup. Aims: 16 MB resident, 3 MB private dirty.",
        ["", "resident MB", "private dirty MB", "PSS MB", "threads"],
        command="Benchmarks/run connections",
    )
    memory.add(
        "ringwaked", *(f"{start[key] / 1024:.1f}" for key in ("Rss", "Private_Dirty", "Pss")), server.threads()
    )
    table = Table(
        "Connections",
        f"{count} idle HTTP/2 connections over TLS 1.3 that finished their handshake and exchanged SETTINGS, for each "
        "server: the difference in private dirty memory, and the processor time of the handshake, for each connection. "
        "With a client certificate all verify its chain but nghttpd, which only asks for it, and ringwaked also finds the "
        "team and the topics in it. Aims: 30 kB; 40 kB with a client certificate.",
        ["", "kB", "us CPU", "x nghttpd", "kB, client certificate", "us CPU", "x nghttpd"],
        command="Benchmarks/run connections",
    )
    costs: dict[str, list[tuple[float, float]]] = {}
    # A server for each kind: what the first kind leaves behind would be there for the second.
    for name, make in {
        "ringwaked": lambda asks: Ringwaked(["/bin/true"]),
        "nghttpd": lambda asks: Nghttpd(server, asks),
        "nginx": lambda asks: Nginx(server, asks),
        "SwiftNIO": lambda asks: NIOServer(server, asks),
    }.items():
        for asks in (False, True):
            measured = make(asks)
            certificate = (measured if isinstance(measured, Ringwaked) else server).certificate if asks else "-"
            costs.setdefault(name, []).append(connection_cost(measured, certificate, count))
            measured.stop()
    for name, kinds in costs.items():
        cells = []
        for (kilobytes, cpu), (_, base) in zip(kinds, costs["nghttpd"]):
            cells += [f"{kilobytes:.1f}", f"{cpu:.0f}", f"{cpu / base:.2f}"]
        table.add(name, *cells)
    server.stop()
    return [memory, table]


def connection_cost(server: Server, certificate: object, count: int) -> tuple[float, float]:
    """kB of private dirty memory, and microseconds of processor time, that each of `count` connections takes."""
    first = Peer("idle_connections", HOST, server.port, server.ca, certificate, 1)
    first.read()
    memory, cpu = server.memory_kb()["Private_Dirty"], server.cpu_ns()
    rest = Peer("idle_connections", HOST, server.port, server.ca, certificate, count)
    rest.read()
    time.sleep(0.5)
    kilobytes = (server.memory_kb()["Private_Dirty"] - memory) / count
    microseconds = (server.cpu_ns() - cpu) / count / 1000
    first.stop(), rest.stop()
    return kilobytes, microseconds
