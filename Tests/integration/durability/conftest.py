"""Fixtures for the tests of what stays: the compiled programs, and disks that fail on demand."""

from collections.abc import Callable, Iterator

import pytest

from support.native import Faults, Native


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
