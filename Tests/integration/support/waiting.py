"""Waiting for what another process does, with a bound."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
# A machine that is busy with other things may take this long for anything. Nobody waits so long for what does happen.
PATIENCE = 60


def until(look: Callable[[], Found | None], seconds: float, what: str | Callable[[], str]) -> Found:
    """Looks until there is something to see; fails, naming `what`, when there is nothing in time.

    `seconds` is for what takes longer than `PATIENCE`.
    """
    seconds = max(seconds, PATIENCE)
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what() if callable(what) else what}")
        time.sleep(0.01)
