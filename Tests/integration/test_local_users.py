"""Other users of the machine: what they cannot take away from handlers, and where they must not be able to write."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from support.control import Control
from support.daemon import Daemon
from support.programs import as_nobody, run
from support.pushing import start_call
from support.waiting import until

pytestmark = pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")

# perl is part of every Debian; the interpreter of these tests may lie where nobody else may go. Each of these asks and
# connects as fast as it can.
PIPELINE = """
use Socket;
while (1) {
    socket(my $s, PF_UNIX, SOCK_STREAM, 0); connect($s, sockaddr_un($ARGV[0])) or next;
    while (syswrite($s, "GET /v1/status HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" x 16)) { sysread($s, my $b, 65536) or last }
}
"""
CONNECT = """
use Socket;
while (1) { socket(my $s, PF_UNIX, SOCK_STREAM, 0); connect($s, sockaddr_un($ARGV[0])); }
"""
HOLD = """
use Socket; my @held;
for (1 .. 100) { socket(my $s, PF_UNIX, SOCK_STREAM, 0); connect($s, sockaddr_un($ARGV[0])) or last; push @held, $s }
$| = 1; print scalar(@held), "\\n"; <STDIN>;
"""


@contextlib.contextmanager
def strangers(daemon: Daemon, *scripts: str) -> Iterator[list[subprocess.Popen]]:
    """Processes of another user that use the status socket."""
    command = [*as_nobody(), "/usr/bin/perl", "-e"]
    processes = [
        subprocess.Popen([*command, script, daemon.status_socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for script in scripts
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def status_of_a_stranger(daemon: Daemon) -> int:
    url = "http://localhost/v1/status"
    return run(*as_nobody(), "curl", "-sf", "--max-time", "5", "--unix-socket", daemon.status_socket, url).returncode


def test_calls_ring_while_strangers_do_their_worst(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    with strangers(daemon, *[PIPELINE] * 10, *[CONNECT] * 4, HOLD):
        for _ in range(6):
            call, wake = start_call(daemon)
            Control(daemon.control_socket, wake.secret).verb(call, "report", ring=True)
            assert daemon.control.call(call)["state"] == "ringing"
            daemon.control.status()
    until(lambda: status_of_a_stranger(daemon) == 0, 20, "another user to be served again")
    daemon.check_alive()


def test_idle_strangers_do_not_keep_out_others(daemon: Daemon) -> None:
    with strangers(daemon, HOLD) as [holder]:
        assert holder.stdout and int(holder.stdout.readline()) == 100
        # As long as they wait to be accepted, the kernel refuses others.
        until(lambda: status_of_a_stranger(daemon) == 0, 20, "another user to be served")
        for _ in range(5):
            assert status_of_a_stranger(daemon) == 0
            daemon.control.status()


# Holds connections until its standard input ends: as many as it is told, or until one is refused. Prints how many, and the
# last answer.
OWNER = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (8192, max(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
held, answer = [], b""
for number in range(int(sys.argv[2])):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    held.append(connection)
    if len(sys.argv) > 3:
        connection.sendall(sys.argv[3].encode())
        answer = connection.recv(65536)
        if b" 200 " not in answer:
            break
print(len(held), answer.decode(errors="replace").splitlines()[:1], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    "count, request_text", [(4000, "GET /v1/events HTTP/1.1\r\nhost: x\r\n\r\n"), (2500, None)], ids=["streams", "idle"]
)
def test_an_owner_that_holds_all_places_does_not_keep_a_handler_from_its_report(
    daemon: Daemon, count: int, request_text: str | None
) -> None:
    command = [sys.executable, "-c", OWNER, daemon.control_socket, str(count), *filter(None, [request_text])]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout
        held, _, answer = owner.stdout.readline().partition(" ")
        if request_text:
            # Whoever opens too many is told so.
            assert int(held) > 500 and "429" in answer
        else:
            assert int(held) == count
        call, wake = start_call(daemon)
        Control(daemon.control_socket, wake.secret).verb(call, "report", ring=True)
        assert daemon.control.call(call)["state"] == "ringing"
    finally:
        owner.communicate("", timeout=20)
    daemon.check_alive()


@pytest.mark.parametrize("setting", ["state_directory", "runtime_directory"])
@pytest.mark.parametrize("mode, owner", [(0o777, 0), (0o1777, 0), (0o755, 65534)])
def test_a_directory_that_others_may_write_to_is_refused(make_daemon, setting: str, mode: int, owner: int) -> None:
    daemon = make_daemon()
    daemon.add_app()
    directory = daemon.directory / {"state_directory": "state", "runtime_directory": "run"}[setting]
    directory.mkdir()
    directory.chmod(mode)
    os.chown(directory, owner, 0)
    done = daemon.run_to_its_end()
    assert done.returncode == 1, done
    assert str(directory) in done.stderr and setting in done.stderr
    # Root is not told to take it from its user.
    assert ("nobody's" in done.stderr and "chown" not in done.stderr) if owner else "chmod" in done.stderr
    assert not list(directory.iterdir())
