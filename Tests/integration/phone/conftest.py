"""Fixtures: buses of the test's own, and a daemon that finds them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.apps import App
from support.buses import Bus
from support.daemon import Daemon
from support.telephone import PAYLOAD


@pytest.fixture
def telephone(make_daemon: Callable[..., Daemon]) -> Callable[..., App]:
    """Makes an app, and the daemon that it is on, which is not started yet: `telephone(bus, calls={"ring": "2s"})`."""

    def make(*buses: Bus, calls: dict[str, str] | None = None, **sections: str) -> App:
        daemon = make_daemon()
        for bus in buses:
            daemon.variables |= bus.environment()
        daemon.calls |= calls or {}
        # As a daemon is that nobody configured: handlers that fail too often are not started any more.
        daemon.sections = sections
        return App(daemon)

    return make


@pytest.fixture
def phone(telephone: Callable[..., App]) -> App:
    """An app on a running daemon, whose handler is started for calls and does everything right."""
    app = telephone().by_exec(more=PAYLOAD)
    app.daemon.start()
    return app


@pytest.fixture
def ringtone(tmp_path: Path) -> Path:
    """A file to ring with."""
    path = tmp_path / "ringtone.oga"
    path.write_bytes(b"OggS")
    return path
