"""What could not be put back at once is put back as soon as the audio server is there, with no call and no new start."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support import processes
from support.apps import App
from support.audio import AudioServer
from support.audio_streams import Stream
from support.daemon import Daemon
from support.telephone import PAYLOAD, connected, hang_up
from support.waiting import until


# Within this a server has stored what it keeps of a stream that has changed. In seconds.
STORED = 2


@pytest.fixture
def phone(make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer) -> App:
    """The audio program leaves as soon as it is not needed."""
    app = App(make_audio_daemon(audio_server, 'linger = "0s"')).by_exec(more=PAYLOAD)
    app.daemon.start()
    return app


def journal(phone: App) -> Path:
    return phone.daemon.directory / "state" / "audio-effects.json"


def programs_of(phone: App) -> list[int]:
    """The audio programs of this daemon; its folder is in their command line."""
    found = []
    for pid, _ in processes.groups():
        words = processes.command_line(pid)
        if words and words[0].endswith("/ringwake-audio") and str(phone.daemon.directory) in " ".join(words):
            found.append(pid)
    return found


def silenced(phone: App, music: Stream) -> str:
    """A call during which others are not heard."""
    call = connected(phone)
    until(lambda: music.is_muted, 10, "music to be muted")
    # Servers store what the next stream of a kind starts from, but a moment later; nothing shows when they have.
    time.sleep(STORED)
    return call


def all_is_paid(phone: App, music: Stream) -> None:
    until(lambda: not music.is_muted, 10, "music to be heard")
    until(lambda: not journal(phone).exists(), 10, "the journal to go")
    until(lambda: not programs_of(phone), 10, "the audio program to leave")
    assert phone.daemon.control.get("/v1/audio")["state"] == "idle"


def test_a_server_that_comes_back_after_the_call_is_as_it_was(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music = plays("music", role="music")
    call = silenced(phone, music)
    audio_server.kill()
    hang_up(phone, call)
    music.end()
    until(lambda: phone.daemon.control.get("/v1/audio").get("why"), 10, "the daemon to say that something is left")
    audio_server.start()
    all_is_paid(phone, plays("music", role="music"))


def test_a_daemon_that_starts_before_the_server_after_a_power_cut_puts_back_what_was_left(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music = plays("music", role="music")
    silenced(phone, music)
    [program] = programs_of(phone)
    # Who lives a moment longer must not begin to mend: the daemon would start another program.
    processes.stop(phone.daemon.pid)
    os.kill(program, signal.SIGKILL)
    phone.daemon.kill()
    audio_server.kill()
    music.end()
    phone.daemon.start()
    for call in phone.daemon.control.get("/v1/calls")["calls"]:
        if call["state"] != "ended":
            hang_up(phone, call["call"])
    assert journal(phone).exists()
    audio_server.start()
    all_is_paid(phone, plays("music", role="music"))
