"""The machine and the programs that figures belong to."""

import os
import platform
import re
from pathlib import Path

from .programs import programs, version

NUMBER = re.compile(r"\d+\.\d+\.\d+")


def describe() -> list[str]:
    """Lines for the head of the page."""
    cpu = re.search(r"(?:model name|Processor|CPU part)\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    system = re.search(r'^PRETTY_NAME="?([^"\n]+)', release, re.MULTILINE)
    peers = [
        f"{name} {number[0] if (number := NUMBER.search(version(name, flag))) else '(unknown)'}"
        for name, flag in {"kamailio": "-v", "sipp": "-v", "baresip": "-h"}.items()
    ]
    return [
        f"processor: {cpu[1] if cpu else 'unknown'}, {os.cpu_count()} cores, {platform.machine()}",
        f"kernel: {platform.system()} {platform.release()}",
        f"system: {system[1] if system else 'unknown'}",
        f"peers: {', '.join(peers)}",
        f"ringwaked: {version(str(programs.RINGWAKED), '--version')}, "
        f"{programs.RINGWAKED.stat().st_size / 1e6:.1f} MB",
    ]
