"""The sender's and the user's view: what became of each push, and the call log."""

import errno
import json
import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest

from support import api
from support.control import Control, Refused
from support.credentials import APP, TEAM
from support.daemon import Daemon
from support.handlers import Wake
from support.native import Faults, Native
from support.pushing import push, stages, start_call

OTHER = "com.example.other"
PAST = "1700000000"


def handler_of(daemon: Daemon, wake: Wake) -> Control:
    return Control(daemon.control_socket, wake.secret)


def shown(daemon: Daemon, apns_id: str, query: str = "") -> dict:
    """The push as the API shows it, which has to be as described."""
    message = daemon.control.get(f"/v1/pushes/{apns_id}{query}")
    api.check(message, "PushMessage")
    return message


def state(daemon: Daemon, apns_id: str) -> str:
    return shown(daemon, apns_id)["state"]


def log(daemon: Daemon, query: str = "") -> dict:
    message = daemon.control.get(f"/v1/calls{query}")
    api.check(message, "CallListMessage")
    return message


def ids(message: dict) -> list[str]:
    return [call["call"] for call in message["calls"]]


def send(daemon: Daemon, payload: bytes = b"{}", **fields: str) -> str:
    apns_id = str(uuid.uuid4())
    assert push(daemon, apns_id, payload, **fields).status == 200
    return apns_id


@pytest.fixture
def mapped(make_daemon) -> Daemon:
    """A daemon whose app's payloads name call, caller and cancellation."""
    made = make_daemon()
    made.settings["team.topics"] = [APP + ".voip", OTHER + ".voip"]
    made.add_app(more='[payload]\ncall = "/id"\ncaller = "/from"\ncancel = "/cancel"\n')
    made.add_app(app=OTHER)
    return made.start()


def test_a_push_is_followed_from_its_arrival_to_its_calls_end(daemon: Daemon) -> None:
    call, wake = start_call(daemon)
    handler = handler_of(daemon, wake)
    assert state(daemon, call) == "woken"
    api.check(handler.verb(call, "report", caller="sip:alice@example.org"), "CallMessage")
    assert state(daemon, call) == "reported"
    rings = handler.verb(call, "ring")
    api.check(rings, "CallMessage")
    assert rings["state"] == "ringing" and {"journaled", "rang"} <= set(stages(rings))
    assert state(daemon, call) == "ringing"
    daemon.control.verb(call, "answer")
    assert state(daemon, call) == "answered"
    handler.verb(call, "fulfill", action="answer")
    assert state(daemon, call) == "answered"
    handler.verb(call, "ended")
    ended = shown(daemon, call.upper())
    assert (ended["state"], ended["reason"], ended["outcome"]) == ("ended", "remoteEnded", "started")
    assert (ended["pushId"], ended["call"], ended["app"], ended["team"]) == (call, call, APP, TEAM)
    assert (ended["priority"], ended["attempt"], ended["environment"]) == (10, 1, "development")
    assert set(stages(ended)) == {
        "received", "verified", "woke", "journaled", "reported", "rang", "answered", "connected", "audioActive", "ended",
    }  # fmt: skip
    assert "alice" not in json.dumps(ended), "the sender's view has no caller"
    age = datetime.now(timezone.utc) - datetime.fromisoformat(ended["receivedAt"])
    assert timedelta(0) <= age < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("end", "reason", "final"),
    [
        (lambda daemon, handler, call: handler.verb(call, "ended", reason="unanswered"), "unanswered", "missed"),
        (lambda daemon, handler, call: handler.verb(call, "ended", reason="answeredElsewhere"), "answeredElsewhere",
         "ended"),
        (lambda daemon, handler, call: daemon.control.verb(call, "decline"), "declined", "ended"),
    ],
    ids=["unanswered", "answered elsewhere", "declined"],
)  # fmt: skip
def test_an_end_is_missed_where_nobody_decided(daemon: Daemon, end, reason: str, final: str) -> None:
    call, wake = start_call(daemon)
    handler = handler_of(daemon, wake)
    handler.verb(call, "report", ring=True)
    end(daemon, handler, call)
    message = shown(daemon, call)
    assert (message["state"], message["reason"]) == (final, reason)
    if reason != "declined":
        assert daemon.control.call(call)["missed"] == (final == "missed")
        assert ids(log(daemon, "?missed=true")) == ([call] if final == "missed" else [])


def test_expired_cancelled_repeated_and_late_pushes(mapped: Daemon) -> None:
    expired = send(mapped, b'{"id": "old"}', apns_expiration=PAST)
    assert (shown(mapped, expired)["state"], shown(mapped, expired)["outcome"]) == ("expired", "expired")
    first = send(mapped, b'{"id": "c1", "from": "sip:alice@example.org"}')
    mapped.recorders[0].wait("c1")
    more = send(mapped, b'{"id": "c1"}')
    assert (state(mapped, first), state(mapped, more)) == ("woken", "woken")
    cancel = send(mapped, b'{"id": "c1", "cancel": true}')
    again = send(mapped, b'{"id": "c1"}')
    views = [shown(mapped, one) for one in (first, more, cancel, again)]
    assert [view["outcome"] for view in views] == ["started", "updated", "cancelled", "duplicate"]
    assert {view["state"] for view in views} == {"cancelled"} and {view["call"] for view in views} == {"c1"}
    assert "ended" in stages(views[0])
    for view in views[1:]:
        assert stages(view) == ["received", "journaled"], "what did not start its call has a timeline of its own"
    missed = log(mapped, "?missed=true")["calls"]
    assert [(call["call"], call["reason"]) for call in missed] == [("c1", "cancelled"), ("old", "expired")]
    assert missed[0]["caller"] == "sip:alice@example.org"


def test_a_call_that_waits_for_its_handler_is_journaled(make_daemon) -> None:
    daemon = make_daemon()
    recorder = daemon.add_app(instances="app")
    daemon.start()
    first = send(daemon)
    handler = handler_of(daemon, recorder.wait(first))
    second = send(daemon)
    assert shown(daemon, second)["state"] == "journaled" and shown(daemon, second)["attempt"] == 0
    waiting = daemon.control.get(f"/v1/apps/{APP}/pushes")
    api.check(waiting, "CallListMessage")
    assert [(call["call"], call["state"]) for call in waiting["calls"]] == [(second, "queued")]
    with handler.events() as events:
        waits = events.until("pushWaiting", call=second)[-1]
    assert waits["kind"] == "call", "whoever begins to listen is told what waits"
    fetched = handler.get(f"/v1/apps/{APP}/pushes")
    api.check(fetched, "WaitingMessage")
    assert [one["call"] for one in fetched["pushes"]] == [second], "the owner's look took nothing away"
    assert state(daemon, second) == "woken"
    assert daemon.control.get(f"/v1/apps/{APP}/pushes")["calls"] == []
    with pytest.raises(Refused) as refused:
        handler.get(f"/v1/apps/{OTHER}/pushes")
    assert refused.value.status == 403
    assert daemon.control.request("GET", f"/v1/apps/{OTHER}/pushes")[0] == 404


def test_the_log_survives_restarts_and_a_kill(mapped: Daemon) -> None:
    push(mapped, expired := str(uuid.uuid4()), b'{"id": "old"}', apns_expiration=PAST)
    call, wake = start_call(mapped, app=OTHER)
    handler_of(mapped, wake).verb(call, "report", ring=True, caller="sip:bob@example.org")
    handler_of(mapped, wake).verb(call, "ended")
    before = {one: mapped.control.call(one) for one in ("old", call)}
    # What a handler says is answered before the disk has it; a list is read after all that was handed in before.
    mapped.control.get("/v1/calls?limit=1")
    mapped.kill()
    mapped.start()
    for apns_id, final in [(expired, "expired"), (call, "missed")]:
        assert state(mapped, apns_id) == final
    assert ids(log(mapped)) == [call, "old"] and ids(log(mapped, "?missed=true")) == [call, "old"]
    assert ids(log(mapped, f"?app={APP}")) == ["old"]
    for one, known in before.items():
        now = mapped.control.call(one)
        drift = datetime.fromisoformat(now.pop("receivedAt")) - datetime.fromisoformat(known.pop("receivedAt"))
        assert abs(drift) < timedelta(milliseconds=100)
        # The one may not have been written down with its call, the other ends with the handler.
        for message in (now, known):
            message["timeline"] = [hop for hop in message["timeline"] if hop["stage"] != "journaled"]
            message.pop("pid", None)
        assert now == known
    for apns_id in (expired, call):
        assert {"received", "journaled", "ended"} <= set(stages(shown(mapped, apns_id)))


def test_lists_are_read_page_by_page(mapped: Daemon) -> None:
    calls = [f"c{number}" for number in range(7)]
    pushes = [send(mapped, json.dumps({"id": call}).encode(), apns_expiration=PAST) for call in calls]
    call, wake = start_call(mapped, app=OTHER)

    def pages(resource: str, member: str, query: str) -> list[list[str]]:
        found, before = [], ""
        while True:
            message = mapped.control.get(f"/v1/{resource}?limit=3{query}{before}")
            found.append([one[member] for one in message[resource]])
            if "next" not in message:
                return found
            before = f"&before={message['next']}"

    newest = calls[::-1]
    assert pages("calls", "call", "") == [[call, *newest[:3]], newest[3:6], newest[6:]], "what runs comes first"
    assert pages("calls", "call", f"&missed=true&app={APP}") == [newest[:3], newest[3:6], newest[6:]]
    assert pages("pushes", "pushId", f"&app={APP}") == [pushes[:3:-1], pushes[3:0:-1], pushes[:1]]
    assert pages("pushes", "pushId", f"&app={OTHER}") == [[call]]
    handler = handler_of(mapped, wake)
    assert [one["pushId"] for one in handler.get("/v1/pushes")["pushes"]] == [call], "a handler sees its own app's"
    assert ids(handler.get("/v1/calls")) == [call]
    assert handler.request("GET", f"/v1/pushes/{pushes[0]}")[0] == 404
    assert handler.request("GET", f"/v1/pushes/{pushes[0]}?app={APP}")[0] == 403


def test_the_same_id_in_two_apps_needs_the_app(mapped: Daemon) -> None:
    apns_id = send(mapped, apns_expiration=PAST)
    assert push(mapped, apns_id, app=OTHER, apns_expiration=PAST).status == 200
    for target in (f"/v1/pushes/{apns_id}", f"/v1/calls/{apns_id}"):
        status, answer = mapped.control.request("GET", target)
        assert (status, answer["error"]) == (409, "conflict")
        assert APP in answer["message"] and OTHER in answer["message"]
    assert shown(mapped, apns_id, f"?app={OTHER}")["app"] == OTHER
    mapped.stop()
    mapped.start()
    assert mapped.control.request("GET", f"/v1/calls/{apns_id}")[0] == 409
    assert mapped.control.get(f"/v1/calls/{apns_id}?app={APP}")["app"] == APP


def test_a_push_that_was_refused_or_never_came_is_not_in_the_journal(daemon: Daemon) -> None:
    refused = str(uuid.uuid4())
    assert push(daemon, refused, b"not json").status == 400
    for apns_id in (refused, str(uuid.uuid4()), "%00", "a%2Fb"):
        status, answer = daemon.control.request("GET", f"/v1/pushes/{apns_id}")
        assert (status, answer["error"]) == (404, "not-found")
    assert "refused: PayloadEmpty" in daemon.ringwake("push", "show", refused).stdout


def test_strikes_and_the_journal_are_in_the_status(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app("false")
    daemon.start()
    with daemon.control.events() as events:
        call = send(daemon)
        seen = events.until("missed", call=call)
    for event in seen:
        api.check(event, "EventMessage")
    [strike] = [event for event in seen if event["event"] == "strike"]
    assert (strike["app"], strike["call"], strike["failure"]) == (APP, call, "exited")
    status = daemon.control.status()
    api.check(status, "StatusMessage")
    assert status["strikes"] == {APP: 1}
    journal = status["journal"]
    assert (journal["state"], journal["pushes"], journal["calls"]) == ("working", 1, 1)
    assert journal["file"] == str(daemon.directory / "state" / "store.db")
    assert journal["bytes"] > 0
    text = daemon.ringwake("status").stdout
    assert "journal working, 1 pushes, 1 calls" in text and f"strikes 1\n  {APP}  1\n" in text


def test_the_command_line_shows_pushes_and_the_call_log(mapped: Daemon) -> None:
    send(mapped, b'{"id": "old", "from": "sip:alice@example.org"}', apns_expiration=PAST)
    call, wake = start_call(mapped, app=OTHER)
    handler_of(mapped, wake).verb(call, "report", ring=True)
    headings, *listed = mapped.ringwake("push", "list").stdout.splitlines()
    assert headings.split() == ["time", "(UTC)", "push", "app", "state", "outcome"]
    assert [line.split()[2:] for line in listed] == [
        [call, OTHER, "ringing"], [listed[1].split()[2], APP, "expired", "expired"],
    ]  # fmt: skip
    shown_text = mapped.ringwake("push", "show", call.upper()).stdout
    assert shown_text.startswith(f"push {call}\n") and "state     ringing" in shown_text
    assert "stage" in shown_text and "UTC" in shown_text and "rang" in shown_text
    _, missed = mapped.ringwake("call", "list", "--missed").stdout.splitlines()
    assert re.search(rf"old +{APP} +missed \(it came too late\) +sip:alice@example.org$", missed)
    assert len(mapped.ringwake("call", "list", "--limit", "1").stdout.splitlines()) == 3
    api.check(json.loads(mapped.ringwake("push", "show", call, "--json").stdout), "PushMessage")
    api.check(json.loads(mapped.ringwake("push", "list", "--json", "--app", APP).stdout), "PushListMessage")
    api.check(json.loads(mapped.ringwake("call", "list", "--json", "--missed").stdout), "CallListMessage")
    api.check(json.loads(mapped.ringwake("call", "show", "old", "--json").stdout), "CallMessage")


@pytest.fixture
def ailing(make_daemon, tmp_path) -> Iterator[tuple[Daemon, Faults]]:
    """A daemon whose disk can be made to fail."""
    faults = Faults(Native.make(tmp_path))
    made = make_daemon()
    made.user = faults.prefix(made.directory / "state")
    made.calls = {"report": "10m"}
    made.add_app()
    yield made.start(), faults
    faults.clear_away()


def test_a_push_that_the_journal_could_not_take_is_accepted_only(ailing: tuple[Daemon, Faults]) -> None:
    daemon, faults = ailing
    faults.set(sync=errno.EIO)
    apns_id = str(uuid.uuid4())
    assert push(daemon, apns_id).status == 503
    wake = daemon.recorders[0].wait(apns_id)
    taken = shown(daemon, apns_id.upper())
    assert (taken["state"], taken["outcome"], taken["pushId"]) == ("accepted", "started", apns_id)
    assert "journaled" not in stages(taken) and "priority" not in taken
    assert ids(log(daemon)) == [apns_id], "the call runs all the same"
    assert daemon.control.get("/v1/pushes")["pushes"] == []
    handler_of(daemon, wake).verb(apns_id, "ended")
    assert ids(log(daemon, "?missed=true")) == [apns_id], "and is in the log, which the daemon remembers"
    faults.set()
    assert push(daemon, apns_id).status == 200
    assert state(daemon, apns_id) == "missed"


def test_a_disk_that_hangs_hides_the_log_and_says_so(ailing: tuple[Daemon, Faults]) -> None:
    daemon, faults = ailing
    call, _ = start_call(daemon)
    over, wake = start_call(daemon)
    faults.set(hang=1)
    handler_of(daemon, wake).verb(over, "ended")
    # Each takes as long as the daemon waits for the disk, so all at once.
    targets = ["/v1/calls", f"/v1/pushes/{call}", "/v1/pushes", "/v1/calls/none"]
    with ThreadPoolExecutor() as pool:
        printed = pool.submit(daemon.ringwake, "push", "show", call)
        (status, seen), *refused = pool.map(lambda target: daemon.control.request("GET", target), targets)
        assert printed.result().returncode == 6
    api.check(seen, "CallListMessage")
    assert (status, ids(seen)) == (200, [call, over]) and "did not answer" in seen["incomplete"]
    assert [(status, answer["error"]) for status, answer in refused] == [(504, "timed-out")] * 3
    faults.set()
    assert state(daemon, call) == "woken" and "incomplete" not in log(daemon)
