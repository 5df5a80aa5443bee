"""`/v1/audio` without an audio server: who may do what, and what sessions are told of each other."""

import json
import subprocess

import pytest

from support import api, programs
from support.audio_session import AudioSession
from support.control import Control, Refused, UnixConnection
from support.daemon import Daemon
from support.pushing import start_call


@pytest.fixture
def control(daemon: Daemon) -> Control:
    """Of a daemon whose back end is `none`, as that of root's is where nobody says otherwise."""
    return daemon.control


def states(control: Control) -> list[str]:
    return [session["state"] for session in control.get("/v1/audio/sessions")["sessions"]]


def test_the_status_says_that_no_server_is_touched(control: Control) -> None:
    status = control.get("/v1/audio")
    api.check(status, "AudioStatusMessage")
    assert (status["backend"], status["state"], status["sessions"]) == ("none", "off", 0)
    assert control.get("/v1/audio/route") == status
    assert control.status()["audio"] == {"backend": "none", "state": "off", "sessions": 0, "call": False}


def test_a_session_lives_as_long_as_its_stream(control: Control) -> None:
    with AudioSession(control, name="player") as session:
        [listed] = control.get("/v1/audio/sessions")["sessions"]
        api.check(listed, "AudioSessionMessage")
        assert (listed["id"], listed["name"], listed["state"]) == (session.id, "player", "inactive")
        assert listed["category"] == "soloAmbient"
    assert states(control) == []


def test_an_active_session_is_told_so_on_its_stream_and_to_whoever_asked(control: Control) -> None:
    with AudioSession(control, category="playback", active=True) as session:
        api.check(session.waits_for("active"), "AudioNoticeMessage")
        assert session.state() == "active"
        answer = session.deactivate()
        api.check(answer, "AudioSessionMessage")
        assert answer["state"] == "inactive"
        session.waits_for("inactive")
        assert session.activate()["state"] == "active"
        session.waits_for("active")


def test_a_session_that_does_not_mix_interrupts_another_and_its_end_is_told(control: Control) -> None:
    with AudioSession(control, category="playback", active=True) as music:
        music.waits_for("active")
        with AudioSession(control, category="playback", active=True) as video:
            video.waits_for("active")
            assert music.waits_for("interrupted")["reason"] == "default"
            assert states(control) == ["interrupted", "active"]
        # Its connection is gone: the user has not chosen that the other one stays silent.
        assert music.waits_for("interruptionEnded")["shouldResume"] is True
        assert music.state() == "interrupted"
        assert music.activate()["state"] == "active"


@pytest.mark.parametrize("notifies", [True, False])
def test_whether_others_go_on_is_for_the_one_who_ends(control: Control, notifies: bool) -> None:
    with AudioSession(control, category="playback", active=True) as music:
        music.waits_for("active")
        with AudioSession(control, category="playback", active=True) as video:
            music.waits_for("interrupted")
            video.deactivate(notify_others=notifies)
            assert music.waits_for("interruptionEnded")["shouldResume"] is notifies


def test_sessions_that_mix_leave_each_other_alone(control: Control) -> None:
    with AudioSession(control, category="playback", options=["mixWithOthers"], active=True) as one:
        one.waits_for("active")
        with AudioSession(control, category="ambient", active=True) as other:
            other.waits_for("active")
            assert states(control) == ["active", "active"]
            assert [notice["event"] for notice in one.seen] == ["opened", "active"]


def test_a_session_may_be_configured_anew(control: Control) -> None:
    with AudioSession(control, category="playback", active=True) as session:
        session.waits_for("active")
        answer = session.configure(category="playAndRecord", mode="voiceChat", options=["defaultToSpeaker"])
        assert (answer["category"], answer["mode"], answer["options"]) == (
            "playAndRecord", "voiceChat", ["defaultToSpeaker"],
        )  # fmt: skip
        assert answer["state"] == "active"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"category": "loud"}, "'loud' is no category"),
        ({"category": "playback", "mode": "voiceChat"}, "does not fit"),
        ({"category": "ambient", "options": ["duckOthers"]}, "does not fit"),
        ({"category": "playback", "options": ["duck"]}, "'duck' is no option"),
        ({"category": "playback", "preferredOutput": ""}, "1 to 256 bytes"),
    ],
)  # fmt: skip
def test_a_configuration_that_makes_no_sense_is_a_bad_parameter(control: Control, body: dict, says: str) -> None:
    with pytest.raises(Refused) as refused:
        AudioSession(control, **body)
    answer = refused.value.body
    api.check(answer, "ErrorMessage")
    assert (refused.value.status, answer["error"], answer["code"], answer["number"]) == (
        400, "invalid-request", "badParam", -50,
    )  # fmt: skip
    assert says in answer["message"]
    with AudioSession(control) as session:
        with pytest.raises(Refused) as refused:
            session.configure(**body)
        assert refused.value.body == answer
        assert session.state() == "inactive"


def test_the_session_of_a_call_is_the_daemons(control: Control) -> None:
    status, answer = control.request("POST", "/v1/audio/sessions/0/activate")
    assert (status, answer["error"], answer["code"]) == (403, "not-permitted", "missingEntitlement")


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("POST", "/v1/audio", 400), ("POST", "/v1/audio/sessions/99/activate", 404),
        ("PUT", "/v1/audio/sessions/x", 404),
        ("GET", "/v1/audio/sessions/16", 400), ("GET", "/v1/audio/music", 404), ("DELETE", "/v1/audio/route", 400),
        ("POST", "/v1/audio/sessions/99/dance", 404), ("POST", "/v1/audio/sessions/1/activate?notifyOthers=true", 400),
        ("GET", "/v1/audio?names=true", 400),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(control: Control, method: str, target: str, status: int) -> None:
    found, answer = control.request(method, target, {"category": "playback"})
    api.check(answer, "ErrorMessage")
    assert found == status, answer


def test_speaker_needs_an_active_session(control: Control) -> None:
    with AudioSession(control, category="playAndRecord") as session:
        with pytest.raises(Refused) as refused:
            control.post(f"{session.path}/speaker", {"on": True})
        assert refused.value.body["code"] == "sessionNotActive"
        session.activate()
        assert control.post(f"{session.path}/speaker", {"on": True})["state"] == "active"


# Rights

def test_a_handler_has_sessions_of_its_own_and_sees_no_others(daemon: Daemon) -> None:
    handler = Control(daemon.control_socket, start_call(daemon)[1].secret)
    with AudioSession(daemon.control, category="playback") as owners, AudioSession(handler, name="ring") as session:
        [mine] = handler.get("/v1/audio/sessions")["sessions"]
        assert (mine["id"], mine["app"]) == (session.id, "com.example.phone")
        assert len(daemon.control.get("/v1/audio/sessions")["sessions"]) == 2
        status, answer = handler.request("POST", f"{owners.path}/activate")
        assert (status, answer["error"]) == (403, "not-permitted")
        # It has a call, so it may interrupt others.
        handler.request("PUT", session.path, {"category": "playback"})
        assert session.activate()["state"] == "active"
        assert handler.request("GET", "/v1/audio/route")[0] == 403


def test_an_app_does_not_take_all_sessions(daemon: Daemon) -> None:
    handler = Control(daemon.control_socket, start_call(daemon)[1].secret)
    sessions = [AudioSession(handler) for _ in range(16)]
    try:
        with pytest.raises(Refused) as refused:
            AudioSession(handler)
        assert (refused.value.status, refused.value.body["error"]) == (429, "limit-reached")
        AudioSession(daemon.control).close()
    finally:
        for session in sessions:
            session.close()


@pytest.mark.skipif(not programs.as_nobody(), reason="needs root to be another user")
def test_other_users_learn_nothing_of_the_audio(daemon: Daemon) -> None:
    daemon.directory.joinpath("run").chmod(0o755)

    def asks(*arguments: str) -> tuple[int, dict]:
        command = ["curl", "--silent", "--unix-socket", str(daemon.status_socket), "--write-out", "%{http_code}"]
        done = programs.run(*programs.as_nobody(), *command, *arguments)
        return int(done.stdout[-3:]), json.loads(done.stdout[:-3])

    with AudioSession(daemon.control, name="alice's player"):
        for arguments in (
            ["http://localhost/v1/audio"],
            ["http://localhost/v1/audio/sessions"], ["http://localhost/v1/audio/route"],
            ["--data", "{}", "http://localhost/v1/audio/sessions"],
        ):  # fmt: skip
            assert asks(*arguments)[0] == 403, arguments


# The daemon

def test_sessions_hold_up_no_stop(daemon: Daemon) -> None:
    session = AudioSession(daemon.control, category="playback", active=True)
    session.waits_for("active")
    daemon.stop()
    session.ends()
    session.close()


def test_a_client_that_does_not_read_loses_its_session(daemon: Daemon) -> None:
    reader, writer = UnixConnection(daemon.control_socket), UnixConnection(daemon.control_socket)
    reader.request("POST", "/v1/audio/sessions", json.dumps({"category": "playback"}))
    assert reader.getresponse().status == 200
    [session] = daemon.control.get("/v1/audio/sessions")["sessions"]
    for _ in range(20_000):
        for verb in ("activate", "deactivate"):
            writer.request("POST", f"/v1/audio/sessions/{session['id']}/{verb}")
            answer = writer.getresponse()
            answer.read()
        if answer.status == 404:
            break
    assert states(daemon.control) == []
    reader.close()
    writer.close()


def test_run_passes_exit_status_and_signals_on(daemon: Daemon) -> None:
    def run(*command: str) -> subprocess.CompletedProcess:
        return daemon.ringwake("audio", "run", "--", *command)

    assert run("sh", "-c", "exit 3").returncode == 3
    assert run("sh", "-c", "kill -USR1 $$").returncode == 128 + 10
    done = run("sh", "-c", f"RINGWAKE_SOCKET={daemon.control_socket} {programs.RINGWAKE} audio sessions")
    assert done.returncode == 0 and ["active", "playback", "-", "sh"] == done.stdout.splitlines()[-1].split()[1:5], done
    assert states(daemon.control) == []
