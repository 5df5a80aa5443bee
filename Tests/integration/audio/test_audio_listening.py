"""Calls on a server that lacks a microphone, or an output: active with what there is, and told of what comes."""

from collections.abc import Callable, Iterator

import pytest

from support import api
from support.apps import App
from support.audio import SERVERS, AudioServer
from support.audio_bluetooth import PulseAudioWithBluetooth
from support.audio_run import AudioRun
from support.audio_session import AudioSession
from support.audio_streams import FULL, Stream, snapshot
from support.control import Control, EventStream, Refused
from support.daemon import Daemon
from support.telephone import PAYLOAD, connected, hang_up, user
from support.waiting import until

# On each server, without a microphone. Without an output too on PulseAudio alone: PipeWire makes one that plays to nobody.
DEAF = [(kind, ("speaker", "headset")) for kind in sorted(SERVERS)]
MUTE = [("pulseaudio", ("microphone",))]
BARE = [("pulseaudio", ())]
BLUETOOTH = [("bluetooth", ("speaker", "headset"))]


@pytest.fixture
def audio_server(request: pytest.FixtureRequest) -> Iterator[AudioServer]:
    kind, server_devices = request.param
    server = PulseAudioWithBluetooth("ofono") if kind == "bluetooth" else SERVERS[kind]()
    server.devices = server_devices
    try:
        yield server.start()
    finally:
        print(f"--- log of {server.kind}\n{server.log}")
        server.clear_away()


def on(servers: list[tuple[str, tuple[str, ...]]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("audio_server", servers, indirect=True, ids=[kind for kind, _ in servers])


@pytest.fixture
def phone(make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer) -> App:
    """An app whose handler does everything right, on a running daemon."""
    app = App(make_audio_daemon(audio_server)).by_exec(more=PAYLOAD)
    app.daemon.start()
    return app


def told(stream: EventStream, call: str, what: str) -> dict:
    """The next of a call's audio, which is this."""
    for event in stream:
        api.check(event, "EventMessage")
        if event.get("call") == call and "activation" in event:
            assert event["event"] == what, event
            return event
    raise AssertionError(f"the stream ended before {what}")


def devices(route: dict, way: str) -> list[str]:
    return [port["device"] for port in route[way]]


def is_listening(route: dict) -> bool:
    """Whether it is the route of somebody who hears and cannot be heard."""
    return route["outputs"] != [] and route["inputs"] == [] and route.get("isInputAvailable") is False


@on(DEAF)
def test_a_call_without_a_microphone_is_listened_to(
    phone: App, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    music = plays("music", role="music")
    before = snapshot(audio_server)
    control = phone.daemon.control
    with control.events() as stream:
        call = connected(phone)
        listening = told(stream, call, "audioActivated")["route"]
        assert is_listening(listening)
        assert music.is_muted
        shows(phone.daemon, control, listening)

        microphone = audio_server.plug_in("microphone")
        come = told(stream, call, "audioRouteChanged")
        assert (come["changeReason"], come["previous"]) == ("newDeviceAvailable", listening)
        assert devices(come["route"], "inputs") == ["microphone"] and "isInputAvailable" not in come["route"]
        assert control.get("/v1/audio/route")["route"] == come["route"]

        audio_server.unplug(microphone)
        gone = told(stream, call, "audioRouteChanged")
        assert (gone["changeReason"], gone["route"]) == ("oldDeviceUnavailable", listening)
        assert music.is_muted and control.get("/v1/audio")["call"] is True

        # Whatever is done to the call, it is as good as any.
        user(phone.daemon, "call", "mute", call)
        user(phone.daemon, "call", "hold", call)
        told(stream, call, "audioDeactivated")
        assert not music.is_muted
        user(phone.daemon, "call", "unhold", call)
        assert is_listening(told(stream, call, "audioActivated")["route"])
        assert music.is_muted
        hang_up(phone, call)
        told(stream, call, "audioDeactivated")
    assert snapshot(audio_server) == before
    assert not control.get("/v1/audio")["counters"]["failures"]


def shows(daemon: Daemon, control: Control, route: dict) -> None:
    """What the daemon and its commands have of the route meanwhile."""
    for target, name in (("/v1/audio", "AudioStatusMessage"), ("/v1/audio/route", "AudioStatusMessage")):
        status = control.get(target)
        api.check(status, name)
        assert status["route"] == route
    [session] = control.get("/v1/audio/sessions")["sessions"]
    api.check(session, "AudioSessionMessage")
    assert (session["state"], session["route"]) == ("active", route)
    for words in (["audio"], ["audio", "route"]):
        assert "none (no microphone is connected)" in user(daemon, *words).stdout


@on(DEAF)
def test_others_are_ducked_as_with_a_microphone(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    phone = App(make_audio_daemon(audio_server, 'calls = "duck"')).by_exec(more=PAYLOAD)
    music = plays("music")
    with phone.daemon.start().control.events() as stream:
        call = connected(phone)
        assert is_listening(told(stream, call, "audioActivated")["route"])
        assert music.volume < FULL * 0.7 and not music.is_muted
        hang_up(phone, call)
        told(stream, call, "audioDeactivated")
    assert music.volume == FULL


@on(DEAF)
def test_a_clients_own_session_is_refused_until_there_is_a_microphone(
    audio_daemon: Daemon, audio_server: AudioServer
) -> None:
    control = audio_daemon.control
    run = AudioRun(audio_daemon, "--category", "record").says("no microphone")
    assert run.end() == 1
    with AudioSession(control, category="playAndRecord", active=True) as session:
        assert session.waits_for("error")["code"] == "resourceNotAvailable"
        session.configure(category="record")
        with pytest.raises(Refused) as refused:
            session.activate()
        assert (refused.value.status, refused.value.body["code"]) == (409, "cannotStartRecording")
        with AudioSession(control) as late:
            assert late.seen[0]["isInputAvailable"] is False
        microphone = audio_server.plug_in("microphone")
        notice = session.waits_for("inputAvailabilityChanged", isInputAvailable=True)
        api.check(notice, "AudioNoticeMessage")
        assert devices(session.activate()["route"], "inputs") == ["microphone"]
        audio_server.unplug(microphone)
        assert session.waits_for("routeChanged")["reason"] == "oldDeviceUnavailable"
        session.waits_for("inputAvailabilityChanged", isInputAvailable=False)
        assert session.state() == "active"


@on(MUTE)
def test_a_call_without_an_output_has_one_that_comes(phone: App, audio_server: AudioServer) -> None:
    with phone.daemon.control.events() as stream:
        call = connected(phone)
        heard = told(stream, call, "audioActivated")["route"]
        assert (heard["outputs"], devices(heard, "inputs")) == ([], ["microphone"])
        audio_server.plug_in("speaker")
        come = told(stream, call, "audioRouteChanged")
        assert (come["changeReason"], devices(come["route"], "outputs")) == ("newDeviceAvailable", ["speaker"])
        assert come["route"]["inputs"] == heard["inputs"]
        hang_up(phone, call)
        told(stream, call, "audioDeactivated")


@on(BARE)
def test_a_call_without_any_device_has_audio_once_there_is_one(phone: App, audio_server: AudioServer) -> None:
    with phone.daemon.control.events() as stream:
        call = connected(phone)
        assert told(stream, call, "audioFailed")["code"] == "resourceNotAvailable"
        audio_server.plug_in("speaker")
        assert is_listening(told(stream, call, "audioActivated")["route"])
        hang_up(phone, call)
        told(stream, call, "audioDeactivated")


@on(BLUETOOTH)
def test_the_microphone_of_a_headset_that_comes_is_the_calls(
    phone: App, audio_server: PulseAudioWithBluetooth
) -> None:
    with phone.daemon.control.events() as stream:
        call = connected(phone)
        assert is_listening(told(stream, call, "audioActivated")["route"])
        audio_server.connect_headset()
        come = told(stream, call, "audioRouteChanged")
        assert come["changeReason"] == "newDeviceAvailable"
        kinds = [port["kind"] for way in ("outputs", "inputs") for port in come["route"][way]]
        assert kinds == ["bluetoothHFP", "bluetoothHFP"] and "isInputAvailable" not in come["route"]
        hang_up(phone, call)
        told(stream, call, "audioDeactivated")
