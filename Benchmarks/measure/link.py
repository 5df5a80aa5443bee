"""Links of many devices to a gateway, beside the same devices at mosquitto."""

import shutil
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from .answer import EXPIRED
from .fleet import Fleet, Gateway, Linked, Mosquitto, dentry_bytes, kernel_bytes
from .report import Table, median, quantile
from .servers import HOST, TOPIC, Peer, Ringwaked

LINKS = 2000
# Devices that connect at a time where it is not a herd.
WINDOW = 16
HERD = 5000
# Fewer than the gateway's places for connections that have proven nothing.
HERD_WINDOW = 400
PUSHES_EACH = 10
IDLE_SECONDS = 30
PRIVATE = "Private_Dirty"
ROUNDS = 5
# Connections of a sender, streams (or messages) on each, and pushes in a round.
LOADS = [(1, 1, 300), (8, 32, 10_000)]
OFFLINE = 6000
KILLS = 3
# Pushes for each device in the burst that a kill cuts: more than a mailbox of the gateway takes would be refused, and
# mosquitto queues up to 1,000.
BURST_OF_DEVICE = {"ringwake": 20, "broker": 500}
MANY = 1 << 20
PAUSE = 0.005
SETTLE = 1.0
DEADLINES = 30
COMMAND = "Benchmarks/run link"
ON_CHANGES = "autosave_on_changes true\nautosave_interval 1\n"


def measure(quick: bool) -> list[Table]:
    # The keys, and the certificates of all.
    keys = Gateway(1)
    try:
        return [*links(keys, quick), online(keys, quick), offline(keys, quick), herd(keys, quick), killed(keys, quick)]
    finally:
        keys.stop()


# MARK: - Links


def links(keys: Ringwaked, quick: bool) -> list[Table]:
    count, seconds = (300, 3) if quick else (LINKS, IDLE_SECONDS)
    cost = Table(
        "What a link costs",
        f"{count} devices that connect from addresses of their own, {WINDOW} at a time, over TLS 1.3: handshake, CONNECT, "
        "SUBSCRIBE. With a signature a device proves its key to the gateway as ringwake's devices do, over the TLS "
        "exporter; without a certificate mosquitto does not know who its client is. The same client certificates are shown "
        "to both; mosquitto checks by whom they are. Memory of the process for each link, from smaps_rollup, while the "
        "links are idle. The kernel's share is what both ends have in its caches of objects, halved. \"kept per push\" is the "
        f"growth of private memory while each device gets {PUSHES_EACH} pushes and acknowledges them, for each of these. The "
        "devices run on the same machine: the rate is not the server's alone. Aim: 20 kB.",
        [
            "", "PSS kB", "private kB", "kernel kB", "bytes kept per push", "us CPU per link", "x mosquitto",
            "links/s", "ms p50", "p99",
        ],
        command=COMMAND,
    )  # fmt: skip
    idle = Table(
        "Idle links",
        f"{seconds} s with {count} links and nothing to do, {DEADLINES} s after the last has come; all threads. Aim: 0.",
        ["", "CPU us", "voluntary switches", "per minute"],
        command=COMMAND,
    )
    base: dict[bool, float] = {}
    for name, has_certificate, make in [
        ("mosquitto, no certificate", False, lambda: Mosquitto(keys, count)),
        ("gateway, signature", False, lambda: Gateway(count)),
        ("mosquitto, client certificate", True, lambda: Mosquitto(keys, count, "certificate")),
        ("gateway, client certificate", True, lambda: Gateway(count, "certificate")),
    ]:
        server = make()
        cells, cpu, idled = link_cost(server, count, seconds)
        base.setdefault(has_certificate, cpu)
        cost.add(name, *cells[:4], f"{cpu / 1000:.0f}", f"{cpu / base[has_certificate]:.2f}", *cells[4:])
        idle.add(name, *idled)
        server.stop()
    return [cost, idle]


def link_cost(server: Linked, count: int, seconds: int) -> tuple[list[str], float, list[str]]:
    fleet = server.fleet()
    # What the first links need is there for all.
    few = count // 20
    fleet.link(0, few, WINDOW)
    time.sleep(SETTLE)
    memory, kernel, cpu = server.memory_kb(), kernel_bytes(), server.cpu_ns()
    linked = fleet.link(few, count - few, WINDOW)
    cpu_ns = (server.cpu_ns() - cpu) / (count - few)
    time.sleep(SETTLE)
    after, kernel_after = server.memory_kb(), kernel_bytes()

    # The deadlines of handshakes may still be armed.
    time.sleep(SETTLE if seconds < IDLE_SECONDS else DEADLINES)
    idle_cpu, idle_switches = server.cpu_ns(), server.voluntary_switches()
    time.sleep(seconds)
    switches = server.voluntary_switches() - idle_switches
    idled = [f"{(server.cpu_ns() - idle_cpu) / 1000:,.0f}", f"{switches}", f"{switches * 60 / seconds:.0f}"]

    sender = server.sender(8, 8, range(count))
    # First what the senders' connections and the first pushes need.
    push(fleet, sender, count)
    before = server.memory_kb()[PRIVATE]
    for _ in range(PUSHES_EACH):
        push(fleet, sender, count)
    time.sleep(SETTLE)
    kept = (server.memory_kb()[PRIVATE] - before) * 1024 / (PUSHES_EACH * count)
    sender.stop()

    def each(figures: dict[str, int], key: str) -> str:
        return f"{(figures[key] - memory[key]) / (count - few):.1f}"

    ends = None if kernel is None else (kernel_after - kernel) / (count - few) / 2 + dentry_bytes()
    fleet.stop()
    return (
        [
            each(after, "Pss"), each(after, PRIVATE), f"{ends / 1024:.1f}" if ends else "", f"{kept:.0f}",
            f"{(count - few) / linked['ns'] * 1e9:,.0f}", f"{linked['p50_us'] / 1000:.1f}",
            f"{linked['p99_us'] / 1000:.1f}",
        ],
        cpu_ns, idled,
    )  # fmt: skip


# MARK: - Pushes


@dataclass
class Figures:
    """What one server did under one load, round by round."""

    cpu_ns: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    answers: list[tuple[int, int]] = field(default_factory=list)
    devices: list[tuple[int, int]] = field(default_factory=list)
    written: list[float] = field(default_factory=list)
    repeated: int = 0

    def cells(self, base: float) -> list[str]:
        def middle(pairs: list[tuple[int, int]], at: int, unit: float) -> str:
            return f"{median([pair[at] for pair in pairs]) / unit:.2f}" if pairs else ""

        return [
            f"{median(self.cpu_ns) / 1000:.1f}", f"{median(self.cpu_ns) / base:.2f}", f"{median(self.rate):,.0f}",
            middle(self.devices, 0, 1000), middle(self.devices, 1, 1000),
            middle(self.answers, 0, 1e6), middle(self.answers, 1, 1e6), f"{median(self.written):,.0f}",
        ]  # fmt: skip


COLUMNS = [
    "", "us CPU per push", "x mosquitto", "pushes/s", "device ms p50", "p99", "answer ms p50", "p99",
    "bytes written per push",
]  # fmt: skip


def push(fleet: Fleet, sender: Peer, pushes: int) -> tuple[list[int], dict]:
    """Pushes to devices that are linked, until all are acknowledged by them."""
    fleet.ask(f"expect {pushes} 20000")
    answered, received = sender.step(pushes), fleet.answer()
    if answered[0] != pushes or received["received"] != pushes:
        raise SystemExit(f"{answered[0]} of {pushes} pushes were answered, {received['received']} came")
    return answered, received


def online(keys: Ringwaked, quick: bool) -> Table:
    count, rounds = (300, 2) if quick else (LINKS, ROUNDS)
    loads = [(connections, window, pushes // (10 if quick else 1)) for connections, window, pushes in LOADS]
    folder = Path(tempfile.mkdtemp(prefix="ringwake-fleet-"))
    servers: dict[str, Linked] = {"mosquitto": Mosquitto(keys, count), "gateway": Gateway(count)}
    figures: dict[tuple[str, str, int], Figures] = {}
    for durability, has_journal in {"at once": False, "after fdatasync": True}.items():
        fleets = {
            name: server.fleet(folder / name if has_journal else None) for name, server in servers.items()
        }  # fmt: skip
        for fleet in fleets.values():
            fleet.link(0, count, WINDOW)
        for index, (connections, window, pushes) in enumerate(loads):
            senders = {name: server.sender(connections, window, range(count)) for name, server in servers.items()}
            for number in range(-1, rounds):
                for name, server in servers.items():
                    cpu, written = server.cpu_ns(), server.written_bytes()
                    answered, received = push(fleets[name], senders[name], pushes)
                    if number >= 0:
                        note(
                            figures.setdefault((durability, name, index), Figures()), server, cpu, written, answered,
                            received,
                        )  # fmt: skip
            for name, sender in senders.items():
                sender.stop()
                # Each sender begins with number 0.
                fleets[name].do("seen", "/dev/null")
        for fleet in fleets.values():
            fleet.stop()
    for server in servers.values():
        server.stop()
    shutil.rmtree(folder)
    result = Table(
        "Pushes to devices that are linked",
        f"{rounds} rounds in turn, to {count} linked devices in turn, which acknowledge at once, or after fdatasync of a "
        "file (one for all that came in the same turn of the fleet). The gateway gets pushes over HTTP/2 with a provider "
        "certificate, checks each as always, and answers when the device has acknowledged. mosquitto gets MQTT messages "
        "with QoS 1 and the same payload from connections without a certificate, checks nothing, and answers when the "
        "message is in its memory. \"device\": from just before the sender's write to the device's acknowledgement. "
        "Processor time of all the server's threads. Bytes written are the process's write_bytes of proc(5). Medians of "
        "the rounds. Aims: at most mosquitto's processor time, 0 bytes.",
        COLUMNS,
        command=COMMAND,
    )
    for (durability, name, index), noted in figures.items():
        connections, window, _ = loads[index]
        base = median(figures[durability, "mosquitto", index].cpu_ns)
        result.add(f"{name}, {durability}, {connections} x {window}", *noted.cells(base))
    return result


def note(
    noted: Figures, server: Linked, cpu: int, written: int, answered: list[int], received: dict | None
) -> None:  # fmt: skip
    pushes, took, median_ns, slow_ns = answered
    noted.cpu_ns.append((server.cpu_ns() - cpu) / pushes)
    noted.written.append((server.written_bytes() - written) / pushes)
    noted.rate.append(pushes / took * 1e9)
    noted.answers.append((median_ns, slow_ns))
    if received:
        noted.devices.append((received["p50_us"], received["p99_us"]))


def offline(keys: Ringwaked, quick: bool) -> Table:
    count = 300 if quick else LINKS
    connections, window, _ = LOADS[-1]
    result = Table(
        "Pushes to devices that are away",
        f"{connections} x {window}, to {count} devices that were linked before. The gateway answers when the push is on "
        "its disk. mosquitto as Debian sets it up has all in memory, and writes it every half hour; with "
        "autosave_on_changes (autosave_interval 1) it answers what came in a turn of its loop, and then writes its whole "
        "store, with fsync.",
        COLUMNS[:4] + COLUMNS[6:],
        command=COMMAND,
    )
    base = None
    for name, make, pushes in [
        ("mosquitto", lambda: Mosquitto(keys, count), OFFLINE),
        ("mosquitto, autosave_on_changes", lambda: Mosquitto(keys, count, more=ON_CHANGES), OFFLINE),
        ("gateway", lambda: Gateway(count), OFFLINE),
    ]:
        server, noted = make(), Figures()
        fleet = server.fleet()
        fleet.link(0, count, WINDOW)
        fleet.do("drop", 0, count)
        fleet.stop()
        time.sleep(SETTLE)
        sender = server.sender(connections, window, range(count))
        pushes = pushes // 10 if quick else pushes
        cpu, written = server.cpu_ns(), server.written_bytes()
        answered = sender.step(pushes)
        if answered[0] != pushes:
            raise SystemExit(f"{name}: {answered[0]} of {pushes} pushes were accepted")
        time.sleep(SETTLE)
        note(noted, server, cpu, written, answered, None)
        base = base or median(noted.cpu_ns)
        cells = noted.cells(base)
        result.add(name, *cells[:3], *cells[5:])
        sender.stop(), server.stop()
    return result


# MARK: - A herd


def herd(keys: Ringwaked, quick: bool) -> Table:
    count = 300 if quick else HERD
    result = Table(
        "A herd",
        f"{count} devices that connect at the same time, after a power cut; who is refused backs off as link.md "
        "says: up to 1 s, then 2 s, 4 s, and so on. "
        "Meanwhile one sender pushes every 5 ms, or when its last push is answered: to an app of the gateway's own host "
        "(an expired push: journaled, and nobody is woken), and to mosquitto a message. The fleet runs on the same "
        "machine and takes its share of it.",
        [
            "", "all linked after s", "refused and closed", "ms CPU of the server", "p50 s", "p99 s",
            "sender's answer before, ms p50", "p99", "meanwhile, p50", "p99", "max",
        ],
        command=COMMAND,
    )  # fmt: skip
    for name, make, window in [
        ("mosquitto, no certificate", lambda: Mosquitto(keys, count), count),
        ("gateway, signature", lambda: Gateway(count), count),
        (f"gateway, signature, {HERD_WINDOW} at a time", lambda: Gateway(count), HERD_WINDOW),
        ("mosquitto, client certificate", lambda: Mosquitto(keys, count, "certificate"), count),
        ("gateway, client certificate", lambda: Gateway(count, "certificate"), count),
    ]:
        server = make()
        sender, fleet = single_sender(server), server.fleet()
        before = sorted(answer_time(sender) for _ in range(50 if quick else 200))
        cpu = server.cpu_ns()
        fleet.ask(f"link 0 {count} {window}")
        meanwhile = []
        while not fleet.has_answered():
            meanwhile.append(answer_time(sender))
        linked = fleet.answer()
        cpu = server.cpu_ns() - cpu
        late = count - linked["linked"]
        result.add(
            name, f"{late} not after " * (late > 0) + f"{linked['ns'] / 1e9:.2f}", sum(linked["refused"]),
            f"{cpu / 1e6:,.0f}",
            f"{linked['p50_us'] / 1e6:.2f}", f"{linked['p99_us'] / 1e6:.2f}",
            *(f"{quantile(before, share) / 1e6:.2f}" for share in (0.5, 0.99)),
            *(f"{quantile(meanwhile, share) / 1e6:.2f}" for share in (0.5, 0.99, 1)),
        )  # fmt: skip
        sender.stop(), fleet.stop(), server.stop()
    return result


def single_sender(server: Linked) -> Peer:
    if isinstance(server, Gateway):
        return Peer(
            "push_client", HOST, server.port, server.ca, server.certificate, server.token, TOPIC, "-", EXPIRED
        )
    return server.sender(1, 1, range(1))


def answer_time(sender: Peer) -> int:
    """Nanoseconds from one push to its answer."""
    time.sleep(PAUSE)
    numbers = sender.step(1)
    return numbers[1] if sender.name == "push_client" else numbers[2]


# MARK: - Killed


def killed(keys: Ringwaked, quick: bool) -> Table:
    count, kills, after = (200, 1, 0.3) if quick else (LINKS, KILLS, 1.0)
    connections, window, _ = LOADS[-1]
    result = Table(
        "Killed while pushes come",
        f"{kills} times: {count} devices, of which every other half is linked; {connections} x {window} pushes to all in "
        f"turn; SIGKILL after {after} s. Then the server starts again and all devices connect. Lost is what the sender "
        "got an answer for, and what no device had before or gets now. mosquitto had written the sessions before. Aim: 0.",
        ["", "acknowledged", "lost", "%"],
        command=COMMAND,
    )
    for name, make in {
        "mosquitto": lambda: Mosquitto(keys, count),
        "mosquitto, autosave_on_changes": lambda: Mosquitto(keys, count, more=ON_CHANGES),
        "gateway": lambda: Gateway(count),
    }.items():
        acknowledged = lost = 0
        for _ in range(kills):
            acked, missing = kill_once(make(), count, after)
            acknowledged, lost = acknowledged + acked, lost + missing
        result.add(name, f"{acknowledged:,}", f"{lost:,}", f"{100 * lost / max(1, acknowledged):.1f}")
    return result


def kill_once(server: Linked, count: int, after: float) -> tuple[int, int]:
    """How many pushes were acknowledged, and how many of these are lost."""
    connections, window, _ = LOADS[-1]
    folder = Path(tempfile.mkdtemp(prefix="ringwake-fleet-"))
    fleet = server.fleet()
    # All were linked once, so that a broker knows them.
    fleet.link(0, count, WINDOW)
    fleet.do("drop", count // 2, count - count // 2)
    if isinstance(server, Mosquitto):
        server.process.send_signal(signal.SIGUSR1)
    time.sleep(SETTLE)
    sender = server.sender(connections, window, range(count), folder / "acknowledged")
    sender.ask(BURST_OF_DEVICE[server.kind] * count)
    time.sleep(after)
    server.kill()
    sender.numbers()
    sender.stop()
    server.start()
    fleet.do("expect", 0, 0)
    fleet.link(0, count, WINDOW)
    while fleet.do("expect", MANY, 1500)["received"] > 0:
        pass
    fleet.do("seen", folder / "seen")
    acknowledged, seen = (set((folder / name).read_text().split()) for name in ("acknowledged", "seen"))
    fleet.stop(), server.stop()
    shutil.rmtree(folder)
    return len(acknowledged), len(acknowledged - seen)
