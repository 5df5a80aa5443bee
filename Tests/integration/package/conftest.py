"""Machines that are fresh installations of Debian 12, with the package in two versions."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.debian import debian, packages  # noqa: F401
from support.machine import Root
from support.package import Device, Packages, readme_handler, setup_commands


@pytest.fixture
def device(debian: Path, packages: Packages, tmp_path: Path) -> Iterator[Device]:
    """A machine of the test's own. `ringwake.deb` and `older.deb` are in its /packages."""
    with Root.overlay(tmp_path / "device", on=debian) as root:
        for name, package in {"ringwake.deb": packages.current, "older.deb": packages.older}.items():
            root.file("/packages").mkdir(exist_ok=True)
            shutil.copy(package, root.file(f"/packages/{name}"))
        root.write("/usr/local/bin/phone-handler", readme_handler(), mode=0o755)
        root.write("/usr/local/bin/set-up", setup_commands())
        yield Device(root)
