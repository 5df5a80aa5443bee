"""Fixtures for the tests of what stays: the compiled programs, and disks that fail on demand."""

from collections.abc import Callable, Iterator

import pytest

from support.native import Faults, Native


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    """The C programs of native/, compiled once for all tests."""
    return Native.make(tmp_path_factory.mktemp("native"))


@pytest.fixture
def make_faults(native: Native) -> Iterator[Callable[[], Faults]]:
    """Makes disks with nothing wrong yet. Nothing of them hangs any more when the test's daemons are stopped."""
    made: list[Faults] = []

    def make() -> Faults:
        made.append(Faults(native))
        return made[-1]

    yield make
    for faults in made:
        faults.clear_away()
