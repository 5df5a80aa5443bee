"""A stranger without credentials: `stranger.py PORT` begins three pushes, never ends them, and says when they have begun.

The machine has only Python's own library, so the frames are made here (RFC 9113 section 4.1; RFC 7541 section 6.2.2).
"""

import socket
import ssl
import struct
import sys
import time

SETTINGS, HEADERS, DATA, END_HEADERS = 4, 1, 0, 4


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def field(name: bytes, value: bytes) -> bytes:
    """A literal field that is not indexed."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.set_alpn_protocols(["h2"])
fields = b"".join([
    field(b":method", b"POST"), field(b":scheme", b"https"), field(b":path", b"/3/device/" + b"0" * 64),
    field(b":authority", b"x"),
])  # fmt: skip
kept = []
for _ in range(3):
    stream = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    stream.sendall(
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b"") + frame(HEADERS, END_HEADERS, 1, fields)
        + frame(DATA, 0, 1, b"{")
    )  # fmt: skip
    # The daemon's SETTINGS, then that it has read ours.
    received = b""
    while frame(SETTINGS, 1, 0, b"") not in received:
        received += stream.recv(4096) or sys.exit("the daemon hung up")
    kept.append(stream)
print("ready", flush=True)
time.sleep(60)
