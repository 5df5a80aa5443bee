"""Ports for programs that cannot choose one of their own and say which.

A port that was found free and closed again is anybody's: the kernel gives it to the next socket that asks for any.
These are from below the range that the kernel gives away, and each is leased until the process of the tests ends.
"""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

ADDRESS = "127.0.0.1"
# Below is what a program may be told to take by itself, such as baresip for its sound.
FIRST = 20001
KINDS = (socket.SOCK_STREAM, socket.SOCK_DGRAM)

_leases: list[socket.socket] = []


def lease(count: int = 1) -> int:
    """The first of as many ports, one after the other: free for TCP and UDP, and no other test is given one of them."""
    for port in _candidates(count):
        if _takes(range(port, port + count)):
            return port
    raise AssertionError(f"no {count} ports that follow one another are free from {FIRST} on")


def _candidates(count: int) -> Iterator[int]:
    """All of them; each process begins somewhere else, so that they seldom meet."""
    end = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]) - count
    span = end - FIRST
    begin = os.getpid() * 64 + len(_leases)
    return (FIRST + (begin + step) % span for step in range(0, span))


def _takes(ports: range) -> bool:
    leases: list[socket.socket] = []
    try:
        for port in ports:
            leases.append(socket.socket(socket.AF_UNIX))
            # A name that the kernel forgets with the process, however that ends.
            leases[-1].bind(f"\0ringwake-tests/port-{port}")
            for kind in KINDS:
                with contextlib.closing(socket.socket(socket.AF_INET, kind)) as asking:
                    asking.bind((ADDRESS, port))
    except OSError:
        for one in leases:
            one.close()
        return False
    _leases.extend(leases)
    return True
