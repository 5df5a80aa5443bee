"""A name server of a few lines: answers what it is told to, over UDP."""

import ipaddress
import socket
import struct
import threading
from collections import Counter

from support.netns import Namespace

PORT = 53
TYPE_A, TYPE_AAAA, CLASS_IN = 1, 28, 1
NXDOMAIN = 3
# How often it looks whether it is to end, in seconds.
LOOK = 0.2


class NameServer:
    """Answers for the names it knows; others do not exist. While `silent` it says nothing."""

    def __init__(self, network: Namespace, address: str) -> None:
        self.names: dict[str, list[str]] = {}
        self.silent = False
        # Questions about each name.
        self.asked: Counter[str] = Counter()
        self.ended = threading.Event()
        with network.entered():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(LOOK)
        self.socket.bind((address, PORT))
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self) -> "NameServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        self.socket.close()

    def _serve(self) -> None:
        while not self.ended.is_set():
            try:
                question, sender = self.socket.recvfrom(512)
            except TimeoutError:
                continue
            labels, place = [], 12
            while length := question[place]:
                labels.append(question[place + 1 : place + 1 + length].decode())
                place += 1 + length
            name = ".".join(labels).lower()
            self.asked[name] += 1
            if not self.silent:
                self.socket.sendto(self._answer(question, name, place), sender)

    def _answer(self, question: bytes, name: str, place: int) -> bytes:
        """RFC 1035 section 4: the header, the question again, and an address record for each that fits its type.

        `place` is where the name ends in the question.
        """
        kind = struct.unpack_from("!H", question, place + 1)[0]
        version = {TYPE_A: 4, TYPE_AAAA: 6}.get(kind)
        found = [ipaddress.ip_address(text) for text in self.names.get(name, [])]
        records = [address.packed for address in found if address.version == version]
        code = 0 if name in self.names else NXDOMAIN
        header = question[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        body = b"".join(
            struct.pack("!HHHIH", 0xC00C, kind, CLASS_IN, 1, len(record)) + record for record in records
        )
        return header + question[12 : place + 5] + body
