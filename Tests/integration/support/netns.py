"""Network namespaces that a test makes: real kernels' tables that nobody else uses, with links that lead nowhere else.

    with Namespace() as network, Namespace() as router:
        network.veth("wlan0", router, "lan0")
        network.ip("address", "add", "192.0.2.7/24", "dev", "wlan0")
        network.etc("resolv.conf", "nameserver 192.0.2.1\n")
        daemon = network.popen(programs.RINGWAKED, "--config", file)

Needs root: `unavailable()` says so. Duplicate address detection is off but where a test turns it on, so that IPv6
addresses can be used at once.
"""

import atexit
import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import programs
from .waiting import until

NAMES = Path("/run/netns")
# `ip netns exec` lays the files of a namespace over those in /etc, ip-netns(8).
FILES = Path("/etc/netns")
CLONE_NEWNET = 0x40000000
# Making a thousand links takes a while on a machine that does other things; seconds.
BATCH_TIMEOUT = 120


def unavailable() -> str | None:
    """Why no namespace can be made here; nil when one can."""
    if os.getuid() != 0:
        return "needs root: it makes network namespaces"
    if not shutil.which("ip"):
        return "'ip' is not installed; apt-get install iproute2"
    return None


class Namespace:
    """A network namespace with a loopback interface that is up, and the processes in it. Gone at the end of `with`."""

    def __init__(self) -> None:
        # In /run/netns all programs of the machine have their names.
        self.name = f"rw-{secrets.token_hex(4)}"
        self.processes: list[subprocess.Popen] = []

    def __enter__(self) -> "Namespace":
        if reason := unavailable():
            raise RuntimeError(reason)
        # Also when the tests end in the middle.
        atexit.register(self.close)
        try:
            check("ip", "netns", "add", self.name)
            # There from the start: a program sees only the files that are there when it begins.
            self.etc("resolv.conf", "")
            self.etc("hosts", "127.0.0.1 localhost\n::1 localhost\n")
            self.sysctl("net.ipv6.conf.default.dad_transmits", 0)
            self.sysctl("net.ipv6.conf.all.accept_ra", 0)
            self.sysctl("net.ipv6.conf.default.accept_ra", 0)
            self.ip("link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes that were started in it, and takes it away with all its links. Idempotent."""
        while self.processes:
            stop(self.processes[-1])
            self.processes.pop()
        if (NAMES / self.name).exists():
            programs.run("ip", "netns", "delete", self.name)
        shutil.rmtree(FILES / self.name, ignore_errors=True)
        # Where it was made for this one alone; another's files stay, and so does the folder then.
        with contextlib.suppress(OSError):
            FILES.rmdir()
        # Last: where it was interrupted, the end of the program finishes it.
        atexit.unregister(self.close)

    # Commands in it

    def ip(self, *arguments: object) -> str:
        """Runs ip(8) in it; answers what it printed, and fails when it does."""
        return check("ip", "-netns", self.name, *arguments)

    def batch(self, lines: Iterable[str]) -> None:
        """Runs many commands of ip(8) in one process."""
        text = "".join(line + "\n" for line in lines)
        check("ip", "-netns", self.name, "-batch", "-", input=text, timeout=BATCH_TIMEOUT)

    def command(self, *command: object) -> list[str]:
        """The command that runs another in it, with its files over those in /etc and a /sys of its own."""
        return ["ip", "netns", "exec", self.name, *(str(part) for part in command)]

    def exec(self, *command: object, **options) -> subprocess.CompletedProcess:
        """Runs a command in it to its end and answers what it printed, whatever its exit status."""
        return programs.run(*self.command(*command), **options)

    def popen(self, *command: object, **options) -> subprocess.Popen:
        """Starts a command in it. `ip netns exec` becomes the command, so the process's id is the command's."""
        defaults = {"stdin": subprocess.DEVNULL, "text": True}
        process = subprocess.Popen(self.command(*command), **(defaults | options))
        self.processes.append(process)
        return process

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Has the calling thread in it: sockets made there belong to it. They stay in it afterwards."""
        with open(f"/proc/self/task/{threading.get_native_id()}/ns/net") as before:
            set_namespace(NAMES / self.name)
            try:
                yield
            finally:
                _set_namespace(before.fileno())

    # Its links and files

    def veth(self, name: str, other: "Namespace | None" = None, peer: str | None = None, up: bool = True) -> None:
        """Lays a cable from a new interface here to a new one in `other`, or here; both are up unless told not to."""
        peer, other = peer or f"{name}-peer", other or self
        self.ip("link", "add", name, "type", "veth", "peer", "name", peer, "netns", other.name)
        if up:
            other.ip("link", "set", peer, "up")
            self.ip("link", "set", name, "up")

    def etc(self, name: str, text: str) -> None:
        """Writes the file that programs in it see as /etc/`name`; one that runs sees the change."""
        folder = FILES / self.name
        until(lambda: made(folder), programs.COMMAND_TIMEOUT, f"{folder} to be made")
        # In place: a bind mount holds on to the file that was there when it was made.
        (folder / name).write_text(text)

    def sysctl(self, name: str, value: object) -> None:
        """Sets a setting of its own kernel, sysctl(8)."""
        check(*self.command("tee", "/proc/sys/" + name.replace(".", "/")), input=f"{value}\n")

    def index(self, link: str) -> int:
        """The kernel's number of a link."""
        return int(self.ip("-oneline", "link", "show", "dev", link).split(":")[0])


def check(*command: object, **options) -> str:
    """Runs a command that has to succeed; answers what it printed."""
    if "input" in options:
        options["stdin"] = None
    done = programs.run(*command, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(str(part) for part in command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def made(folder: Path) -> bool:
    """Makes a folder; not where another process takes away the one that it is in, empty as that was, just now."""
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except FileNotFoundError:
        return False
    return True


def stop(process: subprocess.Popen) -> None:
    """Ends a process, politely first."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()


def set_namespace(path: Path) -> None:
    """Moves the calling thread into the namespace of this name."""
    with path.open() as file:
        _set_namespace(file.fileno())


def _set_namespace(descriptor: int) -> None:
    # Python has os.setns from 3.12 on only.
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")
