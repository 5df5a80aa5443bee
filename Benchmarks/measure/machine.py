"""The machine and the libraries that figures belong to."""

import ctypes
import os
import platform
import re
import subprocess
import tempfile
from pathlib import Path

from . import programs


def describe() -> list[str]:
    """Lines for the head of the page."""
    return [
        f"processor: {_processor()}, {os.cpu_count()} cores, {platform.machine()}",
        f"kernel: {platform.system()} {platform.release()}",
        f"system: {_distribution()}",
        f"libraries: {_version('openssl', 'version')}; {_version(programs.NGHTTPD or 'nghttpd', '--version')}; "
        f"{_version(programs.NGINX or 'nginx', '-v')}; {_version(programs.MOSQUITTO or 'mosquitto', '-h')}; "
        f"SQLite {_sqlite_version()}",
        f"stores: on {_file_system(Path(tempfile.gettempdir()))}",
        f"ringwaked: {_version(programs.RINGWAKED, '--version')}, {programs.RINGWAKED.stat().st_size / 1e6:.1f} MB",
    ]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if match := re.match(r"(?:model name|Processor|CPU part)\s*:\s*(.+)", line):
            return match[1]
    return "unknown"


def _distribution() -> str:
    text = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', text, re.MULTILINE)
    return match[1] if match else "unknown"


def _sqlite_version() -> str:
    """That of the system's library, which the daemon and the C server use; Python may have one of its own."""
    version = ctypes.CDLL("libsqlite3.so.0").sqlite3_libversion
    version.restype = ctypes.c_char_p
    return version().decode()


def _file_system(folder: Path) -> str:
    """The type and the device of the file system that holds `folder`: the last mount over it, proc(5)."""
    longest, found = "", "unknown"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        mount = Path(before.split()[4])
        if folder.resolve().is_relative_to(mount) and len(str(mount)) >= len(longest):
            longest, found = str(mount), ", ".join(after.split()[:2])
    return found


def _version(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[0] if done.stdout or done.stderr else "unknown"
