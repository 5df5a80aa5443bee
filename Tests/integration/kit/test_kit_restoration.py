"""What an app stores with RingwakeKit outlives kills of the daemon; what a later version can't read is left out."""

import json
import os
import signal

import pytest

from support.apps import App
from support.control import UnixConnection
from support.credentials import APP
from support.programs import EXAMPLES_DIRECTORY
from support.protection import Protection
from support.pushing import push
from support.waiting import until

DIARY = (EXAMPLES_DIRECTORY / "diary-handler").resolve()
IDS = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(10)]


class Diary:
    """The app whose handler keeps a diary of its calls."""

    def __init__(self, app: App) -> None:
        self.daemon = app.daemon
        self.app = app
        self.output = app.log_file.with_suffix(".said")
        self.output.touch()
        self.become()

    def become(self, *options: str) -> None:
        """From its next start the app is installed like this; the daemon reads it when it starts."""
        command = ["/bin/sh", "-c", f'exec "{DIARY}" {" ".join(options)} >>"{self.output}" 2>&1']
        self.app.configure(f"exec = {json.dumps(command)}", more="[restoration]\nstate = true\n")

    def reborn(self, *options: str) -> None:
        self.become(*options)
        self.daemon.kill()
        self.daemon.start()

    @property
    def lines(self) -> list[str]:
        return self.output.read_text(errors="replace").splitlines()

    def call(self, number: int) -> list[str]:
        """What the handler says of this call, from its start to its end."""
        before = len(self.lines)
        assert push(self.daemon, IDS[number]).status == 200
        until(lambda: f"ended: {IDS[number]}" in self.lines, 20, lambda: f"the handler to end its call: {self.lines}")
        return self.lines[before:-1]

    def crash(self, number: int) -> list[str]:
        """The same, of a handler that is killed while it restores."""
        before = len(self.lines)
        assert push(self.daemon, IDS[number]).status == 200
        until(lambda: any(line.startswith("restoring:") for line in self.lines[before:]), 20, lambda: f"{self.lines}")
        os.kill(self.daemon.control.call(IDS[number])["pid"], signal.SIGKILL)
        self.daemon.control.wait_for(IDS[number], "ended", 20)
        # The journal answers in the order of its work: then it has the end and the crash too.
        self.daemon.control.get("/v1/store")
        return self.lines[before:]


@pytest.fixture
def diary(make_daemon) -> Diary:
    if not DIARY.exists():
        pytest.fail(f"{DIARY} is not built; run Tests/run stranger")
    daemon = make_daemon()
    daemon.calls = {"report": "30s"}
    app = Diary(App(daemon))
    daemon.start()
    return app


def test_what_it_stored_is_there_after_each_kill(diary: Diary) -> None:
    assert diary.call(0) == ["restoring: 0 of version 0", "stored: 1"]
    for number in range(1, 4):
        diary.daemon.kill()
        diary.daemon.start()
        said = diary.call(number)
        entries = [f"restored: entry {one}" for one in IDS[:number]]
        assert said[:-2] == ["restored: counter", "restored: draft", *entries, "restored: mood"], said
        assert said[-2:] == [f"restoring: {number + 3} of version 1", f"stored: {number + 1}"]


def test_a_later_version_gets_what_it_understands(diary: Diary) -> None:
    diary.call(0)
    diary.reborn("--next")
    assert diary.call(1) == [
        "restored: counter",
        "left out: draft (entry): unknownIdentifier",
        f"left out: entry {IDS[0]} (entry): undecodable",
        "left out: mood (mood): unknownClass",
        "restoring: 1 of version 1",
        "stored: 2",
    ]
    diary.daemon.kill()
    diary.daemon.start()
    assert diary.call(2)[:2] == ["restored: counter", f"restored: entry {IDS[1]}"]


def test_a_state_that_its_handler_does_not_survive_is_dropped(diary: Diary) -> None:
    diary.call(0)
    diary.reborn("--wait")
    assert "restoring: 4 of version 1" in diary.crash(1)
    diary.reborn("--wait")
    with diary.daemon.control.events(f"?app={APP}") as events:
        assert "restoring: 4 of version 1" in diary.crash(2)
        events.until("stateDropped", app=APP, reason="crashed")
    diary.reborn()
    assert diary.call(3) == ["restoring: 0 of version 0", "stored: 1"]


def test_what_it_does_not_understand_at_all_is_said_and_not_replaced(diary: Diary) -> None:
    connection = UnixConnection(diary.daemon.control_socket)
    octets = {"Content-Type": "application/octet-stream"}
    connection.request("PUT", f"/v1/apps/{APP}/state", b"of another program", octets)
    assert connection.getresponse().status == 200
    [line] = diary.call(0)
    assert line.startswith("no diary: bad-answer")


def test_a_locked_diary_is_an_error_that_names_the_class_and_is_there_after_the_unlocking(diary: Diary) -> None:
    daemon, protection = diary.daemon, Protection(diary.daemon)
    daemon.stop()
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"'
    daemon.sections["protection.classes"] = 'app_state = "complete"'
    daemon.write_configuration()
    daemon.start()
    assert diary.call(0) == ["restoring: 0 of version 0", "stored: 1"]
    assert protection.ask("lock")[0] == 200
    protection.waits_until("locked")
    [line] = diary.call(1)
    assert line.startswith("no diary: locked") and "complete" in line
    assert protection.ask("unlock")[0] == 200
    assert diary.call(2)[-1] == "stored: 2"
