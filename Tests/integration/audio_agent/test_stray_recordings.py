"""A stream that records while a call has no microphone: PulseAudio gives it what the speaker plays."""

from collections.abc import Callable, Iterator

import pytest
from support.audio import AudioServer, PulseAudio
from support.audio_agent import Agent, session
from support.audio_streams import Stream
from support.waiting import until

TIMEOUT = 60


@pytest.fixture
def deaf_server() -> Iterator[AudioServer]:
    """A PulseAudio without a source but monitors."""
    server = PulseAudio()
    server.devices = ("speaker", "headset")
    try:
        yield server.start()
    finally:
        print(f"--- log of {server.kind}\n{server.log}")
        server.clear_away()


def source(server: AudioServer, stream: Stream) -> str | None:
    facts = stream.facts() or {}
    return next((one["name"] for one in server.list("sources") if one["index"] == facts.get("source")), None)


def call(*streams: Stream) -> dict:
    return session(
        0, "interrupt", category="playAndRecord", mode="voiceChat", isInputOpen=True, isCall=True,
        processes=tuple(stream.process.pid for stream in streams),
    )  # fmt: skip


def test_it_is_muted_and_gets_the_microphone_that_comes(
    deaf_server: AudioServer, make_agent: Callable[..., Agent], make_stream: Callable[..., Stream]
) -> None:
    voice = make_stream(deaf_server, "voice", records=True)
    assert source(deaf_server, voice).endswith(".monitor")
    agent = make_agent(deaf_server)
    agent.connected()
    assert agent.apply(1, call(voice))["route"]["isInputAvailable"] is False
    assert voice.is_muted
    microphone = deaf_server.plug_in("microphone")
    assert agent.next("routeChanged")["_0"] == "newDeviceAvailable"
    assert (source(deaf_server, voice), voice.is_muted) == ("microphone", False)
    deaf_server.unplug(microphone)
    assert agent.next("routeChanged")["_0"] == "oldDeviceUnavailable"
    until(lambda: voice.is_muted, TIMEOUT, "the stream to be muted again")
    assert source(deaf_server, voice).endswith(".monitor")
    # It ends with the call, and the next one of its kind is not muted.
    voice.end()
    agent.apply(2)
    assert not make_stream(deaf_server, "voice", records=True).is_muted


def test_what_records_a_monitor_by_choice_stays_there(
    deaf_server: AudioServer, make_agent: Callable[..., Agent], make_stream: Callable[..., Stream]
) -> None:
    microphone = deaf_server.plug_in("microphone")
    agent = make_agent(deaf_server)
    agent.connected()
    # Not that of the default sink: PulseAudio itself moves what records its default source to a new one.
    screen = make_stream(deaf_server, "screen", records=True, device="headset.monitor")
    agent.apply(1, call(screen))
    for change in (lambda: deaf_server.unplug(microphone), lambda: deaf_server.plug_in("microphone")):
        change()
        agent.next("routeChanged")
        assert (source(deaf_server, screen), screen.is_muted) == ("headset.monitor", False)
