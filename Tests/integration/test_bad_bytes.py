"""Bytes that are no requests at all: on the TLS port, inside TLS, and on the control socket."""

import random
import socket
import ssl
import struct
import uuid

import pytest

from support import processes
from support.daemon import Daemon
from support.h2client import H2Client, push_fields
from support.pushing import start_call
from support.waiting import until

# The random bytes are the same in each run; another number gives others.
SEED = 20071
# Connections of each fuzz. Some thousands take some seconds.
ROUNDS = 600

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    """An HTTP/2 frame (RFC 9113 section 4.1)."""
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def read_to_the_end(connection: socket.socket, seconds: float = 0.05) -> bytes:
    """What comes until the daemon closes, or says nothing for a while."""
    connection.settimeout(seconds)
    data = b""
    try:
        while received := connection.recv(65536):
            data += received
    except (TimeoutError, ConnectionError, ssl.SSLError, OSError):
        pass
    return data


@pytest.fixture
def alive(daemon: Daemon):
    """A daemon that must still serve afterwards, without a connection left over."""
    yield daemon
    start_call(daemon)
    listeners = lambda: daemon.control.status()["listeners"]  # noqa: E731
    until(lambda: listeners()[0]["connections"] == 0, 30, lambda: f"all connections to be closed: {listeners()}")
    daemon.check_alive()


@pytest.mark.parametrize(
    "data",
    [b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", PREFACE + SETTINGS, b"\x00" * 4000, b"\xff" * 4000, b"\x16\x03\x01", b""],
    ids=["http", "h2 without TLS", "zeros", "ones", "half a record", "nothing"],
)
def test_no_tls_on_the_tls_port(alive: Daemon, data: bytes) -> None:
    for _ in range(20):
        with alive.connect() as connection:
            connection.sendall(data)
            read_to_the_end(connection, 0.01)


def tls(daemon: Daemon, context: ssl.SSLContext) -> ssl.SSLSocket:
    return context.wrap_socket(daemon.connect(), server_hostname="localhost")


BROKEN_HTTP_2 = {
    "http/1.1": b"POST /3/device/00 HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}",
    "no settings": PREFACE + frame(6, 0, 0, b"12345678"),
    "settings of 5 bytes": PREFACE + frame(4, 0, 0, b"12345"),
    "window of zero": PREFACE + SETTINGS + frame(8, 0, 0, bytes(4)),
    "window overflow": PREFACE + SETTINGS + frame(8, 0, 0, b"\x7f\xff\xff\xff") * 2,
    "even stream": PREFACE + SETTINGS + frame(1, 5, 2, b"\x82\x87"),
    "hpack index out of range": PREFACE + SETTINGS + frame(1, 5, 1, b"\xff\xff\xff\xff\x7f"),
    "hpack table too large": PREFACE + SETTINGS + frame(1, 5, 1, b"\x3f\xff\xff\xff\x7f"),
    "continuation of nothing": PREFACE + SETTINGS + frame(9, 4, 1, b"\x82"),
    "data on an idle stream": PREFACE + SETTINGS + frame(0, 1, 7, b"{}"),
    "frame too large": PREFACE + SETTINGS + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",
    "push promise": PREFACE + SETTINGS + frame(5, 4, 1, bytes(4) + b"\x82"),
    "padding longer than the frame": PREFACE + SETTINGS + frame(1, 0xD, 1, b"\xff\x82"),
    "goaway": PREFACE + SETTINGS + frame(7, 0, 0, bytes(8)),
    "unknown frames": PREFACE + SETTINGS + frame(99, 0xFF, 0, b"x" * 100) * 50,
    "half a header": PREFACE + SETTINGS + b"\x00\x00",
}


@pytest.mark.parametrize("data", BROKEN_HTTP_2.values(), ids=BROKEN_HTTP_2.keys())
def test_broken_http_2(alive: Daemon, data: bytes) -> None:
    with tls(alive, alive.credentials.context(certificate=True, alpn=["h2"])) as connection:
        connection.sendall(data)
        read_to_the_end(connection, 0.2)


# :method POST, :scheme https, :path /, :authority x, in HPACK (RFC 7541).
FIELDS = b"\x83\x87\x84\x41\x01x"

FLOODS = {
    "ping": frame(6, 0, 0, b"12345678"),
    "settings": SETTINGS,
    "reset": b"".join(frame(1, 5, 2 * n + 1, FIELDS) + frame(3, 0, 2 * n + 1, bytes(4)) for n in range(99)),
    "priority": b"".join(frame(2, 0, 1 + 2 * n, b"\x00\x00\x00\x00\x10") for n in range(200)),
    "empty continuation": frame(1, 1, 1, b"\x83") + frame(9, 0, 1) * 200,
    "empty data": frame(1, 4, 1, FIELDS) + frame(0, 0, 1) * 200,
}  # fmt: skip


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_neither_stops_nor_swells_it(alive: Daemon, flood: bytes) -> None:
    before = processes.resident_kilobytes(alive.pid)
    with tls(alive, alive.credentials.context(alpn=["h2"])) as connection:
        connection.settimeout(2)
        try:
            connection.sendall(PREFACE + SETTINGS)
            for _ in range(300):
                connection.sendall(flood)
        except (OSError, ssl.SSLError):
            pass  # Sent away, or no longer read: both are right.
        assert processes.resident_kilobytes(alive.pid) < before + 16 * 1024
        start_call(alive)


def test_random_bytes_inside_tls(alive: Daemon) -> None:
    chance = random.Random(SEED)
    context = alive.credentials.context(certificate=True, alpn=["h2"])
    session = None
    for _ in range(ROUNDS):
        connection = context.wrap_socket(alive.connect(), server_hostname="localhost", session=session)
        with connection:
            data = chance.choice([b"", PREFACE, PREFACE + SETTINGS]) + random_frames(chance)
            connection.sendall(data)
            read_to_the_end(connection, 0.002)
            session = session or connection.session


def random_frames(chance: random.Random) -> bytes:
    """Frames that are nearly right, or nothing like frames."""
    if chance.random() < 0.2:
        return chance.randbytes(chance.randrange(200))
    return b"".join(
        frame(chance.randrange(11), chance.randrange(256), chance.choice([0, 1, 1, 3, 2, 2**31 - 1]),
              chance.randbytes(chance.choice([0, 1, 4, 5, 6, 8, 9, 40, 300])))
        for _ in range(chance.randrange(1, 8))
    )  # fmt: skip


def test_a_good_request_with_single_bytes_changed(alive: Daemon) -> None:
    """Some of these are still good requests; all others must be refused, by an answer or by closing."""
    chance = random.Random(SEED)
    context = alive.credentials.context(certificate=True, alpn=["h2"])
    with H2Client(alive.host_and_port, context) as template:
        template.h2.send_headers(1, push_fields(alive.device_token(), apns_id=str(uuid.UUID(int=1))))
        template.h2.send_data(1, b'{"a":1}', end_stream=True)
        request = template.h2.data_to_send()
        session = template.socket.session
    for _ in range(ROUNDS):
        changed = bytearray(request)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        connection = context.wrap_socket(alive.connect(), server_hostname="localhost", session=session)
        with connection:
            connection.sendall(PREFACE + SETTINGS + bytes(changed))
            read_to_the_end(connection, 0.002)


REQUESTS = [
    b"GET /v1/status HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"POST /v1/calls/x/report HTTP/1.1\r\nhost: localhost\r\ncontent-length: 13\r\n\r\n{\"ring\":true}",
    b"GET /v1/events?app=com.example.phone HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\n\r\n",
    b"POST /v1/reload HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
]


def control_connection(daemon: Daemon) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(5)
    connection.connect(str(daemon.control_socket))
    return connection


def test_random_bytes_on_the_control_socket(alive: Daemon) -> None:
    chance = random.Random(SEED)
    for _ in range(ROUNDS):
        request = bytearray(chance.choice(REQUESTS))
        if chance.random() < 0.2:
            request = bytearray(chance.randbytes(chance.randrange(1, 300)))
        for _ in range(chance.randrange(4)):
            request[chance.randrange(len(request))] = chance.randrange(256)
        with control_connection(alive) as connection:
            connection.sendall(request)
            read_to_the_end(connection, 0.001)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", b"400"),
        (b"GET /v1/status HTTP/2.0\r\nhost: x\r\n\r\n", b"505"),
        (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", b"414"),
        (b"GET /v1/status HTTP/1.1\r\nx: " + b"y" * 100_000 + b"\r\n\r\n", b"431"),
        (b"GET /v1/status HTTP/1.1\r\n" + b"x: y\r\n" * 5000 + b"\r\n", b"431"),
        (b"POST /v1/reload HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n", b"4"),
        (b"POST /v1/reload HTTP/1.1\r\nhost: x\r\ncontent-length: 999999999\r\n\r\n", b"413"),
        (b"POST /v1/reload HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", b"400"),
        (b"POST /v1/reload HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", b"400"),
        (b"POST /v1/reload HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n", b"501"),
        (b"POST /v1/reload HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n", b"501"),
        (b"GET /v1/%zz HTTP/1.1\r\nhost: x\r\n\r\n", b"400"),
        (b"GET /v1/calls/%00%ff HTTP/1.1\r\nhost: x\r\n\r\n", b"400"),
        (b"BREW /v1/status HTTP/1.1\r\nhost: x\r\n\r\n", b"400"),
    ],
)
def test_a_broken_control_request_has_an_answer(alive: Daemon, request_bytes: bytes, status: bytes) -> None:
    with control_connection(alive) as connection:
        try:
            connection.sendall(request_bytes)
        except (BrokenPipeError, ConnectionResetError):
            pass  # It need not read all of a request that it refuses.
        answer = read_to_the_end(connection, 1)
    assert answer.startswith(b"HTTP/1.1 " + status), answer[:200]
