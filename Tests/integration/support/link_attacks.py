"""Strangers and bad devices that attack a port for links, each in a process of its own; see `STRANGERS` and `DEVICES`.

    python -m support.link_attacks NAME HOST PORT [KEY.pem...]

Prints `ready` when the attack is at its height, and goes on until standard input ends, or its parent. Strangers come from
many addresses of the loopback network; bad devices have keys that the gateway knows.
"""

import itertools
import os
import random
import resource
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .mqtt import (
    AUTH_DATA, AUTH_METHOD, METHOD, PINGREQ, PUBACK, USER, DeviceKey, Gone, Link, connect_packet, number, packet,
    publish_packet, registration, secured, tcp,
)  # fmt: skip

# Connections that are held at a time: more than the gateway has places for strangers.
HELD = 1000
# An attack is at its height after so many connections, or rounds.
HEIGHT = 200
WRONG_CODE = b'{"op":"pair","code":"%s"}'


class Stranger:
    def __init__(self, host: str, port: int, keys: list[DeviceKey]) -> None:
        self.address = (host, port)
        self.keys = keys
        self.is_over = threading.Event()
        self.sources = (f"127.{1 + n // 64000 % 100}.{n // 250 % 250}.{1 + n % 250}" for n in itertools.count())
        self.lock = threading.Lock()
        self.count = 0

    def source(self) -> str:
        with self.lock:
            return next(self.sources)

    def tick(self) -> None:
        with self.lock:
            self.count += 1
            if self.count == HEIGHT:
                print("ready", flush=True)

    def hold(self, connect: Callable[[], socket.socket]) -> None:
        """Opens connections without end, and keeps the newest open."""
        held: list[socket.socket] = []
        while not self.is_over.is_set():
            try:
                held.append(connect())
            except OSError:
                time.sleep(0.01)
            self.tick()
            if len(held) > HELD:
                held.pop(0).close()

    def repeat(self, act: Callable[[], None], threads: int = 4) -> None:
        """Does something again and again, in several threads."""

        def run() -> None:
            while not self.is_over.is_set():
                try:
                    act()
                except (OSError, Gone):
                    time.sleep(0.005)
                self.tick()

        started = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    # Strangers

    def silent(self) -> None:
        """Connects and says nothing."""
        self.hold(lambda: tcp(self.address, self.source()))

    def half(self) -> None:
        """Sends half of a ClientHello."""
        self.hold(lambda: self.begun(0.5))

    def hello(self) -> None:
        """Sends a ClientHello, and leaves the handshake there."""
        self.hold(lambda: self.begun(1))

    def begun(self, part: float) -> socket.socket:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        out = ssl.MemoryBIO()
        try:
            context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
        except ssl.SSLWantReadError:
            pass
        data = out.read()
        plain = tcp(self.address, self.source())
        plain.sendall(data[: int(len(data) * part)])
        return plain

    def mute(self) -> None:
        """Makes TLS connections without a CONNECT."""
        self.hold(lambda: secured(self.address, source=self.source()))

    def slow(self) -> None:
        """Sends CONNECT byte by byte, and never the last one."""
        data = connect_packet("a" * 52, (USER, ("version", "x" * 200)))[:-1]

        def act() -> None:
            with secured(self.address, source=self.source()) as link:
                for at in range(len(data)):
                    link.sendall(data[at : at + 1])
                    if self.is_over.wait(0.02):
                        return
                link.recv(1)

        self.count = HEIGHT - 20
        self.repeat(act, 40)

    def unknown(self) -> None:
        """Connects with keys that the gateway doesn't know."""
        keys = [DeviceKey.make() for _ in range(20)]

        def act() -> None:
            with Link(self.address, random.choice(keys), source=self.source()) as link:
                link.connect(revision=0)

        self.repeat(act)

    def signatures(self) -> None:
        """Connects with signatures of a proper key over something else."""
        key = DeviceKey.make()

        def act() -> None:
            with Link(self.address, source=self.source()) as link:
                proof = key.proof(os.urandom(32))
                link.send(connect_packet(key.id, (AUTH_METHOD, METHOD), (AUTH_DATA, proof)))
                link.rest()

        self.repeat(act)

    def codes(self) -> None:
        """Tries codes to pair with."""
        key = DeviceKey.make()

        def act() -> None:
            with Link(self.address, key, source=self.source()) as link:
                link.connect(pair=1)
                code = "".join(random.choices("0123456789ABCDEFGHJKMNPQRSTVWXYZ", k=10))
                link.publish(WRONG_CODE % code.encode())
                link.rest()

        self.repeat(act)

    def messages(self) -> None:
        """Publishes nonsense instead of a code."""
        key = DeviceKey.make()

        def act() -> None:
            with Link(self.address, key, source=self.source()) as link:
                link.connect(pair=1)
                link.publish(os.urandom(random.randrange(100)))
                link.rest()

        self.repeat(act)

    def large(self) -> None:
        """Announces packets that are too large, and sends them."""

        def act() -> None:
            with secured(self.address, source=self.source()) as link:
                link.sendall(bytes([random.choice([0x10, 0x30, 0x32, 0x82])]) + number(1 << 27))
                for _ in range(20):
                    link.sendall(bytes(1 << 16))

        self.repeat(act)

    def garbage(self) -> None:
        """Sends anything."""

        def act() -> None:
            with secured(self.address, source=self.source()) as link:
                link.sendall(os.urandom(random.randrange(1, 4000)))
                link.recv(1000)

        self.repeat(act)

    # Devices

    def linked(self, key: DeviceKey) -> Link:
        link = Link(self.address, key, source="127.0.9.1")
        if link.connect(revision=0).reason:
            time.sleep(0.1)
            link.socket.close()
            raise Gone("refused")
        return link

    def each(self, act: Callable[[Link, DeviceKey], None]) -> None:
        """Every key, on a connection that is made again when it ends; in a thread for each."""
        waiting = iter(self.keys)

        def run() -> None:
            with self.lock:
                key = next(waiting)
            while not self.is_over.is_set():
                try:
                    with self.linked(key) as link:
                        while not self.is_over.is_set():
                            act(link, key)
                            self.tick()
                except (OSError, Gone):
                    time.sleep(0.005)

        threads = [threading.Thread(target=run, daemon=True) for _ in self.keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def deaf(self) -> None:
        """Never reads, and asks for answers."""
        pings = packet(PINGREQ) * 1000

        def act(link: Link, _: DeviceKey) -> None:
            link.send(pings)

        self.count = HEIGHT - 4
        self.each(act)

    def pings(self) -> None:
        """Sends PINGREQs, and reads the answers, until the gateway has enough of them."""

        def act(link: Link, _: DeviceKey) -> None:
            link.send(packet(PINGREQ) * 50)
            for _ in range(50):
                link.receive()

        # The gateway allows each key few connections, and each of these few packets.
        self.count = HEIGHT - 8
        self.each(act)

    def reconnects(self) -> None:
        """Connects as fast as it can: each takes over from the one before."""

        def act() -> None:
            with Link(self.address, random.choice(self.keys), source="127.0.9.1") as link:
                link.connect(revision=0)

        self.repeat(act)

    def twins(self) -> None:
        """Two machines have one key, and take over from each other at once."""

        def act() -> None:
            with Link(self.address, self.keys[0], source="127.0.9.1") as link:
                if link.connect(revision=0).reason == 0:
                    link.rest()

        self.count = HEIGHT - 40
        self.repeat(act, 2)

    def registrations(self) -> None:
        """Sends another 200 registrations each time."""
        revisions = itertools.count(1)

        def act(link: Link, key: DeviceKey) -> None:
            link.register(next(revisions), *(registration(key.token(), f"{slot:08x}") for slot in range(200)))

        self.count = HEIGHT - 20
        self.each(act)

    def refusals(self) -> None:
        """Sends messages that are refused."""

        def act(link: Link, _: DeviceKey) -> None:
            link.publish({"op": "nonsense"})

        self.each(act)

    def topics(self) -> None:
        """Publishes on topics that are not its own, as many at once as it may."""

        def act(link: Link, _: DeviceKey) -> None:
            link.send(b"".join(publish_packet("a", b"", packet_id) for packet_id in range(1, 16)))
            for _ in range(15):
                link.wait_for(PUBACK)

        self.each(act)

    def receipts(self) -> None:
        """Tells the largest receipts of pushes that never were."""
        stages = [{"stage": "s" * 128, "atUs": 1}] * 16
        one = {"sender": "s" * 128, "state": "s" * 128, "reason": "r" * 128, "attempt": 1, "at": 1, "stages": stages}

        def act(link: Link, _: DeviceKey) -> None:
            some = [one | {"slot": os.urandom(4).hex(), "id": os.urandom(60).hex()} for _ in range(20)]
            link.publish({"op": "receipts", "receipts": some})

        self.each(act)


STRANGERS = [
    "silent", "half", "hello", "mute", "slow", "unknown", "signatures", "codes", "messages", "large", "garbage",
]  # fmt: skip
DEVICES = [
    "deaf", "pings", "reconnects", "twins", "registrations", "refusals", "topics", "receipts",
]  # fmt: skip


def main() -> None:
    name, host, port, *files = sys.argv[1:]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    stranger = Stranger(host, int(port), [DeviceKey.load(Path(file)) for file in files])
    threading.Thread(target=getattr(stranger, name), daemon=True).start()
    sys.stdin.read()
    stranger.is_over.set()
    # Nothing that it holds is worth an orderly end.
    os._exit(0)


if __name__ == "__main__":
    main()
