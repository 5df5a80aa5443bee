"""Fixtures: the Debian package in two versions, and a fresh Debian 12 to install it on."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from . import machine, programs
from .machine import Root
from .package import OLDER, Packages, build

# What the commands of the guides and a handler on the bus use besides; apt can install them on the machine.
TOOLS = ["curl", "jq", "openssl", "python3-httpx", "python3-h2", "python3-dbus", "python3-gi"]


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Only one process at a time; the tests may run side by side."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Built once for all processes that run tests."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "packages"
    with locked(shared / "packages.lock"):
        if not folder.exists():
            made = folder.with_name("packages.new")
            build(made)
            build(made, "--version", OLDER)
            made.rename(folder)
    (older,) = folder.glob(f"ringwake_{OLDER}_*.deb")
    (current,) = (file for file in folder.glob("*.deb") if file != older)
    return Packages(current=current, older=older)


@pytest.fixture(scope="session")
def debian(packages: Packages) -> Path:
    """A fresh Debian 12, on which apt has downloaded what the package depends on or recommends and installed none of it.

    It stays in .build, so that a test run needs a mirror only when the dependencies have changed.
    """
    if reason := machine.unavailable():
        pytest.skip(reason)
    needs = packages.control("Depends") + packages.control("Recommends") + " ".join(TOOLS)
    folder = programs.ROOT / ".build" / "machines" / f"debian-{hashlib.sha256(needs.encode()).hexdigest()[:16]}"
    with locked(folder.with_suffix(".lock")):
        if not folder.exists():
            made = folder.with_suffix(".new")
            shutil.rmtree(made, ignore_errors=True)
            Root.debian(made, ["nftables"], downloads=[packages.current, *TOOLS])
            made.rename(folder)
    return folder
