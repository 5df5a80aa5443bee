"""Fixtures: the handler of Examples/swift-handler, and a daemon that wakes it."""

from collections.abc import Callable, Iterator

import pytest

from support.apps import App
from support.daemon import Daemon
from swift_handler import HANDLER, SwiftHandler

# A call rings on while the daemon is started anew on a busy machine.
PATIENT = {"ring": "60s"}


@pytest.fixture
def make_handler(make_daemon: Callable[..., Daemon]) -> Iterator[Callable[..., SwiftHandler]]:
    """Makes an app with the handler in Swift, and the daemon that it is on, which is not started yet."""
    if not HANDLER.exists():
        pytest.fail(f"{HANDLER} is not built; run Tests/run stranger")
    made: list[SwiftHandler] = []

    def make(calls: dict[str, str] | None = None, **sections: str) -> SwiftHandler:
        daemon = make_daemon()
        daemon.calls |= calls or {}
        # As a daemon is that nobody configured: handlers that fail too often are not started any more.
        daemon.sections = sections
        made.append(SwiftHandler(App(daemon)))
        return made[-1]

    yield make
    for handler in made:
        handler.clear_away()


@pytest.fixture
def cold(make_handler: Callable[..., SwiftHandler]) -> SwiftHandler:
    """A running daemon that starts the handler for a call."""
    handler = make_handler(PATIENT).started_by_daemon()
    handler.daemon.start()
    return handler


@pytest.fixture
def warm(make_handler: Callable[..., SwiftHandler]) -> SwiftHandler:
    """A running daemon, and a handler that keeps a connection to it."""
    handler = make_handler(PATIENT).only_connected()
    handler.daemon.start()
    handler.run()
    return handler


@pytest.fixture(params=["cold", "warm"])
def either(request: pytest.FixtureRequest) -> SwiftHandler:
    """Both, one after the other."""
    return request.getfixturevalue(request.param)
