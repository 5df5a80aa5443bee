"""Fixtures: an exchange and a phone on it. They need root, Kamailio, sipp and baresip; elsewhere tests are skipped."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sip import exchange as exchanges
from sip.capture import Capture
from sip.exchange import Exchange
from sip.phone import Phone
from support import programs
from support.credentials import APP, TEAM, Credentials
from support.daemon import Daemon


@pytest.fixture(scope="session")
def exchange_credentials() -> Iterator[Credentials]:
    """Credentials whose server certificate carries the name by which the exchange knows the device."""
    with tempfile.TemporaryDirectory(prefix="ringwake-certs-") as folder:
        done = programs.ringwake(
            "certs", "dev-ca", "--directory", folder, "--app", APP, "--team", TEAM, "--host", exchanges.PUSH_HOST
        )
        assert done.returncode == 0, done.stderr
        yield Credentials(Path(folder))


@pytest.fixture(scope="module")
def make_exchange(exchange_credentials: Credentials) -> Iterator[Callable[..., Exchange]]:
    """Makes exchanges with other settings than the shipped ones."""
    if reason := exchanges.unavailable():
        pytest.skip(reason)
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(Exchange(exchange_credentials, **settings))


@pytest.fixture(scope="module")
def exchange(make_exchange: Callable[..., Exchange]) -> Exchange:
    return make_exchange()


@pytest.fixture
def phone(exchange: Exchange, make_daemon: Callable[..., Daemon]) -> Iterator[Phone]:
    """A phone that is not started yet, and of which the server knows nothing."""
    made = Phone(exchange, make_daemon(credentials=exchange.credentials))
    yield made
    # pytest shows this for a test that failed.
    print(f"--- log of Kamailio\n{exchange.log}")
    made.close()
    exchange.restart_server()


@pytest.fixture
def capture(exchange: Exchange) -> Iterator[Capture]:
    """What passes the server."""
    with Capture(exchange.server) as capture:
        yield capture
