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

from sip import exchange  # noqa: E402
from support import programs  # noqa: E402

# What this run builds, and what handlers stamp.
FOLDER = Path(tempfile.gettempdir()) / f"ringwake-lab-{os.getpid()}"
STAMP = FOLDER / "stamp"


def lacking() -> list[str]:
    """Says for each thing that cannot be done without what to do."""
    lines = [f"{tool}: apt-get install {package}" for tool, package in {"cc": "gcc", "make": "make"}.items()
             if not shutil.which(tool)]  # fmt: skip
    lines += [line for line in [exchange.unavailable()] if line]
    for program in (programs.RINGWAKED, programs.RINGWAKE):
        if not program.exists():
            lines.append(f"{program} is not built; run deploy/build-release")
    return lines


def build() -> None:
    """Builds the program that stamps."""
    FOLDER.mkdir()
    FOLDER.chmod(0o755)
    subprocess.run(
        ["make", "--quiet", "--directory", LABORATORY / "native", f"OUT={FOLDER}"], check=True, stdout=sys.stderr
    )


def clear_away() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)


def version(*command: str) -> str:
    """The first line that a program says of itself."""
    done = subprocess.run(command, capture_output=True, text=True)
    return ((done.stdout or done.stderr).strip().splitlines() or ["unknown"])[0]
