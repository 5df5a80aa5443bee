"""The device: ringwaked with an app whose handler is the example around baresip, and what its user does."""

import os
import subprocess
from pathlib import Path

from support import processes, programs
from support.credentials import APP, TOPIC
from support.daemon import Daemon
from support.telephone import user
from support.waiting import until

from . import client
from .exchange import DEVICE, PUSH_PORT, Exchange
from .telephones import register

# Where stage `stranger` of Tests/run puts the examples in Swift.
BUILT = Path(os.environ.get("RINGWAKE_EXAMPLES_DIR") or programs.ROOT / ".build" / "examples")
# The handlers around baresip, by the language that they are written in.
HANDLERS = {
    "shell": programs.ROOT / "Examples" / "baresip-shell" / "handler", "Swift": BUILT / "baresip-handler",
    "C": programs.BARESIP_HANDLER,
}  # fmt: skip


class Phone:
    """A daemon on the exchange's device and the number `bob`, whose phone is woken by it."""

    def __init__(self, exchange: Exchange, daemon: Daemon) -> None:
        self.exchange = exchange
        self.daemon = daemon
        daemon.address = f"{DEVICE}:{PUSH_PORT}"
        daemon.user = exchange.device.command()
        daemon.settings["team.outcome"] = True
        self.folder = exchange.folder / "client"
        self.handler = [str(HANDLERS["shell"]), str(self.folder)]

    def is_handled_in(self, language: str) -> "Phone":
        """Its handler is the example in this language."""
        assert HANDLERS[language].exists(), f"{HANDLERS[language]} is not there; run Tests/run stranger"
        self.handler = [str(HANDLERS[language]), str(self.folder)]
        return self

    def start(self, *before: str, registers: bool = False) -> "Phone":
        """Starts the daemon, with a handler that is started for calls; `before` stands before its command."""
        client.configure(self.folder, registers=registers)
        self.daemon.set_handler([*before, *self.handler], instances="app", more='[payload]\npreset = "ringwake"\n')
        self.daemon.start()
        return self

    def stay(self) -> "Phone":
        """Starts a handler that keeps a connection, with a client that is not registered, and waits until it has."""
        log = self.exchange.folder / "handler.log"
        with log.open("ab") as output:
            self.exchange.device.popen(
                self.handler[0], "--stay", self.folder, APP, stdout=output, stderr=output, cwd="/",
                env=os.environ | {"RINGWAKE_SOCKET": str(self.daemon.control_socket)},
            )  # fmt: skip
        until(
            lambda: self.daemon.control.app(APP)["connected"] and self.clients(), 10,
            lambda: f"the handler to connect, with its client; it says:\n{log.read_text()}",
        )  # fmt: skip
        return self

    def known(self, registered: str | None = None) -> "Phone":
        """The server learns the token; with `registered`, "udp" or "tcp", it believes that it listens too."""
        self.exchange.forget("bob")
        token = self.daemon.device_token()
        register(self.exchange, token, TOPIC, by=registered or "udp")
        if not registered:
            register(self.exchange, token, TOPIC, seconds=0)
        return self

    def rings(self, call: str, seconds: float = 10) -> dict:
        return self.daemon.control.wait_for(call, "ringing", seconds)

    def answers(self, call: str) -> dict:
        user(self.daemon, "call", "answer", call)
        return self.daemon.control.wait_for_stage(call, "connected")

    def declines(self, call: str) -> None:
        user(self.daemon, "call", "end", call)

    def ended(self, call: str, reason: str) -> dict:
        """The call, which is over for this reason."""
        call_now = self.daemon.control.wait_for(call, "ended")
        assert call_now["reason"] == reason, call_now
        return call_now

    def is_unregistered(self) -> bool:
        return "AoR: bob" not in self.exchange.ask("ul.dump")

    def clients(self) -> list[int]:
        """The baresips that run on the device."""
        found = []
        for pid in pids(self.exchange):
            try:
                name = Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                continue
            if name == "baresip":
                found.append(pid)
        return found

    def handlers(self) -> list[int]:
        """What runs on the device beside the daemon."""
        return [pid for pid in pids(self.exchange) if not (self.daemon.process and pid == self.daemon.pid)]

    def is_asleep(self, seconds: float = 10) -> None:
        """No client is left running, and no handler."""
        until(lambda: not self.handlers(), seconds, lambda: f"client and handler to end; {self.handlers()} still run")


    def close(self) -> None:
        """Ends what the test left on the device; the daemon first, which may still be starting a handler."""
        self.daemon.stop()
        for pid in self.handlers():
            processes.end(pid)


def pids(exchange: Exchange) -> list[int]:
    """The processes in the device's network."""
    done = subprocess.run(["ip", "netns", "pids", exchange.device.name], capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]
