"""Devices that can be called, each on an exchange of its own; all of them are there at the same time."""

import contextlib
import os
import subprocess
import uuid
from pathlib import Path

# Imported first: it adds the folder of the integration tests to the path.
from .programs import FOLDER, ROOT, STAMP, programs

from sip import client
from sip.capture import Capture
from sip.exchange import PUSH_HOST, Exchange
from sip.phone import Phone, pids
from sip.telephones import calls
from support.credentials import APP, TEAM, Credentials
from support.daemon import Daemon
from support.programs import BARESIP_HANDLER
from support.waiting import until

from . import stages

SHELL = ROOT / "Examples" / "baresip-shell" / "handler"
# Where the examples in Swift are built; its columns are left out where that was not done.
SWIFT = Path(os.environ.get("RINGWAKE_EXAMPLES_DIR") or ROOT / ".build" / "examples") / "baresip-handler"
RING_TIMEOUT = 10
# A client whose server does not answer its farewell, and a handler that waits for it.
READY_TIMEOUT = 20


def credentials() -> Credentials:
    """Credentials with the name by which the server knows the device."""
    folder = FOLDER / "certificates"
    if not folder.exists():
        done = programs.ringwake(
            "certs", "dev-ca", "--directory", folder, "--app", APP, "--team", TEAM, "--host", PUSH_HOST
        )
        assert done.returncode == 0, done.stderr
    return Credentials(folder)


class Device(contextlib.AbstractContextManager):
    """One column: `call()` makes one call and answers the times of its stages."""

    name = ""

    def __init__(self) -> None:
        self.stack = contextlib.ExitStack()
        self.stamps = FOLDER / f"{type(self).__name__}.stamps"
        self.stamps.touch()

    def __enter__(self) -> "Device":
        with self.stack:
            self.exchange = self.stack.enter_context(Exchange(credentials()))
            self.capture = self.stack.enter_context(Capture(self.exchange.server))
            self.start()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def start(self) -> None:
        """Starts what waits for calls."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Nothing is left of the call before."""
        raise NotImplementedError

    def call(self) -> tuple[stages.Times, dict[str, int]]:
        """Calls, lets it ring and gives up: the times, and the daemon's timeline in microseconds since the push."""
        until(self.is_ready, READY_TIMEOUT, lambda: f"{self.name} to be ready; {self.rest_of_it()}")
        self.capture.clear()
        before = len(self.stamps.read_text().split())
        call = str(uuid.uuid4())
        with calls(self.exchange, call, "cancel") as caller:
            until(lambda: self.rings(call), RING_TIMEOUT, lambda: self.trouble(call))
            caller.cancels()
            caller.ends()
        stamps = self.stamps.read_text().split()[before:]
        return stages.of(self.capture, call, int(stamps[0]) if stamps else None), self.timeline(call)

    def rings(self, call: str) -> bool:
        """The caller hears it."""
        return any(packet.link == "caller" for packet in self.capture.messages("180 INVITE", call))

    def trouble(self, call: str) -> str:
        said = "".join(f"\n{packet.kind} {packet.link} {packet.call}" for packet in self.capture.messages())
        return f"{self.name} to ring; what was said:{said}\n{self.exchange.log}{self.log()}"

    def log(self) -> str:
        return ""

    def rest_of_it(self) -> str:
        """What is left of the call before."""
        left = self.exchange.device.exec("ps", "-o", "pid,etime,args", "-p", ",".join(map(str, pids(self.exchange))))
        return f"there are\n{left.stdout}{self.exchange.ask('ul.dump')}{self.log()}"

    def timeline(self, call: str) -> dict[str, int]:
        return {}


class Registered(Device):
    """A client that is registered, as without Ringwake."""

    name = "registered"

    def start(self) -> None:
        folder = client.configure(self.exchange.folder / "client", registers=True)
        self.exchange.device.popen(
            "baresip", "-f", folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(self.is_ready, RING_TIMEOUT, "the client to register")

    def is_ready(self) -> bool:
        return "Address: sip:bob" in self.exchange.ask("ul.dump")


class Woken(Device):
    """A device with Ringwake, whose handler is started for the call."""

    handler: list[str | Path] = []
    stays = False
    registers = False

    def start(self) -> None:
        daemon = Daemon(credentials())
        self.stack.callback(daemon.clear_away)
        self.phone = Phone(self.exchange, daemon)
        self.stack.callback(self.phone.close)
        self.phone.handler = [*map(str, self.handler), str(self.phone.folder)]
        self.phone.start(str(STAMP), str(self.stamps), registers=self.registers).known()
        if self.stays:
            self.phone.stay()
        self.rest = len(self.phone.handlers())

    def is_ready(self) -> bool:
        return len(self.phone.handlers()) <= self.rest and "Address: sip:bob" not in self.exchange.ask("ul.dump")

    def log(self) -> str:
        return self.phone.daemon.log

    def timeline(self, call: str) -> dict[str, int]:
        shown = self.phone.daemon.control.call(call)
        return {hop["stage"]: hop["atUs"] for hop in shown["timeline"]}


class Floor(Woken):
    """The push starts the client itself, which registers by itself; nobody reports the call."""

    name = "cold, client alone"
    handler = ["/usr/bin/baresip", "-f"]
    registers = True


class ColdShell(Woken):
    name = "cold, shell"
    handler = [SHELL]


class WarmShell(ColdShell):
    name = "warm, shell"
    stays = True


class ColdProgram(Woken):
    name = "cold, C"
    handler = [BARESIP_HANDLER]


class WarmProgram(ColdProgram):
    name = "warm, C"
    stays = True


class ColdSwift(Woken):
    name = "cold, Swift"
    handler = [SWIFT]


class WarmSwift(ColdSwift):
    name = "warm, Swift"
    stays = True


def columns() -> list[type[Device]]:
    """What is measured here."""
    swift: list[type[Device]] = [ColdSwift, WarmSwift] if SWIFT.exists() else []
    return [Registered, Floor, ColdProgram, WarmProgram, ColdShell, WarmShell, *swift]
