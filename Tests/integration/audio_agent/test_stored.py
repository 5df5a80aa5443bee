"""What the server stores for the next stream of a kind is what it stored before, or what the user set meanwhile."""

from collections.abc import Callable

from support.audio import AudioServer
from support.audio_agent import Agent, session
from support.audio_streams import FULL, Stream, stored_volume
from support.waiting import until

Streams = Callable[..., Stream]
Agents = Callable[..., Agent]
SHOWN = 15


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
