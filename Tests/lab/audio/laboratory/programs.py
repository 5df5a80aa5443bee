"""The programs that are measured, and what they need."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LABORATORY = Path(__file__).resolve().parents[1]
ROOT = LABORATORY.parents[2]
sys.path += [str(ROOT / "Benchmarks"), str(ROOT / "Tests" / "integration")]

from measure import programs as benchmark  # noqa: E402
from support import audio, audio_agent, audio_streams, control  # noqa: E402

__all__ = ["audio", "audio_agent", "audio_streams", "benchmark", "control"]

# What this run builds.
FOLDER = Path(tempfile.gettempdir()) / f"ringwake-lab-{os.getpid()}"

NEEDED = {
    "pulseaudio": "pulseaudio", "pactl": "pulseaudio-utils", "pipewire": "pipewire", "wireplumber": "wireplumber",
    "pipewire-pulse": "pipewire-pulse", "dbus-daemon": "dbus", "strace": "strace", "cc": "gcc", "make": "make",
}  # fmt: skip


def lacking() -> list[str]:
    """Says for each program that cannot be done without what to do."""
    lines = [f"{tool}: apt-get install {package}" for tool, package in NEEDED.items() if not shutil.which(tool)]
    if not Path("/usr/include/pulse/pulseaudio.h").exists():
        lines.append("pulse/pulseaudio.h: apt-get install libpulse-dev")
    return lines


def build() -> None:
    """Builds the program that is measured beside, and Ringwake where it is not there."""
    if not (audio_agent.RINGWAKE_AUDIO.exists() and benchmark.RINGWAKED.exists()):
        subprocess.run([ROOT / "deploy" / "build-release"], check=True, stdout=sys.stderr)
    subprocess.run(
        ["make", "--quiet", "--directory", LABORATORY / "native", f"OUT={FOLDER}"], check=True, stdout=sys.stderr
    )


def clear_away() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)


def peer(name: str) -> Path:
    return FOLDER / name


def describe() -> list[str]:
    """Lines for the head of the page."""
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    system = re.search(r'^PRETTY_NAME="?([^"\n]+)', release, re.MULTILINE)
    peers = [_version("pulseaudio"), _version("pipewire"), _version("wireplumber"), _version("pactl")]
    program = audio_agent.RINGWAKE_AUDIO
    return [
        f"processor: {_processor()}, {os.cpu_count()} cores, {os.uname().machine}",
        f"kernel: {os.uname().sysname} {os.uname().release}",
        f"system: {system[1] if system else 'unknown'}",
        f"servers and peers: {', '.join(peers)}",
        f"ringwake-audio: {_version(str(program))}, {program.stat().st_size / 1e6:.1f} MB",
    ]


def _processor() -> str:
    found = re.search(r"(?:model name|Processor|CPU part)\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else "unknown"


def _version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    number = re.search(r"\d+\.\d+[\w.]*", done.stdout + done.stderr)
    name = Path(program).name
    return number[0] if name == "ringwake-audio" and number else f"{name} {number[0] if number else '(unknown)'}"
