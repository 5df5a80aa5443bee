"""The programs that are measured, and those that measure."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent
ROOT = BENCHMARKS.parent
BIN = Path(os.environ.get("RINGWAKE_BIN_DIR") or ROOT / ".build" / "release")
RINGWAKED = BIN / "ringwaked"
RINGWAKE = BIN / "ringwake"
PEERS = Path(os.environ.get("RINGWAKE_PEERS_DIR") or ROOT / ".build" / "benchmark-peers")
NGHTTPD = shutil.which("nghttpd") or shutil.which("nghttpd", path="/usr/sbin:/usr/bin")


def lacking() -> list[str]:
    """Says for each program that is not there which package has it."""
    lines = []
    if not NGHTTPD:
        lines.append("nghttpd: apt-get install nghttp2-server")
    for tool, package in {"cc": "gcc", "make": "make"}.items():
        if not shutil.which(tool):
            lines.append(f"{tool}: apt-get install {package}")
    packages = {
        "nghttp2/nghttp2.h": "libnghttp2-dev", "openssl/ssl.h": "libssl-dev", "sqlite3.h": "libsqlite3-dev"
    }  # fmt: skip
    for header, package in packages.items():
        probe = subprocess.run(
            [shutil.which("cc") or "false", "-E", "-x", "c", "-"], input=f"#include <{header}>", text=True,
            capture_output=True,
        )  # fmt: skip
        if probe.returncode != 0:
            lines.append(f"{header}: apt-get install {package}")
    if not RINGWAKED.exists() and not shutil.which("swift"):
        lines.append("swift, to build ringwaked: see README.md")
    return lines


def build() -> None:
    """Builds what is not there: the two programs as they are shipped, and the measuring ones."""
    if not (RINGWAKED.exists() and RINGWAKE.exists()):
        subprocess.run([ROOT / "deploy" / "build-release"], check=True, stdout=sys.stderr)
    subprocess.run(
        ["make", "--quiet", "--directory", BENCHMARKS / "peers", f"OUT={PEERS}"], check=True, stdout=sys.stderr
    )


def peer(name: str) -> Path:
    return PEERS / name
