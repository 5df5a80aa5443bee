"""A site for all tests of a file: what one leaves behind, the next one sees; and pairs of gateway and device behind NAT."""

from collections.abc import Callable, Iterator

import pytest
from support import nat as nats
from support.credentials import TOPIC, Credentials
from support.daemon import Daemon
from support.mqtt import DeviceKey
from support.nat import DOOR, Nat, Pair
from support.sites import Site, make_site


@pytest.fixture(scope="module")
def site(credentials, tmp_path_factory) -> Iterator[Site]:
    made: list[Daemon] = []

    def make_daemon(**options) -> Daemon:
        made.append(options.pop("kind", Daemon)(credentials, **options))
        return made[-1]

    try:
        yield make_site(make_daemon, tmp_path_factory.mktemp("keys"))
        for daemon in made:
            daemon.stop()
    finally:
        for daemon in made:
            daemon.clear_away()


@pytest.fixture
def key(site: Site) -> DeviceKey:
    return site.make_key()


@pytest.fixture(scope="session")
def nat_credentials(tmp_path_factory: pytest.TempPathFactory) -> Credentials:
    return nats.make_credentials(tmp_path_factory.mktemp("nat-certificates"))


@pytest.fixture
def nat() -> Iterator[Nat]:
    """A device's network behind a router, and a gateway's; needs root."""
    if reason := nats.unavailable():
        pytest.skip(reason)
    with Nat() as made:
        yield made


@pytest.fixture
def make_paired(
    nat: Nat, make_daemon: Callable[..., Daemon], nat_credentials: Credentials
) -> Callable[[Callable[..., Daemon]], Pair]:
    def make(make_gateway: Callable[..., Daemon]) -> Pair:
        gateway = make_gateway(make_daemon, credentials=nat_credentials)
        gateway.settings["team.topics"] = [TOPIC, f"{DOOR}.voip"]
        return Pair(nat, gateway, nat.make_device(make_daemon, credentials=nat_credentials)).start()

    return make


@pytest.fixture
def linked(nat: Nat, make_paired: Callable[..., Pair]) -> Pair:
    return make_paired(nat.make_gateway)
