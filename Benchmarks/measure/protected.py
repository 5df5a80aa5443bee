"""What the protection of stored data costs a durable push, beside the same push in the clear."""

import socket
import sqlite3
import time

from .cpu import device, load
from .report import Table, median, microseconds
from .servers import APP, Ringwaked

ROUNDS = 5
CONNECTIONS, STREAMS = 8, 32
PUSHES = 5000
# Seconds that the second thread gets to tidy up what it put off; that work belongs to the pushes before.
SETTLE = 0.05
EXPIRED = 1
CLASSES = '[protection.classes]\ncallers = "complete"\n'
PLAIN, UNLOCKED, LOCKED = "in the clear", "encrypted (unlocked)", "sealed (locked)"


def start(section: str = "") -> Ringwaked:
    """A daemon that takes the caller out of the payload, which is one record for each push."""
    server = Ringwaked(["/bin/true"], log_level="error", more=section)
    server.process.terminate()
    server.process.wait()
    with (server.folder / "apps.d" / f"{APP}.toml").open("a") as file:
        file.write('[payload]\ncaller = "/from"\n')
    if section:
        with server.configuration.open("a") as file:
            # The key file is made there.
            file.write(f'[protection]\nroot_key = "{server.folder}/root.key"\n')
    server.start()
    return server


def lock(server: Ringwaked) -> Ringwaked:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(server.runtime / "control.sock"))
        connection.sendall(
            b"POST /v1/protection/lock HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        )
        while connection.recv(65_536):
            pass
    deadline = time.monotonic() + 60
    while server.control("/v1/protection")["state"] != "locked":
        if time.monotonic() > deadline:
            raise SystemExit("the device was not locked")
        time.sleep(0.1)
    return server


def records(server: Ringwaked) -> tuple[int, int]:
    """The records of callers in the store of a stopped daemon, and those in which the caller can be read."""
    server.process.terminate()
    server.process.wait()
    connection = sqlite3.connect(server.store)
    found = [caller for (caller,) in connection.execute("SELECT caller FROM call WHERE caller IS NOT NULL")]
    connection.close()
    return len(found), sum(b"alice" in bytes(caller) for caller in found)


def measure(quick: bool) -> Table:
    rounds, pushes = (2, 500) if quick else (ROUNDS, PUSHES)
    servers = {
        PLAIN: start(), UNLOCKED: start(CLASSES), LOCKED: lock(start(CLASSES))
    }  # fmt: skip
    peers = {
        name: load(server, server.certificate, device(server), "-", CONNECTIONS, STREAMS, EXPIRED)
        for name, server in servers.items()
    }
    figures: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in servers}
    for _ in range(rounds):
        for name, server in servers.items():
            before = server.cpu_ns()
            succeeded, took, middle, slow = peers[name].step(pushes)
            if succeeded != pushes:
                raise SystemExit(f"{name}: {succeeded} of {pushes} pushes were answered with 200")
            time.sleep(SETTLE)
            figures[name].append(((server.cpu_ns() - before) / pushes, pushes / took * 1e9, middle, slow))
    for peer in peers.values():
        peer.stop()
    for name, server in servers.items():
        stored, readable = records(server)
        if stored < rounds * pushes or readable != (stored if name == PLAIN else 0):
            raise SystemExit(f"{name}: {stored} records of callers, {readable} of them in the clear")
        server.stop()
    table = Table(
        "Protected pushes",
        f"{rounds} rounds in turn of {pushes} pushes on {CONNECTIONS} connections with {STREAMS} streams. Each is stored "
        "before it is answered, with its caller as a record: as it is, encrypted by AES-256-GCM, or, on a locked device, "
        "sealed to the public key of its class (HPKE, P-256). Medians of the rounds; the time is user "
        "and kernel time of all the server's threads.",
        ["", "pushes/s", "answer p50", "p99", "us per push", "x in the clear"],
        command="Benchmarks/run protected",
    )
    base = median([cpu for cpu, *_ in figures[PLAIN]])
    for name, values in figures.items():
        cpu, rate, middle, slow = (median(list(column)) for column in zip(*values))
        table.add(
            name, f"{rate:,.0f}", microseconds(middle), microseconds(slow), f"{cpu / 1000:.1f}", f"{cpu / base:.2f}"
        )
    return table
