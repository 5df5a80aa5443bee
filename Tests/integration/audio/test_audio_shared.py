"""Two programs with journals in different folders, at work on one audio server: all is as before in the end."""

from collections.abc import Callable

import pytest

from support.apps import App
from support.audio import AudioServer
from support.audio_streams import FULL, Stream, snapshot
from support.daemon import Daemon
from support.telephone import PAYLOAD, connected, hang_up
from support.waiting import until


@pytest.fixture
def phones(make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer) -> list[App]:
    """Two daemons of one user, each with a state directory of its own."""
    made = []
    for _ in range(2):
        daemon = make_audio_daemon(audio_server, 'calls = "duck"')
        made.append(App(daemon).by_exec(more=PAYLOAD))
        daemon.start()
    return made


def active(phone: App) -> str:
    """A call whose audio is active."""
    call = connected(phone)
    control = phone.daemon.control
    until(lambda: control.get("/v1/audio")["counters"]["activations"] == 1, 15, "the call's audio to be active")
    return call


@pytest.mark.parametrize("first", [0, 1])
def test_two_daemons_duck_once_and_leave_everything_as_it_was(
    phones: list[App], audio_server: AudioServer, plays: Callable[..., Stream], first: int
) -> None:
    music = plays("music", role="music")
    before = snapshot(audio_server)
    calls = [active(phones[0])]
    ducked = music.volume
    assert FULL / 4 < ducked < FULL / 1.5
    calls.append(active(phones[1]))
    assert music.volume == ducked, "it is ducked once"
    for number in (first, 1 - first):
        hang_up(phones[number], calls[number])
        control = phones[number].daemon.control
        until(lambda api=control: not api.get("/v1/audio/sessions")["sessions"], 15, "the call's session to end")
    until(lambda: snapshot(audio_server) == before, 15, lambda: f"{snapshot(audio_server)} to be {before}")
