"""What strangers and bad devices can do to the port for links, while an honest device gets its pushes."""

import contextlib
import itertools
import os
import random
import select
import ssl
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import mqtt, processes
from support.daemon import Daemon
from support.link_attacks import DEVICES, STRANGERS
from support.links import invitation, make_gateway, send
from support.mqtt import (
    DISCONNECT, MAXIMUM_PACKET, PINGREQ, PUBLISH, USER, DeviceKey, Gone, Link, connect_packet, packet, puback_packet,
    publish_packet, registration, subscribe_packet,
)  # fmt: skip
from support.sites import Site, address as link_address
from support.waiting import until

INTEGRATION = Path(__file__).resolve().parents[1]
# Of an honest sender, during each attack.
PUSHES = 10
# A gateway may keep so much more than before an attack; in KiB. Its allocator keeps some.
REST = 12 << 10
# Strangers fill the places of their own network, and those of all strangers.
PLACES_OF_NETWORK = 64
# A bad device may be linked, and leave, as often as its connections' rate allows: ten at once, and one each 6 s.
LINES_OF_DEVICE = 15
LINES_OF_STRANGERS = 1
# What its messages cause is logged once a minute.
LINES_OF_MESSAGES = 2
# The first limit that each network meets is logged, of so many networks a minute (LogThrottle).
LINES_OF_LIMITS = 64
# While a push is answered, the gateway may take so many packets of one peer at most.
PACKETS_MEANWHILE = 20_000
ELSEWHERE = "127.0.0.77"


@contextlib.contextmanager
def attack(name: str, site: Site, keys: list[DeviceKey]) -> Iterator[None]:
    """A stranger at work, in a process of its own."""
    host, port = site.address
    process = subprocess.Popen(
        [sys.executable, "-B", "-m", "support.link_attacks", name, host, str(port), *(str(key.pem) for key in keys)],
        cwd=INTEGRATION, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        # It is killed, and so its keys are not its own to remove.
        env=os.environ | {"TMPDIR": str(site.folder)},
    )  # fmt: skip
    try:
        assert process.stdout and process.stdout.readline() == "ready\n"
        yield
        assert process.poll() is None, "the attack has ended by itself"
    finally:
        process.kill()
        process.wait()


def again(act: Callable[[], object]) -> None:
    """Does something as a device would, which connects again: many networks' strangers may take its place meanwhile."""

    def works() -> bool:
        try:
            act()
        except (OSError, Gone) as error:
            failures.append(repr(error))
            return False
        return True

    failures: list[str] = []
    until(works, 60, lambda: f"an honest device to get through: {failures[-3:]}")
    print(f"it got through after {len(failures)} failures")


def honest_work(site: Site) -> None:
    """Pushes to a device that is linked, and another device that pairs, links, registers and gets a push."""
    for _ in range(PUSHES):
        site.ring()
    key = DeviceKey.make(site.folder)
    token = key.token()
    code = invitation(site.gateway)["code"]
    again(lambda: mqtt.pair(site.address, key, code, source=ELSEWHERE))
    again(lambda: get_a_push(site, key, token))


def get_a_push(site: Site, key: DeviceKey, token: str) -> None:
    with Link(site.address, key, source=ELSEWHERE) as link:
        assert link.connect(revision=0).reason == 0
        assert link.subscribe().reasons == [1]
        assert link.register(1, registration(token)).reason == 0
        call = str(uuid.uuid4())
        assert send(site.gateway, token, call).status == 200
        push = link.wait_for(PUBLISH)
        assert push.user["id"] == call
        link.send(puback_packet(push.packet_id))


@pytest.mark.parametrize("name", [*STRANGERS, *DEVICES])
def test_honest_devices_get_their_pushes_during_an_attack(name: str, site: Site) -> None:
    keys = [site.make_key() for _ in range(4)] if name in DEVICES else []
    site.ring()
    log, before = site.gateway.log_file.stat().st_size, processes.resident_kilobytes(site.gateway.pid)
    with attack(name, site, keys):
        honest_work(site)
        peak = processes.resident_kilobytes(site.gateway.pid)
    memory = lambda: processes.resident_kilobytes(site.gateway.pid)  # noqa: E731
    until(lambda: memory() < before + REST, 60, lambda: f"memory: {before} KiB before, {peak} then, now {memory()}")
    print(f"{name}: {before} KiB, {peak} KiB, {memory()} KiB")
    site.check()
    lines = site.lines(since=log)
    # The honest device that pairs has one more.
    often = {
        "notice a connection is closed, because it met a limit": LINES_OF_LIMITS,
        "info device linked": 1 + LINES_OF_DEVICE * len(keys), "info device unlinked": 1 + LINES_OF_DEVICE * len(keys),
        "info registrations of a device": 1 + LINES_OF_MESSAGES * len(keys),
        "notice a device's message was refused": LINES_OF_MESSAGES * len(keys),
    }  # fmt: skip
    excess = {line: count for line, count in lines.items() if count > often.get(line, LINES_OF_STRANGERS + 1)}
    assert not excess, lines


@pytest.mark.parametrize("purpose", ["pair", "link"])
def test_a_flood_of_small_packets_leaves_room_for_others(purpose: str, site: Site) -> None:
    """Nobody's packets are so many that others wait for them; a stranger's, who says that it pairs, neither."""
    key = DeviceKey.make(site.folder) if purpose == "pair" else site.make_key()
    site.ring()
    with Link(site.address, key, source="127.0.0.66") as link:
        assert link.connect(**({"pair": 1} if purpose == "pair" else {"revision": 0})).reason == 0
        answered, is_over = itertools.count(), threading.Event()
        flood = threading.Thread(target=ping_without_end, args=(link, answered, is_over))
        flood.start()
        try:
            until(lambda: next(answered) > 5 or not flood.is_alive(), 60, "the flood")
            before = next(answered)
            answer = send(site.gateway, site.token, str(uuid.uuid4()))
            meanwhile = next(answered) - before
        finally:
            is_over.set()
            flood.join()
    assert (answer.status, answer.reason) == (200, None)
    assert meanwhile < PACKETS_MEANWHILE


def ping_without_end(link: Link, answered: itertools.count, is_over: threading.Event) -> None:
    """Sends PINGREQs, and counts the answers; ends when the gateway has closed."""
    link.socket.setblocking(False)
    pings = packet(PINGREQ) * 10_000
    while not is_over.is_set():
        with contextlib.suppress(ssl.SSLWantWriteError, ssl.SSLWantReadError):
            try:
                link.socket.send(pings)
                while data := link.socket.recv(1 << 16):
                    for _ in range(len(data) // 2):
                        next(answered)
                return
            except (ssl.SSLEOFError, ConnectionError):
                return
        select.select([link.socket], [], [], 0.01)


# One network's strangers


@pytest.mark.parametrize("connect", [mqtt.tcp, mqtt.secured])
def test_the_strangers_of_one_network_push_out_only_their_own(site: Site, connect: Callable) -> None:
    key, code = DeviceKey.make(site.folder), invitation(site.gateway)["code"]
    with Link(site.address, key, source=ELSEWHERE) as link, contextlib.ExitStack() as held:
        assert link.connect(pair=1).reason == 0
        strangers = [
            held.enter_context(connect(site.address, source="127.0.0.66")) for _ in range(PLACES_OF_NETWORK + 20)
        ]
        # The oldest of them are gone.
        strangers[0].settimeout(mqtt.ANSWER_TIMEOUT)
        with contextlib.suppress(OSError):
            assert strangers[0].recv(1) == b""
        assert link.publish({"op": "pair", "code": code}).reason == 0
    site.ring()


def test_connections_that_say_nothing_are_closed(site: Site) -> None:
    with contextlib.closing(mqtt.secured(site.address)) as mute, Link(site.address, DeviceKey.make()) as pairing:
        assert pairing.connect(pair=1).reason == 0
        mute.settimeout(mqtt.ANSWER_TIMEOUT)
        assert mute.recv(1) == b""
        [last] = pairing.rest()
        assert (last.kind, last.reason) == (DISCONNECT, 0x87), last


# Anything


def test_mutated_packets_crash_nobody(site: Site) -> None:
    """Packets of a whole life, with bytes changed, at each place of it."""
    seed = int(os.environ.get("RINGWAKE_TEST_SEED") or random.randrange(1 << 32))
    print(f"RINGWAKE_TEST_SEED={seed}")
    generator = random.Random(seed)
    keys = [site.make_key() for _ in range(10)]
    for turn in range(100):
        key = keys[turn % len(keys)]
        up = f"ringwake/1/u/{key.id}"
        life = [
            connect_packet(key.id, (USER, ("revision", "0")), (MAXIMUM_PACKET, 9000)),
            subscribe_packet([(f"ringwake/1/d/{key.id}", 1)]), packet(PINGREQ),
            publish_packet(up, b'{"op":"registrations","revision":1,"registrations":[]}', 3),
            publish_packet(up, b'{"op":"receipts","receipts":[]}', 4), puback_packet(1), packet(10, b"\0\7\0" + mqtt.text("a")),
            packet(DISCONNECT, b"\0\0"),
        ]  # fmt: skip
        place = generator.randrange(len(life))
        mutated = bytearray(life[place])
        for _ in range(generator.randrange(1, 4)):
            match generator.randrange(3):
                case 0:
                    mutated[generator.randrange(len(mutated))] ^= 1 << generator.randrange(8)
                case 1:
                    del mutated[generator.randrange(len(mutated)) :]
                case 2:
                    mutated.insert(generator.randrange(len(mutated) + 1), generator.randrange(256))
            mutated = mutated or bytearray(b"\0")
        life[place] = bytes(mutated)
        with Link(site.address, key) as link, contextlib.suppress(Gone, OSError):
            link.send(b"".join(life))
            # What is cut off may wait for more.
            link.socket.unwrap()
    site.ring()
    site.check()


def test_a_revoked_device_stays_out_where_no_code_is_needed(make_daemon: Callable[..., Daemon]) -> None:
    gateway = make_gateway(make_daemon, more='admission = "open"\n').start()
    address, key = link_address(gateway), DeviceKey.make()
    assert mqtt.pair(address, key, "").reason == 0
    assert gateway.ringwake("gateway", "revoke", key.id).returncode == 0
    assert mqtt.pair(address, key, "").reason == 0x87
    with Link(address, key) as link:
        assert link.connect(revision=0).reason == 0x87


def test_a_device_for_whom_there_is_no_place_is_told_so(make_daemon: Callable[..., Daemon]) -> None:
    """Accepted links are not closed for the sake of others, or of strangers."""
    gateway = make_gateway(make_daemon)
    gateway.user = ["prlimit", "--nofile=256:256"]
    gateway.start()
    address, answers = link_address(gateway), []
    with contextlib.ExitStack() as held:
        for _ in range(70):
            key = DeviceKey.make()
            assert mqtt.pair(address, key, invitation(gateway)["code"]).reason == 0
            link = held.enter_context(Link(address, key))
            answers.append((link, link.connect(revision=0)))
        for link, answer in answers:
            if answer.reason:
                assert (answer.reason, "retry-after" in answer.user) == (0x89, True), answer
            else:
                link.send(packet(PINGREQ))
                assert link.receive().kind == mqtt.PINGRESP
