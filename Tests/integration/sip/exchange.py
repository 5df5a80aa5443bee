"""A telephone exchange: a caller, a SIP server that pushes, and a device with Ringwake, each on a network of its own.

    caller 192.0.2.2 --- 192.0.2.1 server 198.51.100.1 --- 198.51.100.2 device
    sipp                           Kamailio                 ringwaked, its handlers, baresip

The server is configured by deploy/senders/kamailio alone, as an operator would. Nothing leads out of the three.
"""

import contextlib
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from support import netns, programs
from support.credentials import Credentials
from support.netns import Namespace
from support.waiting import until

CONFIGURATION = programs.ROOT / "deploy" / "senders" / "kamailio"
CALLER, CALLER_SIDE = "192.0.2.2", "192.0.2.1"
DEVICE, SERVER = "198.51.100.2", "198.51.100.1"
PUSH_PORT = 2197
# The name in the daemon's certificate.
PUSH_HOST = "push.example.org"
PROGRAMS = {
    "kamailio": "kamailio", "kamcmd": "kamailio", "sqlite3": "sqlite3", "sipp": "sip-tester", "baresip": "baresip-core",
}  # fmt: skip
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
MODULES = {"http_client": "utils", "jansson": "extra", "db_sqlite": "sqlite"}
START_TIMEOUT = 60


def unavailable() -> str | None:
    """Why there can be no exchange here; nil when there can."""
    if reason := netns.unavailable():
        return reason
    for program, package in PROGRAMS.items():
        if not shutil.which(program, path=PATH):
            return f"'{program}' is not installed; apt-get install {package}"
    for folder in Path("/usr/lib").glob("*/kamailio/modules"):
        for module, package in MODULES.items():
            if not (folder / f"{module}.so").exists():
                return f"Kamailio's {module} is not installed; apt-get install kamailio-{package}-modules"
    return None


class Exchange:
    """The three networks and the SIP server; all of it is gone at the end of `with`."""

    def __init__(self, credentials: Credentials, **settings: object) -> None:
        """`settings` replace what ringwake-settings.cfg defines: `RINGWAKE_WAIT_MS=3000`."""
        self.credentials = credentials
        self.settings = settings
        self.caller, self.server, self.device = Namespace(), Namespace(), Namespace()
        self.folder = Path(tempfile.mkdtemp(prefix="ringwake-sip-"))
        self.stack = contextlib.ExitStack()
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "Exchange":
        with self.stack:
            self.stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
            for namespace in (self.caller, self.server, self.device):
                self.stack.enter_context(namespace)
            self._connect(self.caller, "caller", CALLER, CALLER_SIDE)
            self._connect(self.device, "device", DEVICE, SERVER)
            self.server.sysctl("net.ipv4.ip_forward", 1)
            self.server.etc("hosts", f"127.0.0.1 localhost\n{DEVICE} {PUSH_HOST}\n")
            self._configure()
            self.start_server()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stop_server()
        self.stack.close()

    def _connect(self, namespace: Namespace, link: str, address: str, side: str) -> None:
        self.server.veth(link, namespace, "eth0")
        self.server.ip("address", "add", f"{side}/24", "dev", link)
        namespace.ip("address", "add", f"{address}/24", "dev", "eth0")
        namespace.ip("route", "add", "default", "via", side)

    # The server

    def _configure(self) -> None:
        for name in ("kamailio.cfg", "ringwake.cfg"):
            shutil.copy(CONFIGURATION / name, self.folder)
        self._write_settings()
        (self.folder / "kamailio-local.cfg").write_text(f"#!define LISTEN udp:{SERVER}:5060\n")
        shutil.copy(self.credentials.ca, self.folder / "ca.pem")
        shutil.copy(self.credentials.provider_pem, self.folder / "provider.pem")
        tables = (CONFIGURATION / "ringwake-tokens.sql").read_text()
        netns.check("sqlite3", self.folder / "ringwake.db", input=tables)

    def _write_settings(self) -> None:
        settings = {
            "RINGWAKE_SERVER": f"{PUSH_HOST}:{PUSH_PORT}", "RINGWAKE_CERTIFICATES": self.folder,
            "RINGWAKE_DATABASE": self.folder / "ringwake.db",
        } | self.settings  # fmt: skip
        text = (CONFIGURATION / "ringwake-settings.cfg").read_text()
        for name, value in settings.items():
            text = set_value(text, name, value)
        (self.folder / "ringwake-settings.cfg").write_text(text)

    def set(self, **settings: object) -> None:
        """Starts the server anew with other settings, until `restart_server`."""
        self.settings, before = self.settings | settings, self.settings
        try:
            self._write_settings()
        finally:
            self.settings = before
        self.stop_server()
        self.start_server()

    def restart_server(self) -> None:
        """Nothing of one call is left for the next: the server keeps transactions for some seconds, and its sender's
        connection for minutes."""
        self.stop_server()
        self._write_settings()
        self.start_server()

    def start_server(self) -> None:
        """Starts the server and waits until it answers."""
        with self.log_file.open("ab") as log:
            self.process = self.server.popen(
                "kamailio", "-f", self.folder / "kamailio.cfg", "-DD", "-E", "-Y", self.folder, "-m", "64",
                stdout=log, stderr=log, cwd=self.folder,
            )  # fmt: skip
        until(self._answers, START_TIMEOUT, lambda: f"Kamailio to answer; its log:\n{self.log}")

    def _answers(self) -> bool:
        assert self.process and self.process.poll() is None, f"Kamailio ended at its start; its log:\n{self.log}"
        return self.options(0.1) is not None

    def stop_server(self) -> None:
        if self.process:
            netns.stop(self.process)
            self.server.processes.remove(self.process)
            self.process = None

    @property
    def log_file(self) -> Path:
        return self.folder / "kamailio.log"

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def options(self, seconds: float = 2) -> bytes | None:
        """Asks the server whether it is there (RFC 3261 section 11); its answer, or nil after that time."""
        with self.caller.entered():
            asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with asking:
            asking.settimeout(seconds)
            asking.connect((SERVER, 5060))
            port = asking.getsockname()[1]
            with contextlib.suppress(OSError):
                asking.send(OPTIONS.format(server=SERVER, caller=CALLER, port=port).encode())
                return asking.recv(4096)
        return None

    def ask(self, *command: object) -> str:
        """What kamcmd(8) prints for a command to the server."""
        return netns.check("kamcmd", "-s", f"unix:{self.folder}/kamailio_ctl", *command)

    def forget(self, user: str) -> None:
        """Takes a number's token and its registration away."""
        for command in (["htable.delete", "ringwake", user], ["ul.rm", "location", user]):
            self.server.exec("kamcmd", "-s", f"unix:{self.folder}/kamailio_ctl", *command)


def set_value(text: str, name: str, value: object) -> str:
    """The settings with another value for this one."""
    text, count = re.subn(rf'(#!substdef "!{name}!)[^!]*', rf"\g<1>{value}", text)
    assert count == 1, f"ringwake-settings.cfg has no {name}"
    return text


OPTIONS = (
    "OPTIONS sip:{server} SIP/2.0\r\nVia: SIP/2.0/UDP {caller}:{port};branch=z9hG4bK-{port}\r\nMax-Forwards: 70\r\n"
    "From: <sip:probe@{caller}>;tag={port}\r\nTo: <sip:{server}>\r\nCall-ID: probe-{port}@{caller}\r\n"
    "CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
)
