"""The machine and the programs that figures belong to."""

import os
import platform
import re
from pathlib import Path

from support.programs import RINGWAKE

from .programs import PEERS, find, version

# How each says which it is.
ASK = {
    "ip": ["-V"], "netplugd": ["-V"], "dhcpcd": ["--version"], "connmand": ["--version"],
    "NetworkManager": ["--version"], "dbus-daemon": ["--version"],
}  # fmt: skip


def describe() -> list[str]:
    """Lines for the head of the page."""
    cpu = re.search(r"(?:model name|Processor|CPU part)\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    system = re.search(r'^PRETTY_NAME="?([^"\n]+)', release, re.MULTILINE)
    peers = [f"{name} {version(find(name), *ASK[name]).split()[-1] if find(name) else '(not there)'}" for name in PEERS]
    return [
        f"processor: {cpu[1] if cpu else 'unknown'}, {os.cpu_count()} cores, {platform.machine()}",
        f"kernel: {platform.system()} {platform.release()}",
        f"system: {system[1] if system else 'unknown'}",
        f"peers: {', '.join(peers)}",
        f"ringwake: {version(str(RINGWAKE), '--version')}, {RINGWAKE.stat().st_size / 1e6:.1f} MB",
    ]
