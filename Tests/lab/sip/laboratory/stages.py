"""The times of one call's stages, from the packets that passed the server and from what the daemon wrote down."""

from dataclasses import dataclass

# Imported first: it adds the folder of the integration tests to the path.
from . import programs  # noqa: F401

from sip.capture import PUSH, TCP, Capture, Packet
from sip.exchange import DEVICE

MS = 1_000_000


@dataclass(frozen=True)
class Times:
    """When each happened, in nanoseconds of CLOCK_REALTIME; nil where there was no such thing."""

    invite: int
    push: int | None
    # Whether that push made a connection first.
    connected: bool
    handler: int | None
    register: int | None
    delivered: int
    ringing: int


def of(capture: Capture, call: str, handler: int | None) -> Times:
    """The stages of the one call that was made while this was captured."""
    packets = capture.packets()

    def first(kind: str, link: str, outgoing: bool, its: str = "") -> int | None:
        return next(
            (packet.at for packet in packets if packet.is_sip and (packet.link, packet.outgoing) == (link, outgoing)
             and packet.kind == kind and its in ("", packet.call)), None,
        )  # fmt: skip

    invite = needed(first("INVITE", "caller", False, call), "INVITE")
    pushes = [packet for packet in packets if is_push(packet) and packet.at >= invite]
    with_data = [packet for packet in pushes if packet.data]
    return Times(
        invite, with_data[0].at if with_data else None, any(is_greeting(packet) for packet in with_data), handler,
        first("REGISTER", "device", False), needed(first("INVITE", "device", True, call), "INVITE to the device"),
        needed(first("180 INVITE", "caller", True, call), "180"),
    )  # fmt: skip


def needed(at: int | None, what: str) -> int:
    assert at is not None, f"no {what} passed the server"
    return at


def is_push(packet: Packet) -> bool:
    """From the server to the daemon."""
    return packet.protocol == TCP and packet.destination == (DEVICE, PUSH) and packet.link == "device"


def is_greeting(packet: Packet) -> bool:
    """A ClientHello: a record of the type handshake (RFC 8446 section 5.1) whose message is of type 1."""
    return packet.data[:1] == b"\x16" and packet.data[5:6] == b"\x01"
