"""The audio session of a call on real audio servers: active from the fulfilled answer to the end, and never else."""

import itertools
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from support import api, processes
from support.apps import App
from support.audio import AudioServer
from support.audio_session import AudioSession
from support.audio_streams import FULL, Stream, snapshot
from support.control import Control, EventStream, Refused
from support.daemon import Daemon
from support.pushing import start_call
from support.telephone import PAYLOAD, connected, hang_up, ringing, user
from support.waiting import until


@pytest.fixture
def phone(make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer) -> App:
    """An app whose handler does everything right, on a running daemon."""
    return make_phone(make_audio_daemon(audio_server))


def make_phone(daemon: Daemon) -> App:
    app = App(daemon).by_exec(more=PAYLOAD)
    daemon.start()
    return app


def audio_of(control: Control, call: str, until_last: str) -> list[str]:
    """What was said of a call's audio, up to this."""
    with control.events(f"?call={call}") as stream:
        seen = stream.until(until_last)
    for event in seen:
        api.check(event, "EventMessage")
    return [event["event"] for event in seen if "activation" in event]


@contextmanager
def audio_events(control: Control) -> Iterator[Callable[[str, str], list[tuple[str, str]]]]:
    """Says all that was told of audio, up to this of this call: `audio(call, "audioDeactivated")`."""
    with control.events() as stream:
        told: list[tuple[str, str]] = []

        def up_to(call: str, what: str) -> list[tuple[str, str]]:
            for event in stream.until(what, call=call):
                if "activation" in event:
                    told.append((event["call"], event["event"]))
            return told

        yield up_to


@contextmanager
def changes_of(server: AudioServer, stream: Stream) -> Iterator[Callable[[], list[str]]]:
    """What `pactl subscribe` tells of a stream meanwhile."""
    log = server.folder / "subscribed"
    with log.open("wb") as file:
        process = subprocess.Popen(
            ["pactl", "subscribe"], stdin=subprocess.DEVNULL, stdout=file,
            env={"PATH": "/usr/bin"} | server.environment(),
        )  # fmt: skip
    index = stream.index

    def look() -> list[str]:
        return [line for line in log.read_text().splitlines() if line.endswith(f" sink-input #{index}")]

    try:
        # It tells nothing of its own start: something that is changed on purpose shows that it listens.
        volumes = itertools.cycle((90, 100))
        until(lambda: stream.set_volume(next(volumes)) or look(), 10, "pactl to listen")
        stream.set_volume(100)
        # The last of these changes is told within that; a server tells changes at once.
        time.sleep(0.3)
        yield look
    finally:
        process.kill()
        process.wait()


def is_silent(stream: Stream) -> bool:
    return stream.is_muted


def test_a_call_is_active_from_its_answer_to_its_end(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music = plays("music", role="music")
    before = snapshot(audio_server)
    control = phone.daemon.control
    with audio_events(control) as told:
        call = ringing(phone)
        until(lambda: control.get("/v1/audio")["state"] == "connected", 10, "the server to be connected to")
        assert snapshot(audio_server) == before, "ringing changes nothing"
        user(phone.daemon, "call", "answer", call)
        assert told(call, "audioActivated") == [(call, "audioActivated")]
        assert is_silent(music)
        [session] = control.get("/v1/audio/sessions")["sessions"]
        api.check(session, "AudioSessionMessage")
        assert (session["id"], session["call"], session["mode"], session["state"]) == (0, call, "voiceChat", "active")
        assert control.get("/v1/audio")["counters"]["activations"] == 1
        hang_up(phone, call)
        assert told(call, "audioDeactivated") == [(call, "audioActivated"), (call, "audioDeactivated")]
    assert snapshot(audio_server) == before
    stages = [hop["stage"] for hop in control.call(call)["timeline"]]
    assert stages.index("connected") < stages.index("audioActive") < stages.index("ended"), stages


def test_a_held_call_is_not_active_and_is_again_when_it_goes_on(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music = plays("music")
    control = phone.daemon.control
    with audio_events(control) as told:
        call = connected(phone)
        # One that is held sooner is told of neither.
        told(call, "audioActivated")
        user(phone.daemon, "call", "hold", call)
        told(call, "audioDeactivated")
        assert not is_silent(music)
        user(phone.daemon, "call", "unhold", call)
        twice = ["audioActivated", "audioDeactivated", "audioActivated"]
        assert [what for _, what in told(call, "audioActivated")] == twice
        assert is_silent(music)
        hang_up(phone, call)
        told(call, "audioDeactivated")
    assert not is_silent(music)


def test_a_swap_leaves_the_music_silent_all_the_time(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music = plays("music")
    with audio_events(phone.daemon.control) as told:
        first = connected(phone)
        told(first, "audioActivated")
        second = ringing(phone)
        with changes_of(audio_server, music) as changes:
            count = len(changes())
            user(phone.daemon, "call", "answer", second, "--hold-others")
            assert told(second, "audioActivated")[1:] == [(first, "audioDeactivated"), (second, "audioActivated")]
            assert len(changes()) == count, "it was neither heard in between nor silenced anew"
        hang_up(phone, second)
        told(second, "audioDeactivated")
        hang_up(phone, first)
    until(lambda: not is_silent(music), 10, "music to be heard again")


def test_a_conference_has_one_session_that_outlives_the_call_that_began_it(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music = plays("music")
    control = phone.daemon.control
    with audio_events(control) as told:
        first = connected(phone)
        told(first, "audioActivated")
        second = connected(phone)
        told(second, "audioActivated")
        for call in (first, second):
            control.verb(call, "update", supportsMerge=True)
        user(phone.daemon, "call", "merge", first, second)
        # The call that joins is told that it has the session, and nothing changes for the other one.
        assert told(first, "audioActivated")[-2:] == [(second, "audioActivated"), (first, "audioActivated")]
        [session] = control.get("/v1/audio/sessions")["sessions"]
        assert (session["call"], session["state"]) == (second, "active")
        with changes_of(audio_server, music) as changes:
            before = len(changes())
            hang_up(phone, second)
            assert told(second, "audioDeactivated")[-1:] == [(second, "audioDeactivated")]
            [session] = control.get("/v1/audio/sessions")["sessions"]
            assert (session["call"], session["state"]) == (first, "active")
            assert len(changes()) == before, "the music would be heard for a moment"
        assert is_silent(music)
        hang_up(phone, first)
        assert told(first, "audioDeactivated")[-1:] == [(first, "audioDeactivated")]
    until(lambda: not is_silent(music), 10, "music to be heard again")


def test_what_the_user_does_to_others_during_a_call_stays(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music, news = plays("music"), plays("news")
    with audio_events(phone.daemon.control) as told:
        call = connected(phone)
        told(call, "audioActivated")
        music.set_mute(False)
        news.set_volume(30)
        chosen = news.volume
        hang_up(phone, call)
        told(call, "audioDeactivated")
    assert not music.is_muted and not news.is_muted
    assert (music.volume, news.volume) == (FULL, chosen)


def test_others_are_ducked_where_the_user_wants_that(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    phone = make_phone(make_audio_daemon(audio_server, 'calls = "duck"'))
    music = plays("music")
    with audio_events(phone.daemon.control) as told:
        call = connected(phone)
        told(call, "audioActivated")
        assert music.volume < FULL * 0.7 and not music.is_muted
        hang_up(phone, call)
        told(call, "audioDeactivated")
    assert music.volume == FULL


def test_the_handler_says_what_its_session_is(audio_daemon: Daemon, audio_server: AudioServer) -> None:
    call, wake = start_call(audio_daemon)
    handler = Control(audio_daemon.control_socket, wake.secret)
    handler.verb(call, "report", ring=True)
    handler.verb(call, "audio", category="playAndRecord", mode="videoChat")
    with pytest.raises(Refused) as refused:
        handler.verb(call, "audio", category="playback", mode="videoChat")
    assert refused.value.status == 400
    user(audio_daemon, "call", "answer", call)
    handler.verb(call, "fulfill", action="answer", audio={"category": "playAndRecord", "options": ["duckOthers"]})
    assert audio_of(handler, call, "audioActivated") == ["audioActivated"]
    [session] = audio_daemon.control.get("/v1/audio/sessions")["sessions"]
    assert (session["mode"], session["options"]) == ("default", ["duckOthers"])


def test_nobody_else_becomes_active_during_a_call(phone: App, audio_server: AudioServer) -> None:
    control = phone.daemon.control
    with AudioSession(control, category="playAndRecord", active=True) as other:
        other.waits_for("active")
        with audio_events(control) as told:
            call = connected(phone)
            told(call, "audioActivated")
            other.waits_for("interrupted")
            with pytest.raises(Refused) as refused:
                other.activate()
            assert (refused.value.status, refused.value.body["code"]) == (409, "insufficientPriority")
            hang_up(phone, call)
            told(call, "audioDeactivated")
        assert other.waits_for("interruptionEnded")["shouldResume"] is True
        assert other.activate()["state"] == "active"


def test_a_call_goes_on_without_a_server_and_has_one_that_comes_later(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer
) -> None:
    audio_server.stop()
    phone = make_phone(make_audio_daemon(audio_server, 'activation = "1s"'))
    control = phone.daemon.control
    with audio_events(control) as told:
        call = connected(phone)
        assert told(call, "audioFailed") == [(call, "audioFailed")]
        assert control.call(call)["state"] == "connected"
        status = control.get("/v1/audio")
        assert status["state"] == "unavailable" and status["why"]
        assert control.get("/v1/audio/route")["state"] == "unavailable"
        audio_server.start()
        told(call, "audioActivated")
        hang_up(phone, call)
        told(call, "audioDeactivated")


def test_a_server_that_restarts_during_a_call_is_had_again(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    control = phone.daemon.control
    with audio_events(control) as told:
        call = connected(phone)
        told(call, "audioActivated")
        audio_server.kill()
        told(call, "audioDeactivated")
        audio_server.start()
        told(call, "audioActivated")
        music = plays("music")
        until(lambda: is_silent(music), 10, "music to be silent")
        hang_up(phone, call)
        told(call, "audioDeactivated")
    assert not is_silent(music)


def test_a_killed_daemon_finds_its_call_again_and_its_audio_is_active_again(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music = plays("music")
    control = phone.daemon.control
    call = connected(phone)
    audio_of(control, call, "audioActivated")
    phone.daemon.kill()
    # Nobody is there any more who holds it.
    until(lambda: not is_silent(music), 10, "music to be heard again")
    phone.daemon.start()
    with control.events(f"?call={call}") as stream:
        *_, again = stream.until("audioActivated")
    # Also where the first was not on the disk when the daemon was killed.
    assert again["activation"] > 1
    until(lambda: is_silent(music), 10, "music to be silent again")
    hang_up(phone, call)
    until(lambda: not is_silent(music), 10, "music to be heard at the end")


def test_a_program_that_is_put_right_in_a_call_makes_its_audio_active(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music = plays("music")
    daemon = phone.daemon
    right = daemon.sections["audio"]
    with audio_events(daemon.control) as told:
        call = connected(phone)
        told(call, "audioActivated")
        wrong = right.replace("ringwake-audio", "nothing-there")
        for section, what in ((wrong, "audioFailed"), (right, "audioActivated")):
            daemon.sections["audio"] = section
            daemon.write_configuration()
            user(daemon, "reload")
            told(call, what)
        until(lambda: is_silent(music), 10, "music to be silent")
        hang_up(phone, call)
        told(call, "audioDeactivated")
    until(lambda: not is_silent(music), 10, "music to be heard at the end")


ENDS = {
    "the user": lambda phone, call: user(phone.daemon, "call", "end", call),
    "the other side": lambda phone, call: phone.daemon.control.verb(call, "ended", reason="remoteEnded"),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_the_audio_is_told_before_the_end_of_the_call(phone: App, end: str) -> None:
    """A handler that exits at the end of its call sees both."""
    control = phone.daemon.control
    call = connected(phone)
    audio_of(control, call, "audioActivated")
    with control.events(f"?call={call}") as stream:
        ENDS[end](phone, call)
        assert up_to_the_end(stream)[-2:] == ["audioDeactivated", "ended"]


def test_an_audio_program_that_hangs_delays_the_end_of_a_call_by_a_second(phone: App) -> None:
    control = phone.daemon.control
    call = connected(phone)
    audio_of(control, call, "audioActivated")
    program = control.get("/v1/audio")["pid"]
    with control.events(f"?call={call}") as stream:
        processes.stop(program)
        try:
            user(phone.daemon, "call", "end", call)
            assert up_to_the_end(stream)[-2:] == ["audioDeactivated", "ended"]
            assert processes.state(program) == "T", "nobody has replaced it yet"
        finally:
            os.kill(program, signal.SIGCONT)


def test_a_call_that_nobody_claims_after_its_handler_died_has_no_audio_at_its_end(audio_daemon: Daemon) -> None:
    control = audio_daemon.control
    call, wake = start_call(audio_daemon)
    handler = Control(audio_daemon.control_socket, wake.secret)
    handler.verb(call, "report", ring=True)
    control.wait_for(call, "ringing")
    user(audio_daemon, "call", "answer", call)
    handler.verb(call, "fulfill", action="answer")
    audio_of(control, call, "audioActivated")
    with control.events(f"?call={call}") as stream:
        os.kill(control.call(call)["pid"], signal.SIGKILL)
        # The next handler gets the call, and does not claim it.
        assert up_to_the_end(stream)[-2:] == ["audioDeactivated", "ended"]


def up_to_the_end(stream: EventStream) -> list[str]:
    """The changes of a call's audio and its states, up to its end."""
    told = [event.get("state") or event["event"] for event in stream.until("call", seconds=60, state="ended")]
    return [what for what in told if what in ("audioActivated", "audioDeactivated", "ended")]
