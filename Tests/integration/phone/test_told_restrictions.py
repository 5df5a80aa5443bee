"""What an app can read of the device's restrictions, and is told of: do not disturb, ratings, blocked callers."""

import datetime
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support import api
from support.apps import App
from support.control import Control, EventStream, UnixConnection
from support.credentials import APP
from support.telephone import OTHER_APP, PAYLOAD, allow_two_apps, send, user, waits

FREE = {
    "schema": 1, "doNotDisturb": {"active": False}, "explicitContentAllowed": True, "videoCallsAllowed": True,
}  # fmt: skip
ON = FREE | {"doNotDisturb": {"active": True}}


class Handler:
    """A handler that keeps a stream, with the secret that it got there."""

    def __init__(self, app: App, stream: EventStream) -> None:
        self.app, self.stream = app, stream
        self.lines = iter(stream)
        self.hello = next(self.lines)
        assert self.hello["event"] == "handler", self.hello
        api.check(self.hello, "EventMessage")
        self.control = Control(app.daemon.control_socket, self.hello["secret"])

    def now(self) -> dict:
        answer = self.control.get(f"/v1/apps/{self.app.app}/restrictions")
        api.check(answer, "RestrictionsMessage")
        return answer

    def told(self) -> dict:
        """The restrictions of the next event of them; the daemon answers the same."""
        for event in self.lines:
            if event["event"] == "restrictions":
                api.check(event, "EventMessage")
                assert event["app"] == self.app.app and event["restrictions"] == self.now(), event
                return event["restrictions"]
        raise AssertionError("the stream ended")

    def is_blocked(self, caller: str) -> tuple[int, dict]:
        return self.control.request("GET", f"/v1/apps/{self.app.app}/restrictions/caller?caller={caller}")


@contextmanager
def handler(app: App) -> Iterator[Handler]:
    with app.daemon.control.handler(app.app) as stream:
        yield Handler(app, stream)


def reload(app: App, restrictions: str) -> None:
    app.daemon.sections["restrictions"] = restrictions
    app.daemon.write_configuration()
    user(app.daemon, "reload")


def test_do_not_disturb_is_told_and_read(phone: App) -> None:
    with handler(phone) as one:
        assert "restrictions" not in one.hello and one.now() == FREE
        user(phone.daemon, "dnd", "on")
        assert one.told() == ON
        user(phone.daemon, "dnd", "on", "--for", "1h")
        until = one.told()["doNotDisturb"]["until"]
        left = datetime.datetime.fromisoformat(until) - datetime.datetime.now(datetime.UTC)
        assert 3500 < left.total_seconds() <= 3600
        # Who connects now is told at once; and a new daemon says it again.
        with handler(phone) as other:
            assert other.hello["restrictions"] == one.now()
        with phone.daemon.control.events(f"?app={APP}") as events:
            assert events.until("restrictions")[-1]["restrictions"] == one.now()
        user(phone.daemon, "dnd", "off")
        assert one.told() == FREE
    with phone.daemon.control.events(f"?app={APP}") as events:
        user(phone.daemon, "dnd", "on")
        assert events.until("restrictions")[-1]["restrictions"] == ON
    phone.daemon.kill()
    phone.daemon.start()
    with handler(phone) as one:
        assert one.hello["restrictions"] == ON


def test_the_end_of_do_not_disturb_is_told_when_it_comes(phone: App) -> None:
    with handler(phone) as one:
        user(phone.daemon, "dnd", "on", "--for", "2s")
        until = datetime.datetime.fromisoformat(one.told()["doNotDisturb"]["until"])
        assert one.told() == FREE
        assert datetime.datetime.now(datetime.UTC) >= until


def test_the_schedule_is_what_the_app_is_told(phone: App) -> None:
    with handler(phone) as one:
        user(phone.daemon, "dnd", "schedule", "add", "daily", "00:00-24:00")
        assert one.told() == ON, "it fills the week, so it has no end"
        user(phone.daemon, "dnd", "off")
        assert one.told() == FREE, "skipped for a day"
        user(phone.daemon, "dnd", "schedule", "clear")
        user(phone.daemon, "dnd", "on")
        assert one.told() == ON


def test_an_app_that_may_ring_is_told_nothing(telephone) -> None:
    phone = telephone()
    allow_two_apps(phone.daemon)
    phone.by_exec(more=PAYLOAD)
    other = App(phone.daemon, OTHER_APP).by_exec(more=PAYLOAD)
    phone.daemon.start()
    with handler(phone) as one, handler(other) as two, phone.daemon.control.events() as everything:
        user(phone.daemon, "dnd", "allow", "--app", OTHER_APP)
        user(phone.daemon, "dnd", "on")
        assert one.told() == ON and two.now() == FREE
        # The exception ends: only the other app learns that.
        user(phone.daemon, "dnd", "disallow", "--app", OTHER_APP)
        assert two.told() == ON
        user(phone.daemon, "dnd", "off")
        assert one.told() == FREE and two.told() == FREE
        told = [event for event in everything.until("restrictions", restrictions=FREE)
                if event["event"] == "restrictions"]  # fmt: skip
        assert [(event.get("app"), event["restrictions"]) for event in told] == [(None, ON), (None, FREE)]


def test_an_app_reads_its_own_only(telephone) -> None:
    phone = telephone()
    allow_two_apps(phone.daemon)
    phone.by_exec(more=PAYLOAD)
    other = App(phone.daemon, OTHER_APP).by_exec(more=PAYLOAD)
    phone.daemon.start()
    with handler(phone) as one, handler(other) as two:
        for part in ("restrictions", "restrictions/caller?caller=1"):
            status, answer = two.control.request("GET", f"/v1/apps/{APP}/{part}")
            assert (status, answer["error"]) == (403, "not-permitted"), answer
            wrong = Control(phone.daemon.control_socket, "00" * 32)
            assert wrong.request("GET", f"/v1/apps/{APP}/{part}")[0] == 403
            assert phone.daemon.control.request("GET", f"/v1/apps/com.example.nobody/{part}")[0] == 404
        assert one.now() == two.now() == phone.daemon.control.get(f"/v1/apps/{APP}/restrictions")
    status, answer = one.control.request("GET", f"/v1/apps/{APP}/restrictions/callers")
    assert status == 403, "its secret has ended"
    assert phone.daemon.control.request("GET", f"/v1/apps/{APP}/restrictions/callers")[0] == 404
    assert phone.daemon.control.request("GET", f"/v1/apps/{APP}/state/caller")[0] == 404


@pytest.mark.parametrize(
    ("setting", "rating"),
    [
        ('rating = "4+"', ("4+", 100)), ('rating = "9+"', ("9+", 200)), ('rating = "12+"', ("12+", 300)),
        ('rating = "17+"', ("17+", 600)), ("allowed_level = 16", ("12+", 300)), ("allowed_level = 3", ("none", 0)),
    ],
)  # fmt: skip
def test_a_reload_changes_the_rating(phone: App, setting: str, rating: tuple[str, int]) -> None:
    with handler(phone) as one:
        reload(phone, setting)
        assert one.told() == FREE | {"rating": dict(zip(("name", "number"), rating, strict=True))}
        reload(phone, "")
        assert one.told() == FREE


def test_a_reload_changes_what_apps_apply_themselves(phone: App) -> None:
    with handler(phone) as one:
        reload(phone, "explicit_content = false\nvideo_calls = false")
        assert one.told() == FREE | {"explicitContentAllowed": False, "videoCallsAllowed": False}
        # A reload that changes nothing of it says nothing: the next event is the next change.
        reload(phone, "explicit_content = false\nvideo_calls = false\napp_calls = \"50/1h\"")
        reload(phone, "video_calls = false")
        assert one.told() == FREE | {"videoCallsAllowed": False}
    call = send(phone.daemon, APP, caller="1", video=True)
    phone.daemon.control.wait_for(call, "ringing")


def test_the_rating_keeps_calls_out_as_the_level_does(telephone) -> None:
    app = telephone(restrictions='rating = "12+"').by_exec(more=PAYLOAD + "[restrictions]\nlevel = 17\n")
    app.daemon.start()
    ended = app.daemon.control.wait_for(send(app.daemon, APP), "ended")
    assert ended["restriction"]["kind"] == "level"


def test_both_levels_are_a_mistake(telephone) -> None:
    app = telephone(restrictions='allowed_level = 12\nrating = "12+"').by_exec(more=PAYLOAD)
    done = app.daemon.run_to_its_end("--check-config")
    assert done.returncode == 9 and "'restrictions.rating' says the same as 'allowed_level'" in done.stderr, done


def test_whether_a_caller_is_blocked(phone: App) -> None:
    user(phone.daemon, "block", "add", "+49900*")
    with handler(phone) as one:
        assert one.is_blocked("%2B49900123456") == (200, {"schema": 1, "blocked": True})
        assert one.is_blocked("sip:alice@example.org") == (200, {"schema": 1, "blocked": False})
        # Yes or no: do not disturb is another question.
        user(phone.daemon, "dnd", "on")
        assert one.is_blocked("sip:alice@example.org")[1]["blocked"] is False
        status, answer = one.control.request("GET", f"/v1/apps/{APP}/restrictions/caller")
        assert (status, answer["error"]) == (400, "invalid-request")
        assert one.is_blocked("0" * 1025)[0] == 400


def test_an_app_cannot_try_out_who_is_blocked(phone: App) -> None:
    with handler(phone) as one:
        begin = time.monotonic()
        statuses = [one.is_blocked(f"{number}")[0] for number in range(40)]
        # Ten at once, then one a second, however slow this machine is.
        allowed = 10 + int(time.monotonic() - begin) + 1
        assert statuses[:10] == [200] * 10 and statuses.count(200) <= allowed and 429 in statuses
        assert set(statuses) == {200, 429}
        connection = UnixConnection(phone.daemon.control_socket)
        fields = {"Authorization": f"Bearer {one.control.secret}"}
        while True:
            connection.request("GET", f"/v1/apps/{APP}/restrictions/caller?caller=1", headers=fields)
            answer = connection.getresponse()
            message = json.loads(answer.read())
            if answer.status == 429:
                break
        connection.close()
        api.check(message, "ErrorMessage")
        assert message["error"] == "limit-reached" and answer.getheader("Retry-After") == "1"
        # The owner may read the lists anyway.
        for _ in range(20):
            assert phone.daemon.control.get(f"/v1/apps/{APP}/restrictions/caller?caller=1")["blocked"] is False
        waits(lambda: one.is_blocked("1")[0] == 200, "its next turn")


def test_the_command_line_shows_it(telephone) -> None:
    app = telephone(restrictions='rating = "9+"\nvideo_calls = false').by_exec(more=PAYLOAD)
    app.daemon.start()
    assert user(app.daemon, "app", "restrictions", APP).stdout.splitlines() == [
        "do not disturb    off", "rating            9+ (200)", "explicit content  allowed",
        "video calls       not allowed",
    ]  # fmt: skip
    user(app.daemon, "dnd", "on", "--for", "1h")
    shown = json.loads(user(app.daemon, "app", "restrictions", APP, "--json").stdout)
    assert shown == app.daemon.control.get(f"/v1/apps/{APP}/restrictions") and shown["doNotDisturb"]["until"]
