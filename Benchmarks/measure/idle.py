"""What the daemon does when nothing happens."""

import time

from .report import Table
from .servers import HOST, Peer, Ringwaked

SECONDS = 60
SETTLE = 2


def measure(quick: bool) -> Table:
    seconds = 5 if quick else SECONDS
    bare, connected = Ringwaked(["/bin/true"]), Ringwaked(["/bin/true"])
    sender = Peer("idle_connections", HOST, connected.port, connected.ca, connected.certificate, 10)
    sender.read()
    # A preface deadline of a connection may still be armed; it is met or cancelled by then.
    time.sleep(SETTLE if quick else SETTLE + 10)
    servers = {"no connection": bare, "10 idle senders": connected}
    wakeups = {name: server.control("/v1/status")["wakeups"]["byCause"] for name, server in servers.items()}
    time.sleep(0.5)
    switches = {name: server.voluntary_switches() for name, server in servers.items()}
    cpu = {name: server.cpu_ns() for name, server in servers.items()}
    time.sleep(seconds)
    table = Table(
        "Idle",
        f"{seconds} s in which nothing happens, the two daemons side by side. Voluntary context switches over both "
        "threads, the loop's in epoll_wait and the journal's in read(eventfd), and the wakeups that the daemon "
        "counted, by cause (asking it is one itself, `control`, and left out). Aim: 0.",
        ["", f"switches in {seconds} s", "wakeups by cause", "CPU us"],
        command="Benchmarks/run idle",
    )
    for name, server in servers.items():
        waited = server.voluntary_switches() - switches[name]
        used = server.cpu_ns() - cpu[name]
        after = server.control("/v1/status")["wakeups"]["byCause"]
        causes = {
            cause: count - wakeups[name].get(cause, 0)
            for cause, count in after.items()
            if count > wakeups[name].get(cause, 0) and cause != "control"
        }
        text = ", ".join(f"{cause} {count}" for cause, count in causes.items()) or "none"
        table.add(name, waited, text, used // 1000)
    sender.stop()
    bare.stop(), connected.stop()
    return table
