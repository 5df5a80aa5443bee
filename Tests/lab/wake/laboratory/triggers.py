"""What can be triggered: each ends in the same static program, or in a handler that runs already."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

# Adds the folders of the benchmarks and of the integration tests to the path.
from .programs import FOLDER, benchmark, find

from measure.servers import APP, HOST, TOPIC, Peer, Ringwaked, free_port  # noqa: I001
from support.buses import Bus
from support.services import Systemd

START_TIMEOUT = 10


class Trigger:
    """One row: something that is set up, triggered often, and taken away."""

    name = ""

    def __init__(self) -> None:
        # The name goes through a shell and into others' configurations.
        self.fifo = FOLDER / ("".join(letter for letter in self.name if letter.isalnum()) + ".fifo")
        os.mkfifo(self.fifo)
        self.handler = benchmark.peer("handler")
        self.processes: list[subprocess.Popen] = []
        self.undo: list[Callable[[], None]] = []
        self.peer: Peer | None = None

    def start(self) -> None:
        """Sets everything up; `stop` takes away also what was set up before a failure."""
        raise NotImplementedError

    def launch(self, *command: object, ready: bool = False, **variables: str) -> None:
        """Starts a process; with `ready` waits until it says so."""
        process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if ready else subprocess.DEVNULL,
            stderr=(FOLDER / f"{self.fifo.name}.log").open("ab"), start_new_session=True,
            env=os.environ | variables, text=True,
        )  # fmt: skip
        self.processes.append(process)
        if ready and process.stdout and process.stdout.readline() != "ready\n":
            raise SystemExit(f"{command[0]} did not become ready:\n{self.log()}")

    def log(self) -> str:
        path = FOLDER / f"{self.fifo.name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_for_port(self, port: int) -> None:
        """Waits until something listens; the kernel is asked, for a connection would be a trigger."""
        deadline = time.monotonic() + START_TIMEOUT
        # State 0A is LISTEN, proc(5).
        pattern = f":{port:04X} 00000000:0000 0A"
        while pattern not in Path("/proc/net/tcp").read_text():
            if time.monotonic() > deadline or self.processes[-1].poll() is not None:
                raise SystemExit(f"{self.name} does not listen:\n{self.log()}")
            time.sleep(0.01)

    def step(self) -> int:
        """Triggers once; nanoseconds to the handler's first instruction, or to the push in its hands."""
        assert self.peer
        return self.peer.step()[0]

    def stop(self) -> None:
        if self.peer:
            self.peer.stop()
        for process in reversed(self.processes):
            # With its children: `mosquitto_sub | sh` is a group.
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        for undo in reversed(self.undo):
            undo()
        self.fifo.unlink(missing_ok=True)


# The floors

class Spawn(Trigger):
    """posix_spawn with nothing in front of it."""

    name = "posix_spawn alone"

    def start(self) -> None:
        self.peer = Peer("spawn_floor", self.handler, self.fifo)


class ByteThenSpawn(Trigger):
    """A process that waits for one byte on a TCP connection, and then calls posix_spawn."""

    name = "one byte over TCP, then posix_spawn"

    def start(self) -> None:
        self.peer = Peer("spawn_floor", self.handler, self.fifo, "tcp")


# Ringwake

class Ringwake(Trigger):
    """A push to a daemon of its own, whose app is woken in one way."""

    bus_kind = ""

    def start(self) -> None:
        bus = {}
        if self.bus_kind:
            self.bus = Bus(self.bus_kind)
            self.undo.append(self.bus.clear_away)
            bus = self.bus.start().environment()
        # The daemon inherits them; nothing else looks at a bus.
        os.environ.update(
            {f"DBUS_{kind}_BUS_ADDRESS": "unix:path=/nonexistent/bus" for kind in ("SESSION", "SYSTEM")} | bus
        )
        self.server = Ringwaked(["/bin/true"], instances="call")
        self.undo.append(self.server.stop)
        # The handlers that only stamp and exit fail each of their calls: they are to be started all the same.
        file = self.server.folder / "apps.d" / f"{APP}.toml"
        file.write_text(f'[wake]\n{self.wake()}\ninstances = "call"\n[strikes]\nlimit = 0\n')
        self.reload()
        self.prepare()
        self.peer = Peer(
            "push_client", HOST, self.server.port, self.server.ca, self.server.certificate, self.server.token, TOPIC,
            self.fifo,
        )  # fmt: skip

    def reload(self) -> None:
        done = subprocess.run(
            [benchmark.RINGWAKE, "reload"], capture_output=True, text=True,
            env=os.environ | {"RINGWAKE_SOCKET": str(self.control)},
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{self.name}: {done.stderr}")

    @property
    def control(self) -> Path:
        return self.server.runtime / "control.sock"

    def command(self) -> str:
        """The program that stamps and exits, as TOML."""
        return json.dumps([str(self.handler), str(self.fifo)])

    def wake(self) -> str:
        """What stands in the app's section [wake]."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Starts what has to run before the first push."""


class Exec(Ringwake):
    name = "ringwake: exec"

    def wake(self) -> str:
        return f'exec = {self.command()}\nway = "exec"'


class TransientUnit(Ringwake):
    """Through the system's systemd where it is process 1, else through a fake in Python, whose time is most of it."""

    is_real = Path("/run/systemd/system").is_dir()
    name = f"ringwake: transient unit, {'systemd' if is_real else 'a fake systemd in Python'}"
    bus_kind = "" if is_real else "system"

    def wake(self) -> str:
        if not self.is_real:
            Systemd(self.bus)
        return f'exec = {self.command()}\nway = "unit"\nmanager = "system"'


class ActivatedName(Ringwake):
    """The bus starts the program, for a name that nobody owns."""

    name = "ringwake: dbus, the bus starts the handler"
    bus_kind = "session"
    bus_name = "org.example.RingwakeLab"

    def wake(self) -> str:
        self.bus.activates(self.bus_name, [str(FOLDER / "activated"), str(self.fifo)])
        return f'dbus = "{self.bus_name}"\nbus = "session"'


class RunningName(Ringwake):
    """A handler that owns the name already."""

    name = "ringwake: dbus, the handler runs"
    bus_kind = "session"
    bus_name = "org.example.RingwakeLab"

    def wake(self) -> str:
        return f'dbus = "{self.bus_name}"\nbus = "session"'

    def prepare(self) -> None:
        self.launch(FOLDER / "warm", "dbus", self.bus_name, self.fifo, ready=True, **self.bus.environment())


class Socket(Ringwake):
    name = "ringwake: socket, the handler listens"
    path = FOLDER / "handler.sock"

    def wake(self) -> str:
        return f'socket = "{self.path}"'

    def prepare(self) -> None:
        self.launch(FOLDER / "warm", "socket", self.path, self.fifo, ready=True)


class Connected(Ringwake):
    """The warm way: the handler keeps a connection."""

    name = "ringwake: connected handler"

    def wake(self) -> str:
        return "connected = true"

    def prepare(self) -> None:
        self.launch(FOLDER / "warm", "connected", self.control, APP, self.fifo, ready=True)


# The peers

class Webhook(Trigger):
    name = "webhook"

    def start(self) -> None:
        port, hooks = free_port(), FOLDER / "hooks.json"
        argument = {"source": "string", "name": str(self.fifo)}
        hooks.write_text(json.dumps([
            {"id": "ring", "execute-command": str(self.handler), "pass-arguments-to-command": [argument]}
        ]))  # fmt: skip
        self.launch(find("webhook"), "-hooks", hooks, "-ip", HOST, "-port", port)
        self.wait_for_port(port)
        self.peer = trigger("http", port, "/hooks/ring", self.fifo)


class Xinetd(Trigger):
    name = "xinetd"

    def start(self) -> None:
        port, configuration = free_port(), FOLDER / "xinetd.conf"
        configuration.write_text(f"""service ring
{{
    type = UNLISTED
    socket_type = stream
    protocol = tcp
    bind = {HOST}
    port = {port}
    wait = no
    user = root
    server = {self.handler}
    server_args = {self.fifo}
    instances = UNLIMITED
    per_source = UNLIMITED
    cps = 10000 1
    log_type = FILE /dev/null
}}
""")
        self.launch(find("xinetd"), "-dontfork", "-f", configuration, "-pidfile", FOLDER / "xinetd.pid")
        self.wait_for_port(port)
        self.peer = trigger("connect", port, self.fifo)


class Mosquitto(Trigger):
    # A bare bar would end the cell of the table.
    name = r"mosquitto_sub \| sh"

    def start(self) -> None:
        port, configuration = free_port(), FOLDER / "mosquitto.conf"
        configuration.write_text(
            f"listener {port} {HOST}\nallow_anonymous true\npersistence false\nset_tcp_nodelay true\n"
        )
        self.launch(find("mosquitto"), "-c", configuration)
        self.wait_for_port(port)
        loop = f"while read -r line; do {self.handler} {self.fifo}; done"
        self.launch("sh", "-c", f"{find('mosquitto_sub')} -h {HOST} -p {port} -t ring | {loop}")
        self.peer = trigger("mqtt", port, "ring", self.fifo)
        # A message that comes before the subscription is lost.
        time.sleep(1)


class SocketActivate(Trigger):
    name = "systemd-socket-activate"

    def start(self) -> None:
        port = free_port()
        command = ["--accept", "--inetd", f"--listen={HOST}:{port}", self.handler, self.fifo]
        self.launch(find("systemd-socket-activate"), *command)
        self.wait_for_port(port)
        self.peer = trigger("connect", port, self.fifo)


def trigger(*arguments: object) -> Peer:
    """native/trigger.c, which is not among the benchmarks' own programs."""
    here = benchmark.PEERS
    benchmark.PEERS = FOLDER
    try:
        return Peer("trigger", *arguments)
    finally:
        benchmark.PEERS = here


FLOORS: list[type[Trigger]] = [Spawn, ByteThenSpawn]
WAYS: list[type[Trigger]] = [Exec, TransientUnit, ActivatedName, RunningName, Socket, Connected]
PEERS: dict[type[Trigger], list[str]] = {
    Webhook: ["webhook"], Xinetd: ["xinetd"], Mosquitto: ["mosquitto", "mosquitto_sub"],
    SocketActivate: ["systemd-socket-activate"],
}  # fmt: skip


def available() -> list[type[Trigger]]:
    return [peer for peer, programs in PEERS.items() if all(find(program) for program in programs)]
