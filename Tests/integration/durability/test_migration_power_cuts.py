"""A migration of a released version's store that a kill or a power cut ends: the store is the former or the new, whole.

The migration is recorded once. From the record the tests make the folder as the disk may have it at each of its moments,
and start the real programs on it. The suite takes every so many moments, `RINGWAKE_TEST_EVERY=1` all of them.
"""

import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.crashes import Recorded, exported, open_store
from support.daemon import Daemon
from support.native import Native
from support.programs import RINGWAKED
from support.replay import Image
from support.store import RELEASED, VERSION

EVERY = int(os.environ.get("RINGWAKE_TEST_EVERY", "13"))
SEED = int(os.environ.get("RINGWAKE_TEST_SEED") or 17)
# At one of so many states a daemon starts, which takes longer.
STARTS = 9
STORE = "state/store.db"
# A change that is only in the log.
IN_THE_LOG = (
    "UPDATE push SET priority = 5 WHERE sequence = (SELECT max(sequence) FROM push)",
    "DELETE FROM mail WHERE number = (SELECT max(number) FROM mail)",
)


class Site:
    """A released store, and what migrates it."""

    def __init__(self, daemon: Daemon, native: Native, released: Path, records: Path, with_log: bool) -> None:
        self.daemon = daemon
        self.former = int(released.parent.name.removeprefix("version-"))
        self.migrate = [RINGWAKED, "--store", "migrate", "--config", daemon.configuration]
        daemon.write_configuration()
        state = daemon.directory / "state"
        state.mkdir(mode=0o700)
        shutil.copy(released, state / "store.db")
        if with_log:
            leave_log(state / "store.db")
        self.recorded = Recorded.run(native, daemon.directory, self.migrate, records)
        assert self.recorded.done.returncode == 0, self.recorded.done
        # How many states had which version.
        self.found: Counter = Counter()
        self.whole = exported(daemon)
        assert len(self.whole) > 2

    def version(self, image: Image) -> int | None:
        """Between two renames there is none."""
        contents = image.get(STORE)
        return int.from_bytes(contents[60:64], "big") if contents else None

    def check(self, image: Image, starts: bool) -> None:
        self.recorded.lay_out(image)
        if starts:
            self.daemon.start().stop()
            assert "damaged" not in self.daemon.log and "lost" not in self.daemon.log, self.daemon.log
            # The daemon has ended the calls.
            assert lasting(exported(self.daemon)) == lasting(self.whole)
        else:
            open_store(self.daemon)
            assert exported(self.daemon) == self.whole
        left = {path.name for path in (self.daemon.directory / "state").iterdir()}
        assert not [name for name in left if name.startswith(("store.version-", "store.new", "store.migrated"))], left
        assert "damaged" not in left, left

    def problems(self, recorded: Recorded, every: int) -> Iterator[str]:
        self.found.clear()
        for number, (moment, image) in enumerate(recorded.states(every, SEED)):
            self.found[self.version(image)] += 1
            try:
                self.check(image, starts=number % STARTS == 0)
            except AssertionError as error:
                yield f"{moment}: {error}"


def lasting(records: list[dict]) -> list[dict]:
    """Those that a start does not change."""
    return [record for record in records if record["kind"] in ("push", "list", "list_entry")]


def leave_log(store: Path) -> None:
    """Changes the store, and leaves the change in its log, as a daemon that is killed does."""
    connection = sqlite3.connect(store, isolation_level=None)
    for statement in IN_THE_LOG:
        connection.execute(statement)
    log = store.with_name("store.db-wal").read_bytes()
    main = store.read_bytes()
    connection.close()
    for path in store.parent.iterdir():
        path.unlink()
    store.write_bytes(main)
    store.with_name("store.db-wal").write_bytes(log)


@pytest.fixture
def site(make_daemon, native: Native, tmp_path: Path) -> Callable[..., Site]:
    def make(released: Path, with_log: bool = True) -> Site:
        return Site(make_daemon(), native, released, tmp_path / "records", with_log)

    return make


@pytest.mark.parametrize("with_log", [False, True], ids=["closed", "with-log"])
@pytest.mark.parametrize("released", sorted(RELEASED.glob("*/*.db")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_moment_of_a_migration_has_one_of_the_stores(site, released: Path, with_log: bool) -> None:
    made = site(released, with_log)
    assert list(made.problems(made.recorded, EVERY)) == []
    assert {made.former, VERSION} <= made.found.keys() <= {made.former, VERSION, None}
    print(f"{made.found.total()} states: {made.found}")


@pytest.mark.parametrize("path", ["state/store.new", "state"])
def test_a_migration_that_does_not_sync_is_noticed(site, path: str) -> None:
    """Each in a store of its own: the new store's contents, and the names."""
    made = site(RELEASED / "version-7" / "device.db")
    assert next(made.problems(made.recorded.without_syncs(path), 5), None)
