"""A backup or a restore that a kill or a power cut ends: what is there is the former or the new, whole.

Each is recorded once, with all the programs that it starts. From the record the tests make the folder as the disk may have
it at each of its moments, and start the real programs on it. The suite takes every so many moments,
`RINGWAKE_TEST_EVERY=1` all of them.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.backups import BACKED_UP, ENDS, NEWER, create, rewritten, ring
from support.crashes import Recorded, exported, open_store, plain, snapshot
from support.credentials import APP
from support.daemon import Daemon
from support.native import Native
from support.programs import RINGWAKE, RINGWAKED, run
from support.replay import Image
from support.store import RELEASED

EVERY = int(os.environ.get("RINGWAKE_TEST_EVERY", "53"))
SEED = int(os.environ.get("RINGWAKE_TEST_SEED") or 17)
# At one of so many states a daemon starts, and the command runs again, which takes longer.
STARTS = 9
# Of so many moments only the first one and the end are taken.
END_ONLY = 1_000_000
# Apps that only the backup has, and that only the present configuration has.
FORMER, LATER = "com.example.former", "com.example.later"
# Runs a command while a daemon runs, which then stops in good order. It is bounded by the patience of programs.run(). What
# the daemon says stands in the errors, in no file that would be part of the record.
WITH_DAEMON = """
"$1" --config "$2" >&2 & daemon=$!
until "$3" status >/dev/null 2>&1; do kill -0 $daemon || exit 1; sleep 0.05; done
shift 2
"$@"; status=$?
kill $daemon && wait $daemon || exit 1
exit $status
"""
# Of a state that was laid out: its image, whether the command had ended, and whether to start a daemon and the command.
Check = Callable[[Image, bool, bool], None]


class Site:
    """A folder with everything: the state, the configuration, backups, and where commands put what they unpack."""

    def __init__(self, daemon: Daemon, native: Native, records: Path) -> None:
        self.daemon, self.native, self.records = daemon, native, records
        self.backups, self.scratch = daemon.directory / "backups", daemon.directory / "scratch"
        for folder in (self.backups, self.scratch):
            folder.mkdir()
        self.environment = daemon.environment() | {"TMPDIR": str(self.scratch)}
        daemon.add_app(*ENDS)
        daemon.add_app(*ENDS, app=FORMER)
        daemon.start()
        ring(daemon, BACKED_UP)

    def change(self, is_other_store: bool = False) -> None:
        """Makes everything another than what was backed up, and stops the daemon.

        For a merge nothing of the backup may be there.
        """
        daemon = self.daemon
        if is_other_store:
            daemon.stop()
            for path in (daemon.directory / "state").glob("store.*"):
                path.unlink()
            daemon.start()
        (daemon.directory / "apps.d" / f"{FORMER}.toml").unlink()
        daemon.add_app(*ENDS, more="# newer\n")
        daemon.add_app(*ENDS, app=LATER)
        assert daemon.ringwake("reload").returncode == 0
        ring(daemon, NEWER)
        daemon.stop()

    def record(self, *words: object, daemon_runs: bool = False) -> None:
        self.command = [RINGWAKE, "backup", *words, "--config", self.daemon.configuration]
        command = self.command
        if daemon_runs:
            command = ["sh", "-c", WITH_DAEMON, "sh", RINGWAKED, self.daemon.configuration, *self.command]
        # Of a daemon that does not run nobody needs what it said.
        self.daemon.log_file.unlink()
        self.before = self.state()
        self.recorded = Recorded.run(
            self.native, self.daemon.directory, command, self.records, env=self.environment
        )
        assert self.recorded.done.returncode == 0, self.recorded.done
        self.after = self.state()

    def state(self) -> tuple[list[dict], dict[str, bytes]]:
        """The records of the store, and the other files of the state that have to fit to it."""
        records = exported(self.daemon)
        return records, evidence(self.daemon.directory / "state")

    def configuration(self) -> dict[str, bytes]:
        return plain(snapshot(self.daemon.directory / "apps.d"))

    def run_again(self) -> None:
        done = run(*self.command, env=self.environment)
        assert done.returncode == 0, done

    def start(self) -> None:
        self.daemon.start()
        ring(self.daemon, 1)
        self.daemon.stop()
        for word in ("damaged", "lacks", "unusable", "cannot be used"):
            assert word not in self.daemon.log, self.daemon.log

    def problems(self, recorded: Recorded, every: int, check: Check) -> Iterator[str]:
        end = f"entry {len(recorded.entries)},"
        for number, (moment, image) in enumerate(recorded.states(every, SEED)):
            recorded.lay_out(image)
            try:
                check(image, moment.startswith(end), number % STARTS == 0)
            except AssertionError as error:
                yield f"{moment}: {error}"


def evidence(state: Path) -> dict[str, bytes]:
    """The device's identity and its tokens, with their second copies."""
    kept = ("tokens.json", "identity.json", "apps/", "copies/")
    return {path: contents for path, contents in plain(snapshot(state)).items() if path.startswith(kept)}


@pytest.fixture
def site(make_daemon, native: Native, tmp_path: Path) -> Site:
    return Site(make_daemon(), native, tmp_path / "records")


class Restoring:
    """What must be true after a restore that was interrupted."""

    def __init__(self, site: Site, former: dict[str, bytes]) -> None:
        self.site, self.former, self.restored = site, former, site.configuration()
        self.found: set[bool] = set()

    def check(self, image: Image, is_at_end: bool, is_deep: bool) -> None:
        site = self.site
        open_store(site.daemon)
        state = site.state()
        assert state in (site.before, site.after), f"neither the former state nor the restored one: {differences(site, state)}"
        is_restored = state == site.after
        assert is_restored or not is_at_end, "the restore had ended, and is lost"
        self.found.add(is_restored)
        self.check_configuration(is_at_end)
        folder = site.daemon.directory / "state"
        left = {path.name for path in folder.iterdir()}
        assert not left & {"restore.ready", "restore.moving", "restore.unusable", "damaged"}, left
        # What was there before is all in one folder.
        aside = [path for path in folder.glob("before-restore-*")]
        if site.before[1] != site.after[1]:
            assert len(aside) == is_restored, aside
        for path in aside:
            assert evidence(path) == site.before[1], path
            assert len(records_of(site, path)) == len(site.before[0]), path
        if is_deep:
            site.start()
            site.run_again()

    def check_configuration(self, is_at_end: bool) -> None:
        """Each file is the former or the restored one, and the former one is still there."""
        now = self.site.configuration()
        for path in self.former.keys() | self.restored.keys():
            allowed = (self.restored.get(path),) if is_at_end else (self.former.get(path), self.restored.get(path))
            if path.endswith(".toml"):
                assert now.get(path) in allowed, path
        for path, contents in self.former.items():
            assert contents in now.values(), f"{path} is lost"


def differences(site: Site, state: tuple[list[dict], dict[str, bytes]]) -> str:
    found = {}
    for name, (records, files) in (("former", site.before), ("restored", site.after)):
        other = [record for record in state[0] if record not in records]
        found[name] = (len(other), other[:2], sorted(path for path in files.keys() | state[1].keys()
                                                    if files.get(path) != state[1].get(path)))  # fmt: skip
    return str(found)


def records_of(site: Site, aside: Path) -> list[dict]:
    """The records of a state that was moved aside."""
    done = run(RINGWAKE.with_name("ringwaked"), "--store", "export", "--file", aside / "store.db", "--config",
               site.daemon.configuration)  # fmt: skip
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()][1:]


class Creating:
    """What must be true after a backup that was interrupted, and that was to replace the older ones."""

    def __init__(self, site: Site, new: Path) -> None:
        self.site, self.new = site, new.name
        before = plain(site.recorded.before)
        self.older = {Path(path).name: before[path] for path in before if path.endswith(".tar.zst")}

    def check(self, image: Image, is_at_end: bool, is_deep: bool) -> None:
        site, new = self.site, self.new
        listed = run(RINGWAKE, "backup", "list", site.backups, "--json")
        assert listed.returncode == 0, listed
        names = {Path(backup["file"]).name for backup in json.loads(listed.stdout)["backups"]}
        for name in names:
            assert run(RINGWAKE, "backup", "verify", site.backups / name).returncode == 0, f"{name} is listed, and damaged"
            assert name == new or (site.backups / name).read_bytes() == self.older[name], f"{name} is another one"
        # An older one goes when the new one is there.
        assert new in names or names == self.older.keys(), names
        assert new in names or not is_at_end, "the backup had been made, and is lost"
        open_store(site.daemon)
        assert site.state() == site.before
        if is_deep:
            site.start()
            site.run_again()
            left = {path.name for path in site.backups.iterdir()}
            assert len(left) == 1 and left.pop().endswith(".tar.zst"), left
            assert not (site.daemon.directory / "state" / "store.copy").exists()


def has_older_store(folder: Path, manifest: dict) -> None:
    shutil.copyfile(RELEASED / "version-7" / "device.db", folder / "store" / "store.db")
    manifest["store"]["version"] = 7


def record_restore(site: Site, kind: str) -> Restoring:
    words = ["--portable"] * (kind == "portable") + ["--no-keys"]
    file = create(site.daemon, site.backups / "b.tar.zst", *words)
    if kind == "older":
        file = rewritten(file, site.backups / "older.tar.zst", has_older_store)
    site.change(is_other_store=kind == "merge")
    former = site.configuration()
    merging = ["--merge"] * (kind == "merge")
    site.record("restore", file, "--yes", *merging, daemon_runs=kind == "running")
    assert site.before != site.after
    return Restoring(site, former)


def record_backup(site: Site, kind: str) -> Creating:
    for _ in range(2):
        create(site.daemon, site.backups)
    site.change()
    site.record("create", "--to", site.backups, "--no-keys", "--keep", "1", *(["--portable"] * (kind == "portable")))
    [new] = site.backups.glob("*.tar.zst")
    return Creating(site, new)


@pytest.mark.parametrize("kind", ["raw", "older", "portable", "merge", "running"])
def test_every_moment_of_a_restore_has_one_of_the_states(site: Site, kind: str) -> None:
    restoring = record_restore(site, kind)
    assert list(site.problems(site.recorded, EVERY, restoring.check)) == []
    assert restoring.found == {False, True}


@pytest.mark.parametrize("kind", ["raw", "portable"])
def test_every_moment_of_a_backup_has_a_whole_one(site: Site, kind: str) -> None:
    creating = record_backup(site, kind)
    assert list(site.problems(site.recorded, EVERY, creating.check)) == []


@pytest.mark.parametrize("path", ["backup/store/store.db", "state"])
def test_a_restore_that_does_not_sync_is_noticed(site: Site, path: str) -> None:
    restoring = record_restore(site, "raw")
    assert next(site.problems(site.recorded.without_syncs(path), END_ONLY, restoring.check), None)


@pytest.mark.parametrize("path", [".tar.zst.partial", "backups"])
def test_a_backup_that_does_not_sync_is_noticed(site: Site, path: str) -> None:
    creating = record_backup(site, "raw")
    assert next(site.problems(site.recorded.without_syncs(path), END_ONLY, creating.check), None)
