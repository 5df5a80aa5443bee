"""A player that nobody here wrote: paused for a call, and going on after it."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.audio import AudioServer
from support.audio_agent import Agent, mend, session
from support.waiting import until

Agents = Callable[..., Agent]
TIMEOUT = 60
SCRIPT = Path("/etc/mpv/scripts/mpris.so")

pytestmark = pytest.mark.skipif(
    not (shutil.which("mpv") and shutil.which("playerctl") and SCRIPT.exists()),
    reason="mpv, mpv-mpris or playerctl is not installed",
)


class Player:
    """mpv with its MPRIS script, on the server's session bus, seen through playerctl(1)."""

    def __init__(self, server: AudioServer) -> None:
        self.server = server
        options = ["--no-config", f"--script={SCRIPT}", "--ao=pulse", "--vo=null", "--no-video", "--no-terminal"]
        self.process = subprocess.Popen(
            ["mpv", *options, "av://lavfi:sine=duration=600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=os.environ | server.environment(),
        )  # fmt: skip
        self.shows("Playing")
        until(lambda: server.list("sink-inputs"), TIMEOUT, "mpv to play")

    def status(self) -> str:
        return self.server.run("playerctl", "--player=mpv", "status").stdout.strip()

    def shows(self, status: str) -> None:
        until(lambda: self.status() == status, TIMEOUT, lambda: f"mpv to be {status}; it is {self.status()}")

    def tell(self, what: str) -> None:
        assert self.server.run("playerctl", "--player=mpv", what).returncode == 0

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def player(server: AudioServer) -> Iterator[Player]:
    made = Player(server)
    yield made
    made.end()


@pytest.fixture
def agent(server: AudioServer, player: Player, make_agent: Agents) -> Agent:
    """One whose plan has paused the player."""
    made = make_agent(server)
    made.connected()
    made.apply(1, session(16, "interrupt"))
    player.shows("Paused")
    return made


def test_it_goes_on_after_the_call(agent: Agent, player: Player) -> None:
    agent.apply(2, resumes=True)
    player.shows("Playing")


def test_it_stays_paused_where_nobody_said_that_it_may_go_on(agent: Agent, player: Player) -> None:
    agent.apply(2, resumes=False)
    agent.close()
    assert agent.ended() == 0
    assert player.status() == "Paused"


def test_what_the_user_did_meanwhile_stays(agent: Agent, player: Player) -> None:
    player.tell("play")
    player.shows("Playing")
    player.tell("stop")
    until(lambda: player.status() != "Playing", TIMEOUT, "mpv to stop")
    agent.apply(2, resumes=True)
    agent.close()
    assert agent.ended() == 0
    assert player.status() != "Playing"


def test_it_goes_on_after_a_crash(server: AudioServer, agent: Agent, player: Player) -> None:
    """Nobody chose that it should be silent."""
    agent.kill()
    assert player.status() == "Paused"
    assert mend(server, agent.journal).returncode == 0
    player.shows("Playing")
