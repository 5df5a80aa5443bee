"""Fixtures: real audio servers, and a daemon that finds one."""

from collections.abc import Callable, Iterator

import pytest

from support import programs
from support.audio import SERVERS, AudioServer, missing
from support.audio_streams import Stream
from support.daemon import Daemon


@pytest.fixture(scope="session", autouse=True)
def tools() -> None:
    lines = missing()
    if not (programs.BIN_DIRECTORY / "ringwake-audio").exists():
        lines.append("ringwake-audio is not built; run deploy/build-release")
    if lines:
        pytest.exit("\n".join(lines), returncode=1)


@pytest.fixture(params=sorted(SERVERS))
def audio_server(request: pytest.FixtureRequest) -> Iterator[AudioServer]:
    """A running audio server; each test that asks for it runs on both kinds."""
    server = SERVERS[request.param]()
    try:
        yield server.start()
    finally:
        # pytest shows this for a test that failed.
        print(f"--- log of {server.kind}\n{server.log}")
        server.clear_away()


@pytest.fixture
def make_audio_daemon(audio_server: AudioServer, make_daemon: Callable[..., Daemon]) -> Callable[..., Daemon]:
    """Makes a daemon, not started yet, that finds this server: `make_audio_daemon(server, 'linger = "1s"')`.

    It is stopped before the server is: what it leaves to its audio program would else look for the server's folder.
    """

    def make(server: AudioServer, *more: str) -> Daemon:
        daemon = make_daemon()
        daemon.variables |= server.environment()
        program = f'program = "{programs.BIN_DIRECTORY / "ringwake-audio"}"'
        # A daemon of root's has no audio server where nobody says so.
        daemon.sections["audio"] = "\n".join(['backend = "program"', program, *more])
        return daemon

    return make


@pytest.fixture
def audio_daemon(make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer) -> Daemon:
    """A running daemon with one app, whose audio server is `audio_server`."""
    daemon = make_audio_daemon(audio_server)
    daemon.add_app()
    return daemon.start()


@pytest.fixture
def plays(audio_server: AudioServer) -> Iterator[Callable[..., Stream]]:
    """Starts streams and ends them after the test: `plays("music", role="music")`."""
    streams: list[Stream] = []

    def play(name: str, **options: object) -> Stream:
        streams.append(Stream(audio_server, name, **options))
        return streams[-1]

    yield play
    for stream in streams:
        stream.end()
