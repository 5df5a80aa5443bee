"""A state directory on a small file system of its own, in a mount namespace of the daemon's."""

import os
import shutil
from pathlib import Path

from . import programs
from .daemon import Daemon


def can_mount() -> bool:
    """Whether the tests may have a mount namespace of their own."""
    if os.getuid() != 0 or not shutil.which("unshare") or not shutil.which("mount"):
        return False
    return programs.run("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt").returncode == 0


def mount_at_start(daemon: Daemon, script: str) -> None:
    """Runs this in the daemon's mount namespace before it starts; "$0" is the state directory."""
    state = daemon.directory / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    script = f'{{ {script}\n}} && exec "$@"'
    daemon.user = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(state)]


def small_disk(options: str) -> str:
    """The script for an empty file system with these options."""
    return f'mount -t tmpfs -o mode=700,{options} none "$0"'


# Takes all room that is left.
FILL = 'dd if=/dev/zero of="$0/filler" bs=4k 2>/dev/null; true'


def disk(daemon: Daemon) -> Path:
    """The state directory as the daemon sees it: its namespace is reached through its process."""
    return Path(f"/proc/{daemon.pid}/root") / str(daemon.directory / "state").lstrip("/")


def remount(daemon: Daemon, options: str) -> None:
    """Mounts the state directory otherwise while the daemon runs."""
    state = daemon.directory / "state"
    done = programs.run("nsenter", f"--target={daemon.pid}", "--mount", "mount", "-o", f"remount,{options}", state)
    assert done.returncode == 0, done.stderr


def fill(path: Path) -> None:
    """Takes what room is left."""
    with path.open("ab", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
