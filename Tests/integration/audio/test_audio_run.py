"""`ringwake audio run` on real audio servers: what it does to others, and that all of it is put back."""

import os
import signal
import subprocess
from collections.abc import Callable

import pytest

from support import api, programs
from support.audio import AudioServer
from support.audio_run import AudioRun
from support.audio_session import AudioSession
from support.audio_streams import FULL, Stream, snapshot, stored_volume
from support.daemon import Daemon
from support.waiting import until

# A gain of 0.2 on the servers' cubic scale.
DUCKED = round(FULL * 0.2 ** (1 / 3))
# Servers keep volumes as they can.
NEAR = FULL * 0.01


def is_ducked(stream: Stream, of: float = 1) -> bool:
    return abs(stream.volume - DUCKED * of) < NEAR


def comes_back(server: AudioServer, before: dict) -> None:
    until(lambda: snapshot(server) == before, 10, lambda: f"{before}\nto be again; there is\n{snapshot(server)}")


def test_others_are_ducked_while_it_runs_and_everything_is_put_back(
    audio_server: AudioServer, audio_daemon: Daemon, plays: Callable[..., Stream]
) -> None:
    music, news = plays("music", role="music"), plays("news")
    news.set_volume(50)
    before = snapshot(audio_server)
    with AudioRun(audio_daemon, "--options", "duckOthers") as run:
        assert is_ducked(music) and is_ducked(news, of=0.5)
        assert not music.is_muted
        assert run.end(signal.SIGINT) == 128 + signal.SIGINT
        # It has waited for that: whoever comes after it finds everything as before.
        assert snapshot(audio_server) == before
        run.says("audio is no longer active")
    music.end()
    assert stored_volume(audio_server, "music", "music") == (FULL, False)


def test_others_are_silent_while_something_plays_that_does_not_mix(
    audio_server: AudioServer, audio_daemon: Daemon, plays: Callable[..., Stream]
) -> None:
    music, quiet = plays("music", role="music"), plays("quiet")
    quiet.set_mute(True)
    before = snapshot(audio_server)
    with AudioRun(audio_daemon) as run:
        assert ["audio is active" in line for line in run.lines] == [True]
        until(lambda: music.is_muted, 5, "music to be silent")
        assert music.volume == FULL
    assert snapshot(audio_server) == before
    assert quiet.is_muted


def test_a_terminal_that_is_closed_ends_the_command(
    audio_server: AudioServer, audio_daemon: Daemon, plays: Callable[..., Stream]
) -> None:
    """A window that was opened for it: the kernel tells the session's leader alone."""
    music = plays("music")
    before = snapshot(audio_server)
    window, terminal = os.openpty()
    command = ["sh", "-c", "echo begun; exec sleep 60"]
    command = ["setsid", "--ctty", str(programs.RINGWAKE), "audio", "run", "--", *command]
    environment = os.environ | audio_daemon.variables | audio_daemon.environment()
    run = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    try:
        os.close(terminal)
        with open(window) as shown:
            assert any("begun" in line for line in shown)
            assert music.is_muted
        assert run.wait(10) == 128 + signal.SIGHUP
    finally:
        run.kill()
        run.wait()
    comes_back(audio_server, before)


def test_its_own_streams_are_left_alone(
    audio_server: AudioServer, audio_daemon: Daemon, plays: Callable[..., Stream]
) -> None:
    music = plays("music")
    command = ("pacat", "--playback", "--client-name=message", "--raw", "/dev/zero")
    with AudioRun(audio_daemon, "--options", "duckOthers", command=command):
        assert is_ducked(music)
        [mine] = until(
            lambda: [
                one
                for one in audio_server.list("sink-inputs")
                # pipewire-pulse announces a stream before it has a volume.
                if one["properties"].get("application.name") == "message" and any(
                    channel["value"] for channel in one["volume"].values())
            ], 10, "the command's stream",
        )  # fmt: skip
        assert not mine["mute"] and next(iter(mine["volume"].values()))["value"] == FULL
        # One that comes later is ducked too.
        assert until(lambda late=plays("late"): is_ducked(late), 5, "a later stream to be ducked")
    assert music.volume == FULL


def test_what_the_user_changes_meanwhile_stays(
    audio_server: AudioServer, audio_daemon: Daemon, plays: Callable[..., Stream]
) -> None:
    music, news = plays("music", role="music"), plays("news")
    with AudioRun(audio_daemon, "--options", "duckOthers"):
        assert is_ducked(music) and is_ducked(news)
        music.set_volume(70)
        chosen = music.volume
    assert (music.volume, news.volume) == (chosen, FULL)


def test_two_that_duck_do_not_multiply(
    audio_server: AudioServer, audio_daemon: Daemon, plays: Callable[..., Stream]
) -> None:
    music = plays("music")
    with AudioRun(audio_daemon, "--options", "duckOthers") as first:
        with AudioRun(audio_daemon, "--options", "duckOthers"):
            assert is_ducked(music)
            first.end()
            assert is_ducked(music)
    assert music.volume == FULL


def test_it_says_when_it_is_interrupted_and_goes_on_afterwards(
    audio_server: AudioServer, audio_daemon: Daemon
) -> None:
    with AudioRun(audio_daemon) as run:
        with AudioSession(audio_daemon.control, category="playback", active=True) as other:
            other.waits_for("active")
            run.says("audio was interrupted: another session has a higher priority")
        run.says("the interruption has ended")
        until(lambda: sum("audio is active" in line for line in run.lines) == 2, 10, lambda: f"twice: {run.lines}")
    assert run.process.returncode == 128 + signal.SIGTERM


def test_a_recording_needs_the_microphone(audio_server: AudioServer, audio_daemon: Daemon) -> None:
    with AudioRun(audio_daemon, "--category", "record"):
        [session] = audio_daemon.control.get("/v1/audio/sessions")["sessions"]
        api.check(session, "AudioSessionMessage")
        assert [port["device"] for port in session["route"]["inputs"]] == ["microphone"]


@pytest.mark.parametrize("audio_server", ["pulseaudio"], indirect=True)
def test_without_a_microphone_nothing_is_run(audio_server: AudioServer, audio_daemon: Daemon) -> None:
    audio_server.pactl("unload-module", "module-null-source")
    done = audio_daemon.ringwake("audio", "run", "--category", "record", "--", "false")
    assert done.returncode == 1 and "was not activated" in done.stderr, done.stderr
    assert audio_daemon.control.get("/v1/audio/sessions")["sessions"] == []


def test_the_route_is_shown_and_nothing_is_changed(
    audio_server: AudioServer, audio_daemon: Daemon, plays: Callable[..., Stream]
) -> None:
    plays("music")
    before = snapshot(audio_server)
    assert audio_daemon.control.get("/v1/audio")["state"] == "idle"
    done = audio_daemon.ringwake("audio", "route")
    assert done.returncode == 0 and "(speaker" in done.stdout, done.stdout + done.stderr
    status = audio_daemon.control.get("/v1/audio")
    api.check(status, "AudioStatusMessage")
    assert status["state"] == "connected" and status["sessions"] == 0
    assert snapshot(audio_server) == before


def test_an_idle_daemon_has_no_audio_program(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer
) -> None:
    daemon = make_audio_daemon(audio_server, 'linger = "0s"').start()
    control = daemon.control
    assert "pid" not in control.get("/v1/audio")
    with AudioRun(daemon):
        assert control.get("/v1/audio")["pid"]
    until(lambda: "pid" not in control.get("/v1/audio"), 10, lambda: f"the program to go: {control.get('/v1/audio')}")
    assert control.get("/v1/audio")["state"] == "idle"
