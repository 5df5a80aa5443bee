"""What rings: a ring command, a vibration, a notification; and that all of it stops whatever ends the ring."""

import json
import os
import signal
from pathlib import Path

import pytest

from support import processes
from support.apps import App
from support.control import Control
from support.handlers import script
from support.services import Notifications
from support.telephone import PAYLOAD, connected, ends, hang_up, ringing, send, user, waits

DAEMON_RINGS = PAYLOAD + '[calls]\nringer = "daemon"\n'
# Writes down that it was started, and with what, then sounds for as long as it is let.
PLAYER = """#!/bin/sh
echo "$$ $0 $*" >>"$(dirname "$0")/played"
exec sleep 60
"""


class Sounds:
    """Commands that ring, and what was done with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("ring", "vibrate", "waiting"):
            script(folder / name, PLAYER)
        self.ringtone = folder / "ringtone.oga"
        self.ringtone.write_bytes(b"OggS")

    def section(self, **more: object) -> str:
        lines = {
            "command": [str(self.folder / "ring"), "--file", "{file}"], "ringtone": str(self.ringtone),
            "vibrate": [str(self.folder / "vibrate"), "500"], "waiting": [str(self.folder / "waiting")],
        } | more  # fmt: skip
        return "\n".join(f"{name} = {json.dumps(value)}" for name, value in lines.items())

    def played(self, name: str) -> list[list[str]]:
        """Of each start of this command: its process, its path and its arguments."""
        file = self.folder / "played"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [words for words in lines if Path(words[1]).name == name]

    def sounding(self) -> list[str]:
        """The commands that run now."""
        names = ("ring", "vibrate", "waiting")
        return [name for name in names for words in self.played(name) if processes.is_running(int(words[0]))]

    def waits_for(self, *names: str) -> None:
        waits(lambda: sorted(self.sounding()) == sorted(names), f"{names} to sound; {self.sounding()} does")


@pytest.fixture
def sounds(tmp_path: Path) -> Sounds:
    return Sounds(tmp_path)


@pytest.fixture
def ringer(telephone, session_bus, sounds: Sounds) -> App:
    """An app for which the daemon rings, on a daemon that is not started yet, with notifications."""
    return telephone(session_bus, ring=sounds.section()).by_exec(more=DAEMON_RINGS)


def all_is_quiet(sounds: Sounds, notifications: Notifications) -> None:
    sounds.waits_for()
    notifications.waits_for_open(0)


def test_the_daemon_rings_vibrates_and_shows_who_calls(ringer: App, sounds: Sounds, session_bus) -> None:
    notifications = Notifications(session_bus)
    ringer.daemon.start()
    call = ringing(ringer, caller="sip:bob@example.org", name="Bob <b>Builder</b>")
    sounds.waits_for("ring", "vibrate")
    assert sounds.played("ring")[0][2:] == ["--file", str(sounds.ringtone)]
    assert sounds.played("vibrate")[0][2:] == ["500"]
    [shown] = notifications.waits_for_open(1)
    assert "Bob <b>Builder</b>" in shown["summary"] + shown["body"] or "&lt;b&gt;" in shown["body"]
    assert "<b>" not in shown["body"]
    assert set(shown["actions"][::2]) >= {"answer", "decline"}, shown["actions"]
    assert shown["hints"]["urgency"] == 2 and shown["hints"]["category"] == "call.incoming"
    assert shown["expires"] == 0
    assert ringer.daemon.control.call(call)["ringer"] == "daemon"
    assert ringer.daemon.control.status()["ring"]["ringing"] == 1


def test_the_app_that_rings_itself_is_left_to_it(telephone, session_bus, sounds: Sounds) -> None:
    app = telephone(session_bus, ring=sounds.section()).by_exec(more=PAYLOAD)
    notifications = Notifications(session_bus)
    app.daemon.start()
    call = ringing(app)
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected")
    hang_up(app, call)
    assert not (sounds.folder / "played").exists() and notifications.shown() == []


# Every way out of the ring

def answered(app: App, call: str) -> None:
    user(app.daemon, "call", "answer", call)


def declined(app: App, call: str) -> None:
    user(app.daemon, "call", "decline", call)


def ended(app: App, call: str) -> None:
    user(app.daemon, "call", "end", call)


def hung_up_by_the_caller(app: App, call: str) -> None:
    pid = app.woken(call)["pid"]
    secret = processes.environment(pid)["RINGWAKE_WAKE_SECRET"]
    Control(app.daemon.control_socket, secret).verb(call, "ended")


def lost(app: App, call: str) -> None:
    """Its handler dies, and each that is started for it."""
    os.kill(app.daemon.control.call(call)["pid"], signal.SIGKILL)


def stopped(app: App, _call: str) -> None:
    app.daemon.stop()


def unanswered(_app: App, _call: str) -> None:
    """The ring time passes."""


@pytest.mark.parametrize(
    "way_out", [answered, declined, ended, hung_up_by_the_caller, lost, stopped, unanswered],
    ids=lambda one: one.__name__,
)
def test_all_of_it_stops(ringer: App, sounds: Sounds, session_bus, way_out) -> None:
    notifications = Notifications(session_bus)
    ringer.by_exec("claim!=crash", more=DAEMON_RINGS)
    ringer.daemon.calls |= {"claim": "1s"} | ({"ring": "2s"} if way_out is unanswered else {})
    ringer.daemon.start()
    call = ringing(ringer)
    sounds.waits_for("ring", "vibrate")
    notifications.waits_for_open(1)
    way_out(ringer, call)
    sounds.waits_for()
    if way_out in (lost, unanswered, hung_up_by_the_caller):
        # What is left on the screen says that a call was missed.
        waits(lambda: len(notifications.shown()) >= 2, "the missed call to be shown")
        [missed] = notifications.waits_for_open(1)
        assert missed["hints"]["category"] == "call.unanswered" and "answer" not in missed["actions"]
    else:
        notifications.waits_for_open(0)


def test_it_stops_when_the_daemon_is_killed(ringer: App, sounds: Sounds, session_bus) -> None:
    Notifications(session_bus)
    ringer.daemon.start()
    ringing(ringer)
    sounds.waits_for("ring", "vibrate")
    ringer.daemon.kill()
    sounds.waits_for()


def test_and_goes_on_after_a_restart_without_a_second_one(ringer: App, sounds: Sounds, session_bus) -> None:
    notifications = Notifications(session_bus)
    ringer.daemon.start()
    call = ringing(ringer)
    sounds.waits_for("ring", "vibrate")
    # A daemon that is killed before it has heard the notification's number cannot withdraw it later.
    notifications.waits_for_open(1)
    # Where the call stands is written down while it rings; a list is read after all that was handed in before.
    ringer.daemon.control.get("/v1/calls?limit=1")
    ringer.daemon.kill()
    ringer.daemon.start()
    assert ringer.daemon.control.call(call)["state"] == "ringing"
    sounds.waits_for("ring", "vibrate")
    user(ringer.daemon, "call", "decline", call)
    all_is_quiet(sounds, notifications)


def test_a_call_that_its_handler_never_reported_rings_with_all_of_it(telephone, session_bus, sounds: Sounds) -> None:
    notifications = Notifications(session_bus)
    app = telephone(session_bus, ring=sounds.section())
    app.by_exec("wake=crash", more=PAYLOAD + '[calls]\nfallback = "ring"\n').daemon.start()
    call = send(app.daemon, caller="sip:bob@example.org")
    app.daemon.control.wait_for(call, "ringing")
    sounds.waits_for("ring", "vibrate")
    [shown] = notifications.waits_for_open(1)
    notifications.press(shown, "answer")
    app.daemon.control.wait_for(call, "connected")
    all_is_quiet(sounds, notifications)


# By notification

@pytest.mark.parametrize(("button", "state"), [("answer", "connected"), ("decline", "ended")])
def test_the_buttons_do_what_they_say(ringer: App, session_bus, button: str, state: str) -> None:
    notifications = Notifications(session_bus)
    ringer.daemon.start()
    call = ringing(ringer)
    [shown] = notifications.waits_for_open(1)
    notifications.press(shown, button)
    now = ringer.daemon.control.wait_for(call, state)
    assert now.get("reason") == ("declined" if button == "decline" else None)
    notifications.waits_for_open(0)


def test_a_button_of_a_call_that_is_over_does_nothing(ringer: App, session_bus) -> None:
    notifications = Notifications(session_bus)
    ringer.daemon.start()
    first = ringing(ringer)
    [shown] = notifications.waits_for_open(1)
    user(ringer.daemon, "call", "decline", first)
    notifications.waits_for_open(0)
    second = ringing(ringer)
    notifications.press(shown, "answer")
    # What comes after it has been dealt with when this one is answered.
    [other] = notifications.waits_for_open(1)
    notifications.press(other, "decline")
    ends(ringer.daemon, second, "declined")


def test_without_a_notification_server_it_rings_all_the_same(ringer: App, sounds: Sounds) -> None:
    ringer.daemon.start()
    call = ringing(ringer)
    sounds.waits_for("ring", "vibrate")
    user(ringer.daemon, "call", "answer", call)
    sounds.waits_for()


def test_a_notification_server_that_answers_nothing_holds_nothing_up(ringer: App, sounds: Sounds, session_bus) -> None:
    notifications = Notifications(session_bus)
    ringer.daemon.start()
    notifications.service.hang()
    call = ringing(ringer)
    sounds.waits_for("ring", "vibrate")
    user(ringer.daemon, "call", "decline", call)
    ends(ringer.daemon, call, "declined")
    sounds.waits_for()
    # What it was asked for meanwhile does not stay on the screen when it comes to itself.
    notifications.service.resume()
    notifications.waits_for_open(0)


def test_the_bus_dies_while_it_rings(ringer: App, sounds: Sounds, session_bus) -> None:
    Notifications(session_bus)
    ringer.daemon.start()
    call = ringing(ringer)
    sounds.waits_for("ring", "vibrate")
    session_bus.kill()
    user(ringer.daemon, "call", "answer", call)
    ringer.daemon.control.wait_for(call, "connected")
    sounds.waits_for()
    ringer.daemon.check_alive()


def test_notifications_can_be_turned_off(telephone, session_bus, sounds: Sounds) -> None:
    app = telephone(session_bus, ring=sounds.section(notifications=False)).by_exec(more=DAEMON_RINGS)
    notifications = Notifications(session_bus)
    app.daemon.start()
    call = ringing(app)
    sounds.waits_for("ring", "vibrate")
    user(app.daemon, "call", "decline", call)
    ends(app.daemon, call, "declined")
    assert notifications.shown() == []


# The command

def test_a_call_that_waits_sounds_once_and_does_not_ring(ringer: App, sounds: Sounds, session_bus) -> None:
    notifications = Notifications(session_bus)
    ringer.daemon.start()
    first = connected(ringer)
    all_is_quiet(sounds, notifications)
    before = len(sounds.played("ring"))
    second = ringing(ringer)
    sounds.waits_for("waiting")
    notifications.waits_for_open(1)
    user(ringer.daemon, "call", "decline", second)
    sounds.waits_for()
    assert len(sounds.played("ring")) == before and len(sounds.played("waiting")) == 1
    assert ringer.daemon.control.call(first)["state"] == "connected"


def test_two_calls_ring_once(ringer: App, sounds: Sounds) -> None:
    ringer.daemon.start()
    first, second = ringing(ringer), ringing(ringer)
    sounds.waits_for("ring", "vibrate")
    user(ringer.daemon, "call", "decline", first)
    ends(ringer.daemon, first, "declined")
    assert sorted(sounds.sounding()) == ["ring", "vibrate"]
    user(ringer.daemon, "call", "decline", second)
    sounds.waits_for()


def test_a_ringtone_that_ends_is_played_again(ringer: App, sounds: Sounds) -> None:
    script(sounds.folder / "ring", PLAYER.replace("exec sleep 60", "exit 0"))
    ringer.daemon.start()
    call = ringing(ringer)
    waits(lambda: len(sounds.played("ring")) >= 3, "the ringtone to be played again")
    user(ringer.daemon, "call", "decline", call)
    sounds.waits_for()


def test_a_command_that_is_not_there_is_said_and_the_rest_works(ringer: App, sounds: Sounds) -> None:
    (sounds.folder / "ring").unlink()
    ringer.daemon.start()
    call = ringing(ringer)
    sounds.waits_for("vibrate")
    waits(lambda: str(sounds.folder / "ring") in ringer.daemon.control.status()["ring"].get("why", ""), "the reason")
    user(ringer.daemon, "call", "answer", call)
    sounds.waits_for()


def test_a_command_that_takes_no_sigterm_is_killed(ringer: App, sounds: Sounds) -> None:
    script(sounds.folder / "ring", PLAYER.replace("exec sleep 60", "trap '' TERM; while :; do sleep 1; done"))
    ringer.daemon.start()
    call = ringing(ringer)
    sounds.waits_for("ring", "vibrate")
    user(ringer.daemon, "call", "decline", call)
    sounds.waits_for()


def test_an_app_has_a_ringtone_of_its_own(ringer: App, sounds: Sounds, tmp_path: Path) -> None:
    own = tmp_path / "own tone.oga"
    own.write_bytes(b"OggS")
    ringer.by_exec(more=DAEMON_RINGS + f'[ring]\nringtone = "{own}"\n').daemon.start()
    ringing(ringer)
    sounds.waits_for("ring", "vibrate")
    assert " ".join(sounds.played("ring")[0][2:]) == f"--file {own}"
