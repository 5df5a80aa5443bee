"""Audio servers with something playing, and the program that holds the connection to them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.audio import SERVERS, AudioServer, PulseAudio
from support.audio_agent import Agent
from support.audio_streams import Stream


@pytest.fixture(params=list(SERVERS))
def server(request: pytest.FixtureRequest) -> Iterator[AudioServer]:
    """Each of the real audio servers."""
    yield from running(SERVERS[request.param]())


@pytest.fixture
def pulseaudio() -> Iterator[AudioServer]:
    """The one that starts fastest, for what does not depend on the server."""
    yield from running(PulseAudio())


def running(made: AudioServer) -> Iterator[AudioServer]:
    try:
        yield made.start()
    finally:
        print(f"--- log of {made.kind}\n{made.log}")
        made.clear_away()


@pytest.fixture
def make_stream() -> Iterator[Callable[..., Stream]]:
    """Makes programs that play or record."""
    made: list[Stream] = []

    def make(*arguments: object, **options: object) -> Stream:
        made.append(Stream(*arguments, **options))
        return made[-1]

    yield make
    for stream in made:
        stream.end()


@pytest.fixture
def make_agent(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Starts the program with a journal of the test's own."""
    made: list[Agent] = []

    def make(server: AudioServer, *options: str) -> Agent:
        made.append(Agent(server, tmp_path / "effects.json", *options))
        return made[-1]

    yield make
    for agent in made:
        agent.clear_away()
