"""What the user does by hand while calls go on, and what only looks as if he had done it."""

import json
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import processes
from support.apps import App
from support.audio import AudioServer
from support.audio_streams import Stream
from support.daemon import Daemon
from support.telephone import PAYLOAD, connected, hang_up, ringing, shown, user
from support.waiting import until

on_pulseaudio = pytest.mark.parametrize("audio_server", ["pulseaudio"], indirect=True)


@pytest.fixture
def phone(make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer) -> App:
    daemon = make_audio_daemon(audio_server)
    app = App(daemon).by_exec(more=PAYLOAD)
    daemon.start()
    return app


# The microphone


def is_closed(server: AudioServer) -> bool:
    [microphone] = [source for source in server.list("sources") if source["name"] == "microphone"]
    return microphone["mute"]


def close(server: AudioServer) -> None:
    """As by a key of a keyboard."""
    server.pactl("set-source-mute", "microphone", 1)


def is_active(daemon: Daemon, call: str) -> bool:
    sessions = daemon.control.get("/v1/audio/sessions")["sessions"]
    return any(session.get("call") == call and session["state"] == "active" for session in sessions)


def becomes_active(daemon: Daemon, call: str) -> None:
    until(lambda: is_active(daemon, call), 10, "the call's audio to be active")


def mutes(phone: App, call: str, is_muted: bool) -> None:
    """By the call's own mute; returns when the audio server is as that wants it."""
    user(phone.daemon, "call", "mute" if is_muted else "unmute", call)
    until(lambda: shown(phone.daemon, call)["muted"] is is_muted, 10, "the call's mute")
    # Answered when all that was asked for before is done.
    phone.daemon.control.post("/v1/audio/route", {"output": None})


@pytest.mark.parametrize("was_closed", [False, True])
def test_a_microphone_that_is_muted_in_a_call_stays_so(
    phone: App, audio_server: AudioServer, was_closed: bool
) -> None:
    if was_closed:
        close(audio_server)
    call = connected(phone)
    becomes_active(phone.daemon, call)
    assert not is_closed(audio_server), "it is open for an activation"
    close(audio_server)
    mutes(phone, call, True)
    mutes(phone, call, False)
    assert is_closed(audio_server)
    user(phone.daemon, "call", "hold", call)
    until(lambda: not is_active(phone.daemon, call), 10, "the call to be held")
    user(phone.daemon, "call", "unhold", call)
    becomes_active(phone.daemon, call)
    assert is_closed(audio_server)
    other = ringing(phone)
    user(phone.daemon, "call", "answer", other, "--hold-others")
    becomes_active(phone.daemon, other)
    assert is_closed(audio_server)
    for one in (other, call):
        hang_up(phone, one)
    assert is_closed(audio_server)


def test_the_next_call_has_the_microphone_open_again(phone: App, audio_server: AudioServer) -> None:
    call = connected(phone)
    becomes_active(phone.daemon, call)
    close(audio_server)
    hang_up(phone, call)
    until(lambda: phone.daemon.control.get("/v1/audio")["active"] == 0, 10, "audio to be over")
    call = connected(phone)
    becomes_active(phone.daemon, call)
    assert not is_closed(audio_server)
    hang_up(phone, call)
    until(lambda: is_closed(audio_server), 10, "the microphone to be as the user left it")


# Debian's PulseAudio mutes music for a phone's stream by itself


@pytest.fixture
def deaf(plays: Callable[..., Stream]) -> Iterator[Stream]:
    """Music whose player does not hear that it should pause, or go on."""
    music = plays("music", role="music")
    processes.stop(music.process.pid)
    yield music
    music.process.send_signal(signal.SIGCONT)


@pytest.fixture
def early(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer, deaf: Stream
) -> Iterator[tuple[App, Path]]:
    """An app, and a file: until that is gone the app plays what the other side sends, from when it is woken on."""
    audio_server.pactl("load-module", "module-role-cork")
    daemon = make_audio_daemon(audio_server)
    file = audio_server.folder / "early"
    file.touch()
    words = ["env", *(f"{name}={value}" for name, value in audio_server.environment().items())]
    play = [*words, "pacat", "--playback", "--client-name=early", "--property=media.role=phone", "--raw", "/dev/zero"]
    app = App(daemon)
    script = (
        f"({shlex.join(play)} & while [ -e {shlex.quote(str(file))} ]; do sleep 0.1; done; kill $!)"
        f" </dev/null >/dev/null 2>&1 & exec {shlex.join(app.command('exec'))}"
    )
    app.configure(f"exec = {json.dumps(['/bin/sh', '-c', script])}", more=PAYLOAD)
    daemon.start()
    yield app, file
    file.unlink(missing_ok=True)


def answered(app: App, deaf: Stream) -> str:
    """A call that has been active since the server had muted the music for it."""
    call = ringing(app)
    until(lambda: deaf.is_muted, 10, "the server to mute the music")
    facts = deaf.facts()
    assert facts and not facts["corked"], "its player heard of it"
    user(app.daemon, "call", "answer", call)
    becomes_active(app.daemon, call)
    return call


def ends(deaf: Stream, file: Path) -> None:
    """The phone's stream ends; the server has unmuted the music by then."""
    file.unlink()
    until(lambda: len(deaf.all()) == 1, 10, "the phone's stream to end")


@on_pulseaudio
def test_music_that_the_server_unmutes_in_a_call_is_silent(
    early: tuple[App, Path], deaf: Stream, plays: Callable[..., Stream]
) -> None:
    app, file = early
    call = answered(app, deaf)
    ends(deaf, file)
    until(lambda: deaf.is_muted, 10, "the music to be silent")
    # Another one, as of a tone.
    plays("later", role="phone").end()
    app.daemon.control.post("/v1/audio/route", {"output": None})
    assert deaf.is_muted
    hang_up(app, call)
    until(lambda: not deaf.is_muted, 10, "the music to be heard again")


@on_pulseaudio
def test_music_that_the_user_unmutes_beside_a_phones_stream_is_heard(early: tuple[App, Path], deaf: Stream) -> None:
    app, file = early
    call = answered(app, deaf)
    deaf.set_mute(False)
    app.daemon.control.post("/v1/audio/route", {"output": None})
    assert not deaf.is_muted
    hang_up(app, call)
    ends(deaf, file)
    until(lambda: not deaf.is_muted, 10, "the music to be heard")
