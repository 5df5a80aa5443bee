"""`ringwake-audio --listen`: a user's audio server for the machine's daemon, by socket activation."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import processes, programs
from support.apps import App
from support.audio import AudioServer
from support.audio_agent import RINGWAKE_AUDIO, Line, plan, session
from support.audio_streams import FULL, Stream, snapshot
from support.daemon import Daemon
from support.sockets import listens
from support.telephone import PAYLOAD, connected, hang_up
from support.waiting import until

Streams = Callable[..., Stream]
TIMEOUT = 60
CALL = session(0, "interrupt", category="playAndRecord", mode="voiceChat", isInputOpen=True, isCall=True)

pytestmark = pytest.mark.skipif(
    not shutil.which("systemd-socket-activate"), reason="systemd-socket-activate is not installed"
)


class Activator:
    """systemd-socket-activate(1), which does as systemd does: it starts the program when somebody connects."""

    def __init__(self, server: AudioServer, journal: Path, *options: str) -> None:
        # A socket's path is short.
        self.path = server.folder / "run" / "audio"
        self.journal = journal
        self.process = subprocess.Popen(
            [
                "systemd-socket-activate", f"--listen={self.path}", *self._variables(server), RINGWAKE_AUDIO,
                "--listen", f"--journal={journal}", *options,
            ],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | server.environment(),
        )  # fmt: skip
        until(lambda: listens(self.path), TIMEOUT, "systemd-socket-activate to listen")
        self.path.chmod(0o777)
        for folder in (server.folder, self.path.parent):
            folder.chmod(0o755)

    @staticmethod
    def _variables(server: AudioServer) -> list[str]:
        # It gives its own environment to nobody.
        return [f"--setenv={name}={value}" for name, value in server.environment().items()]

    def connect(self) -> Line:
        end = socket.socket(socket.AF_UNIX)
        end.connect(str(self.path))
        return Line(end)

    def ended(self) -> int:
        return self.process.wait(TIMEOUT)

    def log(self) -> str:
        assert self.process.stderr
        return self.process.stderr.read().decode()

    def clear_away(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def activator(pulseaudio: AudioServer, tmp_path: Path) -> Iterator[Activator]:
    made = Activator(pulseaudio, tmp_path / "effects.json")
    yield made
    made.clear_away()


def apply(line: Line, number: int, *sessions: dict) -> dict:
    line.send({"apply": {"number": number, "_1": plan(*sessions), "resumes": True}})
    return line.next("applied")["_1"]


def test_a_connection_is_a_life_and_nothing_stays_after_it(
    pulseaudio: AudioServer, activator: Activator, make_stream: Streams
) -> None:
    music = make_stream(pulseaudio, "music", role="music")
    before = snapshot(pulseaudio)
    line = activator.connect()
    line.next("ready")
    line.next("connected")
    assert apply(line, 1, session(16))["made"] == 1
    assert music.volume < FULL / 1.5
    line.close()
    assert activator.ended() == 0
    assert snapshot(pulseaudio) == before
    assert not activator.journal.exists()


def test_a_second_client_waits_for_the_first(
    pulseaudio: AudioServer, activator: Activator, make_stream: Streams
) -> None:
    music = make_stream(pulseaudio, "music", role="music")
    first = activator.connect()
    first.next("connected")
    second = activator.connect()
    with pytest.raises(AssertionError, match="in time"):
        second.next("ready", timeout=0.5)
    assert apply(first, 1, session(16))["made"] == 1
    first.close()
    second.next("connected")
    assert music.volume == FULL
    assert apply(second, 1, session(17))["made"] == 1
    second.close()
    assert activator.ended() == 0
    assert music.volume == FULL


def test_a_client_that_sends_nonsense_costs_the_next_one_nothing(activator: Activator) -> None:
    first = activator.connect()
    first.next("ready")
    second = activator.connect()
    first.socket.sendall(b"nonsense\n")
    first.at_end()
    second.next("connected")
    second.close()
    assert activator.ended() == 0


@pytest.mark.skipif(os.getuid() != 0, reason="another user's client needs root")
def test_another_user_is_refused_with_a_word(pulseaudio: AudioServer, activator: Activator) -> None:
    assert "may not use the audio server" in connect_as_nobody(activator)
    assert activator.ended() == 0
    assert "client refused" in activator.log()


@pytest.mark.skipif(os.getuid() != 0, reason="another user's client needs root")
def test_another_user_that_is_allowed_is_served(pulseaudio: AudioServer, tmp_path: Path) -> None:
    """The machine's daemon runs as a user of its own."""
    activator = Activator(pulseaudio, tmp_path / "effects.json", "--allow=nobody")
    try:
        assert '"ready"' in connect_as_nobody(activator)
        assert activator.ended() == 0
    finally:
        activator.clear_away()


def connect_as_nobody(activator: Activator) -> str:
    """What is told first to a client of another user."""
    script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(activator.path)!r}); print(s.recv(9999))"
    done = programs.run(*programs.as_nobody(), programs.SYSTEM_PYTHON, "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_told_to_end(pulseaudio: AudioServer, activator: Activator, make_stream: Streams) -> None:
    make_stream(pulseaudio, "music", role="music")
    before = snapshot(pulseaudio)
    line = activator.connect()
    line.next("connected")
    apply(line, 1, session(16))
    activator.process.terminate()
    assert activator.ended() == 0
    assert snapshot(pulseaudio) == before


def test_what_could_not_be_put_back_is_when_the_server_comes(
    pulseaudio: AudioServer, activator: Activator, make_stream: Streams
) -> None:
    line = broken_off(pulseaudio, activator, make_stream)
    line.close()
    # It stays for this alone, and waits without looking.
    until(lambda: processes.is_asleep(activator.process.pid), TIMEOUT, "it to wait")
    assert activator.process.poll() is None and activator.journal.exists()
    pulseaudio.start()
    assert activator.ended() == 0
    assert not activator.journal.exists()


def test_a_client_that_comes_meanwhile_is_served(
    pulseaudio: AudioServer, activator: Activator, make_stream: Streams
) -> None:
    broken_off(pulseaudio, activator, make_stream).close()
    until(lambda: processes.is_asleep(activator.process.pid), TIMEOUT, "it to wait")
    again = activator.connect()
    again.next("unavailable")
    pulseaudio.start()
    again.next("connected")
    until(lambda: not activator.journal.exists(), TIMEOUT, "the journal to go")
    again.close()
    assert activator.ended() == 0


def test_strangers_do_not_stand_in_the_way(
    pulseaudio: AudioServer, activator: Activator, make_stream: Streams
) -> None:
    line = activator.connect()
    line.next("connected")
    # As another user: each is told so while somebody is served, and none is kept.
    subprocess.run(
        [
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c",
            "import socket, sys\n"
            "for _ in range(50):\n"
            "    with socket.socket(socket.AF_UNIX) as stranger:\n"
            "        stranger.settimeout(10)\n"
            "        stranger.connect(sys.argv[1])\n"
            "        assert b'may not use' in stranger.recv(4096)\n",
            activator.path,
        ],
        check=True, timeout=60,
    )  # fmt: skip
    line.close()
    again = activator.connect()
    again.next("connected")
    again.close()
    assert activator.ended() == 0


# Connects in a loop, as fast as it can, and counts in a file.
STRANGER = """
import itertools, os, socket, sys
path, counter = sys.argv[1], int(sys.argv[2])
for count in itertools.count(1):
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(path)
    if count % 16 == 0:
        os.pwrite(counter, b"%d" % count, 0)
"""


class Strangers:
    """Processes of another user, each of which connects in a loop."""

    COUNT = 4

    def __init__(self, path: Path, folder: Path) -> None:
        self.counters = [folder / f"stranger-{number}" for number in range(self.COUNT)]
        self.processes = []
        for counter in self.counters:
            counter.write_bytes(b"0")
            counter.chmod(0o666)
            with counter.open("rb+") as file:
                self.processes.append(
                    subprocess.Popen(
                        [*programs.as_nobody(), programs.SYSTEM_PYTHON, "-c", STRANGER, path, str(file.fileno())],
                        stdin=subprocess.DEVNULL, pass_fds=[file.fileno()],
                    )  # fmt: skip
                )
        self.keep_on()

    def keep_on(self) -> None:
        """Waits until each has connected some more times."""
        for counter, before in [(counter, int(counter.read_bytes())) for counter in self.counters]:
            until(lambda: int(counter.read_bytes()) > before, TIMEOUT, "the strangers to connect on")
        assert all(process.poll() is None for process in self.processes)

    def clear_away(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def make_strangers(activator: Activator, tmp_path: Path) -> Iterator[Callable[[], Strangers]]:
    made: list[Strangers] = []

    def make() -> Strangers:
        made.append(Strangers(activator.path, tmp_path))
        return made[-1]

    yield make
    for strangers in made:
        strangers.clear_away()


@pytest.mark.skipif(os.getuid() != 0, reason="another user's client needs root")
@pytest.mark.parametrize("begun", ["before the call", "in the call"])
def test_a_connect_loop_of_strangers_keeps_no_audio_away_and_leaves_nothing_changed(
    pulseaudio: AudioServer, activator: Activator, make_stream: Streams, make_strangers: Callable[[], Strangers],
    begun: str,
) -> None:  # fmt: skip
    """On a socket that anybody may connect to, as `Activator` makes it. The music is muted and the microphone open in the
    call, and both are as before after it, while the loop goes on."""
    make_stream(pulseaudio, "music", role="music")
    pulseaudio.pactl("set-source-mute", "@DEFAULT_SOURCE@", "1")
    before = snapshot(pulseaudio)
    strangers = make_strangers() if begun == "before the call" else None
    for _ in range(2):
        line = activator.connect()
        line.next("connected")
        strangers = strangers or make_strangers()
        assert apply(line, 1, CALL)["made"] > 1
        assert snapshot(pulseaudio) != before
        strangers.keep_on()
        line.close()
        until(lambda: snapshot(pulseaudio) == before, TIMEOUT, "everything to be as before")
        strangers.keep_on()
    strangers.clear_away()
    assert activator.ended() == 0
    assert activator.log().count("client refused") == 1


@pytest.mark.skipif(os.getuid() != 0, reason="another user's client needs root")
def test_a_connect_loop_of_strangers_keeps_no_daemon_away(
    make_daemon: Callable[..., Daemon], pulseaudio: AudioServer, activator: Activator, make_stream: Streams,
    make_strangers: Callable[[], Strangers],
) -> None:  # fmt: skip
    """The queue of the socket is full most of the time."""
    music = make_stream(pulseaudio, "music", role="music")
    daemon = make_daemon()
    daemon.sections["audio"] = f'backend = "socket"\nsocket = "{activator.path}"\nlinger = "0s"'
    phone = App(daemon).by_exec(more=PAYLOAD)
    daemon.start()
    strangers = make_strangers()
    for _ in range(3):
        with daemon.control.events() as stream:
            call = connected(phone)
            stream.until("audioActivated", seconds=TIMEOUT, call=call)
            until(lambda: music.is_muted, TIMEOUT, "music to be silent")
            strangers.keep_on()
            hang_up(phone, call)
            stream.until("audioDeactivated", seconds=TIMEOUT, call=call)
        until(lambda: not music.is_muted, TIMEOUT, "music to be heard at the end")
        strangers.keep_on()


def broken_off(server: AudioServer, activator: Activator, make_stream: Streams) -> Line:
    """A client's line, whose server was killed while music was quiet for it."""
    music = make_stream(server, "music", role="music")
    line = activator.connect()
    line.next("connected")
    assert apply(line, 1, session(16))["made"] == 1
    server.kill()
    line.next("lost")
    music.end()
    return line
