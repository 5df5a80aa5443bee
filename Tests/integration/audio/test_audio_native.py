"""Programs that play through PipeWire itself, and programs that lie about their process."""

import json
import os
import shlex
import subprocess
import wave
from collections.abc import Callable, Iterator

import pytest

from support.apps import App
from support.audio import AudioServer
from support.audio_run import AudioRun
from support.audio_streams import FULL, STREAM_TIMEOUT, Stream, snapshot
from support.daemon import Daemon
from support.telephone import PAYLOAD, connected, hang_up, ringing, user
from support.waiting import until

on_pipewire = pytest.mark.parametrize("audio_server", ["pipewire"], indirect=True)
# In seconds; longer than any test.
LENGTH = 120
RATE = 8000

# What a program may say of its process, and what of it may even be the number of one.
PROCESSES = ["", "0", "-1", "abc", "1e3", " 1", "9" * 20, "2147483647", "1", str(os.getpid())]


def command(server: AudioServer, name: str, records: bool = False) -> list[str]:
    """`pw-play`, or `pw-record`: nothing of PulseAudio is between these and PipeWire."""
    properties = json.dumps({"application.name": name})
    if records:
        return ["pw-record", "-P", properties, str(server.folder / f"{name}.wav")]
    silence = server.folder / "silence.wav"
    if not silence.exists():
        with wave.open(str(silence), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(bytes(2 * RATE * LENGTH))
    return ["pw-play", "-P", properties, str(silence)]


class Native(Stream):
    """A stream of a program that is PipeWire's own client; without a command, one that somebody else started."""

    def __init__(self, server: AudioServer, name: str, *, starts: bool = True, records: bool = False) -> None:
        self.server, self.name, self.records = server, name, records
        self.process = None
        if starts:
            self.process = subprocess.Popen(
                command(server, name, records), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True, env=os.environ | server.environment(),
            )  # fmt: skip
        until(self.is_running, STREAM_TIMEOUT, lambda: f"{name} to play; there are {self.all()}")
        facts = self.facts()
        assert facts and "application.process.id" not in facts["properties"], "it says itself whose it is"

    def end(self) -> None:
        if self.process:
            super().end()


@pytest.fixture
def natively(audio_server: AudioServer) -> Iterator[Callable[..., Native]]:
    streams: list[Native] = []

    def play(name: str, **options: bool) -> Native:
        streams.append(Native(audio_server, name, **options))
        return streams[-1]

    yield play
    for stream in streams:
        stream.end()


def phone_on(daemon: Daemon, *before: str) -> App:
    """An app whose handler is right; these lines of the shell run first, in the same process."""
    app = App(daemon)
    script = "\n".join([*before, "exec " + shlex.join(app.command("exec"))])
    app.configure(f"exec = {json.dumps(['/bin/sh', '-c', script])}", more=PAYLOAD)
    daemon.start()
    return app


def in_background(server: AudioServer, words: list[str]) -> str:
    """A handler has the daemon's environment, in which this server is not."""
    settings = [f"{name}={value}" for name, value in server.environment().items()]
    return shlex.join(["env", *settings, *words]) + " >/dev/null 2>&1 </dev/null &"


def activated(app: App) -> str:
    """A call of this app whose audio is active."""
    call = connected(app)
    until(lambda: app.daemon.control.get("/v1/audio")["call"], 10, "the call's audio to be active")
    return call


@on_pipewire
@pytest.mark.parametrize("calls", ["interrupt", "duck"])
def test_a_native_player_is_treated_like_any_other(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer, plays: Callable[..., Stream],
    natively: Callable[..., Native], calls: str,
) -> None:  # fmt: skip
    phone = phone_on(make_audio_daemon(audio_server, f'calls = "{calls}"'))
    streams = [natively("native"), plays("pulse")]
    before = snapshot(audio_server)
    call = activated(phone)
    for stream in streams:
        assert stream.is_muted == (calls == "interrupt"), stream.name
        assert (stream.volume < FULL * 0.7) == (calls == "duck"), stream.name
    later = natively("later")
    until(lambda: later.is_muted or later.volume < FULL * 0.7, 10, "one that begins during the call to be quiet")
    later.end()
    hang_up(phone, call)
    until(lambda: snapshot(audio_server) == before, 10, lambda: f"{before}\nto be again; {snapshot(audio_server)}")


@on_pipewire
def test_the_native_streams_of_a_call_s_own_app_are_the_call_s(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer, natively: Callable[..., Native]
) -> None:
    started = [in_background(audio_server, command(audio_server, *stream)) for stream in (("voice",), ("ear", True))]
    phone = phone_on(make_audio_daemon(audio_server), *started)
    music = natively("music")
    call = ringing(phone)
    voice, ear = natively("voice", starts=False), natively("ear", starts=False, records=True)
    user(phone.daemon, "call", "answer", call)
    until(lambda: music.is_muted, 10, "music to be silent")
    assert not voice.is_muted and voice.volume == FULL
    user(phone.daemon, "call", "mute", call)
    until(lambda: ear.is_muted, 10, "the microphone's stream to be silent")
    assert not voice.is_muted
    user(phone.daemon, "call", "unmute", call)
    until(lambda: not ear.is_muted, 10, "the microphone's stream to be heard")
    hang_up(phone, call)
    until(lambda: not music.is_muted, 10, "music to be heard")


@on_pipewire
def test_a_native_player_with_a_session_is_not_silenced_by_itself(
    audio_server: AudioServer, audio_daemon: Daemon, natively: Callable[..., Native]
) -> None:
    music = natively("music")
    # With a role of its own, as servers begin a stream like the last one of its role.
    with AudioRun(audio_daemon, command=(*command(audio_server, "mine"), "--media-role=Game")):
        until(lambda: music.is_muted, 10, "music to be silent")
        assert not natively("mine", starts=False).is_muted
    until(lambda: not music.is_muted, 10, "music to be heard")


def liars(server: AudioServer) -> Iterator[tuple[str, subprocess.Popen]]:
    for number, process in enumerate(PROCESSES):
        words = ["pacat", "--playback", "--raw", f"--client-name=liar {number}"]
        words += [f"--property=application.process.id={process}", "/dev/zero"]
        yield f"liar {number}", subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env=os.environ | server.environment(),
        )  # fmt: skip


def mutes(server: AudioServer) -> dict[str, bool]:
    streams = server.list("sink-inputs")
    return {one["properties"].get("application.name", ""): one["mute"] for one in streams if not one["corked"]}


def test_what_a_program_says_of_its_process_saves_it_from_nothing(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer
) -> None:
    phone = phone_on(make_audio_daemon(audio_server))
    programs = dict(liars(audio_server))
    try:
        until(lambda: mutes(audio_server).keys() >= programs.keys(), 20, "all of them to play")
        call = activated(phone)
        until(lambda: all(mutes(audio_server).values()), 10, lambda: f"silence; there is {mutes(audio_server)}")
        hang_up(phone, call)
        until(lambda: not any(mutes(audio_server).values()), 10, lambda: f"sound; there is {mutes(audio_server)}")
    finally:
        for program in programs.values():
            program.kill()
            program.wait()


def test_what_the_server_itself_plays_is_not_silenced(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    phone = phone_on(make_audio_daemon(audio_server))
    music = plays("music")
    others = {one["index"] for one in audio_server.list("sink-inputs")}
    audio_server.pactl("load-module", "module-loopback", "source=microphone", "sink=headset")

    def loopbacks() -> list[dict]:
        return [one for one in audio_server.list("sink-inputs") if one["index"] not in others]

    until(loopbacks, 10, "the loopback to play")
    call = activated(phone)
    until(lambda: music.is_muted, 10, "music to be silent")
    assert not any(one["mute"] for one in loopbacks())
    hang_up(phone, call)
