"""The programs under test, and the tools of others that the tests run against them."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BIN_DIRECTORY = Path(os.environ.get("RINGWAKE_BIN_DIR") or ROOT / ".build" / "release")
RINGWAKED = BIN_DIRECTORY / "ringwaked"
RINGWAKE = BIN_DIRECTORY / "ringwake"
BARESIP_HANDLER = BIN_DIRECTORY / "ringwake-baresip"
# The programs of Examples/swift-handler, which Tests/stranger builds.
EXAMPLES_DIRECTORY = Path(os.environ.get("RINGWAKE_EXAMPLES_DIR") or ROOT / ".build" / "examples")

# dbusmock, dbus-python and GLib are packages of the system's Python.
SYSTEM_PYTHON = "/usr/bin/python3"

# No command of a test takes longer than this, in seconds, on a machine that does ten other things.
COMMAND_TIMEOUT = 60


def missing() -> list[str]:
    """Says for each thing that the tests need and that is not there what to do."""
    built = (RINGWAKED, RINGWAKE, BARESIP_HANDLER)
    lines = [f"{path} is not built; run deploy/build-release" for path in built if not path.exists()]
    packages = {
        "curl": "curl", "nghttp": "nghttp2-client", "openssl": "openssl", "setpriv": "util-linux",
        "dbus-daemon": "dbus", "busctl": "systemd",
    }  # fmt: skip
    lines += [
        f"'{tool}' is not installed; apt-get install {package}"
        for tool, package in packages.items()
        if not shutil.which(tool)
    ]
    if run(SYSTEM_PYTHON, "-c", "import dbus, dbusmock, gi").returncode != 0:
        lines.append("python3-dbusmock is not installed; apt-get install python3-dbusmock")
    return lines


def run(*command: object, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess:
    """Runs a command to its end and answers what it printed, whatever its exit status."""
    return subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **(env or {})},
        stdin=options.pop("stdin", subprocess.DEVNULL),
        capture_output=True,
        timeout=options.pop("timeout", COMMAND_TIMEOUT),
        text=options.pop("text", True),
        **options,
    )


def ringwake(*arguments: object, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess:
    """Runs the command line under test."""
    return run(RINGWAKE, *arguments, env=env, **options)


def as_nobody() -> list[str]:
    """What stands before a command that is to run as a user who owns nothing; empty when the tests are not root."""
    if os.getuid() != 0:
        return []
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
