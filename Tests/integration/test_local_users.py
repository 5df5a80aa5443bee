"""Other users of the machine: what they cannot take away from handlers, and where they must not be able to write."""

import os
import subprocess

import pytest

from support.daemon import Daemon
from support.programs import as_nobody, run
from support.waiting import until

pytestmark = pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")

# perl is part of every Debian; the interpreter of these tests may lie where nobody else may go.
HOLDER = """
use Socket; $| = 1; my @held;
for (1 .. 300) { socket(my $s, PF_UNIX, SOCK_STREAM, 0); connect($s, sockaddr_un($ARGV[0])) or last; push @held, $s; }
sysread($held[-1], my $answer, 4096); $answer =~ s/\\s+/ /g;
print scalar(@held), " $answer\\n"; <STDIN>;
"""


def test_another_user_cannot_take_all_of_the_control_socket(daemon: Daemon) -> None:
    command = [*as_nobody(), "/usr/bin/perl", "-e", HOLDER, str(daemon.control_socket)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout
        number, _, answer = holder.stdout.readline().partition(" ")
        assert int(number) > 100
        # Whoever has too many is told so; the owner and handlers still get through.
        assert answer.startswith("HTTP/1.1 429 ") and '"limit-reached"' in answer
        for _ in range(20):
            daemon.control.status()
    finally:
        holder.communicate("\n", timeout=10)

    def is_free() -> bool:
        url = "http://localhost/v1/status"
        return run(*as_nobody(), "curl", "-sf", "--unix-socket", daemon.control_socket, url).returncode == 0

    until(is_free, 10, "another user to be served again")


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
    assert str(directory) in done.stderr and setting in done.stderr and "chmod" in done.stderr
    assert not list(directory.iterdir())
