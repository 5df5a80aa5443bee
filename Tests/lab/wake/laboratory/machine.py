"""The machine and the programs that figures belong to."""

import os
import platform
import re
from pathlib import Path

from .programs import PEERS, benchmark, find, version

# How each says which it is; xinetd writes it to its standard error, and mosquitto_sub says what mosquitto says.
ASK = {
    "webhook": ["-version"], "xinetd": ["-version"], "mosquitto": ["-h"], "systemd-socket-activate": ["--version"],
}  # fmt: skip


def describe() -> list[str]:
    """Lines for the head of the page."""
    cpu = re.search(r"(?:model name|Processor|CPU part)\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    system = re.search(r'^PRETTY_NAME="?([^"\n]+)', release, re.MULTILINE)
    peers = [_peer(name) for name in PEERS if name in ASK]
    return [
        f"processor: {cpu[1] if cpu else 'unknown'}, {os.cpu_count()} cores, {platform.machine()}",
        f"kernel: {platform.system()} {platform.release()}",
        f"system: {system[1] if system else 'unknown'}",
        f"peers: {', '.join(peers)}",
        f"ringwaked: {version(str(benchmark.RINGWAKED), '--version')}, "
        f"{benchmark.RINGWAKED.stat().st_size / 1e6:.1f} MB",
    ]


def _peer(name: str) -> str:
    if not (path := find(name)):
        return f"{name} (not there)"
    number = re.search(r"\d+\.\d+[\w.]*|\b\d{3}\b", version(path, *ASK[name]))
    return f"{name} {number[0] if number else '(unknown)'}"
