"""The packets of a namespace, with the kernel's time of each: whole SIP messages, and how much RTP went which way.

    with Capture(server) as capture:
        ...
        capture.messages()     # what was said in SIP, in order
        capture.rtp("203.0.113.2")   # packets of RTP that it sent

They wait in the kernel until they are asked for, so that nothing runs beside what is measured.
"""

import ipaddress
import re
import socket
import struct
from dataclasses import dataclass

from support.netns import Namespace

ETH_P_ALL = 0x0003
# asm/socket.h; Python knows no name for it.
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
# Some thousands of packets, with what the kernel needs for each.
BUFFER = 32 * 1024 * 1024
SIP, PUSH = 5060, 2197
TCP, UDP = 6, 17


@dataclass(frozen=True)
class Packet:
    """One packet of UDP or TCP as it passed a link."""

    at: int  # nanoseconds, CLOCK_REALTIME
    link: str
    outgoing: bool
    source: tuple[str, int]
    destination: tuple[str, int]
    protocol: int
    data: bytes

    @property
    def is_sip(self) -> bool:
        return self.protocol == UDP and SIP in (self.source[1], self.destination[1])

    @property
    def first_line(self) -> str:
        return self.data.partition(b"\r\n")[0].decode(errors="replace")

    def header(self, name: str) -> str:
        """A header field's value; empty where it is not there."""
        found = re.search(rf"(?im)^{name}\s*:\s*(.*?)\r?$", self.data.decode(errors="replace"))
        return found[1] if found else ""

    @property
    def call(self) -> str:
        return self.header("Call-ID")

    @property
    def kind(self) -> str:
        """A request's method, or an answer's status and the method that it answers: `180 INVITE`."""
        words = self.first_line.split()
        if not words:
            return ""
        if words[0] != "SIP/2.0":
            return words[0]
        return f"{words[1]} {self.header('CSeq').split()[-1]}"


class Capture:
    """What passes all links of a namespace between entering and leaving it."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.seen: list[Packet] = []

    def __enter__(self) -> "Capture":
        with self.namespace.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        self.socket.setblocking(False)
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def packets(self) -> list[Packet]:
        """Everything so far, in order."""
        while True:
            try:
                data, controls, _, address = self.socket.recvmsg(65536, 256)
            except BlockingIOError:
                return self.seen
            packet = parsed(data, stamp(controls), address[0], address[2] == socket.PACKET_OUTGOING)
            if packet:
                self.seen.append(packet)

    def messages(self, kind: str = "", call: str = "") -> list[Packet]:
        """What was said in SIP: of this kind and call, where they are named."""
        return [
            packet for packet in self.packets()
            if packet.is_sip and packet.kind and kind in ("", packet.kind) and call in ("", packet.call)
        ]  # fmt: skip

    def rtp(self, source: str) -> int:
        """How many packets of UDP beside SIP came from this address; each is counted where it enters."""
        return sum(
            packet.protocol == UDP and not packet.is_sip and not packet.outgoing and packet.source[0] == source
            for packet in self.packets()
        )

    def clear(self) -> None:
        self.packets()
        self.seen = []


def stamp(controls: list[tuple[int, int, bytes]]) -> int:
    """The time in a packet's control messages, in nanoseconds."""
    for level, kind, data in controls:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return seconds * 1_000_000_000 + nanoseconds
    raise AssertionError("the kernel gives packets no time")


def parsed(data: bytes, at: int, link: str, outgoing: bool) -> Packet | None:
    """The packet in these octets, where it is UDP or TCP over IPv4."""
    if len(data) < 20 or data[0] >> 4 != 4 or data[9] not in (TCP, UDP):
        return None
    start = (data[0] & 15) * 4
    if len(data) < start + 20 and data[9] == TCP or len(data) < start + 8:
        return None
    source_port, destination_port = struct.unpack_from("!HH", data, start)
    length = struct.unpack_from("!H", data, 2)[0]
    payload = start + (8 if data[9] == UDP else (data[start + 12] >> 4) * 4)
    return Packet(
        at, link, outgoing, (str(ipaddress.ip_address(data[12:16])), source_port),
        (str(ipaddress.ip_address(data[16:20])), destination_port), data[9], data[payload:length],
    )  # fmt: skip
