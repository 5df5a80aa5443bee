"""Memory after the start, and what an idle connection costs."""

import time

from .report import Table
from .servers import HOST, Nghttpd, Peer, Ringwaked, Server

CONNECTIONS = 1000


def measure(quick: bool) -> Table:
    count = 100 if quick else CONNECTIONS
    server = Ringwaked(["/bin/true"])
    fixed = Nghttpd(server)
    time.sleep(0.5)
    table = Table(
        "Memory",
        f"After the start with one app, from smaps_rollup; then with {count} idle HTTP/2 connections over TLS 1.3 "
        "that finished their handshake and exchanged SETTINGS: the difference in private dirty memory, for each. "
        "Aims: 16 MB resident, 3 MB private dirty, 40 kB for a connection.",
        ["", "resident MB", "private dirty MB", "PSS MB", "threads", "kB per idle connection"],
        command="Benchmarks/run memory",
    )
    for name, measured in [("ringwaked", server), ("nghttpd", fixed)]:
        start = measured.memory_kb()
        per_connection = connection_cost(measured, count)
        table.add(
            name, *(f"{start[key] / 1024:.1f}" for key in ("Rss", "Private_Dirty", "Pss")), measured.threads(),
            f"{per_connection:.1f}",
        )  # fmt: skip
    server.stop(), fixed.stop()
    return table


def connection_cost(server: Server, count: int) -> float:
    """kB of private dirty memory that each of `count` idle connections takes."""
    first = Peer("idle_connections", HOST, server.port, server.ca, "-", 1)
    first.read()
    before = server.memory_kb()["Private_Dirty"]
    rest = Peer("idle_connections", HOST, server.port, server.ca, "-", count)
    rest.read()
    time.sleep(0.5)
    cost = (server.memory_kb()["Private_Dirty"] - before) / count
    first.stop(), rest.stop()
    return cost
