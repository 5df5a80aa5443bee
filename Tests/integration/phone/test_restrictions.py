"""What keeps calls out: do not disturb, limits and levels. In force at once, recorded with the reason."""

import json
import time

import pytest

from support.apps import App
from support.credentials import APP
from support.pushing import push
from support.telephone import (
    OTHER_APP, PAYLOAD, allow_two_apps, connected, ends, failures, ringing, send, shown, user, waits,
)  # fmt: skip

ALICE, BOB = "sip:alice@example.org", "+4930123456"


def kept_out(app: App, kind: str, reason: str = "restricted", **payload: object) -> dict:
    """A push whose call is kept out before anything is woken: its call."""
    before = app.lives()
    call = send(app.daemon, app.app, **payload)
    ended = ends(app.daemon, call, reason)
    assert ended["restriction"]["kind"] == kind and ended["restriction"]["detail"], ended
    # Nobody answered it: it is among the missed calls, though nobody was told.
    assert ended["missed"] and app.lives() == before
    push = json.loads(user(app.daemon, "push", "show", call, "--json").stdout)
    assert (push["state"], push["restriction"]["kind"]) == ("restricted", kind)
    assert failures(app.daemon, app.app) == []
    return ended


def dnd(app: App, *words: object, status: int = 0) -> dict:
    """`ringwake dnd` with these words; how it stands then."""
    done = user(app.daemon, "dnd", *words, "--json", status=status)
    return json.loads(done.stdout) if status == 0 else {"stderr": done.stderr}


# Do not disturb

def test_it_keeps_calls_out_at_once_and_lets_them_in_again(phone: App) -> None:
    ringing(phone)
    now = dnd(phone, "on")
    assert (now["state"], now["active"]) == ("on", True)
    dnd(phone, "repeat", "off")
    ended = kept_out(phone, "doNotDisturb", caller=ALICE)
    assert "do not disturb" in ended["detail"]
    # The owner sees it in the list, with the reason.
    assert "do not disturb" in user(phone.daemon, "call", "show", ended["call"]).stdout
    assert "blocked by" in user(phone.daemon, "call", "list").stdout
    assert phone.daemon.control.status()["doNotDisturb"] == {"state": "on", "active": True}
    assert dnd(phone, "off")["active"] is False
    ringing(phone, caller=ALICE)


def test_a_call_that_rings_already_rings_on(phone: App) -> None:
    call = ringing(phone)
    dnd(phone, "on")
    assert phone.daemon.control.call(call)["state"] == "ringing"
    user(phone.daemon, "call", "answer", call)
    phone.daemon.control.wait_for(call, "connected")


def test_it_ends_by_itself(phone: App) -> None:
    dnd(phone, "repeat", "off")
    now = dnd(phone, "on", "--for", "2s")
    assert now["active"] and now["until"]
    kept_out(phone, "doNotDisturb", caller=ALICE)
    waits(lambda: not dnd(phone)["active"], "it to end")
    ringing(phone, caller=ALICE)


def test_it_stays_over_a_restart(phone: App) -> None:
    dnd(phone, "on", "--for", "1h")
    dnd(phone, "schedule", "add", "mon-fri", "22:00-07:00")
    dnd(phone, "allow", "--caller", BOB)
    before = dnd(phone)
    for end in (phone.daemon.stop, phone.daemon.kill):
        end()
        phone.daemon.start()
        assert dnd(phone) == before
    kept_out(phone, "doNotDisturb", caller=ALICE)


def test_a_schedule_keeps_calls_out_by_the_local_time(phone: App) -> None:
    dnd(phone, "repeat", "off")
    # Around the clock, and then never today: whatever time it is.
    now = dnd(phone, "schedule", "add", "daily", "00:00-24:00")
    assert (now["state"], now["active"]) == ("scheduled", True)
    kept_out(phone, "doNotDisturb", caller=ALICE)
    days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    dnd(phone, "schedule", "clear")
    # Two days away from now, so that midnight may come.
    far = days[(time.localtime().tm_wday + 3) % 7]
    now = dnd(phone, "schedule", "add", far, "10:00-11:00")
    assert not now["active"] and now["why"]
    ringing(phone, caller=ALICE)
    dnd(phone, "schedule", "remove", far, "10:00-11:00")
    assert dnd(phone)["state"] == "off"


@pytest.mark.parametrize("words", [["nowday", "10:00-11:00"], ["mon", "25:00-26:00"], ["mon"], ["mon", "10:00"]])
def test_a_schedule_that_makes_no_sense_is_refused_and_says_where(phone: App, words: list[str]) -> None:
    done = phone.daemon.ringwake("dnd", "schedule", "add", *words)
    assert done.returncode in (1, 2) and any(word in done.stderr for word in words), done
    assert dnd(phone)["schedule"] == []


def test_a_caller_who_calls_again_soon_breaks_through(phone: App) -> None:
    dnd(phone, "on")
    dnd(phone, "repeat", "5m")
    kept_out(phone, "doNotDisturb", caller=ALICE)
    kept_out(phone, "doNotDisturb", caller=BOB)
    # The same caller, however written.
    ringing(phone, caller="SIP:alice@EXAMPLE.org;transport=tls")
    kept_out(phone, "doNotDisturb", caller="sip:carol@example.org")


def test_but_not_later_than_that(phone: App) -> None:
    dnd(phone, "on")
    dnd(phone, "repeat", "1s")
    kept_out(phone, "doNotDisturb", caller=ALICE)
    time.sleep(1.5)
    kept_out(phone, "doNotDisturb", caller=ALICE)


def test_whoever_is_allowed_rings_all_the_same(telephone) -> None:
    app = telephone()
    allow_two_apps(app.daemon)
    app.by_exec(more=PAYLOAD)
    other = App(app.daemon, OTHER_APP).by_exec(more=PAYLOAD)
    app.daemon.start()
    dnd(app, "on")
    dnd(app, "repeat", "off")
    dnd(app, "allow", "--caller", "+4930*", "--caller", "*@example.org")
    for caller in (BOB, ALICE, "tel:+4930999"):
        ringing(app, caller=caller)
    kept_out(app, "doNotDisturb", caller="+4989123456")
    dnd(app, "disallow", "--caller", "*@example.org")
    kept_out(app, "doNotDisturb", caller=ALICE)
    dnd(app, "allow", "--app", OTHER_APP)
    ringing(other, caller="+4989123456")


def test_a_caller_who_is_known_only_at_the_report_is_judged_then(telephone) -> None:
    app = telephone()
    app.by_exec()
    app.daemon.start()
    dnd(app, "repeat", "off")
    dnd(app, "on")
    # No exception could let it through: nothing need be woken.
    assert ends(app.daemon, send(app.daemon, caller=ALICE), "restricted") and app.lives() == []
    dnd(app, "allow", "--caller", ALICE)
    call = send(app.daemon, caller=ALICE)
    app.daemon.control.wait_for(call, "ringing")
    other = send(app.daemon, caller="sip:carol@example.org")
    ended = ends(app.daemon, other, "restricted")
    assert ended["restriction"]["kind"] == "doNotDisturb" and app.woken(other)
    assert "rang" not in [hop["stage"] for hop in ended["timeline"]]
    assert failures(app.daemon) == []


def test_events_tell_of_what_was_kept_out(phone: App) -> None:
    dnd(phone, "on")
    dnd(phone, "repeat", "off")
    with phone.daemon.control.events() as events:
        call = send(phone.daemon, caller=ALICE)
        told = events.until("restricted")[-1]
    assert (told["call"], told["restriction"]["kind"]) == (call, "doNotDisturb") and told["restriction"]["detail"]


def test_a_call_that_is_repeated_by_its_sender_counts_once(phone: App) -> None:
    """The same push again is no second call of the same caller."""
    dnd(phone, "on")
    dnd(phone, "repeat", "5m")
    ended = kept_out(phone, "doNotDisturb", caller=ALICE)
    assert push(phone.daemon, ended["call"], json.dumps({"caller": ALICE}).encode()).status == 200
    assert phone.lives() == [] and shown(phone.daemon, ended["call"])["state"] == "ended"


# Limits

def test_an_app_calls_no_oftener_than_it_may(telephone) -> None:
    app = telephone(restrictions='app_calls = "2/1h"').by_exec(more=PAYLOAD)
    app.daemon.start()
    for _ in range(2):
        user(app.daemon, "call", "decline", ringing(app))
    ended = kept_out(app, "appLimit")
    assert "2" in ended["detail"], ended


def test_nor_does_a_caller(telephone) -> None:
    app = telephone(restrictions='caller_calls = "1/1h"').by_exec(more=PAYLOAD)
    app.daemon.start()
    ringing(app, caller=ALICE)
    kept_out(app, "callerLimit", caller="Alice <sip:alice@example.org>")
    ringing(app, caller=BOB)


def test_limits_pass(telephone) -> None:
    app = telephone(restrictions='caller_calls = "1/2s"').by_exec(more=PAYLOAD)
    app.daemon.start()
    ringing(app, caller=ALICE)
    kept_out(app, "callerLimit", caller=ALICE)
    time.sleep(2.2)
    ringing(app, caller=ALICE)


def test_an_apps_own_limit_goes_before_the_devices_live(telephone) -> None:
    app = telephone(restrictions='app_calls = "1/1h"').by_exec(more=PAYLOAD)
    app.daemon.start()
    ringing(app)
    kept_out(app, "appLimit")
    app.by_exec(more=PAYLOAD + '[restrictions]\napp_calls = "50/1h"\n')
    user(app.daemon, "reload")
    ringing(app)


# Levels

def test_an_app_above_the_allowed_level_is_kept_out_live(telephone) -> None:
    app = telephone(restrictions="allowed_level = 12")
    app.by_exec(more=PAYLOAD + "[restrictions]\nlevel = 17\n")
    app.daemon.start()
    ended = kept_out(app, "level")
    assert "17" in ended["detail"] and "12" in ended["detail"]
    assert json.loads(user(app.daemon, "app", "show", APP, "--json").stdout)["level"] == 17
    app.daemon.sections["restrictions"] = "allowed_level = 17"
    app.daemon.write_configuration()
    user(app.daemon, "reload")
    connected(app)


def test_an_app_without_a_level_is_allowed(telephone) -> None:
    app = telephone(restrictions="allowed_level = 4").by_exec(more=PAYLOAD)
    app.daemon.start()
    ringing(app)


def test_numbers_without_a_country_are_read_as_the_device_dials(telephone) -> None:
    app = telephone(restrictions='country = "49"\ntrunk = "0"\ncaller_calls = "1/1h"').by_exec(more=PAYLOAD)
    app.daemon.start()
    ringing(app, caller="030 / 123 456")
    for caller in ("+49 30 123456", "0049 (30) 123-456", "tel:+49-30-123456", "sip:+4930123456@gw.example;user=phone"):
        kept_out(app, "callerLimit", caller=caller)
