"""Apps whose handler is a whole program, `fakes/handler.py`, in each way of being woken."""

import json
import os
import subprocess
from pathlib import Path

from . import processes
from .buses import FAKES
from .credentials import APP
from .daemon import Daemon
from .programs import SYSTEM_PYTHON
from .waiting import until

PROGRAM = FAKES / "handler.py"


class App:
    """One app: its file in `apps.d`, its handlers, and what they wrote down."""

    def __init__(self, daemon: Daemon, app: str = APP) -> None:
        self.daemon = daemon
        self.app = app
        self.log_file = daemon.directory / "handlers" / f"{app}.jsonl"
        self.log_file.parent.mkdir(exist_ok=True)
        self.log_file.touch()
        self.socket = daemon.directory / f"{app}.sock"
        self.started: list[subprocess.Popen] = []
        daemon.apps.append(self)

    def command(self, way: str, *arguments: object) -> list[str]:
        return [SYSTEM_PYTHON, "-B", str(PROGRAM), str(self.log_file), way, *map(str, arguments)]

    def configure(self, wake: str, *, instances: str = "app", more: str = "") -> "App":
        """Writes the app's file: `wake` is what stands in its section [wake]."""
        (self.daemon.directory / "apps.d" / f"{self.app}.toml").write_text(
            f'[wake]\n{wake}\ninstances = "{instances}"\n{more}'
        )
        return self

    # The ways

    def by_exec(self, *misdeeds: str, way: str = "exec", **options) -> "App":
        return self.configure(f"exec = {json.dumps(self.command(way, *misdeeds))}", **options)

    def by_transient_unit(self, *misdeeds: str, manager: str = "system", **options) -> "App":
        command = json.dumps(self.command("exec", *misdeeds))
        return self.configure(f'exec = {command}\nway = "unit"\nmanager = "{manager}"', **options)

    def by_unit(self, unit: str, folder: Path, *misdeeds: str, manager: str = "system", **options) -> "App":
        """`unit` of the fake systemd, whose unit files are in `folder`."""
        command = self.command("unit", self.daemon.control_socket, self.app, *misdeeds)
        (folder / unit).write_text("\n".join(command))
        return self.configure(f'unit = "{unit}"\nmanager = "{manager}"', **options)

    def by_dbus(self, name: str, bus: str = "session", **options) -> "App":
        return self.configure(f'dbus = "{name}"\nbus = "{bus}"', **options)

    def by_socket(self, **options) -> "App":
        return self.configure(f'socket = "{self.socket}"', **options)

    def only_connected(self, **options) -> "App":
        return self.configure("connected = true", **options)

    # Handlers that the test starts

    def run(self, way: str, *arguments: object, wrapper: list[str] | None = None) -> subprocess.Popen:
        """Starts a handler as somebody else would, an init system or a session."""
        process = subprocess.Popen(
            [*(wrapper or []), *self.command(way, *arguments)], stdin=subprocess.DEVNULL,
            stdout=(self.log_file.parent / "errors").open("ab"), stderr=subprocess.STDOUT,
            start_new_session=True, env=os.environ | self.daemon.variables, cwd="/",
        )  # fmt: skip
        self.started.append(process)
        return process

    def connect(self, *misdeeds: str) -> subprocess.Popen:
        """Starts a handler that keeps a connection, and waits until it does."""
        process = self.run("connected", self.daemon.control_socket, self.app, *misdeeds)
        self.waits_for("event", event="handler", pid=process.pid)
        return process

    def listen(self, *misdeeds: str) -> subprocess.Popen:
        """Starts a handler that listens on `socket`, and waits until it does."""
        process = self.run("socket", self.socket, *misdeeds)
        self.waits_for("listening", pid=process.pid)
        return process

    # What they wrote down

    def records(self, what: str | None = None, **members: object) -> list[dict]:
        """Their lines so far, in order: those of this kind with these members."""
        members = members | ({"what": what} if what else {})
        lines = self.log_file.read_text().split("\n")[:-1]
        return [record for line in lines if members.items() <= (record := json.loads(line)).items()]

    def waits_for(self, what: str, count: int = 1, seconds: float = 10, **members: object) -> dict:
        """The record of this kind with these members, once there are `count`: the last of these."""

        def look() -> dict | None:
            found = self.records(what, **members)
            return found[count - 1] if len(found) >= count else None

        def missing() -> str:
            errors = self.log_file.parent / "errors"
            said = errors.read_text(errors="replace") if errors.exists() else ""
            return f"{what} with {members}, {count} times; {self.app} has:\n{self.log_file.read_text()}{said}"

        return until(look, seconds, missing)

    def woken(self, call: str, **members: object) -> dict:
        """The record of the handler that was given this call."""
        return self.waits_for("woken", call=call, **members)

    def said(self, verb: str, **members: object) -> dict:
        return self.waits_for("said", verb=verb, **members)

    def lives(self) -> list[int]:
        """The processes that there were, in the order of their beginnings."""
        return [record["pid"] for record in self.records("begins")]

    def running(self) -> list[int]:
        """The processes that there are still; a process counts only if it is this app's handler."""
        return [pid for pid in self.lives() if str(self.log_file) in processes.command_line(pid)]

    def clear_away(self) -> None:
        # pytest shows this for a test that failed.
        print(f"--- handlers of {self.app}\n{self.log_file.read_text()}")
        for pid in self.running():
            processes.end(pid)
        for process in self.started:
            process.kill()
            process.wait()
