"""The life of a call, with the test in the parts of the handler (by its wake secret) and of the user."""

import json
import uuid

import pytest

from support.control import Control
from support.credentials import APP
from support.daemon import Daemon
from support.handlers import Recorder, Wake
from support.programs import run
from support.pushing import push, stages, start_call

# A call from the push to its end, as the timeline has it.
WHOLE_LIFE = [
    "received", "verified", "woke", "journaled", "reported", "rang", "answered", "connected", "audioActive",
    "hungUp", "ended",
]


def part(daemon: Daemon, wake: Wake) -> Control:
    """The control API with a handler's rights."""
    return Control(daemon.control_socket, wake.secret)


def ringing_call(daemon: Daemon) -> tuple[str, Wake, Control]:
    call, wake = start_call(daemon)
    handler = part(daemon, wake)
    assert handler.verb(call, "report", caller="sip:alice@example.com", ring=True)["state"] == "ringing"
    return call, wake, handler


def test_a_call_from_the_push_to_hanging_up(daemon: Daemon) -> None:
    call, wake = start_call(daemon)
    handler, user = part(daemon, wake), daemon.control
    assert user.call(call)["state"] == "woken"
    assert user.call(call)["pid"] == wake.pid
    message = handler.verb(call, "report", caller="sip:alice@example.com", callerName="Alice 🦊", video=True)
    assert (message["state"], message["caller"], message["callerName"], message["video"]) == (
        "reported", "sip:alice@example.com", "Alice 🦊", True,
    )  # fmt: skip
    assert handler.verb(call, "ring")["state"] == "ringing"
    assert user.verb(call, "answer")["state"] == "answering"
    assert handler.verb(call, "fulfill", action="answer")["state"] == "connected"
    assert user.status()["activeCalls"] == 1
    assert user.verb(call, "end")["state"] == "ending"
    ended = handler.verb(call, "fulfill", action="end")
    assert (ended["state"], ended["reason"]) == ("ended", "localEnded")
    assert stages(ended) == WHOLE_LIFE
    assert user.status()["activeCalls"] == 0


def test_the_same_with_curl_on_the_socket(daemon: Daemon) -> None:
    call, wake = start_call(daemon)

    def curl(path: str, body: dict | None = None, secret: str | None = None) -> dict:
        options = ["--header", f"Authorization: Bearer {secret}"] if secret else []
        if body is not None:
            options += ["--json", json.dumps(body)]
        if path.count("/") == 4:
            options += ["--request", "POST"]
        socket = ["--unix-socket", daemon.control_socket]
        done = run("curl", "--silent", "--show-error", "--fail-with-body", *socket, *options, f"http://localhost{path}")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    curl(f"/v1/calls/{call}/report", {"caller": "sip:bob@example.com", "ring": True}, wake.secret)
    curl(f"/v1/calls/{call}/answer")
    curl(f"/v1/calls/{call}/fulfill", {"action": "answer"}, wake.secret)
    assert curl(f"/v1/calls/{call}?app={APP}", secret=wake.secret)["state"] == "connected"
    curl(f"/v1/calls/{call}/end")
    assert stages(curl(f"/v1/calls/{call}/fulfill", {"action": "end"}, wake.secret)) == WHOLE_LIFE
    [listed] = curl("/v1/calls")["calls"]
    assert (listed["call"], listed["reason"]) == (call, "localEnded")


def test_a_declined_call_waits_for_the_handler_to_end_it(daemon: Daemon) -> None:
    call, _, handler = ringing_call(daemon)
    assert daemon.control.verb(call, "decline")["state"] == "ending"
    ended = handler.verb(call, "fulfill", action="end")
    assert (ended["state"], ended["reason"]) == ("ended", "declined")
    assert "answered" not in stages(ended)


def test_the_other_side_hangs_up_while_it_rings(daemon: Daemon) -> None:
    call, _, handler = ringing_call(daemon)
    ended = handler.verb(call, "ended")
    assert (ended["state"], ended["reason"]) == ("ended", "remoteEnded")


@pytest.mark.parametrize("reason", ["answeredElsewhere", "declinedElsewhere", "failed", "unanswered"])
def test_the_handler_says_why_a_call_ended(daemon: Daemon, reason: str) -> None:
    call, _, handler = ringing_call(daemon)
    assert handler.verb(call, "ended", reason=reason)["reason"] == reason


def test_a_handler_cannot_end_a_call_for_a_reason_of_the_users(daemon: Daemon) -> None:
    call, _, handler = ringing_call(daemon)
    status, answer = handler.request("POST", f"/v1/calls/{call}/ended", {"reason": "declined"})
    assert (status, answer["error"]) == (400, "invalid-request")
    assert daemon.control.call(call)["state"] == "ringing"


def test_an_answer_that_the_handler_fails_ends_the_call(daemon: Daemon) -> None:
    call, _, handler = ringing_call(daemon)
    daemon.control.verb(call, "answer")
    ended = handler.verb(call, "fail", action="answer")
    assert (ended["state"], ended["reason"]) == ("ended", "failed")


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("ring", None), ("answer", None), ("decline", None), ("fulfill", {"action": "answer"}),
        ("fail", {"action": "end"}),
    ],  # fmt: skip
)
def test_what_does_not_fit_the_state_changes_nothing(daemon: Daemon, verb: str, body: dict | None) -> None:
    call, _ = start_call(daemon)
    status, answer = daemon.control.request("POST", f"/v1/calls/{call}/{verb}", body)
    assert (status, answer["error"]) == (409, "conflict")
    assert "woken" in answer["message"] and verb in answer["message"]
    assert daemon.control.call(call)["state"] == "woken"


def test_a_report_that_comes_again_is_answered_and_changes_nothing(daemon: Daemon) -> None:
    """A handler repeats it when it got no answer: its daemon was killed, perhaps after it had recorded the report."""
    call, _, handler = ringing_call(daemon)
    before = daemon.control.call(call)["timeline"]
    assert handler.verb(call, "report", ring=True, caller="sip:mallory@example.org")["state"] == "ringing"
    after = daemon.control.call(call)
    assert after["timeline"] == before and after.get("caller") != "sip:mallory@example.org"
    daemon.control.verb(call, "decline")
    handler.verb(call, "fulfill", action="end")
    status, answer = handler.request("POST", f"/v1/calls/{call}/report", {"ring": True})
    assert (status, answer["error"]) == (409, "conflict"), "it does not ring any more"


def test_a_repeated_apns_id_starts_no_second_handler(daemon: Daemon, handler: Recorder) -> None:
    call, _, _ = ringing_call(daemon)
    with daemon.control.events() as events:
        assert push(daemon, call).status == 200
        last = events.until("pushIgnored")[-1]
    assert (last["call"], last["outcome"]) == (call, "duplicate")
    daemon.control.verb(call, "decline")
    assert push(daemon, call, b'{"again":true}').status == 200
    assert handler.count() == 1
    assert len(daemon.control.calls()) == 1
    assert daemon.control.status()["pushes"]["accepted"] == 3


def test_an_expired_push_is_accepted_and_wakes_nobody(daemon: Daemon, handler: Recorder) -> None:
    call = str(uuid.uuid4())
    with daemon.control.events() as events:
        answer = push(daemon, call, apns_expiration="1700000000")
        assert (answer.status, answer.frames) == (200, ["headers+end"])
        last = events.until("missed")[-1]
    assert (last["call"], last["endReason"]) == (call, "expired")
    assert handler.count() == 0
    recorded = daemon.control.call(call)
    assert (recorded["state"], recorded["reason"], stages(recorded)) == (
        "ended", "expired", ["received", "verified", "ended", "journaled"],
    )


def test_apns_expiration_0_rings_now(daemon: Daemon) -> None:
    call, wake = start_call(daemon, apns_expiration="0")
    assert part(daemon, wake).verb(call, "report", ring=True)["state"] == "ringing"


def test_several_calls_of_one_app_live_side_by_side(daemon: Daemon, handler: Recorder) -> None:
    parts = [ringing_call(daemon) for _ in range(3)]
    assert handler.count() == 3
    first, second, third = (call for call, _, _ in parts)
    daemon.control.verb(first, "answer")
    daemon.control.verb(second, "decline")
    assert [daemon.control.call(call)["state"] for call in (first, second, third)] == [
        "answering", "ending", "ringing",
    ]  # fmt: skip
    # A handler speaks for its own call only, though it is of the same app.
    assert parts[2][2].request("POST", f"/v1/calls/{first}/fulfill", {"action": "answer"})[0] == 403
    parts[0][2].verb(first, "fulfill", action="answer")
    assert daemon.control.status()["activeCalls"] == 3


def test_two_apps_may_use_one_call_id(make_daemon) -> None:
    other = "com.example.other"
    daemon = make_daemon()
    daemon.settings["team.topics"] = [APP + ".voip", other + ".voip"]
    mine, others = daemon.add_app(), daemon.add_app(app=other)
    daemon.start()
    call = str(uuid.uuid4())
    assert push(daemon, call).status == push(daemon, call, app=other).status == 200
    assert mine.wait(call).secret != others.wait(call).secret
    status, answer = daemon.control.request("POST", f"/v1/calls/{call}/end")
    assert status == 409 and other in answer["message"]
    assert daemon.control.get(f"/v1/calls/{call}?app={other}")["app"] == other
