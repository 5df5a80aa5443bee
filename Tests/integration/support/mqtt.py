"""A tiny MQTT 5 client over TLS that says what a test wants, also what no device may say; see Documentation/link.md.

    key = DeviceKey.make(folder)
    with Link(address, key) as link:
        link.connect(revision=0)
        link.subscribe()
        push = link.receive()
"""

import atexit
import base64
import datetime
import functools
import hashlib
import json
import os
import shutil
import socket
import ssl
import struct
import tempfile
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from .credentials import APP, TOPIC

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK, UNSUBSCRIBE = range(1, 11)
UNSUBACK, PINGREQ, PINGRESP, DISCONNECT, AUTH = range(11, 16)
METHOD = "ringwake-es256"
# How long the gateway may take for an answer, in seconds.
ANSWER_TIMEOUT = 60
# Identifiers of properties (section 2.2.2.2) with their types; `u` is a user property.
TYPES = {
    1: "B", 2: "I", 3: "s", 8: "s", 9: "b", 11: "v", 17: "I", 18: "s", 19: "H", 21: "s", 22: "b", 23: "B", 24: "I",
    25: "B", 26: "s", 28: "s", 31: "s", 33: "H", 34: "H", 35: "H", 36: "B", 37: "B", 38: "u", 39: "I", 40: "B", 41: "B",
    42: "B",
}  # fmt: skip
SESSION_EXPIRY, AUTH_METHOD, AUTH_DATA, REQUEST_PROBLEMS, REASON, RECEIVE_MAXIMUM, TOPIC_ALIAS = 17, 21, 22, 23, 31, 33, 35
USER, MAXIMUM_PACKET, SUBSCRIPTION_ID = 38, 39, 11


class Gone(Exception):
    """The gateway has closed the connection."""


# Bytes


def number(value: int) -> bytes:
    """A variable byte integer (section 1.5.5)."""
    out = bytearray()
    while True:
        value, low = divmod(value, 128)
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(">H", len(data)) + data


def properties(*pairs: tuple[int, object]) -> bytes:
    """The properties of a packet, with their length; a user property's value is a pair."""
    out = b""
    for name, value in pairs:
        match TYPES[name]:
            case "s" | "b":
                out += bytes([name]) + text(value)
            case "u":
                out += bytes([name]) + text(value[0]) + text(value[1])
            case "v":
                out += bytes([name]) + number(value)
            case form:
                out += struct.pack(">B" + form, name, value)
    return number(len(out)) + out


def packet(kind: int, body: bytes = b"", flags: int | None = None) -> bytes:
    usual = 2 if kind in (PUBREL, SUBSCRIBE, UNSUBSCRIBE) else 2 if kind == PUBLISH else 0
    return bytes([kind << 4 | (usual if flags is None else flags)]) + number(len(body)) + body


def connect_packet(
    client: str, *pairs: tuple[int, object], keep_alive: int = 0, flags: int = 2, name: str = "MQTT", version: int = 5,
    tail: bytes = b"",
) -> bytes:  # fmt: skip
    head = text(name) + bytes([version, flags]) + struct.pack(">H", keep_alive)
    return packet(CONNECT, head + properties(*pairs) + text(client) + tail)


def publish_packet(topic: str, payload: bytes, packet_id: int | None = 1, *pairs, flags: int = 2) -> bytes:
    identifier = b"" if packet_id is None else struct.pack(">H", packet_id)
    return packet(PUBLISH, text(topic) + identifier + properties(*pairs) + payload, flags)


def subscribe_packet(filters: Iterable[tuple[str, int]], packet_id: int = 1, *pairs) -> bytes:
    listed = b"".join(text(name) + bytes([options]) for name, options in filters)
    return packet(SUBSCRIBE, struct.pack(">H", packet_id) + properties(*pairs) + listed)


def puback_packet(packet_id: int, reason: int = 0) -> bytes:
    return packet(PUBACK, struct.pack(">HB", packet_id, reason) + b"\0")


@dataclass
class Packet:
    """What the gateway sent."""

    kind: int
    flags: int
    packet_id: int = 0
    # Of CONNACK, PUBACK and DISCONNECT.
    reason: int = 0
    # Of SUBACK and UNSUBACK.
    reasons: list[int] = field(default_factory=list)
    topic: str = ""
    payload: bytes = b""
    properties: dict[int, object] = field(default_factory=dict)
    user: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """Its reason string."""
        return str(self.properties.get(REASON, ""))

    @classmethod
    def read(cls, first: int, body: bytes) -> "Packet":
        made = cls(first >> 4, first & 15)
        at = 0
        if made.kind == PUBLISH:
            size = struct.unpack_from(">H", body)[0]
            made.topic, at = body[2 : 2 + size].decode(), 2 + size
        if made.kind in (PUBLISH, PUBACK, SUBACK, UNSUBACK):
            made.packet_id, at = struct.unpack_from(">H", body, at)[0], at + 2
        if made.kind == CONNACK:
            at = 1
        if made.kind in (CONNACK, PUBACK, DISCONNECT) and at < len(body):
            made.reason, at = body[at], at + 1
        if at < len(body) and made.kind != PINGRESP:
            at = made._read_properties(body, at)
        if made.kind in (SUBACK, UNSUBACK):
            made.reasons = list(body[at:])
        made.payload = body[at:]
        return made

    def _read_properties(self, body: bytes, at: int) -> int:
        size, at = read_number(body, at)
        end = at + size

        def take() -> bytes:
            nonlocal at
            length = struct.unpack_from(">H", body, at)[0]
            at += 2 + length
            return body[at - length : at]

        while at < end:
            name, at = body[at], at + 1
            match TYPES[name]:
                case "s":
                    self.properties[name] = take().decode()
                case "b":
                    self.properties[name] = take()
                case "u":
                    pair = take().decode(), take().decode()
                    self.user[pair[0]] = pair[1]
                case "v":
                    self.properties[name], at = read_number(body, at)
                case form:
                    [self.properties[name]] = struct.unpack_from(">" + form, body, at)
                    at += struct.calcsize(form)
        return end


def read_number(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (body[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if not body[at - 1] & 128:
            return value, at


# Keys


@dataclass(frozen=True)
class DeviceKey:
    """A device's key, with a self-signed certificate in a file."""

    key: ec.EllipticCurvePrivateKey
    public: bytes
    id: str
    pem: Path

    @classmethod
    def make(cls, folder: Path | None = None) -> "DeviceKey":
        """A new key; its file is in `folder`, or goes with the process."""
        key = ec.generate_private_key(ec.SECP256R1())
        pem = (folder or _temporary()) / f"{uuid.uuid4()}.pem"
        pem.write_bytes(private_pem(key) + certificate(key))
        return cls.load(pem)

    @classmethod
    def load(cls, pem: Path) -> "DeviceKey":
        key = serialization.load_pem_private_key(pem.read_bytes(), None)
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        public = key.public_key().public_bytes(serialization.Encoding.DER, form)
        name = base64.b32encode(hashlib.sha256(public).digest()).decode().lower().rstrip("=")
        return cls(key, public, name, pem)

    def sign(self, message: bytes) -> bytes:
        r, s = decode_dss_signature(self.key.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def proof(self, exporter: bytes, time: int = 0, device: str | None = None) -> bytes:
        """Authentication Data for the exporter of a connection."""
        stamp = struct.pack(">Q", time)
        return self.public + stamp + self.sign(b"ringwake link 1" + (device or self.id).encode() + stamp + exporter)

    def token(self, environment: str = "development") -> str:
        r = os.urandom(16)
        return (r + hashlib.sha256(f"ringwake token 1{self.id}{environment}".encode() + r).digest()[:16]).hex()


@functools.cache
def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="ringwake-keys-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def private_pem(key) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def certificate(key) -> bytes:
    """Self-signed, and long expired: only the key counts."""
    nobody, then = x509.Name([]), datetime.datetime(2020, 1, 1)
    builder = x509.CertificateBuilder(nobody, nobody, key.public_key(), x509.random_serial_number(), then)
    signed = builder.not_valid_after(datetime.datetime(2021, 1, 1)).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM)


def registration(token: str, slot: str | None = None, app: str = APP, topic: str = TOPIC) -> dict:
    return {
        "slot": slot or os.urandom(4).hex(), "app": app, "topics": [topic], "environment": "development",
        "token": hashlib.sha256(bytes.fromhex(token)).hexdigest(),
    }  # fmt: skip


# Connections


def secured(
    address: tuple[str, int], key: DeviceKey | None = None, *, source: str = "127.0.0.1", alpn: str | None = "mqtt"
) -> ssl.SSLSocket:
    """A TLS connection that doesn't look at the gateway's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if key:
        context.load_cert_chain(key.pem)
    if alpn:
        context.set_alpn_protocols([alpn])
    return context.wrap_socket(tcp(address, source), server_hostname="localhost")


def tcp(address: tuple[str, int], source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(address, ANSWER_TIMEOUT, (source, 0))


class Link:
    """One connection to a gateway's port for links, after its TLS handshake."""

    def __init__(self, address: tuple[str, int], key: DeviceKey | None = None, **options) -> None:
        self.key = key
        self.socket = secured(address, key, **options)
        self.buffer = b""
        self.last_id = 0

    def __enter__(self) -> "Link":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    @property
    def down(self) -> str:
        return f"ringwake/1/d/{self.key.id}"

    @property
    def up(self) -> str:
        return f"ringwake/1/u/{self.key.id}"

    def send(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except (ssl.SSLError, ConnectionError) as error:
            raise Gone(str(error)) from None

    def receive(self) -> Packet:
        """The next packet; raises `Gone` at the end."""
        while True:
            if found := self._cut():
                return found
            try:
                data = self.socket.recv(65536)
            except (ssl.SSLError, ConnectionError) as error:
                raise Gone(str(error)) from None
            if not data:
                raise Gone("closed")
            self.buffer += data

    def _cut(self) -> Packet | None:
        for size in range(2, min(5, len(self.buffer)) + 1):
            if not self.buffer[size - 1] & 0x80:
                length, start = read_number(self.buffer, 1)
                if len(self.buffer) < start + length:
                    return None
                body, first = self.buffer[start : start + length], self.buffer[0]
                self.buffer = self.buffer[start + length :]
                return Packet.read(first, body)
        return None

    def wait_for(self, kind: int) -> Packet:
        while True:
            if (found := self.receive()).kind == kind:
                return found

    def rest(self) -> list[Packet]:
        """All packets until the gateway closes."""
        found = []
        while True:
            try:
                found.append(self.receive())
            except Gone:
                return found

    def connect(self, *pairs: tuple[int, object], client: str | None = None, **user: object) -> Packet:
        """CONNECT with the key of the certificate; answers CONNACK."""
        named = [(USER, (name, str(value))) for name, value in user.items()]
        self.send(connect_packet(client or self.key.id, *pairs, *named))
        return self.receive()

    def subscribe(self) -> Packet:
        self.send(subscribe_packet([(self.down, 1)]))
        return self.wait_for(SUBACK)

    def publish(self, message: dict | bytes, topic: str | None = None) -> Packet:
        """Publishes on the device's topic, and answers PUBACK; pushes that come before are lost on this connection."""
        self.last_id += 1
        payload = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.send(publish_packet(topic or self.up, payload, self.last_id))
        return self.wait_for(PUBACK)

    def register(self, revision: int, *registrations: dict) -> Packet:
        return self.publish({"op": "registrations", "revision": revision, "registrations": list(registrations)})


def pair(address: tuple[str, int], key: DeviceKey, code: str, **options) -> Packet:
    """Makes the key known to the gateway; answers PUBACK."""
    with Link(address, key, **options) as link:
        assert link.connect(pair=1).reason == 0
        return link.publish({"op": "pair", "code": code, "name": key.id[:8]})
