"""A real `ringwaked` in a folder of its own."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from . import processes, programs
from .control import Control
from .credentials import APP, TEAM, TOPIC, Credentials
from .handlers import Recorder
from .waiting import until

# Starting and stopping take some ten milliseconds; the bounds are for a machine under load. In seconds.
START_TIMEOUT = 60
STOP_TIMEOUT = 60

# What a Swift program writes when it traps, and what a C library writes when it gives up.
CRASH = re.compile(
    r"Fatal error|Program crashed|Fatal access conflict|Illegal instruction|Assertion.*failed|Stack dump"
)


class Daemon:
    """One daemon: its files, its process and its clients."""

    def __init__(
        self, credentials: Credentials, *, address: str = "127.0.0.1:0", user: list[str] | None = None
    ) -> None:
        # A socket's path has at most 107 bytes, so not in pytest's deep folders; open to other users of the tests.
        self.directory = Path(tempfile.mkdtemp(prefix="ringwake-"))
        self.directory.chmod(0o755)
        self.credentials = credentials
        self.user = user or []
        self.address = address
        self.calls: dict[str, str] = {}
        self.settings: dict[str, str] = {}
        # Further sections of the configuration, by name, as TOML. Many handlers of the tests fail, and are meant to.
        self.sections = {"strikes": "limit = 0"}
        # Of its environment. No bus of this machine is a test's business: one that wants a bus brings it along.
        self.variables = {
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus",
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus",
        }
        self.process: subprocess.Popen | None = None
        self.log_file = self.directory / "log"
        self.configuration = self.directory / "ringwaked.toml"
        self.recorders: list[Recorder] = []
        # Of `apps.App`: handlers that are whole programs.
        self.apps: list = []
        (self.directory / "apps.d").mkdir()

    # Configuration

    def text(self) -> str:
        """The configuration file's text; `settings` replace single values by their place, `server.key`."""

        def value(place: str, default: object) -> str:
            return json.dumps(self.settings.get(place, default))

        credentials = self.credentials
        calls = "\n".join(f'{name} = "{length}"' for name, length in self.calls.items())
        group = f"control_group = {value('control_group', '')}\n" if "control_group" in self.settings else ""
        sections = "".join(f"[{name}]\n{lines}\n" for name, lines in self.sections.items())
        return f"""
state_directory = {value("state_directory", "state")}
runtime_directory = {value("runtime_directory", "run")}
{group}[server]
certificate = {value("server.certificate", str(credentials.server_certificate))}
key = {value("server.key", str(credentials.server_key))}
provider_cas = {value("server.provider_cas", [str(credentials.ca)])}
[[listener]]
address = "{self.address}"
environment = {value("listener.environment", "development")}
[[team]]
id = "{TEAM}"
topics = {value("team.topics", [TOPIC])}
outcome = {value("team.outcome", False)}
[[team.key]]
id = "{credentials.key_id}"
file = {value("team.key.file", str(credentials.token_public_key))}
[calls]
{calls}
[log]
level = {value("log.level", "info")}
{sections}"""

    def write_configuration(self, text: str | None = None) -> None:
        self.configuration.write_text(text if text is not None else self.text())

    def add_app(self, *then: str, app: str = APP, instances: str = "call", more: str = "") -> Recorder:
        """Configures an app whose handler records its wakes and then becomes `then`."""
        recorder = Recorder(self.directory / "handlers" / app, *then)
        self.recorders.append(recorder)
        self.set_handler(recorder.exec, app=app, instances=instances, more=more)
        return recorder

    def set_handler(self, command: list[str], app: str = APP, instances: str = "call", more: str = "") -> None:
        """Writes the app's file, as a person or a package would; `more` stands after the section [wake]."""
        (self.directory / "apps.d" / f"{app}.toml").write_text(
            f'[wake]\nexec = {json.dumps(command)}\ninstances = "{instances}"\n{more}'
        )

    # Process

    def command(self, *arguments: object) -> list[str]:
        return [*self.user, str(programs.RINGWAKED), "--config", str(self.configuration), *map(str, arguments)]

    def run_to_its_end(self, *arguments: object) -> subprocess.CompletedProcess:
        """Starts it expecting that it does not stay: `--check-config`, or a configuration that cannot work."""
        if not self.configuration.exists():
            self.write_configuration()
        done = programs.run(*self.command(*arguments), cwd="/")
        assert not CRASH.search(done.stderr), done.stderr
        return done

    def start(self) -> "Daemon":
        """Starts it and waits until the control socket answers."""
        if not self.configuration.exists():
            self.write_configuration()
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=os.environ | self.variables,
            )  # fmt: skip
        until(self._answers, START_TIMEOUT, lambda: f"the daemon to answer; its log:\n{self.log}")
        return self

    def _answers(self) -> bool:
        assert self.process
        assert self.process.poll() is None, f"ended with {self.process.returncode} at its start; its log:\n{self.log}"
        try:
            return self.control.request("GET", "/v1/status")[0] == 200
        except OSError:
            return False

    def stop(self) -> None:
        """Asks it to stop, and checks that it does, in good order."""
        if not self.process:
            return
        process, self.process = self.process, None
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"did not stop within {STOP_TIMEOUT} s of SIGTERM; its log:\n{self.log}") from None
        self.check_log()
        assert status == 0, f"stopped with {status}; its log:\n{self.log}"

    def kill(self) -> None:
        """Takes its life, as a crash or the kernel's want of memory would."""
        assert self.process
        self.process.kill()
        self.process.wait()
        self.process = None

    def check_log(self) -> None:
        assert not CRASH.search(self.log), self.log

    def clear_away(self) -> None:
        """Ends what a failed test left behind and deletes the folder."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for recorder in self.recorders:
            recorder.clear_away()
        for app in self.apps:
            app.clear_away()
        shutil.rmtree(self.directory, ignore_errors=True)

    # What a test looks at

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    @property
    def control_socket(self) -> Path:
        return self.directory / "run" / "control.sock"

    @property
    def status_socket(self) -> Path:
        """The one for every local user."""
        return self.directory / "run" / "status.sock"

    @property
    def control(self) -> Control:
        return Control(self.control_socket)

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Where it takes pushes."""
        host, _, port = self.control.status()["listeners"][0]["address"].rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def url(self) -> str:
        host, port = self.host_and_port
        return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"

    def device_token(self, app: str = APP, environment: str = "development") -> str:
        return self.control.app(app)["tokens"][environment]

    def connect(self) -> socket.socket:
        """A bare TCP connection to the push port."""
        return socket.create_connection(self.host_and_port, timeout=10)

    def check_alive(self) -> None:
        """It runs, answers, and has traps neither in its log nor zombies as children."""
        assert self.process and self.process.poll() is None, f"it is gone; its log:\n{self.log}"
        self.control.status()
        self.check_log()
        zombies = lambda: processes.zombies(self.pid)  # noqa: E731
        until(lambda: not zombies(), 5, lambda: f"the ended handlers to be fetched: {zombies()}")

    def environment(self) -> dict[str, str]:
        """How `ringwake` finds this daemon."""
        return {"RINGWAKE_SOCKET": str(self.control_socket), "NO_COLOR": "1"}

    def ringwake(self, *arguments: object, **options) -> subprocess.CompletedProcess:
        """Runs the command line against this daemon, in its network: of another it says nothing."""
        before = self.user if self.user[:2] == ["ip", "netns"] else []
        return programs.run(
            *before, programs.RINGWAKE, *arguments, env=self.environment() | options.pop("env", {}), **options
        )

    def log_mentions(self, text: str, seconds: float = 5) -> None:
        until(lambda: text in self.log, seconds, lambda: f"'{text}' in the log:\n{self.log}")


def owns_nothing(directory: Path) -> None:
    """Gives a folder to the user that `as_nobody` runs as."""
    for path in [directory, *directory.rglob("*")]:
        os.chown(path, 65534, 65534)
