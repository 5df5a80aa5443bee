"""When what an app has stored is dropped: it crashes its handler, the user forces the app's end, the app is removed."""

import json
from pathlib import Path

import pytest

from support import processes
from support.apps import App
from support.control import Control
from support.credentials import APP
from support.daemon import Daemon
from support.programs import RINGWAKE
from support.pushing import push
from support.telephone import PAYLOAD, connected, ringing, send, strikes, user, waits

KEEPS = "[restoration]\nstate = true\n"
STATE = "what the app needs to go on"

# It reads its state as it would to restore it, and then does what the test wants of it.
HANDLER = """#!/bin/sh
cd "$(dirname "$0")"
case "$(cat mode)" in blind*) ;; *) {ringwake} app state > read 2>/dev/null ;; esac
echo "$RINGWAKE_CALL $? $(cat read)" >> lives
case "$(cat mode)" in
    crash | blind-crash) kill -SEGV $$ ;;
    fail) exit 3 ;;
    restored) {ringwake} app state --restored > /dev/null && kill -9 $$ ;;
    reported) {ringwake} call report "$RINGWAKE_CALL" > /dev/null && kill -9 $$ ;;
    hang) sleep 60 ;;
esac
"""


class Device:
    """A daemon with an app whose handler does as it is told, and ends."""

    def __init__(self, daemon: Daemon, folder: Path) -> None:
        self.daemon = daemon
        self.folder = folder
        self.sent = 0
        program = folder / "handler"
        program.write_text(HANDLER.format(ringwake=RINGWAKE))
        program.chmod(0o755)
        daemon.set_handler([str(program)], more=KEEPS)
        daemon.start()
        self.put()

    def put(self) -> None:
        (self.folder / "state").write_text(STATE)
        user(self.daemon, "app", "state", APP, "--put", self.folder / "state")

    def life(self, mode: str) -> bool:
        """One handler, from its push to its end: whether it found its state."""
        (self.folder / "mode").write_text(mode)
        (self.folder / "read").write_text("")
        self.sent += 1
        call = f"00000000-0000-4000-8000-{self.sent:012}"
        assert push(self.daemon, call).status == 200
        if mode == "hang":
            waits(lambda: call in self.lives(), "the handler to read its state")
        else:
            self.daemon.control.wait_for(call, "ended")
        return f"{call} 0 {STATE}" in self.lives()

    def lives(self) -> str:
        file = self.folder / "lives"
        return file.read_text() if file.exists() else ""

    def reborn(self) -> None:
        # A list is read after all that was handed in before.
        self.daemon.control.get("/v1/calls?limit=1")
        self.daemon.kill()
        self.daemon.start()

    def shown(self) -> dict:
        return self.daemon.control.app(APP)["savedState"]

    def keeps(self) -> bool:
        return self.daemon.control.request("GET", f"/v1/apps/{APP}/state")[0] != 404


@pytest.fixture
def device(make_daemon, tmp_path: Path) -> Device:
    folder = tmp_path / "h"
    folder.mkdir()
    return Device(make_daemon(), folder)


@pytest.fixture(autouse=True)
def octets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state is no JSON; these tests look at the status alone."""
    request = Control.request

    def look(self: Control, method: str, target: str, body: object = None) -> tuple[int, dict]:
        try:
            return request(self, method, target, body)
        except json.JSONDecodeError:
            return 200, {}

    monkeypatch.setattr(Control, "request", look)


@pytest.mark.parametrize("mode", ["crash", "fail"])
def test_two_crashes_in_a_row_drop_it_whoever_else_is_killed_in_between(device: Device, mode: str) -> None:
    assert device.life(mode)
    assert device.shown() == {"bytes": len(STATE), "crashes": 1}
    device.reborn()
    assert device.shown() == {"bytes": len(STATE), "crashes": 1} and device.keeps()
    with device.daemon.control.events(f"?app={APP}") as events:
        assert device.life(mode)
        events.until("stateDropped", app=APP, reason="crashed")
    assert not device.keeps()
    device.reborn()
    assert not device.keeps() and not device.life("ok")
    shown = device.shown()
    assert (shown["bytes"], shown["crashes"], shown["droppedBy"]) == (0, 0, "crashed") and shown["droppedAt"]
    assert "crashed twice while restoring" in user(device.daemon, "app", "show", APP).stdout
    assert "the state of an app is dropped" in device.daemon.log
    # A new one is as good as any.
    device.put()
    assert device.life("crash") and device.keeps()


@pytest.mark.parametrize("mode", ["restored", "reported", "ok"])
def test_a_success_starts_the_count_again(device: Device, mode: str) -> None:
    assert device.life("crash") and device.life(mode)
    assert device.shown()["crashes"] == 0
    device.reborn()
    assert device.life("crash") and device.keeps()
    assert device.shown()["crashes"] == 1


def test_a_crash_without_reading_it_counts_nothing(device: Device) -> None:
    for _ in range(3):
        device.life("blind-crash")
    assert device.shown() == {"bytes": len(STATE), "crashes": 0}


def test_a_handler_that_is_stopped_has_not_crashed(make_daemon, tmp_path: Path) -> None:
    daemon = make_daemon()
    daemon.calls = {"report": "1s"}
    (tmp_path / "h").mkdir()
    device = Device(daemon, tmp_path / "h")
    for _ in range(2):
        device.life("hang")
        waits(lambda: "didNotReport" in json.dumps(daemon.control.app(APP)["strikes"]), "its strike")
    waits(lambda: not daemon.control.calls() or all(c["state"] == "ended" for c in daemon.control.calls()), "the end")
    assert device.shown()["crashes"] == 0 and device.keeps()


def test_a_reset_ends_calls_and_handlers_and_drops_the_state_for_good(telephone, tmp_path: Path) -> None:
    app = telephone().by_exec(more=PAYLOAD + KEEPS)
    app.daemon.start()
    (tmp_path / "blob").write_text(STATE)
    user(app.daemon, "app", "state", APP, "--put", tmp_path / "blob")
    first = connected(app)
    second = send(app.daemon)
    app.daemon.control.wait_for(second, "ringing")
    with app.daemon.control.events(f"?app={APP}") as events:
        done = json.loads(user(app.daemon, "app", "reset", APP, "--json").stdout)
        events.until("stateDropped", app=APP, reason="reset")
    assert (done["calls"], done["handlers"], done["bytes"]) == (2, 1, len(STATE))
    app.daemon.kill()
    app.daemon.start()
    ended = {call: app.daemon.control.call(call) for call in (first, second)}
    assert [ended[call]["reason"] for call in (first, second)] == ["localEnded", "declined"], ended
    waits(lambda: not app.running(), "the handlers to be gone")
    assert app.daemon.control.request("GET", f"/v1/apps/{APP}/state")[0] == 404
    assert strikes(app.daemon)["count"] == 0
    # The app starts again with the next push.
    ringing(app)


def test_a_reset_is_the_owners(device: Device) -> None:
    (device.folder / "mode").write_text("hang")
    assert push(device.daemon, "00000000-0000-4000-8000-0000000000ff").status == 200
    waits(lambda: "ff 0" in device.lives(), "the handler")
    pid = next(call["pid"] for call in device.daemon.control.calls() if call["state"] != "ended")
    handler = Control(device.daemon.control_socket, processes.environment(pid)["RINGWAKE_WAKE_SECRET"])
    assert handler.request("POST", f"/v1/apps/{APP}/reset")[0] == 403
    user(device.daemon, "app", "reset", APP)
    # What the handler says while it is stopped does not come back.
    assert handler.request("PUT", f"/v1/apps/{APP}/state", "old")[0] in (403, 409)
    assert not device.keeps()


def test_a_handler_that_came_by_itself_loses_its_connection_and_lives(telephone) -> None:
    app = telephone().only_connected(more=PAYLOAD + KEEPS)
    app.daemon.start()
    handler = app.connect()
    call = ringing(app)
    user(app.daemon, "app", "reset", APP)
    assert app.daemon.control.call(call)["reason"] == "declined"
    app.waits_for("stream ended", pid=handler.pid)
    assert handler.poll() is None


def test_a_removed_apps_state_is_gone_before_the_answer(device: Device) -> None:
    assert device.life("crash")
    file = device.daemon.directory / "apps.d" / f"{APP}.toml"
    text = file.read_text()
    user(device.daemon, "app", "remove", APP)
    device.daemon.kill()
    file.write_text(text)
    device.daemon.start()
    assert not device.keeps() and device.shown() == {"bytes": 0, "crashes": 0}
