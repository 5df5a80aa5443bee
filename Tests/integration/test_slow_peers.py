"""Peers that stall at each stage of a connection: one deadline for the stage, which trickling does not extend."""

import socket
import ssl
import threading
import time
import uuid

import pytest

from support.credentials import Credentials
from support.daemon import Daemon
from support.h2client import H2Client, push_fields
from support.waiting import until

# The longest deadline of a stage is 15 s, and it may be noticed a little late.
LONGEST_STAGE = 25
# How often a trickling peer sends its next byte, in seconds.
TRICKLE = 0.5

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def tcp(daemon: Daemon) -> socket.socket:
    connection = daemon.connect()
    connection.settimeout(LONGEST_STAGE)
    return connection


def tls(daemon: Daemon) -> ssl.SSLSocket:
    return daemon.credentials.context(alpn=["h2"]).wrap_socket(tcp(daemon), server_hostname="localhost")


def control(daemon: Daemon) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(LONGEST_STAGE)
    connection.connect(str(daemon.control_socket))
    return connection


def half_request(daemon: Daemon) -> bytes:
    """A whole HEADERS frame of a push and half of its body's frame, on a connection of its own."""
    with H2Client(daemon.host_and_port, daemon.credentials.context()) as template:
        fields = push_fields(daemon.device_token(), authorization=daemon.credentials.authorization())
        template.h2.send_headers(1, fields)
        template.h2.send_data(1, b'{"from":"sip:alice@example.com"}', end_stream=True)
        return template.h2.data_to_send()[:-10]


STAGES = {
    "TCP, silent": (tcp, b"", b""),
    "TLS hello, a byte at a time": (tcp, b"\x16\x03\x01\x02\x00", b"\x01\x00\x01\xfc\x03\x03" + bytes(200)),
    "TLS, silent": (tls, b"", b""),
    "preface, a byte at a time": (tls, b"", PREFACE + SETTINGS),
    "control socket, a byte at a time": (control, b"", b"GET /v1/status HTTP/1.1\r\nx-long: " + b"y" * 200),
    "control socket, half a body": (control, b"POST /v1/reload HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{", b""),
}


class SlowPeer(threading.Thread):
    """Sends `first` at once and `rest` byte by byte; notes how long the daemon put up with it."""

    def __init__(self, connection: socket.socket, first: bytes, rest: bytes):
        super().__init__(daemon=True)
        self.connection, self.first, self.rest = connection, first, rest
        self.patience: float | None = None
        self.start()

    def run(self) -> None:
        started = time.monotonic()
        try:
            self.connection.sendall(self.first)
            for byte in self.rest:
                if self._closed_within(TRICKLE):
                    break
                self.connection.sendall(bytes([byte]))
            else:
                if not self._closed_within(LONGEST_STAGE):
                    return
        except OSError:
            pass
        self.patience = time.monotonic() - started

    def _closed_within(self, seconds: float) -> bool:
        """Reads for so long; whether the daemon closed."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.connection.settimeout(left)
            try:
                if not self.connection.recv(65536):
                    return True
            except TimeoutError:
                return False
        return False


@pytest.fixture
def patient(make_daemon, credentials: Credentials) -> Daemon:
    daemon = make_daemon()
    daemon.add_app("true")
    return daemon.start()


def test_every_stage_has_an_end(patient: Daemon) -> None:
    """All at once: each takes its deadline, and meanwhile others are served."""
    peers = {name: SlowPeer(connect(patient), first, rest) for name, (connect, first, rest) in STAGES.items()}
    request = half_request(patient)
    peers["half a push, a byte at a time"] = SlowPeer(tls(patient), PREFACE + SETTINGS + request, b"x" * 9)
    peers["half a push, silent"] = SlowPeer(tls(patient), PREFACE + SETTINGS + request, b"")
    with H2Client(patient.host_and_port, patient.credentials.context(certificate=True)) as client:
        while any(peer.is_alive() for peer in peers.values()):
            call = str(uuid.uuid4())
            assert client.push(patient.device_token(), apns_id=call).status == 200
            time.sleep(1)
        # An idle connection is none of these: senders keep theirs for days.
        assert client.push(patient.device_token()).status == 200
    endless = [name for name, peer in peers.items() if peer.patience is None]
    assert not endless
    listeners = lambda: patient.control.status()["listeners"]  # noqa: E731
    until(lambda: listeners()[0]["connections"] == 0, 10, lambda: f"all connections to be closed: {listeners()}")
    patient.check_alive()
