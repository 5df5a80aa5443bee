"""Fixtures: one set of development credentials for all tests, and a daemon of its own for each that wants one."""

import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support import netns, network as networks, programs  # noqa: E402
from support.buses import Bus  # noqa: E402
from support.credentials import Credentials  # noqa: E402
from support.daemon import Daemon  # noqa: E402
from support.handlers import Recorder  # noqa: E402
from support.native import Native  # noqa: E402
from support.netns import Namespace  # noqa: E402


# A shell that runs this in the background, or nohup, has some signals ignored, and every program that is started here
# would inherit that.
for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)


def pytest_sessionstart() -> None:
    if missing := programs.missing():
        pytest.exit("\n".join(missing), returncode=1)


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    """The C programs of native/, compiled once for all tests."""
    return Native.make(tmp_path_factory.mktemp("native"))


@pytest.fixture(scope="session")
def credentials() -> Iterator[Credentials]:
    """Credentials made by `ringwake certs dev-ca`; they carry Apple's host names too."""
    with tempfile.TemporaryDirectory(prefix="ringwake-certs-") as folder:
        directory = Path(folder)
        directory.chmod(0o755)
        yield Credentials.make(directory)


@pytest.fixture(scope="session")
def foreign_credentials() -> Iterator[Credentials]:
    """The same from another CA, which no daemon of the tests knows."""
    with tempfile.TemporaryDirectory(prefix="ringwake-foreign-") as folder:
        yield Credentials.make(Path(folder))


@pytest.fixture
def make_daemon(credentials: Credentials) -> Iterator[Callable[..., Daemon]]:
    """Makes daemons that are not started yet; stops each after the test and checks that it stops in good order."""
    made: list[Daemon] = []

    def make(**options) -> Daemon:
        kind = options.pop("kind", Daemon)
        made.append(kind(options.pop("credentials", credentials), **options))
        return made[-1]

    yield make
    try:
        for daemon in made:
            # pytest shows this for a test that failed.
            print(f"--- log of {daemon.directory}\n{daemon.log}")
            daemon.stop()
    finally:
        for daemon in made:
            daemon.clear_away()


@pytest.fixture
def daemon(make_daemon: Callable[..., Daemon]) -> Daemon:
    """A running daemon with one app, whose handler records its wakes and stays."""
    made = make_daemon()
    made.add_app()
    return made.start()


@pytest.fixture
def handler(daemon: Daemon) -> Recorder:
    """The handler of `daemon`'s app."""
    return daemon.recorders[0]


@pytest.fixture
def session_bus() -> Iterator[Bus]:
    bus = Bus("session")
    yield bus.start()
    bus.clear_away()


@pytest.fixture
def system_bus() -> Iterator[Bus]:
    bus = Bus("system")
    yield bus.start()
    bus.clear_away()


@pytest.fixture
def network() -> Iterator[Namespace]:
    """A network of the test's own, with a Wi-Fi; needs root."""
    if reason := netns.unavailable():
        pytest.skip(reason)
    with networks.wifi() as network:
        yield network


@pytest.fixture
def lonely(network: Namespace, make_daemon: Callable[..., Daemon]) -> Daemon:
    """A daemon on `network`, not started yet and without a configuration."""
    daemon = make_daemon(user=network.command())
    daemon.add_app()
    return daemon


@pytest.fixture
def networked(lonely: Daemon) -> Daemon:
    """A running daemon on `network`, which tells losses at once."""
    networks.configure(lonely)
    return lonely.start()
