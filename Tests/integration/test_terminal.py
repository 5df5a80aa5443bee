"""`ringwake` as a person uses it: short ids or none, a terminal, a shell that completes."""

import os
import pty
import re
import select
import subprocess
import uuid
from pathlib import Path

import pytest

from support.credentials import APP, P12_PASSWORD
from support.daemon import Daemon
from support.programs import RINGWAKE, as_nobody, ringwake
from support.pushing import push, start_call


def ringing(daemon: Daemon, call: str | None = None, caller: str = "sip:alice@example.org") -> str:
    """A call that rings, and whose handler does nothing by itself."""
    if call is None:
        call, _ = start_call(daemon)
    else:
        assert push(daemon, call).status == 200
        daemon.recorders[0].wait(call)
    daemon.control.verb(call, "report", caller=caller, ring=True)
    return call


def connected(daemon: Daemon, call: str) -> None:
    assert daemon.ringwake("call", "answer", call).returncode == 0
    daemon.control.verb(call, "fulfill", action="answer")
    daemon.control.wait_for(call, "connected")


def test_without_an_id_a_command_takes_the_only_call_that_fits(daemon: Daemon) -> None:
    call = ringing(daemon)
    assert daemon.ringwake("call", "show").stdout.startswith(f"call {call}\n")
    done = daemon.ringwake("call", "answer")
    assert (done.returncode, done.stdout) == (0, f"{call}: answering\n"), done
    daemon.control.verb(call, "fulfill", action="answer")
    daemon.control.wait_for(call, "connected")
    other = ringing(daemon, caller="sip:bob@example.org")
    for command, pending in [(["hold"], "hold"), (["dtmf", "12#"], "dtmf"), (["mute"], "mute")]:
        done = daemon.ringwake("call", *command)
        assert done.returncode == 0 and done.stdout.startswith(call) and pending in done.stdout, done
    # One rings and one is connected: either could be meant.
    done = daemon.ringwake("call", "end")
    assert done.returncode == 1, done
    assert f"{call[:8]} (sip:alice@example.org, connected)" in done.stderr
    assert f"{other[:8]} (sip:bob@example.org, ringing)" in done.stderr
    assert "'ringwake call end " in done.stderr
    assert daemon.ringwake("call", "decline").stdout.startswith(other)
    daemon.control.verb(other, "fulfill", action="end")
    daemon.control.wait_for(other, "ended")
    assert daemon.ringwake("call", "end").stdout == f"{call}: ending (you hung up)\n"
    done = daemon.ringwake("call", "answer")
    assert done.returncode == 5 and "no call is ringing; in progress: " + call[:8] in done.stderr, done


def test_four_characters_of_an_id_are_enough_and_an_exact_id_wins(daemon: Daemon) -> None:
    first, second = "abcd1111-0000-4000-8000-000000000001", "abcd2222-0000-4000-8000-000000000002"
    ringing(daemon, first)
    assert daemon.ringwake("call", "show", "ABCD").stdout.startswith(f"call {first}\n")
    assert daemon.ringwake("push", "show", "abcd").stdout.startswith(f"push {first}\n")
    done = daemon.ringwake("watch", "--call", "abcd", "--count", "1", "--timeout", "10s")
    assert done.returncode == 0 and first in done.stdout, done
    ringing(daemon, second)
    done = daemon.ringwake("call", "answer", "abcd")
    assert done.returncode == 1 and "abcd1111" in done.stderr and "abcd2222" in done.stderr, done
    assert daemon.control.call(first)["state"] == daemon.control.call(second)["state"] == "ringing"
    assert daemon.ringwake("call", "decline", "abcd2").stdout.startswith(second)
    done = daemon.ringwake("call", "decline", "abc")
    assert done.returncode == 5 and "4 or more characters" in done.stderr and "abcd1111" in done.stderr, done
    done = daemon.ringwake("call", "decline", str(uuid.uuid4()))
    assert done.returncode == 5 and "In progress: " in done.stderr and first[:8] in done.stderr, done
    daemon.control.verb(second, "fulfill", action="end")
    daemon.control.wait_for(second, "ended")
    done = daemon.ringwake("call", "answer", "abcd2")
    assert done.returncode == 5 and "has ended (you declined); in progress: abcd1111" in done.stderr, done
    assert daemon.ringwake("app", "show", "com.exam").stdout.startswith(APP)
    assert daemon.ringwake("app", "remove", "com.exam").returncode == 5


class Terminal:
    """A program on a terminal of its own, 60 columns wide."""

    def __init__(self, daemon: Daemon, *arguments: object, stdout: bool = True, **variables: str) -> None:
        self.text = ""
        self.master, slave = pty.openpty()
        environment = {key: value for key, value in os.environ.items() if key != "RINGWAKE_PASSWORD"}
        self.process = subprocess.Popen(
            [str(RINGWAKE), *map(str, arguments)], stdin=slave, stderr=slave,
            stdout=slave if stdout else subprocess.PIPE, start_new_session=True,
            env=environment | daemon.environment() | {"COLUMNS": "60"} | variables,
        )  # fmt: skip
        os.close(slave)

    def read(self) -> bool:
        """Reads once what the program prints; false at the end."""
        try:
            ready, _, _ = select.select([self.master], [], [], 30)
            assert ready, f"nothing more came after:\n{self.text}"
            read = os.read(self.master, 65536)
        except OSError:  # EIO: the program has closed the terminal.
            return False
        self.text += read.decode()
        return bool(read)

    def wait_for(self, text: str) -> None:
        while text not in self.text:
            assert self.read(), f"it ended without '{text}':\n{self.text}"

    def end(self) -> int:
        while self.read():
            pass
        os.close(self.master)
        status = self.process.wait(30)
        self.text = self.text.replace("\r\n", "\n")
        return status


def test_times_are_local_on_a_terminal_and_utc_in_a_pipe(daemon: Daemon) -> None:
    call = ringing(daemon)
    received = daemon.control.call(call)["receivedAt"]
    piped = daemon.ringwake("call", "list", env={"TZ": "Asia/Tokyo"}).stdout.splitlines()
    assert piped[0].split() == ["time", "(UTC)", "call", "app", "state", "caller"]
    assert piped[1].startswith(f"{received[:10]} {received[11:19]}Z  {call}")
    terminal = Terminal(daemon, "call", "list", TZ="Asia/Tokyo")
    assert terminal.end() == 0
    headings, line = terminal.text.splitlines()
    assert headings.split() == ["time", "call", "app", "state", "caller"]
    hour = (int(received[11:13]) + 9) % 24
    # Without the date: it is today. At midnight in Tokyo it may be yesterday's.
    assert re.match(rf"(\d{{4}}-\d\d-\d\d )?{hour:02}{received[13:16]}", line), terminal.text
    assert f"  {call}  {APP} " in line
    for command in (["push", "list"], ["app", "list"], ["call", "show", call]):
        terminal = Terminal(daemon, *command, TZ="Asia/Tokyo")
        assert terminal.end() == 0 and "UTC" not in terminal.text and APP in terminal.text, terminal.text


def test_help_on_a_narrow_terminal_keeps_its_examples_whole(daemon: Daemon) -> None:
    terminal = Terminal(daemon, "call", "list", "--help")
    assert terminal.end() == 0
    assert "  ringwake call list --app com.example.phone --json | jq '.calls[0].reason'\n" in terminal.text


def test_a_password_is_asked_for_on_a_terminal_and_not_shown(daemon: Daemon) -> None:
    p12 = daemon.credentials.provider_p12
    terminal = Terminal(daemon, "certs", "show", p12)
    prompt = f"Password of {p12}: "
    terminal.wait_for(prompt)
    os.write(terminal.master, b"wrong\n")
    while terminal.text.count(prompt) < 2:
        assert terminal.read(), terminal.text
    os.write(terminal.master, (P12_PASSWORD + "x\x7f\n").encode())
    assert terminal.end() == 0, terminal.text
    assert "Apple" in terminal.text or "VoIP" in terminal.text, terminal.text
    assert P12_PASSWORD not in terminal.text and "wrong" not in terminal.text

    terminal = Terminal(daemon, "certs", "show", p12)
    terminal.wait_for(prompt)
    os.write(terminal.master, b"\x03")
    assert terminal.end() == 1 and "no password was given" in terminal.text

    assert ringwake("certs", "show", p12).returncode == 4
    assert ringwake("certs", "show", p12, env={"RINGWAKE_PASSWORD": P12_PASSWORD}).returncode == 0
    done = ringwake("certs", "show", p12, "--password-file", "-", input=P12_PASSWORD + "\n", stdin=None)
    assert done.returncode == 0, done


def test_an_import_shows_percent_on_a_terminal_and_nothing_in_a_pipe(daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    file.write_text("".join(f"+49{number}\n" for number in range(10_000_000, 10_400_000)))
    done = daemon.ringwake("block", "import", file, "--list", "quiet", timeout=120)
    assert done.returncode == 0 and not done.stderr, done
    terminal = Terminal(daemon, "block", "import", file, "--list", "shown", stdout=False)
    assert terminal.end() == 0, terminal.text
    assert re.search(r"shown: (reading|sending), \d+ %", terminal.text), terminal.text
    # The last thing that it does is to remove its line.
    assert terminal.text.endswith("\r\x1b[K"), terminal.text
    assert b"400000 entries" in terminal.process.stdout.read()


# What a shell does at the tab key: sets these variables, calls the function, takes COMPREPLY.
COMPLETE = """
set -e
source <("$1" --generate-completion-script bash)
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
function=$(complete -p ringwake | sed 's/.*-F \\([^ ]*\\).*/\\1/')
set +e
"$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(daemon: Daemon, *words: str) -> list[str]:
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", str(RINGWAKE), "ringwake", *words], capture_output=True, text=True, timeout=30,
        env=os.environ | daemon.environment() | {"PATH": f"{RINGWAKE.parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert not done.stderr, done
    return done.stdout.split()


def test_bash_completes_values_by_asking_the_daemon(daemon: Daemon) -> None:
    call = ringing(daemon)
    assert completed(daemon, "call", "answer", "") == [call]
    assert completed(daemon, "call", "answer", call[:3]) == [call]
    assert completed(daemon, "call", "unhold", "") == []
    assert completed(daemon, "app", "show", "") == [APP]
    assert completed(daemon, "push", "show", "") == [call]
    assert completed(daemon, "call", "list", "--app", "com.") == [APP]
    assert completed(daemon, "audio", "route", "sp") == ["speaker"]
    assert "answer" in completed(daemon, "call", "")
    daemon.stop()
    assert completed(daemon, "call", "answer", "") == []
    assert completed(daemon, "audio", "route", "sp") == ["speaker"]


def test_removing_what_a_list_does_not_have_is_an_error(daemon: Daemon) -> None:
    assert daemon.ringwake("block", "add", "+49900123456", "+49900123457").returncode == 0
    done = daemon.ringwake("block", "remove", "+49900999999")
    assert done.returncode == 5 and "'+49900999999' is not in the list 'blocked'" in done.stderr, done
    assert daemon.ringwake("block", "remove", "+49 900 123456").returncode == 0
    done = daemon.ringwake("block", "remove", "+49900123456", "+49900123457")
    assert done.returncode == 5 and "only 1 of 2 patterns" in done.stderr, done
    assert daemon.ringwake("block", "remove", "+49900123457", "--list", "none").returncode == 5


def test_an_output_is_refused_where_there_is_no_audio_backend(make_daemon) -> None:
    daemon = make_daemon()
    daemon.sections["audio"] = 'backend = "none"'
    daemon.add_app()
    daemon.start()
    assert daemon.ringwake("audio", "route").returncode == 0
    done = daemon.ringwake("audio", "route", "speaker")
    assert done.returncode == 1 and not done.stdout and 'backend is "none"' in done.stderr, done


def test_the_socket_may_be_named_before_the_command(daemon: Daemon) -> None:
    nowhere = {"RINGWAKE_SOCKET": "/nowhere"}
    assert ringwake("--socket", daemon.control_socket, "call", "list", env=nowhere).returncode == 0
    assert ringwake(f"--socket={daemon.control_socket}", "status", env=nowhere).returncode == 0
    assert ringwake("status", env=nowhere).returncode == 3


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_who_is_not_permitted_gets_exit_status_4(daemon: Daemon, tmp_path: Path) -> None:
    secret = daemon.directory / "secret"
    secret.write_text("x")
    secret.chmod(0o600)
    closed = daemon.directory / "closed"
    closed.mkdir(mode=0o700)
    anyone = ["push", "--token", "00", "--host", "127.0.0.1", "--port", "1"]

    def status(*arguments: object) -> int:
        done = subprocess.run(
            [*as_nobody(), str(RINGWAKE), *map(str, arguments)], capture_output=True, text=True, timeout=30,
            stdin=subprocess.DEVNULL, env=os.environ | daemon.environment(),
        )  # fmt: skip
        assert done.stderr.startswith("ringwake: ") or done.returncode == 0, done
        return done.returncode

    assert status("status") == 0
    for arguments in [
        ["call", "list"], ["call", "answer"], ["call", "end", "abcd"], ["call", "show"], ["app", "list"],
        ["app", "show", APP], ["app", "clear-strikes", APP], ["app", "renew-tokens", APP],
        ["app", "remove", APP], ["push", "list"], ["push", "show", "abcd"], ["dnd"], ["dnd", "off"], ["block", "list"], ["block", "add", "+491"],
        ["block", "remove", "+491"], ["block", "check", "+491"], ["reload"], ["watch"], ["audio", "route"],
        ["audio", "sessions"], ["audio", "run", "--", "true"], ["push", "--app", APP],
        ["app", "add", "com.example.new", "--exec", "/bin/true"], ["app", "connect", APP], ["app", "state", APP],
        ["status", "--socket", closed / "control.sock"], ["certs", "show", secret],
        ["certs", "dev-ca", "--directory", closed / "certs"], ["block", "import", secret],
        ["block", "import", "https://localhost:1/", "--ca", secret], [*anyone, "--cert", secret],
        [*anyone, "--ca", secret], [*anyone, "--payload", secret], ["app", "state", APP, "--put", secret],
    ]:  # fmt: skip
        assert status(*arguments) == 4, arguments
