"""A site for all tests of a file: what one leaves behind, the next one sees."""

from collections.abc import Iterator

import pytest
from support.daemon import Daemon
from support.mqtt import DeviceKey
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
