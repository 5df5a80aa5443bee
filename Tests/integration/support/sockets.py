"""Sockets of other programs, seen without a connection."""

from pathlib import Path

# `__SO_ACCEPTCON` of the kernel's uapi/linux/net.h: somebody listens.
LISTENS = 1 << 16


def listens(path: Path) -> bool:
    """Whether a program listens on the unix socket: its path is there a moment sooner, with a refusal behind it."""
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7] == str(path) and int(fields[3], 16) & LISTENS:
            return True
    return False
