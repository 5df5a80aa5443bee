"""`POST /v1/audio/route` and `ringwake audio route NAME`: the answer is how things are after the choice."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from support import api, processes
from support.apps import App
from support.audio import AudioServer
from support.audio_session import AudioSession
from support.audio_streams import Stream
from support.control import Control, Refused
from support.daemon import Daemon
from support.telephone import PAYLOAD, connected, hang_up, user
from support.waiting import until

# In seconds; the audio program leaves that soon after the last one who needs the server.
LINGER = 1


@pytest.fixture
def brief_daemon(make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer) -> Daemon:
    """A running daemon whose audio program does not stay for long."""
    daemon = make_audio_daemon(audio_server, f'linger = "{LINGER}s"')
    daemon.add_app()
    return daemon.start()


def choose(control: Control, output: str | None) -> dict:
    answer = control.post("/v1/audio/route", {"output": output})
    api.check(answer, "AudioStatusMessage")
    return answer


def outputs(status: dict) -> list[str]:
    return [port["device"] for port in status["route"]["outputs"]]


def sink(server: AudioServer, stream: Stream) -> str | None:
    """Where a stream plays."""
    facts = stream.facts() or {}
    return next((one["name"] for one in server.list("sinks") if one["index"] == facts.get("sink")), None)


def is_refused(control: Control, output: str) -> str:
    with pytest.raises(Refused) as refused:
        choose(control, output)
    answer = refused.value.body
    api.check(answer, "ErrorMessage")
    assert (refused.value.status, answer["error"], answer["code"]) == (400, "invalid-request", "badParam")
    return answer["message"]


def is_idle(control: Control) -> bool:
    return control.get("/v1/audio")["state"] == "idle"


@contextmanager
def recording(control: Control) -> Iterator[AudioSession]:
    """A session that a choice is in force for."""
    with AudioSession(control, category="playAndRecord", active=True) as session:
        session.waits_for("active")
        yield session


@contextmanager
def asleep(server: AudioServer) -> Iterator[None]:
    """A server that is there, and does nothing of what it is asked."""
    for process in server.processes:
        processes.stop(process.pid)
    try:
        yield
    finally:
        for process in server.processes:
            os.kill(process.pid, signal.SIGCONT)


def test_the_answer_shows_the_route_that_was_chosen(audio_daemon: Daemon) -> None:
    control = audio_daemon.control
    with recording(control):
        # Back and forth: a route of before would show.
        for device in ("headset", "speaker", "headset", "speaker"):
            status = choose(control, device)
            assert (outputs(status), status["output"]) == ([device], device)


def test_none_in_particular_is_the_route_of_before(audio_daemon: Daemon) -> None:
    control = audio_daemon.control
    with recording(control):
        before = outputs(control.get("/v1/audio/route"))
        [other] = {"speaker", "headset"} - set(before)
        assert outputs(choose(control, other)) == [other]
        status = choose(control, None)
        assert outputs(status) == before and "output" not in status


def test_a_name_that_no_output_has_is_refused_and_the_former_choice_stays(audio_daemon: Daemon) -> None:
    control = audio_daemon.control
    with recording(control):
        choose(control, "headset")
        for name in ("hedset", "microphone", "builtInMicrophone"):
            assert f"no output '{name}'" in is_refused(control, name)
        status = control.get("/v1/audio/route")
        assert (outputs(status), status["output"]) == (["headset"], "headset")
        done = user(audio_daemon, "audio", "route", "hedset", status=2)
        assert "no output 'hedset'" in done.stderr and not done.stdout


def test_a_kind_of_port_may_be_chosen_where_there_is_none(audio_daemon: Daemon) -> None:
    control = audio_daemon.control
    with recording(control):
        before = outputs(control.get("/v1/audio/route"))
        done = user(audio_daemon, "audio", "route", "bluetooth")
        assert before[0] in done.stdout
        assert control.get("/v1/audio")["output"] == "bluetoothHFP"


def test_with_no_call_the_server_is_asked_and_the_choice_is_for_the_next_one(brief_daemon: Daemon) -> None:
    control = brief_daemon.control
    is_refused(control, "hedset")
    [other] = {"speaker", "headset"} - set(outputs(control.get("/v1/audio/route")))
    assert choose(control, other)["output"] == other
    until(lambda: is_idle(control), 10 + LINGER, "the audio program to leave")
    with recording(control):
        assert outputs(control.get("/v1/audio/route")) == [other]


def test_a_call_is_moved(make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer) -> None:
    phone = App(make_audio_daemon(audio_server)).by_exec(more=PAYLOAD)
    control = phone.daemon.start().control
    call = connected(phone)
    with control.events(f"?call={call}") as stream:
        stream.until("audioActivated")
    [other] = {"speaker", "headset"} - set(outputs(control.get("/v1/audio/route")))
    shown = json.loads(user(phone.daemon, "audio", "route", other, "--json").stdout)
    assert outputs(shown) == [other]
    hang_up(phone, call)


def test_without_a_server_a_choice_is_remembered(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer
) -> None:
    daemon = make_audio_daemon(audio_server)
    daemon.add_app()
    control = daemon.start().control
    [other] = {"speaker", "headset"} - set(outputs(control.get("/v1/audio/route")))
    audio_server.kill()
    until(lambda: control.get("/v1/audio")["state"] != "connected", 10, "the loss to be seen")
    status = choose(control, other)
    assert status["state"] in ("lost", "unavailable") and status["output"] == other
    user(daemon, "audio", "route", other, status=8)
    audio_server.start()
    until(lambda: control.get("/v1/audio/route")["state"] == "connected", 10, "the server to be back")
    with recording(control):
        assert outputs(control.get("/v1/audio/route")) == [other]


def test_a_server_that_hangs_keeps_nobody_waiting(
    audio_daemon: Daemon, audio_server: AudioServer, plays: Callable[..., Stream]
) -> None:
    control = audio_daemon.control
    with recording(control):
        # Of a child of the session's process: it is moved, and would have to be moved back.
        stream = plays("voice")
        [before] = outputs(control.get("/v1/audio/route"))
        [other] = {"speaker", "headset"} - {before}
        choose(control, other)
        until(lambda: sink(audio_server, stream) == other, 10, "the stream to be moved")
        with asleep(audio_server):
            begun = time.monotonic()
            with pytest.raises(Refused) as refused:
                choose(control, before)
            assert (refused.value.status, refused.value.body["code"]) == (502, "mediaServicesFailed")
            # What the daemon gives it; and it does not give up at once.
            assert time.monotonic() - begun >= 4
        until(lambda: control.get("/v1/audio").get("output") == before, 10, "the late answer to be taken in")
        assert outputs(control.get("/v1/audio")) == [before]


def test_the_audio_program_dies_meanwhile_and_the_next_one_answers(audio_daemon: Daemon) -> None:
    control = audio_daemon.control
    control.get("/v1/audio/route")
    program = control.get("/v1/audio")["pid"]
    processes.stop(program)
    with ThreadPoolExecutor() as pool:
        choice = pool.submit(choose, control, "headset")
        # Nothing shows that the daemon has passed it on; it is answered as well where the program dies before.
        time.sleep(0.3)
        assert not choice.done()
        os.kill(program, signal.SIGKILL)
        status = choice.result()
    assert (status["state"], status["output"]) == ("connected", "headset")
    assert control.get("/v1/audio")["pid"] != program
