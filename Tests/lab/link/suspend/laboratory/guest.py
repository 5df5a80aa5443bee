"""A virtual machine that really suspends to RAM: QEMU without KVM, its monitor (QMP) and commands on a serial line."""

import base64
import contextlib
import json
import select
import socket
import subprocess
import threading
import time
from pathlib import Path

from support.netns import Namespace
from support.waiting import until

TAP = "tap0"
MEMORY_MEGABYTES = 512
# On a busy machine the check of the timer fails, for its interrupts come late.
KERNEL_COMMAND = (
    "console=ttyS0 systemd.getty_auto=no net.ifnames=0 panic=-1 quiet no_console_suspend no_timer_check random.trust_cpu=on"
)
# A processor that QEMU imitates takes some twenty seconds to boot; seconds.
BOOT_TIMEOUT = 300
# How long a command, or a step of suspending or resuming, may take; seconds.
STEP_TIMEOUT = 120
# A line that was lost while the guest slept is sent again after this time; seconds.
REPEAT = 2


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    return connection


class Monitor:
    """QEMU's monitor, qemu-qmp-ref(7): whether the guest sleeps, and waking it."""

    def __init__(self, path: Path) -> None:
        self._socket = connect(path)
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        # Times of the monotonic clock.
        self.slept: list[float] = []
        self.woken: list[float] = []
        threading.Thread(target=self._read, daemon=True).start()
        self._send("qmp_capabilities")

    def _send(self, command: str) -> None:
        with self._lock:
            self._socket.sendall(json.dumps({"execute": command}).encode() + b"\n")

    def _read(self) -> None:
        # The socket ends with QEMU.
        with contextlib.suppress(OSError), self._socket.makefile() as lines:
            for line in lines:
                event = json.loads(line).get("event")
                with self._changed:
                    if event == "SUSPEND":
                        self.slept.append(time.monotonic())
                    if event == "WAKEUP":
                        self.woken.append(time.monotonic())
                    self._changed.notify_all()

    @property
    def is_asleep(self) -> bool:
        return len(self.slept) > len(self.woken)

    def wait(self, asleep: bool, seconds: float) -> bool:
        """Waits until the guest sleeps, or is awake; answers whether it is so."""
        with self._changed:
            return self._changed.wait_for(lambda: self.is_asleep == asleep, seconds)

    def wake_up(self) -> None:
        """What a network card does by its wake line. Nothing happens to a guest that is awake."""
        self._send("system_wakeup")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class Guest:
    """The machine. Its network is a tap device in a namespace."""

    def __init__(self, image: Path, folder: Path, network: Namespace) -> None:
        self.folder = folder
        self.console = folder / "console"
        sockets = {name: folder / name for name in ("monitor", "agent")}
        self.process = network.popen(
            "qemu-system-x86_64", "-M", "pc", "-accel", "tcg", "-cpu", "max", "-m", MEMORY_MEGABYTES, "-smp", 1,
            # A q35 machine sleeps once: after it, its firmware has not set up the registers for the next sleep.
            "-global", "PIIX4_PM.disable_s3=0", "-display", "none", "-nodefaults", "-no-reboot", "-rtc", "base=utc",
            "-kernel", image / "kernel", "-initrd", image / "initrd",
            "-append", KERNEL_COMMAND,
            # What it writes is gone with it.
            "-drive", f"file={image / 'disk'},format=raw,if=none,id=disk,snapshot=on",
            "-device", "virtio-blk-pci,drive=disk",
            "-netdev", f"tap,id=network,ifname={TAP},script=no,downscript=no",
            "-device", "virtio-net-pci,netdev=network",
            "-serial", f"file:{self.console}",
            "-serial", f"unix:{sockets['agent']},server=on,wait=off",
            "-qmp", f"unix:{sockets['monitor']},server=on,wait=off",
            stdout=subprocess.DEVNULL, stderr=(folder / "errors").open("wb"),
        )  # fmt: skip
        until(lambda: all(path.exists() for path in sockets.values()), 60, self.said)
        self.monitor = Monitor(sockets["monitor"])
        self._agent = connect(sockets["agent"])
        self._number = 0
        self._unread = b""
        self._lock = threading.Lock()
        self.run("true", BOOT_TIMEOUT)

    def said(self) -> str:
        texts = [path.read_text(errors="replace") for path in (self.console, self.folder / "errors") if path.exists()]
        return "the guest: " + "".join(texts)[-3000:]

    def run(self, command: str, seconds: float = STEP_TIMEOUT) -> str:
        """Runs a command in bash as root; answers what it printed, and fails when it does."""
        status, output = self.try_to(command, seconds)
        assert status == 0, f"'{command}' in the guest: {status} {output}"
        return output

    def try_to(self, command: str, seconds: float = STEP_TIMEOUT) -> tuple[int, str]:
        """The same, for one that may fail. A guest that sleeps answers when it is awake again."""
        with self._lock:
            self._number += 1
            words = base64.b64encode(command.encode()).decode()
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                assert self.process.poll() is None, self.said()
                self._agent.sendall(f"\n{self._number} {words} .\n".encode())
                if answer := self._answer(min(time.monotonic() + REPEAT, deadline)):
                    return answer
            raise TimeoutError(f"no answer to '{command}' after {seconds} s; {self.said()}")

    def _answer(self, deadline: float) -> tuple[int, str] | None:
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._agent], [], [], left)[0]:
                self._unread += self._agent.recv(65536)
            *lines, self._unread = self._unread.split(b"\n")
            for line in lines:
                match line.decode(errors="replace").split():
                    case [number, status, output, "."] if number == str(self._number):
                        return int(status), base64.b64decode(output).decode(errors="replace").strip()
        return None

    # Sleep

    def clear_alarm(self) -> None:
        self.run("echo 0 >/sys/class/rtc/rtc0/wakealarm")

    def set_alarm(self, seconds: int) -> None:
        """What rtcwake(8) does."""
        self.run(f"echo 0 >/sys/class/rtc/rtc0/wakealarm; echo +{seconds} >/sys/class/rtc/rtc0/wakealarm")

    def suspend(self) -> bool:
        """Asks logind to; answers whether it does, for it doesn't while a call waits for its answer."""
        return self.try_to("systemctl suspend --check-inhibitors=yes")[0] == 0

    def wake_for_good(self) -> None:
        """Wakes it, also from a sleep that begins only now."""

        def is_done() -> bool:
            if self.monitor.is_asleep:
                self.monitor.wake_up()
            try:
                return self.try_to("systemctl is-active systemd-suspend.service suspend.target", 10)[1] == "inactive\ninactive"
            except TimeoutError:
                return False

        until(is_done, STEP_TIMEOUT, self.said)

    def close(self) -> None:
        self.monitor.close()
        self._agent.close()
