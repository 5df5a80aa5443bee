"""A player that pauses long after it was ordered to is resumed all the same."""

from collections.abc import Callable, Iterator

import pytest
from support.audio import AudioServer
from support.audio_agent import Agent, session
from support.buses import Service

Agents = Callable[..., Agent]
NAME, PATH = "org.mpris.MediaPlayer2.fake", "/org/mpris/MediaPlayer2"


@pytest.fixture
def make_player(pulseaudio: AudioServer) -> Iterator[Callable[[str], Service]]:
    made: list[Service] = []

    def make(behaviour: str) -> Service:
        made.append(pulseaudio.session_bus.fake(NAME, "player.py", behaviour))
        return made[-1]

    yield make
    for player in made:
        player.stop()


def ordered(server: AudioServer, make_agent: Agents, player: Service) -> Agent:
    """A session whose plan has ordered the player to pause."""
    agent = make_agent(server)
    agent.connected()
    agent.apply(1, session(16, "interrupt"))
    player.waits_for("ordered")
    return agent


def carries_out(player: Service) -> None:
    """It pauses, and is resumed."""
    player.bus.call(NAME, PATH, "org.example.Player.CarryOut")
    player.waits_for("Playing")


def test_it_pauses_after_the_session(
    pulseaudio: AudioServer, make_agent: Agents, make_player: Callable[[str], Service]
) -> None:
    player = make_player("later")
    agent = ordered(pulseaudio, make_agent, player)
    agent.apply(2, resumes=True)
    assert agent.journal.exists()
    carries_out(player)


def test_it_pauses_after_the_program_was_killed(
    pulseaudio: AudioServer, make_agent: Agents, make_player: Callable[[str], Service]
) -> None:
    player = make_player("later")
    ordered(pulseaudio, make_agent, player).kill()
    make_agent(pulseaudio).connected()
    carries_out(player)


def test_it_hangs_until_after_the_session(
    pulseaudio: AudioServer, make_agent: Agents, make_player: Callable[[str], Service]
) -> None:
    player = make_player("stopping")
    agent = ordered(pulseaudio, make_agent, player)
    player.waits_until_stopped()
    agent.apply(2, resumes=True)
    player.resume()
    player.waits_for("Playing")
