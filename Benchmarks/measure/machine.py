"""The machine and the libraries that figures belong to."""

import os
import platform
import re
import subprocess
from pathlib import Path

from . import programs


def describe() -> list[str]:
    """Lines for the head of the page."""
    return [
        f"processor: {_processor()}, {os.cpu_count()} cores, {platform.machine()}",
        f"kernel: {platform.system()} {platform.release()}",
        f"system: {_distribution()}",
        f"libraries: {_version('openssl', 'version')}; {_version(programs.NGHTTPD or 'nghttpd', '--version')}",
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


def _version(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[0] if done.stdout or done.stderr else "unknown"
