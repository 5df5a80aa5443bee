"""Several pushes for one call: repeats, updates, and pushes that take their call back."""

import json
import uuid

from support import processes
from support.control import Control
from support.daemon import Daemon
from support.handlers import Wake
from support.pushing import push
from support.waiting import until


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
    assert (call["apnsId"], call["caller"]) == (apns_id, "sip:alice@example.org")
    handler = part(daemon, daemon.recorders[0].wait("c1"))
    handler.verb("c1", "report", callerName="Alice", ring=True)
    call = daemon.control.call("c1")
    assert (call["caller"], call["callerName"]) == ("sip:alice@example.org", "Alice"), "what the handler adds is added"


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
