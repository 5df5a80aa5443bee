"""The C programs of the tests: libraries that stand between the daemon and the system, and a quick handler."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import programs

SOURCES = Path(__file__).resolve().parents[1] / "native"
FLAGS = ["-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror"]


@dataclass(frozen=True)
class Native:
    """A folder with the compiled programs."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "Native":
        """Compiles all of them; takes about a second."""
        assert shutil.which("cc"), "'cc' is not installed; apt-get install gcc"
        for name, flags in (
            ("recorder.so", ["-shared", "-fPIC"]), ("faults.so", ["-shared", "-fPIC"]),
            ("clock.so", ["-shared", "-fPIC"]), ("caller", []), ("stream_handler", ["-static"]), ("without", []),
        ):  # fmt: skip
            source = (SOURCES / name).with_suffix(".c")
            done = programs.run("cc", *FLAGS, *flags, "-o", folder / name, source)
            assert done.returncode == 0, done.stderr
        return cls(folder)

    @property
    def caller(self) -> Path:
        """The handler of caller.c."""
        return self.folder / "caller"

    def preload(self, state: Path, *libraries: str, **variables: object) -> list[str]:
        """What stands before the daemon's command so that these libraries watch its store in `state`."""
        paths = " ".join(str(self.folder / library) for library in libraries)
        settings = {
            "LD_PRELOAD": paths, "WATCHED_PROGRAM": programs.RINGWAKED.name, "WATCHED_STORE": state / "store.db",
        } | variables  # fmt: skip
        return ["env", *(f"{name}={value}" for name, value in settings.items())]


class Faults:
    """What is wrong with the disk of a daemon that runs with faults.so."""

    def __init__(self, native: Native) -> None:
        self.native = native
        self.folder = Path(tempfile.mkdtemp(prefix="ringwake-faults-"))
        self.control = self.folder / "control"
        self.record = self.folder / "record"

    def prefix(self, state: Path, *more: str, **variables: object) -> list[str]:
        """What stands before the daemon's command; `more` are libraries that come first."""
        return self.native.preload(
            state, *more, "faults.so", FAULTS_CONTROL=self.control, FAULTS_LOG=self.record, **variables
        )

    def set(self, **faults: int) -> None:
        """From now on this is wrong, and nothing else: `set(sync=errno.EIO)`, `set(stall=100)`, `set()`.

        `set(**{"sync@store.db": errno.EIO})` for one file.
        """
        new = self.folder / "new"
        new.write_text("".join(f"{word} {number}\n" for word, number in faults.items()))
        os.rename(new, self.control)

    def count(self, what: str) -> int:
        """How many calls were made to fail so, to stall or to hang."""
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return sum(1 for line in lines if line.split()[0] == what)

    def clear_away(self) -> None:
        """Lets go of what hangs, and deletes the folder."""
        self.set()
        shutil.rmtree(self.folder, ignore_errors=True)
