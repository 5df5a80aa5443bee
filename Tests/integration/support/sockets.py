"""Sockets of other programs: seen without a connection, or taken in hand."""

import contextlib
import ctypes
import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from . import processes

# `__SO_ACCEPTCON` of the kernel's uapi/linux/net.h: somebody listens.
LISTENS = 1 << 16
# pidfd_getfd(2) has this number on every machine.
SYS_PIDFD_GETFD = 438


def listens(path: Path) -> bool:
    """Whether a program listens on the unix socket: its path is there a moment sooner, with a refusal behind it."""
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7] == str(path) and int(fields[3], 16) & LISTENS:
            return True
    return False


@contextlib.contextmanager
def connected(pid: int, port: int) -> Iterator[socket.socket]:
    """The one TCP connection that a process has from this port of its own: the very socket, to read and to set what
    the kernel does with it. Needs root."""
    process = os.pidfd_open(pid)
    try:
        with contextlib.ExitStack() as stack:
            taken = [stack.enter_context(one) for one in _sockets(process, pid)]
            [found] = [one for one in taken if _is_connected(one, port)]
            yield found
    finally:
        os.close(process)


def _sockets(process: int, pid: int) -> Iterator[socket.socket]:
    for number, target in processes.descriptors(pid).items():
        # It may be closed as it is looked at.
        if target.startswith("socket:") and (descriptor := _take(process, number)) >= 0:
            yield socket.socket(fileno=descriptor)


def _take(process: int, number: int) -> int:
    """A descriptor of this process for the same open file; below 0 where there is none any more."""
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.syscall(SYS_PIDFD_GETFD, process, number, 0)
    error = ctypes.get_errno()
    if descriptor < 0 and error != errno.EBADF:
        raise OSError(error, f"pidfd_getfd: {os.strerror(error)}")
    return descriptor


def _is_connected(one: socket.socket, port: int) -> bool:
    if one.family not in (socket.AF_INET, socket.AF_INET6) or one.getsockname()[1] != port:
        return False
    try:
        one.getpeername()
    except OSError:
        return False
    return True
