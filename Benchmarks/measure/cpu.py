"""Processor time per push under load, beside nghttpd with a fixed answer."""

from . import programs
from .report import Table, median
from .servers import HOST, TOPIC, Nghttpd, Nginx, NIOServer, Peer, Ringwaked, Server

ROUNDS = 7
REQUESTS = 20_000
CONNECTIONS = 8
STREAMS = 32


def measure(quick: bool) -> Table:
    rounds, requests = (2, 2000) if quick else (ROUNDS, REQUESTS)
    # Quiet: with the default level each repeated push is a line in the log.
    server, talkative = Ringwaked(["/bin/true"], log_level="warning"), Ringwaked(["/bin/true"])
    fixed, nginx, nio = Nghttpd(server), Nginx(server), NIOServer(server)
    token = "bearer " + server.provider_token()
    loads = {
        "nghttpd, an empty file": (fixed, load(fixed, "-", Nghttpd.PATH, "-")),
        "nginx, a fixed status": (nginx, load(nginx, "-", Nginx.PATH, "-")),
        "SwiftNIO, a fixed status": (nio, load(nio, "-", NIOServer.PATH, "-")),
        "ringwaked, certificate": (server, load(server, server.certificate, device(server), "-")),
        "ringwaked, provider token": (server, load(server, "-", device(server), token)),
        "ringwaked, certificate, log level info": (
            talkative, load(talkative, talkative.certificate, device(talkative), "-"),
        ),
    }  # fmt: skip
    figures: dict[str, list[float]] = {name: [] for name in loads}
    rates: dict[str, list[float]] = {name: [] for name in loads}
    for _ in range(rounds):
        for name, (measured, peer) in loads.items():
            before = measured.cpu_ns()
            succeeded, took, *_ = peer.step(requests)
            if succeeded != requests:
                raise SystemExit(f"{name}: {succeeded} of {requests} requests were answered with 200")
            figures[name].append((measured.cpu_ns() - before) / requests)
            rates[name].append(requests / took * 1e9)
    for _, peer in loads.values():
        peer.stop()
    for measured in (server, talkative, fixed, nginx, nio):
        measured.stop()
    table = Table(
        "Processor time per push",
        f"{rounds} rounds in turn of {requests} requests each on {CONNECTIONS} connections with {STREAMS} streams, "
        "TLS 1.3. Every push has the same apns-id: the whole path of verification (sender, token, topic, headers, "
        "JSON payload), the journal's thread, which finds the push and writes nothing, and the answer; without a new "
        "call and its process. nghttpd answers POST with an empty file, nginx and a server on SwiftNIO with a fixed "
        "status; they check nothing, and have one thread each. User and kernel time of "
        "all the server's threads; the rate is what one client on the same machine reached.",
        ["", "us per push, median", "x nghttpd", "pushes/s"],
        command="Benchmarks/run cpu",
    )
    base = median(figures["nghttpd, an empty file"])
    for name, values in figures.items():
        table.add(name, f"{median(values) / 1000:.1f}", f"{median(values) / base:.2f}", f"{median(rates[name]):,.0f}")
    return table


def device(server: Ringwaked) -> str:
    return f"/3/device/{server.token}"


def load(
    server: Server, certificate: object, path: str, authorization: str, connections: int = CONNECTIONS,
    streams: int = STREAMS, *expiration: object,
) -> Peer:  # fmt: skip
    """A client that is ready; with an expiration ("-" for none) each of its pushes has an apns-id of its own."""
    peer = Peer(
        "push_load", HOST, server.port, server.ca, certificate, path, TOPIC, authorization, connections, streams,
        *expiration,
    )  # fmt: skip
    if peer.read() != ["ready"]:
        raise SystemExit(f"{programs.peer('push_load')} did not begin")
    return peer
