"""Several pushes for one call: repeats, updates, and pushes that take their call back."""

import json
import uuid

import pytest

from support import processes
from support.control import Control
from support.credentials import APP
from support.daemon import Daemon
from support.handlers import Wake
from support.programs import ROOT
from support.pushing import push
from support.waiting import until


OTHER = "com.example.other"
MAPPING = '[payload]\ncall = "/id"\ncaller = "/from"\ncancel = "/cancel"\nring_time = "/ring"\n'


def part(daemon: Daemon, wake: Wake) -> Control:
    return Control(daemon.control.path, wake.environment["RINGWAKE_WAKE_SECRET"])


def mapped(make_daemon) -> Daemon:
    made = make_daemon()
    made.add_app(more=MAPPING)
    return made.start()


def send(daemon: Daemon, **payload: object) -> str:
    apns_id = str(uuid.uuid4())
    assert push(daemon, apns_id, json.dumps(payload).encode()).status == 200
    return apns_id


def test_the_payload_names_call_and_caller(make_daemon) -> None:
    daemon = mapped(make_daemon)
    with daemon.control.events() as events:
        apns_id = send(daemon, id="c1", **{"from": "sip:alice@example.org"})
        woken = events.until("call", call="c1")[-1]
    assert (woken["state"], woken["caller"]) == ("woken", "sip:alice@example.org"), "known before the handler reports"
    call = daemon.control.call("c1")
    assert (call["pushId"], call["caller"]) == (apns_id, "sip:alice@example.org")
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    handler.verb("c1", "report", callerName="Alice", ring=True)
    call = daemon.control.call("c1")
    assert (call["caller"], call["callerName"]) == ("sip:alice@example.org", "Alice"), "what the handler adds is added"


@pytest.mark.parametrize("blank", ["", " ", "\t\u00a0"])
def test_a_blank_caller_in_a_report_leaves_what_the_payload_said(make_daemon, blank: str) -> None:
    daemon = mapped(make_daemon)
    send(daemon, id="c1", **{"from": "sip:alice@example.org"})
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    handler.verb("c1", "report", caller=blank, callerName=blank)
    call = daemon.control.call("c1")
    assert (call["caller"], call.get("callerName")) == ("sip:alice@example.org", None)


def test_the_shell_handler_keeps_the_caller_that_the_payload_said(make_daemon) -> None:
    daemon = make_daemon()
    daemon.set_handler([str(ROOT / "Examples" / "shell-handler" / "handler")], more=MAPPING)
    daemon.start()
    send(daemon, id="c1", **{"from": "sip:alice@example.org"})
    assert daemon.control.wait_for("c1", "ringing")["caller"] == "sip:alice@example.org"
    send(daemon, id="c2", caller="sip:bob@example.org")
    assert daemon.control.wait_for("c2", "ringing")["caller"] == "sip:bob@example.org", "a caller that it knows is told"
    for call in ("c1", "c2"):
        daemon.control.verb(call, "decline")
        daemon.control.wait_for(call, "ended")


def test_a_long_caller_in_a_report_is_cut_as_the_payloads_is(make_daemon) -> None:
    daemon = mapped(make_daemon)
    long = "a" * 255 + "é"
    send(daemon, id="c1", **{"from": long})
    assert daemon.control.call("c1")["caller"] == "a" * 255
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    answer = handler.verb("c1", "report", caller="b" + long, callerName=long)
    assert (answer["state"], answer["caller"], answer["callerName"]) == ("reported", "b" + "a" * 255, "a" * 255)


def test_a_zero_byte_in_a_report_is_refused(make_daemon) -> None:
    daemon = mapped(make_daemon)
    send(daemon, id="c1", **{"from": "sip:alice@example.org"})
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    status, answer = handler.request("POST", "/v1/calls/c1/report", {"callerName": "Al\0ice"})
    assert (status, answer["error"]) == (400, "invalid-request")
    assert "'callerName'" in answer["message"] and "zero byte" in answer["message"]
    assert daemon.control.call("c1")["state"] == "woken"


def test_the_same_call_id_in_another_push_does_not_ring_again(make_daemon) -> None:
    daemon = mapped(make_daemon)
    send(daemon, id="c1")
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    handler.verb("c1", "report", ring=True)
    with daemon.control.events() as events:
        second = send(daemon, id="c1", **{"from": "sip:bob@example.org"})
        assert events.until("call", caller="sip:bob@example.org")[-1]["state"] == "ringing"
    assert daemon.recorders[0].count() == 1
    assert daemon.control.get(f"/v1/pushes/{second}")["outcome"] == "updated"
    daemon.control.verb("c1", "decline")
    handler.verb("c1", "fulfill", action="end")
    third = send(daemon, id="c1")
    assert daemon.control.get(f"/v1/pushes/{third}")["outcome"] == "duplicate"
    assert daemon.recorders[0].count() == 1


def test_a_call_of_another_app_that_is_over_does_not_stand_in_the_way(make_daemon) -> None:
    daemon = make_daemon()
    daemon.settings["team.topics"] = [APP + ".voip", OTHER + ".voip"]
    daemon.add_app(more=MAPPING)
    daemon.add_app(app=OTHER, more=MAPPING)
    daemon.start()
    push(daemon, str(uuid.uuid4()), b'{"id":"c1","cancel":true}', app=OTHER)
    send(daemon, id="c1")
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    handler.verb("c1", "report", ring=True)
    assert daemon.control.verb("c1", "answer")["app"] == APP
    status, answer = daemon.control.request("GET", "/v1/calls/c1")
    assert (status, answer["error"]) == (409, "conflict"), "which one to show is still a question"


def test_two_calls_of_one_id_that_run_have_to_be_told_apart(make_daemon) -> None:
    daemon = make_daemon()
    daemon.settings["team.topics"] = [APP + ".voip", OTHER + ".voip"]
    daemon.add_app(more=MAPPING)
    daemon.add_app(app=OTHER, more=MAPPING)
    daemon.start()
    for app in (APP, OTHER):
        push(daemon, str(uuid.uuid4()), b'{"id":"c1"}', app=app)
    status, answer = daemon.control.request("POST", "/v1/calls/c1/end")
    assert (status, answer["error"]) == (409, "conflict")
    assert daemon.control.post(f"/v1/calls/c1/end?app={OTHER}")["app"] == OTHER


def test_cancel_before_the_call_came(make_daemon) -> None:
    daemon = mapped(make_daemon)
    send(daemon, id="c1", cancel=True)
    late = send(daemon, id="c1")
    call = daemon.control.call("c1")
    assert (call["state"], call["reason"]) == ("ended", "cancelled")
    assert daemon.recorders[0].count() == 0
    assert daemon.control.get(f"/v1/pushes/{late}")["state"] == "cancelled"


def test_cancel_while_waking_leaves_no_handler_running(make_daemon) -> None:
    daemon = mapped(make_daemon)
    send(daemon, id="c1")
    wake = daemon.recorders[0].wait("c1")
    send(daemon, id="c1", cancel=True)
    assert daemon.control.wait_for("c1", "ended")["reason"] == "cancelled"
    until(lambda: not processes.is_running(wake.pid), 10, "the handler to be stopped")


def test_cancel_while_it_rings(make_daemon) -> None:
    daemon = mapped(make_daemon)
    send(daemon, id="c1")
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    handler.verb("c1", "report", ring=True)
    send(daemon, id="c1", cancel="answeredElsewhere")
    call = daemon.control.wait_for("c1", "ended")
    assert (call["reason"], call["missed"]) == ("answeredElsewhere", False)


def test_cancel_after_the_answer_is_too_late(make_daemon) -> None:
    daemon = mapped(make_daemon)
    send(daemon, id="c1")
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    handler.verb("c1", "report", ring=True)
    daemon.control.verb("c1", "answer")
    late = send(daemon, id="c1", cancel=True)
    assert daemon.control.get(f"/v1/pushes/{late}")["outcome"] == "tooLate"
    assert daemon.control.call("c1")["state"] == "answering"


def test_the_ring_time_of_the_payload_counts(make_daemon) -> None:
    daemon = mapped(make_daemon)
    send(daemon, id="c1", ring=1)
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    handler.verb("c1", "report", ring=True)
    call = daemon.control.wait_for("c1", "ended", seconds=5)
    assert (call["reason"], call["missed"]) == ("unanswered", True)


def test_an_apns_id_is_the_same_in_either_case(daemon: Daemon) -> None:
    apns_id = str(uuid.uuid4())
    assert push(daemon, apns_id.upper()).fields["apns-id"] == apns_id.upper()
    assert push(daemon, apns_id).fields["apns-id"] == apns_id
    daemon.recorders[0].wait(apns_id)
    assert len(daemon.control.calls()) == 1
