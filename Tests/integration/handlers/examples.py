"""The example handlers as apps of a daemon, and who calls them."""

import contextlib
import json
import os
import socket
import threading
from pathlib import Path

from support import ports, processes
from support.apps import App
from support.credentials import APP
from support.daemon import Daemon
from support.ports import ADDRESS
from support.programs import BARESIP_HANDLER, ROOT, SYSTEM_PYTHON
from support.sockets import listens
from support.waiting import until

EXAMPLES = ROOT / "Examples"
# How long what the examples start may take to be gone, in seconds.
LEAVE_TIMEOUT = 60


class Example(App):
    """An app whose handler is a program of `Examples`, in each way of being woken."""

    program: list[str] = []

    def __init__(self, daemon: Daemon, app: str = APP) -> None:
        super().__init__(daemon, app)
        # Inherited by what is started, and how it is found again.
        self.environment: dict[str, str] = {}

    def command(self, way: str, *arguments: object) -> list[str]:
        return [*self.program, *map(str, arguments)]

    def stay(self) -> list[str]:
        """The arguments of a handler that keeps a connection."""
        return ["--stay", self.app]

    def by_exec(self, *arguments: str, **options) -> "Example":
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        command = ["/usr/bin/env", *settings, *self.command("exec", *arguments)]
        self.configure(f"exec = {json.dumps(command)}", **options)
        return self

    def start_connected(self) -> None:
        """Starts one that keeps a connection, and waits until it does."""
        own = self.environment | {"RINGWAKE_SOCKET": str(self.daemon.control_socket)}
        self.run("connected", *self.stay(), wrapper=["/usr/bin/env", *[f"{name}={own[name]}" for name in own]])
        self.is_connected()

    def is_connected(self) -> None:
        control = self.daemon.control
        until(lambda: control.app(self.app)["connected"] == 1, 15, lambda: f"a connected handler\n{self.errors}")

    def start_listening(self) -> None:
        self.run("socket", "--listen", self.socket)
        until(lambda: listens(self.socket), 10, lambda: f"a listening handler\n{self.errors}")

    @property
    def errors(self) -> str:
        """What those said that the test has started."""
        path = self.log_file.parent / "errors"
        return path.read_text(errors="replace") if path.exists() else ""

    def running(self) -> list[int]:
        """All that runs of its handlers, with what they have started."""
        mark = f"RINGWAKE_SOCKET={self.daemon.control_socket}"
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                environment = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in environment and processes.is_running(int(name)):
                found.append(int(name))
        return found

    def is_left_by_all(self) -> None:
        """Nothing of its handlers runs any more."""

        def those() -> str:
            return "\n".join(f"{pid}: {processes.command_line(pid)}" for pid in self.running())

        until(lambda: not self.running(), LEAVE_TIMEOUT, lambda: f"the handlers to leave:\n{those()}")

    def clear_away(self) -> None:
        print(f"--- {self.app}: handlers of the test\n{self.errors}")
        for pid in self.running():
            processes.end(pid)
        super().clear_away()


class PythonExample(Example):
    program = [SYSTEM_PYTHON, "-B", str(EXAMPLES / "python-handler" / "handler.py")]


class ShellExample(Example):
    program = [str(EXAMPLES / "shell-handler" / "handler")]


class Caller:
    """The caller's side of the Python example's line: a port that it connects to, and the words that it says there."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.words: list[str] = []
        self.connections: list[socket.socket] = []
        self.has_heard_the_end = False
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        with connection.makefile() as lines:
            try:
                for line in lines:
                    self.words.append(line.rstrip("\n"))
            except OSError:
                pass
        self.has_heard_the_end = True

    def hears(self, *words: str) -> None:
        """Has heard these words and no others, in this order, as soon as that is so."""
        until(lambda: self.words == list(words), 10, lambda: f"the words {words}; there were {self.words}")

    def hears_the_end(self) -> None:
        until(lambda: self.has_heard_the_end, 10, lambda: f"the line to be closed; there were {self.words}")

    def hang_up(self) -> None:
        """Nobody is reached any more, and who is connected hears the end. Once more does nothing more."""
        for one in (self.listener, *self.connections):
            # A thread waits on each; `close` alone would not wake it up.
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


class BaresipExample(Example):
    """The handler around baresip, with the configuration that it is delivered with but for ports and addresses."""

    program = ["/bin/bash", str(EXAMPLES / "baresip-shell" / "handler")]
    # The same in C, as it is delivered.
    in_c = [str(BARESIP_HANDLER)]

    def __init__(self, daemon: Daemon, registrar: int, program: list[str] | None = None) -> None:
        super().__init__(daemon)
        self.program = program or self.program
        self.folder = daemon.directory / "baresip"
        self.folder.mkdir()
        # It takes the port after it for SIP over TLS.
        self.sip_port = ports.lease(2)
        own = {
            "sip_listen": f"{ADDRESS}:{self.sip_port}", "ctrl_tcp_listen": f"{ADDRESS}:{ports.lease()}",
            "net_interface": ADDRESS, "rtp_ports": f"10000-{ports.FIRST - 1}",
        }  # fmt: skip
        delivered = (EXAMPLES / "baresip-shell" / "config").read_text().splitlines()
        lines = [line for line in delivered if line.split(" ")[0] not in own]
        (self.folder / "config").write_text("\n".join([*lines, *[f"{name} {own[name]}" for name in own], ""]))
        (self.folder / "accounts").write_text(f"<sip:bob@{ADDRESS}:{registrar}>;regint=60;auth_pass=x\n")

    def stay(self) -> list[str]:
        return ["--stay", str(self.folder), self.app]

    def clients(self) -> list[int]:
        """The processes of baresip that run."""
        return [pid for pid in self.running() if processes.command_line(pid)[:1] == ["baresip"]]

    def guards(self, handler: int) -> list[int]:
        """The processes that end a client whose handler was killed, which leads a session as well."""
        found = []
        for pid in set(self.running()) - {handler, *self.clients()}:
            with contextlib.suppress(ProcessLookupError):
                found += [pid] if os.getsid(pid) == pid else []
        return found

    def client_log(self) -> str:
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def clear_away(self) -> None:
        # pytest shows this for a test that failed.
        print(f"--- baresip\n{self.client_log()}")
        super().clear_away()
