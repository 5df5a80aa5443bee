"""Networks for the tests of reachability. They need root; elsewhere they are skipped, and say so."""

from collections.abc import Iterator

import pytest
from reachability.stage import Stage
from support import netns


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A network with nothing in it but its loopback interface, and another for the ends of its cables."""
    if reason := netns.unavailable():
        pytest.skip(reason)
    with Stage() as made:
        yield made
