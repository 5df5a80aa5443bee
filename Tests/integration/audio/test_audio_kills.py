"""`kill -9` of the daemon, of its audio program and of the server at any moment: what was changed is put back."""

import os
import random
import signal
import time
from collections.abc import Iterator

import pytest

from support import processes
from support.audio import AudioServer
from support.audio_run import AudioRun
from support.audio_streams import FULL, Stream, snapshot
from support.daemon import Daemon
from support.waiting import until

VICTIMS = [
    ("daemon",), ("program",), ("daemon", "program"), ("server",), ("server", "daemon"), ("server", "program"),
    ("server", "daemon", "program"),
]  # fmt: skip

# An activation takes some ten milliseconds, with the start of the command and of the audio program. In seconds.
LONGEST = 0.15
# WirePlumber writes what it stores about a second later; PulseAudio at once. In seconds.
STORING = {"pipewire": 1.3, "pulseaudio": 0}
# From the restart until everything is as before, in seconds; the bound is for a machine under load.
PATIENCE = 60

OPTIONS = [("--options", "duckOthers"), ()]


class Stage:
    """An audio server with streams, and a daemon with a command that keeps others quiet."""

    def __init__(self, server: AudioServer, daemon: Daemon) -> None:
        self.server = server
        self.daemon = daemon
        self.streams: dict[str, Stream] = {}

    ROLES = {"music": "music", "news": None}

    def play(self) -> None:
        """Everything that plays: at first, and again after the server was killed."""
        for stream in self.streams.values():
            stream.end()
        self.streams = {name: Stream(self.server, name, role=role) for name, role in self.ROLES.items()}

    def program(self) -> int | None:
        """The audio program of this daemon; nil while there is none."""
        for pid, _ in processes.groups():
            words = processes.command_line(pid)
            if words and words[0].endswith("/ringwake-audio") and str(self.daemon.directory) in " ".join(words):
                return pid
        return None

    def kill(self, victims: tuple[str, ...]) -> None:
        program = self.program()
        # As near to one another as can be: who lives a moment longer may begin to mend.
        if "program" in victims and program:
            try:
                os.kill(program, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if "daemon" in victims:
            self.daemon.kill()
        if "server" in victims:
            self.server.kill()

    def revive(self, victims: tuple[str, ...]) -> None:
        if "server" in victims:
            self.server.start()
        if "daemon" in victims:
            self.daemon.start()
        if "server" in victims:
            self.play()

    def settle(self, victims: tuple[str, ...]) -> None:
        """What the user chose is stored, by a server that will be killed: it does that a moment later."""
        if "server" in victims:
            time.sleep(STORING[self.server.kind])

    def clear_away(self) -> None:
        for stream in self.streams.values():
            stream.end()


@pytest.fixture
def stage(audio_server: AudioServer, audio_daemon: Daemon) -> Iterator[Stage]:
    stage = Stage(audio_server, audio_daemon)
    stage.play()
    stage.streams["news"].set_volume(50)
    yield stage
    stage.clear_away()


@pytest.mark.parametrize("options", OPTIONS, ids=["ducked", "silent"])
@pytest.mark.parametrize("victims", VICTIMS, ids="-and-".join)
def test_killed_while_others_are_quiet(stage: Stage, victims: tuple[str, ...], options: tuple[str, ...]) -> None:
    stage.settle(victims)
    before = snapshot(stage.server)
    run = AudioRun(stage.daemon, *options).says("audio is active")
    assert snapshot(stage.server) != before
    stage.kill(victims)
    stage.revive(victims)
    run.end()
    comes_back(stage, before)


@pytest.mark.parametrize("victims", VICTIMS, ids="-and-".join)
def test_killed_at_any_moment(stage: Stage, victims: tuple[str, ...]) -> None:
    stage.settle(victims)
    random_source = random.Random(f"{stage.server.kind} {victims}")
    moment, options = random_source.uniform(0, LONGEST), random_source.choice(OPTIONS)
    before = snapshot(stage.server)
    run = AudioRun(stage.daemon, *options)
    time.sleep(moment)
    stage.kill(victims)
    stage.revive(victims)
    run.end()
    comes_back(stage, before)


@pytest.mark.parametrize("victims", VICTIMS[:3], ids="-and-".join)
def test_what_the_user_changed_before_the_kill_stays(stage: Stage, victims: tuple[str, ...]) -> None:
    with AudioRun(stage.daemon, "--options", "duckOthers"):
        stage.streams["music"].set_volume(70)
        chosen = stage.streams["music"].volume
        # Until the program has seen that it is not its own value any more there is nothing to tell it by but the value.
        stage.kill(victims)
        stage.revive(victims)
    news = stage.streams["news"]
    until(lambda: news.volume == FULL // 2, PATIENCE, lambda: f"half; there is {news.volume}")
    assert stage.streams["music"].volume == chosen


def comes_back(stage: Stage, before: dict) -> None:
    def look() -> bool:
        return snapshot(stage.server) == before

    until(look, PATIENCE, lambda: f"{before}\nto be again; there is\n{snapshot(stage.server)}\n{stage.daemon.log}")
    # And stays: nothing comes along later that makes it quiet again.
    time.sleep(0.3)
    assert look(), f"{before}\nwas there; now there is\n{snapshot(stage.server)}"
