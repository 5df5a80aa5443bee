"""A Bluetooth headset on a real PulseAudio: hands-free while the microphone is needed, music before and after."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from support.audio_bluetooth import A2DP, CARD, HFP, PulseAudioWithBluetooth
from support.audio_run import AudioRun
from support.audio_streams import Stream, snapshot
from support.daemon import Daemon
from support.waiting import until

# What the server says when it has no voice link.
REFUSAL = "SCO"
CALL = ("--category", "playAndRecord", "--mode", "voiceChat")


@pytest.fixture
def audio_server(request: pytest.FixtureRequest) -> Iterator[PulseAudioWithBluetooth]:
    server = PulseAudioWithBluetooth(request.param)
    try:
        server.start().connect_headset()
        yield server
    finally:
        print(f"--- log of the server\n{server.log}\n--- of the headset\n{server.bluez.log}")
        server.clear_away()


@pytest.fixture
def music(audio_server: PulseAudioWithBluetooth, plays: Callable[..., Stream]) -> Stream:
    """Plays to the headset, as its user has chosen."""
    audio_server.pactl("set-default-sink", "bluez_sink.00_11_22_33_44_55.a2dp_sink")
    return plays("music", role="music", device="bluez_sink.00_11_22_33_44_55.a2dp_sink")


@pytest.mark.parametrize("audio_server", ["ofono"], indirect=True)
def test_a_headset_is_hands_free_for_a_call_and_plays_music_again(
    audio_server: PulseAudioWithBluetooth, audio_daemon: Daemon, music: Stream
) -> None:
    before = snapshot(audio_server)
    with AudioRun(audio_daemon, *CALL) as run:
        assert audio_server.profile() == HFP
        [session] = audio_daemon.control.get("/v1/audio/sessions")["sessions"]
        kinds = [port["kind"] for port in session["route"]["outputs"] + session["route"]["inputs"]]
        assert kinds == ["bluetoothHFP", "bluetoothHFP"], run.lines
    assert audio_server.profile() == A2DP
    until(lambda: snapshot(audio_server) == before, 10, lambda: f"{before}\nto be again; {snapshot(audio_server)}")


@pytest.mark.parametrize("audio_server", ["bluez"], indirect=True)
def test_a_refused_hands_free_profile_leaves_the_card_as_it_was(
    audio_server: PulseAudioWithBluetooth, audio_daemon: Daemon, music: Stream
) -> None:
    before, tries = snapshot(audio_server), audio_server.log.count(REFUSAL)
    run = AudioRun(audio_daemon, *CALL)
    # Active with another microphone, or not at all: that is for the daemon to choose. The card is not left off.
    until(lambda: run.process.poll() is not None or any("is active" in line for line in run.lines), 15, "an answer")
    assert audio_server.profile() == A2DP, run.lines
    until(lambda: audio_server.log.count(REFUSAL) > tries, 10, "the server to say that it was tried")
    run.end()
    until(lambda: snapshot(audio_server) == before, 10, lambda: f"{before}\nto be again; {snapshot(audio_server)}")


@pytest.mark.parametrize("audio_server", ["ofono"], indirect=True)
@pytest.mark.parametrize("victims", [("daemon",), ("program",), ("daemon", "program")], ids="-and-".join)
def test_a_kill_during_a_call_brings_the_music_back(
    audio_server: PulseAudioWithBluetooth, audio_daemon: Daemon, music: Stream, victims: tuple[str, ...]
) -> None:
    before = snapshot(audio_server)
    run = AudioRun(audio_daemon, *CALL).says("audio is active")
    program = audio_daemon.control.get("/v1/audio")["pid"]
    if "program" in victims:
        os.kill(program, signal.SIGKILL)
    if "daemon" in victims:
        audio_daemon.kill()
        audio_daemon.start()
    run.end()
    until(lambda: audio_server.profile() == A2DP, 10, lambda: f"the music's profile of {CARD}; {audio_daemon.log}")
    until(lambda: snapshot(audio_server) == before, 10, lambda: f"{before}\nto be again; {snapshot(audio_server)}")
