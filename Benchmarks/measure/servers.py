"""The servers that are measured, each in a folder of its own: `ringwaked`, `nghttpd`, and the one written in C."""

import atexit
import base64
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from . import programs
from .disk import Disk

APP = "com.example.phone"
TOPIC = APP + ".voip"
TEAM = "DEVTEAM001"
HOST = "127.0.0.1"
# Descriptors that a server may have open: 1,000 connections and some.
DESCRIPTORS = 4096
START_TIMEOUT = 15


class Server:
    """A process that listens on `port`, and what the kernel knows of it."""

    process: subprocess.Popen
    log: Path
    port: int
    ca: Path
    descriptors = DESCRIPTORS

    def launch(self, *command: object, log: Path, environment: dict[str, str] | None = None) -> None:
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/",
                start_new_session=True, preexec_fn=self.limit_descriptors, env=os.environ | (environment or {}),
            )  # fmt: skip
        # Also of a run that ends early: it does nothing to a process that has been stopped.
        atexit.register(self.process.kill)

    def limit_descriptors(self) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(self.descriptors, most),) * 2)

    def wait_for_port(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            try:
                socket.create_connection((HOST, self.port), timeout=1).close()
                return
            except OSError:
                self.complain_unless_starting(deadline)
                time.sleep(0.01)

    def complain_unless_starting(self, deadline: float) -> None:
        """Ends the run with what the server said, when it has ended or is late."""
        if time.monotonic() > deadline or self.process.poll() is not None:
            raise SystemExit(f"{self.process.args[0]} did not start:\n{self.log.read_text()}")

    @property
    def tasks(self) -> Path:
        return Path(f"/proc/{self.process.pid}/task")

    def cpu_ns(self) -> int:
        """Nanoseconds that its threads have run, in user and kernel mode: proc(5), schedstat."""
        return sum(int(path.read_text().split()[0]) for path in self.tasks.glob("*/schedstat"))

    def voluntary_switches(self) -> int:
        return sum(
            int(line.split()[1])
            for path in self.tasks.glob("*/status")
            for line in path.read_text().splitlines()
            if line.startswith("voluntary_ctxt_switches")
        )

    def threads(self) -> int:
        return len(list(self.tasks.iterdir()))

    def memory_kb(self) -> dict[str, int]:
        """`Rss`, `Pss`, `Private_Dirty` and so on, in kB."""
        lines = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()[1:]
        return {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port() -> int:
    with socket.create_server((HOST, 0)) as free:
        return free.getsockname()[1]


class Ringwaked(Server):
    """The daemon with one app, whose handler is `command`: one for each call, or with `instances="app"` one at all.

    `more`: further sections of its configuration.
    """

    def __init__(
        self, command: list[str], log_level: str = "info", instances: str = "call", disk: Disk | None = None,
        more: str = "", environment: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.folder = Path(tempfile.mkdtemp(prefix="ringwake-bench-"))
        # As /run is: in memory. The daemon keeps its handlers' output there, in files without a name.
        memory = Path("/dev/shm")
        self.runtime = Path(tempfile.mkdtemp(prefix="ringwake-run-", dir=memory if memory.is_dir() else self.folder))
        certs = self.folder / "certs"
        subprocess.run(
            [programs.RINGWAKE, "certs", "dev-ca", "--directory", certs, "--app", APP, "--team", TEAM],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.ca, self.certificate = certs / "ca.pem", certs / f"voip-services-{APP}.pem"
        self.server_certificate, self.server_key = certs / "server.pem", certs / "server.key"
        [public_key] = certs.glob("AuthKey_*.pub.pem")
        self.key_id = public_key.name.removeprefix("AuthKey_").removesuffix(".pub.pem")
        self.token_key = certs / f"AuthKey_{self.key_id}.p8"
        apps = self.folder / "apps.d"
        apps.mkdir()
        # Handlers that only stamp and exit fail each of their calls: they are to be started all the same.
        (apps / f"{APP}.toml").write_text(
            f'[wake]\nexec = {json.dumps(command)}\ninstances = "{instances}"\n[strikes]\nlimit = 0\n'
        )
        self.configuration = self.folder / "ringwaked.toml"
        self.configuration.write_text(
            f"""state_directory = "state"
runtime_directory = "{self.runtime}"
[server]
certificate = "{self.server_certificate}"
key = "{self.server_key}"
provider_cas = ["{self.ca}"]
[[listener]]
address = "{HOST}:0"
environment = "development"
[[team]]
id = "{TEAM}"
topics = ["{TOPIC}"]
[[team.key]]
id = "{self.key_id}"
file = "{public_key}"
[log]
level = "{log_level}"
{more}"""
        )
        self.store = self.folder / "state" / "store.db"
        self.environment = (environment or {}) | (disk.environment if disk else {})
        self.start()

    def start(self) -> None:
        self.launch(
            programs.RINGWAKED, "--config", self.configuration, log=self.folder / "log", environment=self.environment
        )
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            try:
                status = self.control("/v1/status")
                break
            except OSError:
                self.complain_unless_starting(deadline)
                time.sleep(0.01)
        self.port = int(status["listeners"][0]["address"].rpartition(":")[2])
        self.token = self.control(f"/v1/apps/{APP}")["tokens"]["development"]

    def control(self, target: str) -> dict:
        """One GET on the control socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(10)
            connection.connect(str(self.runtime / "control.sock"))
            connection.sendall(f"GET {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
            answer = b""
            while data := connection.recv(65536):
                answer += data
        return json.loads(answer.partition(b"\r\n\r\n")[2])

    def provider_token(self) -> str:
        """A provider token, signed with the openssl program: the benchmarks need nothing but the standard library."""
        def base64url(data: bytes) -> str:
            return base64.urlsafe_b64encode(data).decode().rstrip("=")

        header = json.dumps({"alg": "ES256", "kid": self.key_id})
        claims = json.dumps({"iss": TEAM, "iat": int(time.time())})
        signed = base64url(header.encode()) + "." + base64url(claims.encode())
        der = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", self.token_key], input=signed.encode(), check=True,
            capture_output=True,
        ).stdout  # fmt: skip
        # SEQUENCE { INTEGER r, INTEGER s }, each of at most 33 bytes: all lengths are in one byte.
        r, rest = der[4 : 4 + der[3]], der[4 + der[3] :]
        s = rest[2 : 2 + rest[1]]
        raw = b"".join(number.lstrip(b"\0").rjust(32, b"\0") for number in (r, s))
        return signed + "." + base64url(raw)

    def stop(self) -> None:
        super().stop()
        self.remove()

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.runtime, ignore_errors=True)


class Fixed(Server):
    """A server with one thread that answers every push alike, with the server certificate of a `ringwaked`."""

    PATH = "/3/device/push"

    def __init__(self, like: Ringwaked, asks_certificate: bool = False):
        self.folder = Path(tempfile.mkdtemp(prefix="ringwake-fixed-"))
        self.ca, self.port = like.ca, free_port()
        self.launch(*self.command(like, asks_certificate), log=self.folder / "log")
        self.wait_for_port()

    def command(self, like: Ringwaked, asks_certificate: bool) -> list[object]:
        raise NotImplementedError

    def stop(self) -> None:
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Nghttpd(Fixed):
    """nghttpd with one empty file in the place of every push."""

    def command(self, like: Ringwaked, asks_certificate: bool) -> list[object]:
        file = self.folder / self.PATH[1:]
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
        asking = ["--verify-client"] if asks_certificate else []
        return [
            programs.NGHTTPD, "--address", HOST, "--htdocs", self.folder, *asking, self.port, like.server_key,
            like.server_certificate,
        ]  # fmt: skip


class Nginx(Fixed):
    """nginx with one process, which answers with a fixed status."""

    def command(self, like: Ringwaked, asks_certificate: bool) -> list[object]:
        asking = f"ssl_client_certificate {like.ca}; ssl_verify_client on;" if asks_certificate else ""
        file = self.folder / "nginx.conf"
        file.write_text(
            f"""daemon off;
master_process off;
pid {self.folder}/pid;
error_log {self.folder}/error;
worker_rlimit_nofile {DESCRIPTORS};
events {{ worker_connections {DESCRIPTORS}; }}
http {{
    access_log off;
    client_body_temp_path {self.folder}/body;
    proxy_temp_path {self.folder}/proxy;
    fastcgi_temp_path {self.folder}/fastcgi;
    uwsgi_temp_path {self.folder}/uwsgi;
    scgi_temp_path {self.folder}/scgi;
    keepalive_requests 1000000000;
    server {{
        listen {HOST}:{self.port} ssl http2;
        ssl_certificate {like.server_certificate};
        ssl_certificate_key {like.server_key};
        ssl_protocols TLSv1.3;
        {asking}
        location / {{ return 200; }}
    }}
}}
"""
        )
        return [programs.NGINX, "-c", file]


class NIOServer(Fixed):
    """A server on SwiftNIO (`peers/nio`): what a server in Swift costs that checks nothing."""

    def command(self, like: Ringwaked, asks_certificate: bool) -> list[object]:
        asking = [like.ca] if asks_certificate else []
        return [programs.nio_server(), self.port, like.server_certificate, like.server_key, *asking]


class JournalServer(Server):
    """The server written in C, with a store that this `ringwaked` would take for its own."""

    def __init__(self, like: Ringwaked, disk: Disk):
        self.folder = Path(tempfile.mkdtemp(prefix="ringwake-journal-"))
        self.ca, self.port = like.ca, free_port()
        self.launch(
            programs.peer("journal_server"), self.port, like.server_certificate, like.server_key,
            empty_store(self.folder), log=self.folder / "log", environment=disk.environment,
        )  # fmt: skip
        self.wait_for_port()

    def stop(self) -> None:
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def empty_store(folder: Path) -> Path:
    """A store in `folder` without a push, as `ringwaked` makes it: the tables are defined in one place alone."""
    maker = Ringwaked(["/bin/true"])
    Server.stop(maker)
    store = folder / "store.db"
    shutil.copy(maker.store, store)
    maker.remove()
    return store


class Peer:
    """A measuring program that does one step for each line on its stdin: one of `peers`, or an absolute path."""

    def __init__(self, name: str | Path, *arguments: object, environment: dict[str, str] | None = None):
        self.name = name
        self.process = subprocess.Popen(
            [str(programs.peer(name)), *(str(argument) for argument in arguments)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1, env=os.environ | (environment or {}),
        )  # fmt: skip

    def read(self) -> list[str]:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args[0]} ended early, with {self.process.wait()}")
        return line.split()

    def ask(self, line: object = "") -> None:
        """Begins one step."""
        self.process.stdin.write(f"{line}\n")

    def numbers(self) -> list[int]:
        """Waits for the end of the step; the numbers that it printed."""
        return [int(word) for word in self.read()]

    def step(self, line: object = "") -> list[int]:
        """One step; the numbers that it printed."""
        self.ask(line)
        return self.numbers()

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait(10)
