"""A folder as a kill or a power cut leaves it at any moment of a recorded command, and the real programs on it.

    recorded = Recorded.run(native, daemon.directory, command, tmp_path)
    for moment, image in recorded.states(every=11, seed=1):
        recorded.lay_out(image)
"""

import hashlib
import json
import random
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from . import programs
from .daemon import Daemon
from .native import Native
from .recording import Entry, Kind, read_recording
from .replay import OF_NAMES, Image, Replay, lay_out

# The entries before which what is on the disk may be something else than before.
MOMENTS = (Kind.WRITE, Kind.TRUNCATE, Kind.SYNC, Kind.RETURNED, *OF_NAMES)


@dataclass
class Recorded:
    """What one command did to a folder, with what it started itself."""

    folder: Path
    # What was there before, and its permissions.
    before: Image
    modes: dict[str, int]
    entries: list[Entry]
    done: subprocess.CompletedProcess

    @classmethod
    def run(cls, native: Native, folder: Path, command: list[object], records: Path, **options) -> "Recorded":
        """Runs it to its end. Nothing else may use the folder meanwhile, and all that it uses has to be in it."""
        before, modes = snapshot(folder), permissions(folder)
        done = programs.run(*recording(native, folder, records), *command, **options)
        recorded = cls(folder, before, modes, without_sockets(read_recording(records / "log"), before), done)
        recorded.check()
        return recorded

    def check(self) -> None:
        """What the record adds up to is what is there, byte for byte: nothing was done in a way that it does not show."""
        replay = self.at_end()
        seen, there = plain(replay.seen()), plain(snapshot(self.folder))
        different = [path for path in seen.keys() | there.keys() if seen.get(path) != there.get(path)]
        assert not different, f"the record says something else of {sorted(different)[:9]}"

    def without_syncs(self, path: str) -> "Recorded":
        """The same, had it not synced what ends with `path`: for tests of the tests."""
        names = {entry.subject: entry.data.decode() for entry in self.entries if entry.kind == Kind.OPENED}
        syncs = [
            time for time, entry in enumerate(self.entries)
            if entry.kind == Kind.SYNC and names[entry.subject].endswith(path)
        ]  # fmt: skip
        assert syncs, f"{path} was not synced"
        entries = list(self.entries)
        for time in syncs:
            # Something that changes nothing, so that the places of the others stay.
            entries[time] = replace(entries[time], kind=Kind.WEAKENED)
        return replace(self, entries=entries)

    def at_end(self) -> Replay:
        replay = Replay(self.entries, self.before)
        while replay.now < len(self.entries):
            replay.step()
        return replay

    def states(self, every: int, seed: int) -> Iterator[tuple[str, Image]]:
        """Each different state of the folder at every so many moments, and at the end.

        Of each moment: after a kill, after a kill within a write, and after the power went while the disk had written as
        little as it may, everything in order, anything, all names and no contents, or all contents and no names.
        """
        replay, generator, known = Replay(self.entries, self.before), random.Random(seed), set()
        moments = [time for time, entry in enumerate(self.entries) if entry.kind in MOMENTS]
        for time in [*moments[::every], len(self.entries)]:
            while replay.now < time:
                replay.step()
            if time == len(self.entries):
                # What has to be true at the end is more than before.
                known.clear()
            for what, image in (
                ("killed", replay.seen()),
                ("killed within a write", replay.cut(generator) if time < len(self.entries) else replay.seen()),
                ("power cut, only what was synced", replay.safe()),
                ("power cut, disk in order", replay.torn(generator)),
                ("power cut, disk in no order", replay.scattered(generator)),
                ("power cut, names first", replay.names_first()),
                ("power cut, contents first", replay.contents_first()),
            ):
                if (digest := fingerprint(image)) not in known:
                    known.add(digest)
                    yield f"entry {time}, {what}", image

    def lay_out(self, image: Image) -> None:
        """Makes the folder that image."""
        empty(self.folder)
        lay_out(image, self.folder)
        for path in image.keys() & self.modes.keys():
            (self.folder / path).chmod(self.modes[path])

    def begin_again(self) -> None:
        self.lay_out(self.before)


def recording(native: Native, folder: Path, records: Path) -> list[str]:
    """What stands before a command so that all that it and the programs that it starts do to a folder is recorded."""
    records.mkdir()
    return native.preload(
        folder, "recorder.so", WATCHED_STORE=f"{folder}/", RECORDER_LOG=records / "log",
        RECORDER_SHARED=records / "shared", WATCHED_PROGRAM=f"{programs.RINGWAKE.name},{programs.RINGWAKED.name}",
    )  # fmt: skip


def without_sockets(entries: list[Entry], before: Image) -> list[Entry]:
    """A socket gets its name by a link or a renaming, and nothing has opened it as a file before."""
    known, found = {path.rstrip("/") for path in before}, []
    for entry in entries:
        old, _, new = entry.data.decode(errors="replace").partition("\0")
        if entry.kind in (Kind.OPENED, Kind.MKDIR):
            known.add(old)
        elif entry.kind in (Kind.LINK, Kind.RENAME):
            if old not in known:
                entry = replace(entry, kind=Kind.WEAKENED)
            else:
                # What is in a folder moves with it.
                known |= {new + path[len(old) :] for path in known if f"{path}/".startswith(f"{old}/")}
        found.append(entry)
    return found


def snapshot(folder: Path) -> Image:
    """The files and folders in it; sockets are of no use to whoever comes later."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            raise AssertionError(f"{path} is a symbolic link, which no image has")
        if path.is_dir():
            found[f"{name}/"] = b""
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def permissions(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)) + "/" * path.is_dir(): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
    }


def plain(image: Image) -> dict[str, bytes]:
    return {path: bytes(contents) for path, contents in image.items()}


def fingerprint(image: Image) -> bytes:
    digest = hashlib.sha256()
    for path in sorted(image):
        digest.update(f"{path}\0{len(image[path])}\0".encode())
        digest.update(image[path])
    return digest.digest()


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


# What the programs say about a folder that was laid out


def open_store(daemon: Daemon) -> None:
    """Opens the store of a daemon that does not run, as its start does, and completes what was interrupted."""
    done = programs.run(programs.RINGWAKED, "--store", "migrate", "--config", daemon.configuration)
    assert done.returncode == 0, done
    damage = [found for line in done.stdout.splitlines() for found in json.loads(line).get("store", {}).get("damage", [])]
    assert not damage, damage


def exported(daemon: Daemon) -> list[dict]:
    """The records of the store of a daemon that does not run."""
    done = programs.run(programs.RINGWAKED, "--store", "export", "--config", daemon.configuration)
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()][1:]
