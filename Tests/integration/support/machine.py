"""Machines that a test boots: a real systemd as PID 1 in a root folder of its own, without a network or on one of the test's.

    root = Root.overlay(directory)                      this machine's files; changes stay in memory
    root = Root.debian(directory, packages=["curl"])    a fresh Debian 12
    root = Root.overlay(directory, on=debian)           the files of another folder; changes stay in memory
    with root:
        root.write("/etc/ringwake/ringwaked.toml", text)
        boot = root.boot("systemctl start ringwaked && ringwake status")
    assert boot.status == 0, boot.end

The script runs in bash as root, as soon as the machine reaches multi-user.target; the machine switches off when the script
ends. A root can boot several times. Needs root: `unavailable()` says so.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import programs

# A boot takes some ten seconds, a new Debian some thirty; the bounds are for a machine that does other things. Seconds.
BOOT_TIMEOUT = 600
DEBIAN_TIMEOUT = 600

UNIT = "test-script.service"
SCRIPT = "/var/lib/test-machine/script"
LOG = "/var/lib/test-machine/log"
STATUS = "/var/lib/test-machine/status"
NETWORKS = Path("/run/netns")
PROPAGATED = Path("/run/systemd/nspawn/propagate")
# Its arguments: groups, `--`, and the command to run in them.
ENTER_GROUPS = 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit; shift; done; shift; exec "$@"'

# Not oneshot: the script may wait for the end of the boot, which must not wait for the script.
UNIT_TEXT = f"""\
[Unit]
Description=What the test runs
After=basic.target dbus.service
[Service]
Type=exec
Environment=HOME=/root LC_ALL=C.UTF-8
ExecStart=/bin/bash -c '/bin/bash {SCRIPT} >{LOG} 2>&1 </dev/null; echo $? >{STATUS}; sync; poweroff -f'
# A program that the script leaves running does not keep the machine from switching off.
KillMode=process
"""


def unavailable() -> str | None:
    """Why no machine can be booted here; None when one can."""
    if os.getuid() != 0:
        return "needs root: it boots a systemd in a container"
    for tool, package in {"systemd-nspawn": "systemd-container", "mmdebstrap": "mmdebstrap"}.items():
        if not shutil.which(tool):
            return f"'{tool}' is not installed; apt-get install {package}"
    return None


@dataclass(frozen=True)
class Boot:
    """What a boot showed."""

    # What the script printed, on both streams.
    lines: list[str]
    # Its exit status; None when the machine ended before the script did.
    status: int | None
    # What the boot itself wrote on its console.
    console: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def end(self) -> str:
        """The end of the boot and of the script, which says why it failed."""
        script = "\n".join(self.lines[-80:])
        return f"--- console\n{self.console[-2000:]}\n--- script\n{script}\n(exit status {self.status})"


class Root:
    """The files of a machine. Leaving `with` unmounts them; the folder belongs to the caller."""

    def __init__(self, path: Path, mounts: Iterable[Path] = ()) -> None:
        self.path = path
        self._mounts = list(mounts)

    @classmethod
    def overlay(cls, directory: Path, on: Path = Path("/")) -> "Root":
        """The files of `on`, which do not change: what the machine writes is in memory, until the end of `with`."""
        directory.mkdir(exist_ok=True)
        check("mount", "-t", "tmpfs", "-o", "mode=0755", "ringwake-test", directory)
        root, upper, work = (directory / name for name in ("root", "upper", "work"))
        try:
            for folder in (root, upper, work):
                folder.mkdir()
            check("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={on},upperdir={upper},workdir={work}", root)
        except BaseException:
            check("umount", directory)
            raise
        made = cls(root, [root, directory])
        made.settle()
        return made

    @classmethod
    def debian(cls, directory: Path, packages: Iterable[str] = (), downloads: Iterable[str | Path] = ()) -> "Root":
        """A new Debian 12 of apt's own sources, the smallest that boots.

        - packages: further ones.
        - downloads: package files and names. They, what they depend on and what they recommend are downloaded and not
          installed, so that apt can install them on the machine, which has no network.
        """
        wanted = [item if isinstance(item, str) else str(item.resolve()) for item in downloads]
        hooks = [
            f'--customize-hook=APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get --yes --quiet --option APT::Install-Recommends=1'
            f" --download-only install {' '.join(wanted)}"
        ] if wanted else []  # fmt: skip
        check(
            "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--skip=cleanup/apt",
            f"--include={','.join(['systemd-sysv', 'dbus', *packages])}", *hooks, "bookworm", directory,
            timeout=DEBIAN_TIMEOUT,
        )  # fmt: skip
        made = cls(directory)
        made.settle()
        return made

    def __enter__(self) -> "Root":
        return self

    def __exit__(self, *_: object) -> None:
        for mount in self._mounts:
            check("umount", mount)
        self._mounts = []

    def settle(self) -> None:
        """Makes it a machine of its own: it takes neither the identity nor the name of this one."""
        self.write("/etc/machine-id", secrets.token_hex(16) + "\n")
        self.write("/etc/hostname", "device\n")
        # What waits for hardware or a network, or asks somebody at a first boot, has nothing to do here.
        for unit in (
            "systemd-networkd-wait-online.service", "NetworkManager-wait-online.service", "systemd-firstboot.service",
            "apt-daily.timer", "apt-daily-upgrade.timer", "systemd-udev-settle.service",
        ):  # fmt: skip
            link = self.file(f"/etc/systemd/system/{unit}")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to("/dev/null")

    def file(self, path: str) -> Path:
        """Where a file of the machine is for this process."""
        return self.path / path.lstrip("/")

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        """Writes a file of the machine, and the folders above it."""
        file = self.file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        file.chmod(mode)

    def boot(self, script: str, timeout: float = BOOT_TIMEOUT, network: str | None = None) -> Boot:
        """Boots the machine, runs the script on it, and waits until the machine is off.

        - network: the name of the network namespace that it is in; without one it has a loopback interface alone.

        Raises AssertionError with the log so far when that takes longer than `timeout` seconds.
        """
        for old in (LOG, STATUS):
            self.file(old).unlink(missing_ok=True)
        self.write(SCRIPT, script)
        self.write(f"/etc/systemd/system/{UNIT}", UNIT_TEXT)
        wants = self.file(f"/etc/systemd/system/multi-user.target.wants/{UNIT}")
        wants.parent.mkdir(parents=True, exist_ok=True)
        if not wants.is_symlink():
            wants.symlink_to(f"/etc/systemd/system/{UNIT}")
        name = f"ringwake-{secrets.token_hex(4)}"
        groups = control_groups(name)
        command = [
            "/bin/sh", "-c", ENTER_GROUPS, "sh", *map(str, groups), "--",
            "systemd-nspawn", "--quiet", f"--directory={self.path}", "--boot", "--register=no", "--keep-unit",
            # A real machine may have an alarm that wakes it; systemd-nspawn takes the capability for it away.
            "--capability=CAP_WAKE_ALARM" + (",CAP_NET_ADMIN" if network else ""),
            f"--network-namespace-path={NETWORKS / network}" if network else "--private-network",
            "--resolv-conf=off", "--timezone=off", "--link-journal=no", "--console=pipe", f"--machine={name}",
        ]  # fmt: skip
        for group in groups:
            group.mkdir()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            # Its PID 1 ends with it.
            process.kill()
            output, _ = process.communicate()
            seen = self._seen(output)
            raise AssertionError(f"the machine was not off after {timeout} s:\n{seen.end}") from None
        finally:
            # systemd-nspawn leaves these folders behind.
            for folder in [PROPAGATED / name, *(path for group in groups for path, _, _ in os.walk(group, topdown=False))]:
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        return self._seen(output)

    def _seen(self, output: bytes) -> Boot:
        log, status = self.file(LOG), self.file(STATUS)
        return Boot(
            lines=log.read_text(errors="replace").splitlines() if log.exists() else [],
            status=int(status.read_text()) if status.exists() else None,
            console=output.decode(errors="replace"),
        )


def control_groups(name: str) -> list[Path]:
    """Where a machine's own control groups are to be: one below this process's in each hierarchy that systemd uses.

    With `--keep-unit`, systemd-nspawn puts each machine's processes in the group `payload` of its own group. Machines
    that run at once and start from one group share the groups of their units, and see each other's processes there as 0.
    """
    groups = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "name=systemd"):
            continue
        for mount in Path("/proc/mounts").read_text().splitlines():
            _, folder, kind, options = mount.split(" ")[:4]
            if kind == "cgroup2" if not controllers else kind == "cgroup" and controllers in options.split(","):
                groups.append(Path(folder) / path.lstrip("/") / name)
                break
    return groups


def check(*command: object, timeout: float = programs.COMMAND_TIMEOUT) -> str:
    """Runs a command that has to succeed; answers what it printed."""
    done = programs.run(*command, timeout=timeout)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}"
    return done.stdout
