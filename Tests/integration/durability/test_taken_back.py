"""What was taken back, or ended by the user, stays so across `kill -9`: nothing is woken or rung for it again."""

import random
import uuid

import pytest

from support.control import Control
from support.daemon import Daemon
from support.flood import new_call
from support.h2client import H2Client, push_fields
from support.handlers import Recorder
from support.pushing import push

CALLS = 24


def payload(call: str, cancel: bool = False) -> bytes:
    return b'{"ringwake":{"call":"%s"%s}}' % (call.encode(), b',"cancel":true' if cancel else b"")


@pytest.fixture
def mapped(make_daemon) -> tuple[Daemon, Recorder]:
    """A running daemon whose senders name their calls in the payload and take them back by push."""
    daemon: Daemon = make_daemon()
    handler = daemon.add_app(more='[payload]\npreset = "ringwake"\n')
    return daemon.start(), handler


@pytest.mark.parametrize("seed", range(4))
def test_a_call_that_was_taken_back_is_not_delivered_after_a_kill(mapped, seed: int) -> None:
    daemon, handler = mapped
    generator = random.Random(seed)
    calls = [new_call(generator) for _ in range(CALLS)]
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        token = daemon.device_token()
        for stream in [client.send(push_fields(token), payload(call)) for call in calls]:
            assert client.wait(stream).status == 200
        first = {call: handler.wait(call).pid for call in calls}
        cancels = {call: client.send(push_fields(token), payload(call, cancel=True)) for call in calls}
        # Killed after some of the answers: the others may have gone either way.
        for call in calls[: generator.randint(1, CALLS)]:
            assert client.wait(cancels[call]).status == 200
        taken_back = [call for call, stream in cancels.items() if client.answers[stream].status == 200]
        daemon.kill()
    daemon.start()
    for call in taken_back:
        known = daemon.control.call(call)
        assert (known["state"], known.get("reason"), known["attempt"]) == ("ended", "cancelled", 1), known
        assert handler.wait(call).pid == first[call], "a handler was woken for a call that was taken back"
    for call in set(calls) - set(taken_back):
        assert daemon.control.call(call)["state"] in ("woken", "ended")


def test_a_call_that_was_taken_back_before_it_came_does_not_ring_after_a_kill(mapped) -> None:
    daemon, handler = mapped
    call = str(uuid.uuid4())
    assert push(daemon, str(uuid.uuid4()), payload(call, cancel=True)).status == 200
    daemon.kill()
    daemon.start()
    assert push(daemon, str(uuid.uuid4()), payload(call)).status == 200
    assert daemon.control.call(call)["reason"] == "cancelled"
    assert handler.count() == 0


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("end", ["decline", "end"])
def test_a_call_that_the_user_ended_stays_ended(mapped, end: str, at_once: bool) -> None:
    daemon, handler = mapped
    call = str(uuid.uuid4())
    assert push(daemon, call, payload(call)).status == 200
    control = Control(daemon.control_socket, handler.wait(call).secret)
    control.verb(call, "report", ring=True)
    if end == "end":
        daemon.control.verb(call, "answer")
        control.verb(call, "fulfill", action="answer")
    daemon.control.verb(call, end)
    if not at_once:
        journaled(daemon)
    pid = handler.wait(call).pid
    daemon.kill()
    daemon.start()
    known = daemon.control.call(call)
    # Its handler runs still, and has to say goodbye to the other side.
    assert known["state"] == "ending", known
    assert known["reason"] == ("declined" if end == "decline" else "localEnded"), known
    assert known["missed"] is False
    assert control.verb(call, "fulfill", action="end")["state"] == "ended"
    assert handler.wait(call).pid == pid, "a handler was woken for a call that the user had ended"


def journaled(daemon: Daemon) -> None:
    """Waits until everything that has happened is written: a list is read after all that was handed in before."""
    daemon.control.get("/v1/calls?limit=1")


def test_a_call_that_was_answered_goes_on_after_a_kill(mapped) -> None:
    daemon, handler = mapped
    call = str(uuid.uuid4())
    assert push(daemon, call, payload(call)).status == 200
    control = Control(daemon.control_socket, handler.wait(call).secret)
    control.verb(call, "report", ring=True)
    daemon.control.verb(call, "answer")
    control.verb(call, "fulfill", action="answer")
    journaled(daemon)
    daemon.kill()
    daemon.start()
    known = daemon.control.call(call)
    assert (known["state"], known["missed"], known["attempt"]) == ("connected", False, 1), known
    assert control.verb(call, "ended")["missed"] is False
