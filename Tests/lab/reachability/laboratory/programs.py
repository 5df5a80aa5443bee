"""The programs that are measured, and those that measure."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LABORATORY = Path(__file__).resolve().parents[1]
ROOT = LABORATORY.parents[2]
NATIVE = Path(tempfile.gettempdir()) / f"ringwake-lab-{os.getpid()}"
# Daemons are in sbin, which is not on everyone's path.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
# Python with GObject introspection is the system's.
SYSTEM_PYTHON = "/usr/bin/python3"

PEERS = {
    "ip": "iproute2", "netplugd": "netplug", "dhcpcd": "dhcpcd-base", "connmand": "connman",
    "NetworkManager": "network-manager", "dbus-daemon": "dbus",
}  # fmt: skip


def find(name: str) -> str | None:
    return shutil.which(name, path=PATH)


def lacking(ringwake: Path) -> list[str]:
    """Says for each program that cannot be done without what to do."""
    lines = [f"{tool}: apt-get install {package}" for tool, package in
             {"ip": "iproute2", "cc": "gcc", "make": "make"}.items() if not find(tool)]  # fmt: skip
    if not ringwake.exists():
        lines.append(f"{ringwake} is not built; run deploy/build-release")
    return lines


def absent() -> list[str]:
    """The peers that are not installed, and so are left out."""
    return [f"{name} ({package})" for name, package in PEERS.items() if not find(name)]


def build() -> None:
    """Builds the programs that measure."""
    NATIVE.mkdir(exist_ok=True)
    subprocess.run(
        ["make", "--quiet", "--directory", LABORATORY / "native", f"OUT={NATIVE}"], check=True, stdout=sys.stderr
    )


def clear_away() -> None:
    shutil.rmtree(NATIVE, ignore_errors=True)


def version(*command: str) -> str:
    """The first line that a program says of itself."""
    done = subprocess.run(command, capture_output=True, text=True)
    return ((done.stdout or done.stderr).strip().splitlines() or ["unknown"])[0]
