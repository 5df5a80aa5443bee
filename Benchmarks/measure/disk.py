"""What stands between a server and its disk."""

import mmap
import struct
import tempfile
from pathlib import Path

from . import programs

# Two 64-bit numbers, which `peers/stall.c` describes.
BYTES = 16


class Disk:
    """A library in front of a server's fdatasync: it counts, and slows down when it is told to."""

    def __init__(self) -> None:
        with tempfile.NamedTemporaryFile(prefix="ringwake-disk-", delete=False) as file:
            file.write(bytes(BYTES))
            file.flush()
            self.path = Path(file.name)
            self.shared = mmap.mmap(file.fileno(), BYTES)
        self.environment = {"LD_PRELOAD": str(programs.peer("stall.so")), "RINGWAKE_STALL": str(self.path)}

    def slow_down(self, milliseconds: int) -> None:
        """What each fdatasync of the store's files takes from now on, in addition to what the disk takes."""
        self.shared[:8] = struct.pack("=q", milliseconds * 1_000_000)

    def log_syncs(self) -> int:
        """How often the store's log was forced to the disk: once for each commit, and once more as it begins anew."""
        return struct.unpack("=q", self.shared[8:])[0]

    def stop(self) -> None:
        self.shared.close()
        self.path.unlink()
