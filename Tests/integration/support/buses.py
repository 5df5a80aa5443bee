"""Message buses of the test's own, and the services of others on them: python3-dbusmock, and fakes of ours."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from . import processes, programs
from .programs import SYSTEM_PYTHON
from .waiting import until

FAKES = Path(__file__).resolve().parent / "fakes"
START_TIMEOUT = 60

CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>{kind}</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <servicedir>{services}</servicedir>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="false"/><allow receive_sender="*"/>
    <allow send_type="signal"/><allow send_type="method_call"/>
  </policy>
</busconfig>
"""


class Bus:
    """A `dbus-daemon` with a socket and service files in a folder of its own."""

    def __init__(self, kind: str) -> None:
        assert kind in ("session", "system")
        self.kind = kind
        self.folder = Path(tempfile.mkdtemp(prefix=f"ringwake-{kind}-"))
        self.folder.chmod(0o755)
        self.socket = self.folder / "bus"
        self.services = self.folder / "services"
        self.services.mkdir()
        self.configuration = self.folder / "bus.conf"
        self.configuration.write_text(
            CONFIGURATION.format(kind=kind, socket=self.socket, services=self.services)
        )
        self.process: subprocess.Popen | None = None
        self.running: list[Service] = []

    @property
    def address(self) -> str:
        return f"unix:path={self.socket}"

    @property
    def variable(self) -> str:
        """The environment variable by which clients find a bus of this kind."""
        return f"DBUS_{self.kind.upper()}_BUS_ADDRESS"

    def environment(self) -> dict[str, str]:
        return {self.variable: self.address}

    def start(self) -> "Bus":
        self.process = subprocess.Popen(
            ["dbus-daemon", "--nofork", "--nopidfile", f"--config-file={self.configuration}"],
            stdin=subprocess.DEVNULL, stderr=(self.folder / "log").open("ab"), start_new_session=True,
            env=os.environ | self.environment(),
        )  # fmt: skip
        # The socket is there before it is listened on, and that of a bus that was killed stays behind.
        until(self._answers, START_TIMEOUT, "the bus to answer")
        return self

    def _answers(self) -> bool:
        return self.busctl("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId").returncode == 0

    def kill(self) -> None:
        """The bus is gone, and everybody's connection with it."""
        assert self.process
        self.process.kill()
        self.process.wait()
        self.process = None

    def clear_away(self) -> None:
        for service in self.running:
            service.stop()
        if self.process:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    # What is on it

    def activates(self, name: str, command: list[str]) -> None:
        """From now on a message to `name` starts this command."""
        quoted = " ".join(f'"{word}"' for word in command)
        (self.services / f"{name}.service").write_text(f"[D-BUS Service]\nName={name}\nExec={quoted}\nUser=root\n")
        if self.process:
            done = self.busctl("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "ReloadConfig")
            assert done.returncode == 0, done.stderr

    def busctl(self, *arguments: object, timeout: float = 10) -> subprocess.CompletedProcess:
        """Runs busctl(1), a D-Bus client that nobody here wrote, against this bus."""
        return programs.run("busctl", f"--address={self.address}", "--json=short", *arguments, timeout=timeout)

    def call(self, name: str, path: str, member: str, signature: str = "", *arguments: object) -> list:
        """Calls a method, `member` with its interface in front, and answers what it returned."""
        interface, _, method = member.rpartition(".")
        words = [signature, *arguments] if signature else []
        done = self.busctl("call", name, path, interface, method, *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["data"] if done.stdout.strip() else []

    def owner(self, name: str) -> str | None:
        """The unique name of who owns a name; nil when nobody does."""
        done = self.busctl("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetNameOwner", "s", name)
        return json.loads(done.stdout)["data"][0] if done.returncode == 0 else None

    def connections(self, pid: int) -> list[str]:
        """The unique names of a process's connections."""
        names = self.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames")[0]
        return [name for name in names if name.startswith(":") and self._pid(name) == pid]

    def _pid(self, name: str) -> int | None:
        bus = ("org.freedesktop.DBus", "/", "org.freedesktop.DBus")
        done = self.busctl("call", *bus, "GetConnectionUnixProcessID", "s", name)
        return json.loads(done.stdout)["data"][0] if done.returncode == 0 else None

    def mock(self, name: str, *options: str) -> "Service":
        """A python3-dbusmock; it owns `name` when this returns."""
        log = self.folder / f"{name}.log"
        return Service(self, name, ["-m", "dbusmock", f"--{self.kind}", "--logfile", str(log), *options], log)

    def fake(self, name: str, script: str, *arguments: object) -> "Service":
        """One of our own fakes; it owns `name` when this returns."""
        log = self.folder / f"{name}.log"
        return Service(self, name, [str(FAKES / script), str(log), *map(str, arguments)], log)


class Service:
    """A process that owns a name on a bus, and what it wrote down."""

    def __init__(self, bus: Bus, name: str, arguments: list[str], log: Path) -> None:
        self.bus = bus
        self.name = name
        self.log_file = log
        self.arguments = arguments
        self.process: subprocess.Popen | None = None
        bus.running.append(self)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [SYSTEM_PYTHON, "-B", *self.arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=(self.bus.folder / "errors").open("ab"), env=os.environ | self.bus.environment(),
            start_new_session=True,
        )  # fmt: skip
        until(lambda: self.bus.owner(self.name), START_TIMEOUT, lambda: f"{self.name} to be there; {self.errors()}")

    def errors(self) -> str:
        return (self.bus.folder / "errors").read_text(errors="replace")

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(how)
            # A fake that was stopped with SIGSTOP takes nothing else.
            self.process.send_signal(signal.SIGCONT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def hang(self) -> None:
        """It keeps its name and answers nothing, until it is resumed."""
        assert self.process
        processes.stop(self.process.pid)

    def waits_until_stopped(self) -> None:
        """Waits until it has stopped itself. `hang` could stop it earlier, and then it would stop a second time."""
        assert self.process
        pid = self.process.pid
        until(lambda: processes.state(pid) == "T", 10, f"{self.name} to stop itself")

    def resume(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGCONT)

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def records(self) -> list[dict]:
        """What one of our fakes wrote down: one JSON object a line."""
        lines = self.log.split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def waits_for(self, what: str, seconds: float = 10, **members: object) -> dict:
        """The first record of this kind with these members."""

        def look() -> dict | None:
            for record in self.records():
                if record["what"] == what and all(record.get(name) == value for name, value in members.items()):
                    return record
            return None

        return until(look, seconds, lambda: f"{self.name} to record {what} with {members}; it has: {self.log}")
