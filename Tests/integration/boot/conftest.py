"""Machines with this build's programs and units installed, as README.md says. They need root; elsewhere tests are skipped."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import machine, programs
from support.debian import debian, packages  # noqa: F401
from support.machine import Boot, Root

DEPLOY = programs.ROOT / "deploy"
LIBRARY = Path(__file__).parent / "library.sh"
AUDIO = programs.BIN_DIRECTORY / "ringwake-audio"


def handler() -> str:
    """README.md's handler."""
    text = (programs.ROOT / "README.md").read_text().partition("<!-- tested: handler -->")[2]
    return text.partition("```sh\n")[2].partition("```")[0]


def install(root: Root) -> None:
    """What README.md installs."""
    for program in (programs.RINGWAKED, programs.RINGWAKE):
        root.write(f"/usr/bin/{program.name}", program.read_bytes(), 0o755)
    root.write("/usr/libexec/ringwake/ringwake-audio", AUDIO.read_bytes(), 0o755)
    root.write("/usr/libexec/ringwake/scheduled-backup", (DEPLOY / "scheduled-backup").read_bytes(), 0o755)
    for kind in ("sysusers.d", "tmpfiles.d"):
        root.write(f"/usr/lib/{kind}/ringwake.conf", (DEPLOY / kind / "ringwake.conf").read_bytes())
    root.write("/usr/share/dbus-1/system.d/ringwake.conf", (DEPLOY / "dbus" / "ringwake.conf").read_bytes())
    for scope in ("system", "user"):
        for unit in (DEPLOY / "systemd" / scope).iterdir():
            root.write(f"/usr/lib/systemd/{scope}/{unit.name}", unit.read_bytes())
    root.write("/usr/share/ringwake-test/ringwaked.toml", (DEPLOY / "ringwaked.toml").read_bytes())
    root.write("/usr/share/ringwake-test/library.sh", LIBRARY.read_bytes())
    root.write("/usr/libexec/phone-handler", handler(), 0o755)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Root]:
    """A machine with everything installed and nothing started."""
    if reason := machine.unavailable():
        pytest.skip(reason)
    with Root.overlay(tmp_path / "device") as root:
        # What this machine itself has of Ringwake is not the test's.
        for folder in ("/etc/ringwake", "/var/lib/ringwake"):
            shutil.rmtree(root.file(folder), ignore_errors=True)
        install(root)
        yield root


@pytest.fixture
def boot(device: Root) -> Callable[[str], Boot]:
    """Boots the machine with a script that uses library.sh; the test fails when the script does."""

    def run(script: str) -> Boot:
        seen = device.boot(f". /usr/share/ringwake-test/library.sh\n{script}")
        assert seen.status == 0, seen.end
        return seen

    return run
