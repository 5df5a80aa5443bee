"""Strangers who attack a port for pushes, each in a process of its own; see `ATTACKS`.

    python -m support.attacks NAME HOST PORT

Prints `ready` when the attack is at its height, and goes on until standard input ends, or its parent. Each stranger comes from many addresses of the loopback network, unless the attack is about one connection.
"""

import itertools
import resource
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Iterator

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM, END_HEADERS = 1, 4
INITIAL_WINDOW_SIZE = 4
# Connections that the attacks hold at a time: more than the daemon has places for.
HELD = 4500


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def head(*more: tuple[str, str]) -> bytes:
    """The header block of a push without a credential. Nothing in it depends on earlier blocks."""
    encoder = hpack.Encoder()
    encoder.header_table_size = 0
    fields = [(":method", "POST"), (":scheme", "https"), (":path", "/3/device/" + "00" * 32), ("host", "localhost"),
              ("apns-topic", "org.example.phone.voip"), *more]  # fmt: skip
    return encoder.encode(fields)


class Stranger:
    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.is_over = threading.Event()
        self.sources = (f"127.{1 + n // 64000 % 100}.{n // 250 % 250}.{1 + n % 250}" for n in itertools.count())
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE

    # Connections

    def tcp(self, source: str = "127.0.0.1") -> socket.socket:
        plain = socket.socket()
        plain.settimeout(30)
        plain.bind((source, 0))
        plain.connect(self.target)
        return plain

    def http2(self, source: str = "127.0.0.1", window: int | None = None) -> ssl.SSLSocket:
        secured = self.context.wrap_socket(self.tcp(source), server_hostname="localhost")
        settings = b"" if window is None else struct.pack(">HI", INITIAL_WINDOW_SIZE, window)
        secured.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        return secured

    def each(self) -> Iterator[int]:
        """Numbers until the attack is over."""
        for number in itertools.count():
            if self.is_over.is_set():
                return
            yield number

    def hold(self, connect) -> None:
        """Opens connections without end, and keeps the newest open."""
        held: list[socket.socket] = []
        for number in self.each():
            try:
                held.append(connect(next(self.sources)))
            except OSError:
                time.sleep(0.01)
            if number == 600:
                print("ready", flush=True)
            if len(held) > HELD:
                held.pop(0).close()

    def repeat(self, connections: int, connect, act) -> None:
        """Keeps some connections busy, each in a thread; one that the daemon closes is made again."""

        def run() -> None:
            for _ in self.each():
                try:
                    with connect() as connection:
                        for _ in self.each():
                            act(connection)
                except OSError:
                    time.sleep(0.01)

        threads = [threading.Thread(target=run) for _ in range(connections)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        print("ready", flush=True)
        for thread in threads:
            thread.join()

    def drain(self, connection: ssl.SSLSocket) -> None:
        """Reads what has come; raises when the daemon has closed."""
        connection.settimeout(0.05)
        try:
            if not connection.recv(1 << 20):
                raise ConnectionResetError
        except TimeoutError:
            pass
        finally:
            connection.settimeout(30)

    # Attacks

    def silent(self) -> None:
        """Connects and says nothing."""
        self.hold(self.tcp)

    def idle(self) -> None:
        """Connects with TLS and HTTP/2, and requests nothing."""
        self.hold(self.http2)

    def bodies(self) -> None:
        """1,000 open requests with 5 kB each on a connection, which never end."""
        block, body = head(), b"x" * 5000
        requests = b"".join(
            frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, 0, stream, body) for stream in range(1, 2001, 2)
        )
        self.repeat(6, lambda: self.begun(requests), self.drain)

    def window(self) -> None:
        """1,000 requests on a connection that has no window for their answers."""
        block = head()
        requests = b"".join(frame(HEADERS, END_HEADERS | END_STREAM, stream, block) for stream in range(1, 2001, 2))
        self.repeat(30, lambda: self.begun(requests, window=0), self.drain)

    def begun(self, requests: bytes, window: int | None = None) -> ssl.SSLSocket:
        connection = self.http2(next(self.sources), window)
        connection.sendall(requests)
        return connection

    def pings(self) -> None:
        """PING frames, whose answers are read."""
        self.repeat(2, self.http2, self.flood(frame(PING, 0, 0, bytes(8)) * 1000))

    def settings(self) -> None:
        """SETTINGS frames, whose answers are read."""
        self.repeat(2, self.http2, self.flood(frame(SETTINGS, 0, 0) * 1000))

    def flood(self, frames: bytes):
        def act(connection: ssl.SSLSocket) -> None:
            connection.sendall(frames)
            self.drain(connection)

        return act

    def refusals(self) -> None:
        """Requests with forged tokens, as many as the daemon answers."""
        block = head(("authorization", "bearer eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyMzRERUYifQ.e30." + "A" * 86))

        def act(connection: ssl.SSLSocket) -> None:
            for first in range(1, 60000, 200):
                connection.sendall(b"".join(
                    frame(HEADERS, END_HEADERS | END_STREAM, stream, block) for stream in range(first, first + 200, 2)
                ))  # fmt: skip
                self.drain(connection)
            raise ConnectionResetError

        self.repeat(4, lambda: self.http2(next(self.sources)), act)


ATTACKS = ["silent", "idle", "bodies", "window", "pings", "settings", "refusals"]


def main() -> None:
    name, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    stranger = Stranger(host, port)
    attack = threading.Thread(target=getattr(stranger, name), daemon=True)
    attack.start()
    sys.stdin.read()
    stranger.is_over.set()


if __name__ == "__main__":
    main()
