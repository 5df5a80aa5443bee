"""A network card that wakes its sleeping machine for packets of one connection, as `wowlan` patterns of Wi-Fi cards do.

QEMU's cards can't, so this one is a process beside the tap device: it sees what is sent to the guest, and pulls the wake line
by QMP's `system_wakeup`.
"""

import contextlib
import socket
import struct
import threading
import time

from support.nat import PORT
from support.netns import Namespace

from .guest import TAP, Guest
from .image import LOCAL_PORT

# Only a socket for all protocols sees what is sent, packet(7).
ALL, IPV4, TCP = 0x0003, b"\x08\x00", 6


class Card:
    def __init__(self, network: Namespace, guest: Guest) -> None:
        self.guest = guest
        # Whether it is armed.
        self.is_armed = False
        # When it pulled the wake line, of the monotonic clock.
        self.pulls: list[float] = []
        with network.entered():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
            self._socket.bind((TAP, ALL))
        self._socket.settimeout(0.5)
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_closed:
            with contextlib.suppress(TimeoutError):
                frame, (_, _, kind, _, _) = self._socket.recvfrom(2048)
                if kind == socket.PACKET_OUTGOING and self.matches(frame) and self.is_armed and self.guest.monitor.is_asleep:
                    self.pulls.append(time.monotonic())
                    self.guest.monitor.wake_up()

    @staticmethod
    def matches(frame: bytes) -> bool:
        """A TCP packet from the gateway's port to the device's, with or without data."""
        header = 14 + (frame[14] & 15) * 4 if len(frame) > 34 else 34
        if len(frame) < header + 4 or frame[12:14] != IPV4 or frame[23] != TCP:
            return False
        return struct.unpack("!HH", frame[header : header + 4]) == (PORT, LOCAL_PORT)

    def close(self) -> None:
        self._is_closed = True
        self._thread.join()
        self._socket.close()
