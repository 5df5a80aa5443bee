"""What the server stores for the next stream of a kind is what it stored before, or what the user set meanwhile."""

from collections.abc import Callable

import pytest
from support.audio import AudioServer, PipeWire
from support.audio_agent import Agent, mend, session
from support.audio_streams import FULL, Stream, stored_volume
from support.waiting import until

Streams = Callable[..., Stream]
Agents = Callable[..., Agent]
SHOWN = 15
REPAIRED = 90


def plays_music(server: AudioServer, make_stream: Streams) -> Stream:
    return make_stream(server, "music", role="music")


def ends(stream: Stream) -> None:
    stream.end()
    until(lambda: stream.facts() is None, SHOWN, f"{stream.name} to be gone")


def leaves(agent: Agent) -> None:
    """Ends the session, and the program: it gives nothing back to what begins after that."""
    agent.apply(2)
    agent.close()
    assert agent.ended() == 0, agent.log()


def hears(agent: Agent, others_play: bool) -> None:
    """Waits until the program has seen whether others are heard."""
    while agent.next("activity")["othersPlay"] != others_play:
        pass


def muted(server: AudioServer, make_agent: Agents, make_stream: Streams) -> tuple[Agent, Stream]:
    """Music that a session has silenced."""
    music = plays_music(server, make_stream)
    agent = make_agent(server)
    agent.connected()
    hears(agent, True)
    assert agent.apply(1, session(16, "interrupt"))["made"] == 1
    hears(agent, False)
    assert music.is_muted
    return agent, music


def device(stream: Stream) -> str | None:
    facts = stream.facts()
    names = {sink["index"]: sink["name"] for sink in stream.server.list("sinks")}
    return names.get(facts["sink"]) if facts else None


def is_on(stream: Stream, name: str) -> None:
    until(lambda: device(stream) == name, SHOWN, lambda: f"{stream.name} on {name}; it is on {device(stream)}")


def test_a_track_after_one_that_the_user_unmuted_leaves_nothing(
    server: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    agent, music = muted(server, make_agent, make_stream)
    music.set_mute(False)
    hears(agent, True)
    ends(music)
    following = plays_music(server, make_stream)
    until(lambda: following.is_muted, SHOWN, "the next track to be silent")
    ends(following)
    leaves(agent)
    assert stored_volume(server, "music", role="music") == (FULL, False)


def test_what_the_user_mutes_again_stays_muted(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    agent, music = muted(pulseaudio, make_agent, make_stream)
    music.set_mute(False)
    hears(agent, True)
    music.set_mute(True)
    hears(agent, False)
    ends(music)
    leaves(agent)
    following = plays_music(pulseaudio, make_stream)
    until(lambda: following.is_muted, SHOWN, "the next track to begin as the user left the one before")


def test_two_streams_that_were_silenced_leave_the_volume_that_was_stored(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    first, second = (make_stream(pulseaudio, name, role="music") for name in ("first", "second"))
    second.set_volume(70)
    first.set_volume(30)
    volume = first.volume
    agent = make_agent(pulseaudio)
    agent.connected()
    assert agent.apply(1, session(16, "interrupt"))["made"] == 2
    leaves(agent)
    ends(first)
    ends(second)
    assert stored_volume(pulseaudio, "third", role="music") == (volume, False)


def test_an_app_that_the_user_has_put_on_a_device_is_there_again(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    """PulseAudio stores no device of a stream that is moved to the default one, which is what a session does."""
    chosen = make_stream(pulseaudio, "phone")
    is_on(chosen, "speaker")
    pulseaudio.pactl("move-sink-input", chosen.index, "headset")
    ends(chosen)
    phone = make_stream(pulseaudio, "phone")
    is_on(phone, "headset")
    agent = make_agent(pulseaudio)
    agent.connected()
    agent.apply(1, session(16, "leave", processes=(phone.process.pid,)))
    is_on(phone, "speaker")
    ends(phone)
    leaves(agent)
    is_on(make_stream(pulseaudio, "phone"), "headset")


# A session that ducks changes no mute, so every mute is the user's.


def ducked(server: AudioServer, make_agent: Agents, music: Stream) -> Agent:
    agent = make_agent(server)
    agent.connected()
    assert agent.apply(1, session(16, "duck"))["made"] == 1
    assert music.volume < FULL / 1.5
    return agent


def mutes(agent: Agent, music: Stream) -> None:
    """The user mutes the stream in a mixer, and the program has seen it."""
    music.set_mute(True)
    hears(agent, False)


def saves_mute(server: AudioServer) -> None:
    """Waits until the mute is on the disk. WirePlumber writes it a second later, PulseAudio at once."""
    file = server.folder / "state" / "wireplumber" / "restore-stream"
    if isinstance(server, PipeWire):
        until(lambda: file.exists() and "Music:mute=true" in file.read_text(), SHOWN, "the mute to be stored")


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_stream_that_the_user_muted_and_that_ends_ducked_leaves_its_mute(
    server: AudioServer, make_agent: Agents, make_stream: Streams, when: str
) -> None:
    music = plays_music(server, make_stream)
    if when == "before":
        music.set_mute(True)
    agent = ducked(server, make_agent, music)
    if when == "meanwhile":
        mutes(agent, music)
    ends(music)
    leaves(agent)
    assert stored_volume(server, "music", role="music") == (FULL, True)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("dies", ["server", "server and program"])
def test_a_mute_of_the_users_outlives_the_server(
    server: AudioServer, make_agent: Agents, make_stream: Streams, when: str, dies: str
) -> None:
    music = plays_music(server, make_stream)
    if when == "before":
        music.set_mute(True)
    agent = ducked(server, make_agent, music)
    if when == "meanwhile":
        mutes(agent, music)
    saves_mute(server)
    if dies != "server":
        agent.kill()
    server.kill()
    music.end()
    server.start()
    if dies == "server":
        mended(agent)
        leaves(agent)
    else:
        # It fails while the program that stores is still starting.
        until(lambda: mend(server, agent.journal).returncode == 0, REPAIRED, "the journal to be undone")
    assert stored_volume(server, "music", role="music") == (FULL, True)


def mended(agent: Agent) -> None:
    agent.next("connected")
    until(lambda: not agent.journal.exists(), REPAIRED, "the journal to be empty")


class LateWirePlumber(PipeWire):
    """After a crash, a slow machine may start WirePlumber long after the programs that answer clients."""

    delay = 0

    def commands(self) -> list[list[str]]:
        pipewire, wireplumber, pulse = super().commands()
        if self.delay:
            wireplumber = ["sh", "-c", f"sleep {self.delay}; exec wireplumber"]
        return [pipewire, wireplumber, pulse]

    def has_started(self, number: int) -> bool:
        return bool(self.delay) and number > 0 or super().has_started(number)


def test_what_is_stored_is_put_right_though_the_program_that_stores_starts_late(
    make_agent: Agents, make_stream: Streams
) -> None:
    server = LateWirePlumber()
    try:
        server.start()
        music = plays_music(server, make_stream)
        music.set_mute(True)
        agent = ducked(server, make_agent, music)
        saves_mute(server)
        server.kill()
        music.end()
        server.delay = 3
        server.start()
        mended(agent)
        leaves(agent)
        assert stored_volume(server, "music", role="music") == (FULL, True)
    finally:
        server.clear_away()
