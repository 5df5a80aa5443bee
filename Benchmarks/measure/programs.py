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
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/bin")
MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/bin")
NIO = Path(os.environ.get("RINGWAKE_NIO_DIR") or ROOT / ".build" / "benchmark-nio")


def lacking() -> list[str]:
    """Says for each program that is not there which package has it."""
    lines = []
    if not NGHTTPD:
        lines.append("nghttpd: apt-get install nghttp2-server")
    if not NGINX:
        lines.append("nginx: apt-get install nginx-light")
    if not MOSQUITTO:
        lines.append("mosquitto: apt-get install mosquitto")
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
    if not (RINGWAKED.exists() and nio_server().exists()) and not shutil.which("swift"):
        lines.append("swift, to build ringwaked and the server on SwiftNIO: see README.md")
    return lines


def build() -> None:
    """Builds what is not there: the two programs as they are shipped, and the measuring ones."""
    if not (RINGWAKED.exists() and RINGWAKE.exists()):
        subprocess.run([ROOT / "deploy" / "build-release"], check=True, stdout=sys.stderr)
    subprocess.run(
        ["make", "--quiet", "--directory", BENCHMARKS / "peers", f"OUT={PEERS}"], check=True, stdout=sys.stderr
    )


    if not nio_server().exists():
        subprocess.run(
            ["swift", "build", "-c", "release", "--static-swift-stdlib", "--package-path", BENCHMARKS / "peers" / "nio",
             "--scratch-path", NIO],
            check=True, stdout=sys.stderr,
        )  # fmt: skip


def nio_server() -> Path:
    return NIO / "release" / "nio-server"


def peer(name: str) -> Path:
    return PEERS / name
