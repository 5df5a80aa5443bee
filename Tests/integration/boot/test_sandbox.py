"""What the daemon reads of the kernel: ringwaked(8) lists it, and the shipped unit's sandbox shows it."""

import re

from support import programs
from support.machine import Root

SOURCES = programs.ROOT / "Sources"
# What the daemon links. The audio program and the command line run outside of the unit.
DAEMON = (
    "C", "CallService", "ControlProtocol", "Cryptography", "DBus", "DaemonConfiguration", "DeviceServices", "FileSystem",
    "HTTPServer", "HandlerActivation", "LogOutput", "NetworkMessages", "PushGateway", "PushJournal", "Reachability",
    "RingwakeDaemon", "RunLoop", "ServiceManager",
)  # fmt: skip
LITERAL = re.compile(r'"(/(?:proc|sys|dev)/[^"]*)"')
PAGE = programs.ROOT / "deploy" / "man" / "ringwaked.8"


def general(path: str) -> str:
    """A path as the page writes it: `/proc/\\(process)/stat` and `/proc/self/fd/%d` have no number there."""
    path = re.sub(r"/proc/\\\(\w+\)", "/proc/PID", path)
    return re.sub(r"/(\\\(.*|%d)$", "", path)


def listed() -> set[str]:
    """The paths that ringwaked(8) lists."""
    return {path for line in PAGE.read_text().splitlines() if line.startswith(".It Pa /") for path in line[7:].split(" , ")}


def test_the_page_lists_each_path_of_the_kernel_that_the_sources_name() -> None:
    found = {
        general(path)
        for module in DAEMON
        for file in (SOURCES / module).rglob("*")
        if file.suffix in (".swift", ".h", ".cpp")
        for line in file.read_text().splitlines()
        if not line.lstrip().startswith("//")
        for path in LITERAL.findall(line)
    }
    assert found, "no source names a path of the kernel; does the pattern still fit?"
    missing = {path for path in found if not any(path == one or path.startswith(one + "/") for one in listed())}
    assert not missing, f"{PAGE.name} does not list {sorted(missing)}"


SCRIPT = r"""
prepare
systemctl start ringwaked
pid=$(main_pid)
# A process of another user, as a handler's unit may have.
setpriv --reuid=nobody --clear-groups sleep 1000 &
sleeper=$!
eventually grep -q sleep /proc/$sleeper/comm
# One of the daemon's own user, as the handlers that exec starts: of these alone it reads the environment.
setpriv --reuid=ringwake --regid=ringwake --clear-groups sleep 1000 &
own=$!
eventually grep -q sleep /proc/$own/comm
inside() { nsenter --target "$pid" --mount -- setpriv --reuid=ringwake --regid=ringwake --clear-groups "$@"; }
for path in PATHS; do
    step "$path"
    case $path in */environ) path=${path/PID/$own} ;; *) path=${path/PID/$sleeper} ;; esac
    # A machine without a clock with a battery, say.
    [ -e "$path" ] || continue
    if [ -d "$path" ]; then inside ls "$path" >/dev/null; else inside head -c 1 "$path" >/dev/null; fi
done
step "what the daemon must not see"
! inside ls /home /root 2>/dev/null || fail "it reads homes"
! inside touch /etc/ringwake/ringwaked.toml 2>/dev/null || fail "it writes its configuration"
kill $sleeper
"""


def test_the_shipped_unit_shows_the_daemon_what_it_reads(device: Root, boot) -> None:
    paths = sorted(path for path in listed() if path.startswith(("/proc/", "/sys/", "/dev/")))
    # Links to what another process has open can be read by nobody else.
    # Sound cards are hidden, and the daemon looks whether they are.
    paths = [path for path in paths if not path.startswith("/proc/self/") and path != "/dev/snd"]
    assert len(paths) >= 6, paths
    boot(SCRIPT.replace("PATHS", " ".join(paths)))
