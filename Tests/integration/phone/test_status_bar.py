"""`Examples/status-bar`: a line about the calls, from nothing but `ringwake watch --json`."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import processes, programs
from support.apps import App
from support.control import Control
from support.telephone import PAYLOAD, connected, hang_up, ringing, user, waits

PROGRAM = programs.ROOT / "Examples" / "status-bar" / "status-line"
EVENTS = programs.ROOT / "Tests" / "Fixtures" / "control-api" / "EventMessage"


class Bar:
    """The example, behind `ringwake watch`."""

    def __init__(self, app: App, file: Path) -> None:
        self.file = file
        self.watch = subprocess.Popen(
            [programs.RINGWAKE, "watch", "--json"], stdout=subprocess.PIPE, env=os.environ | app.daemon.environment()
        )
        with file.open("w") as output:
            self.program = subprocess.Popen(
                [programs.SYSTEM_PYTHON, PROGRAM], stdin=self.watch.stdout, stdout=output
            )
        self.watch.stdout.close()

    def now(self) -> dict:
        lines = self.file.read_text().splitlines()
        return json.loads(lines[-1]) if lines else {"text": "", "tooltip": "", "class": []}

    def shows(self, *classes: str) -> dict:
        waits(lambda: self.now()["class"] == list(classes), f"the line to be {classes}")
        return self.now()

    def talk_time(self) -> int:
        minutes, seconds = self.now()["text"].split()[-1].split(":")
        return int(minutes) * 60 + int(seconds)

    def stop(self) -> None:
        self.watch.kill()
        self.watch.wait()
        # It ends with what it reads.
        assert self.program.wait(10) == 0


@pytest.fixture
def bar(phone: App, tmp_path: Path) -> Iterator[Bar]:
    made = Bar(phone, tmp_path / "lines")
    made.shows("idle")
    yield made
    made.stop()


def test_a_call(phone: App, bar: Bar) -> None:
    call = ringing(phone, caller="sip:alice@example.org", name="Alice & <b>Bob</b>")
    assert bar.shows("ringing")["text"] == "Alice &amp; &lt;b&gt;Bob&lt;/b&gt; rings"
    user(phone.daemon, "call", "answer", call)
    bar.shows("connected")
    assert bar.talk_time() < 60
    user(phone.daemon, "call", "mute", call)
    assert "muted" in bar.shows("connected", "muted")["text"]
    assert "answered by" not in bar.now()["tooltip"]
    hang_up(phone, call)
    assert bar.shows("idle")["text"] == ""


def test_the_talk_time_goes_on_over_a_restart(phone: App, bar: Bar) -> None:
    call = connected(phone)
    bar.shows("connected")
    waits(lambda: bar.talk_time() >= 2, "two seconds of talk")
    phone.daemon.kill()
    phone.daemon.start()
    phone.daemon.control.wait_for(call, "connected")
    with phone.daemon.control.events(f"?call={call}") as stream:
        assert stream.until("call", call=call)[-1]["connectedMs"] >= 2000
    assert bar.talk_time() >= 2
    hang_up(phone, call)
    bar.shows("idle")


def test_a_call_that_ended_while_the_daemon_was_away(telephone, tmp_path: Path) -> None:
    app = telephone(calls={"ring": "2s"}).by_exec(more=PAYLOAD)
    app.daemon.start()
    bar = Bar(app, tmp_path / "lines")
    call = ringing(app)
    bar.shows("ringing")
    app.daemon.kill()
    time.sleep(2.2)
    app.daemon.start()
    app.daemon.control.wait_for(call, "ended")
    waits(lambda: "ringing" not in bar.now()["class"], "the call to be gone")
    bar.stop()


def test_missed_calls_and_do_not_disturb(phone: App, bar: Bar) -> None:
    call = ringing(phone)
    secret = processes.environment(phone.woken(call)["pid"])["RINGWAKE_WAKE_SECRET"]
    bar.shows("ringing")
    Control(phone.daemon.control_socket, secret).verb(call, "ended")
    assert bar.shows("missed")["text"] == "1 missed"
    user(phone.daemon, "dnd", "on")
    bar.shows("missed", "quiet")
    bar.program.send_signal(signal.SIGUSR1)
    assert bar.shows("quiet")["text"] == "do not disturb"
    user(phone.daemon, "dnd", "off")
    bar.shows("idle")


def test_a_bar_that_begins_later_shows_what_is(phone: App, tmp_path: Path) -> None:
    user(phone.daemon, "dnd", "on")
    late = Bar(phone, tmp_path / "late")
    late.shows("quiet")
    late.stop()


def shown(*names: str) -> dict:
    """What it shows in the end, after these fixtures."""
    events = "".join((EVENTS / name).read_text() for name in names)
    done = programs.run(programs.SYSTEM_PYTHON, PROGRAM, stdin=None, input=events)
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout.splitlines()[-1])


def test_it_takes_each_event() -> None:
    assert "missed" in shown(*sorted(file.name for file in EVENTS.iterdir()))["class"]


def test_an_app_that_answered_and_a_call_without_a_microphone() -> None:
    now = shown("call-muted.json", "audio-activated-listening.json")
    assert now["text"] == "maybe Alice&#x27;s office muted 3:05 no microphone"
    assert "answered by: app" in now["tooltip"] and now["class"] == ["connected", "muted"]
