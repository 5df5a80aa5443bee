"""The programs that are measured, and those that measure."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LABORATORY = Path(__file__).resolve().parents[1]
ROOT = LABORATORY.parents[2]
sys.path += [str(ROOT / "Benchmarks"), str(ROOT / "Tests" / "integration")]

from measure import programs as benchmark  # noqa: E402

# What this run builds, and the sockets and configurations of its peers.
FOLDER = Path(tempfile.gettempdir()) / f"ringwake-lab-{os.getpid()}"
# Daemons are in sbin, which is not on everyone's path.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

PEERS = {
    "webhook": "webhook", "xinetd": "xinetd", "mosquitto": "mosquitto", "mosquitto_sub": "mosquitto-clients",
    "systemd-socket-activate": "systemd",
}  # fmt: skip


def find(name: str) -> str | None:
    return shutil.which(name, path=PATH)


def lacking() -> list[str]:
    """Says for each program that cannot be done without what to do."""
    needed = {"cc": "gcc", "make": "make", "dbus-daemon": "dbus", "busctl": "systemd"}
    lines = [f"{tool}: apt-get install {package}" for tool, package in needed.items() if not find(tool)]
    if not Path("/usr/include/systemd/sd-bus.h").exists():
        lines.append("systemd/sd-bus.h: apt-get install libsystemd-dev")
    lines += [line for line in benchmark.lacking() if not line.startswith("nghttpd")]
    return lines


def absent() -> list[str]:
    """The peers that are not installed, and so are left out."""
    return [f"{name} ({package})" for name, package in PEERS.items() if not find(name)]


def build() -> None:
    """Builds the programs that measure, and Ringwake where it is not there."""
    FOLDER.mkdir()
    benchmark.build()
    subprocess.run(
        ["make", "--quiet", "--directory", LABORATORY / "native", f"OUT={FOLDER}"], check=True, stdout=sys.stderr
    )


def clear_away() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)


def version(*command: str) -> str:
    """The first line that a program says of itself."""
    done = subprocess.run(command, capture_output=True, text=True)
    return ((done.stdout or done.stderr).strip().splitlines() or ["unknown"])[0]
