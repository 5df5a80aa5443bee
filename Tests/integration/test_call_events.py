"""`GET /v1/events`: NDJSON, filtered, and bounded for readers that do not read."""

import socket
import uuid

from support import processes
from support.control import Control
from support.credentials import APP
from support.daemon import Daemon
from support.h2client import H2Client, push_fields
from support.pushing import push, start_call
from support.waiting import until

# A reader that takes nothing is dropped when this many bytes wait for it, `EventMessage` says.
READER_LIMIT = 1024 * 1024


def test_the_stream_tells_each_change_of_a_call(daemon: Daemon) -> None:
    with daemon.control.events() as events:
        assert (events.status, events.content_type) == (200, "application/x-ndjson")
        call, wake = start_call(daemon)
        handler = Control(daemon.control_socket, wake.secret)
        handler.verb(call, "report", caller="sip:alice@example.com", ring=True)
        daemon.control.verb(call, "answer")
        handler.verb(call, "fulfill", action="answer")
        handler.verb(call, "ended")
        first, *seen = events.until("call", state="ended")
    assert first["event"] == "connection" and "app" not in first
    assert {event["schema"] for event in seen} == {1}
    told = [(event["event"], event.get("state") or event.get("action")) for event in seen]
    assert told == [
        ("call", "woken"), ("call", "reported"), ("call", "confirmed"), ("call", "ringing"), ("call", "answering"), ("action", "answer"),
        ("call", "connected"), ("audioActivated", None), ("audioDeactivated", None), ("call", "ended"),
    ]  # fmt: skip
    assert seen[-1]["endReason"] == "remoteEnded"
    assert {event["activation"] for event in seen if "activation" in event} == {1}
    assert seen[2]["caller"] == "sip:alice@example.com"
    assert all(0 < event["deadlineMs"] <= 4 * 3600 * 1000 for event in seen[:-2] if "activation" not in event)


def test_the_stream_begins_with_where_calls_stand(daemon: Daemon) -> None:
    """A handler that reports first and listens afterwards misses nothing, not even what it is asked to do."""
    call, wake = start_call(daemon)
    handler = Control(daemon.control_socket, wake.secret)
    handler.verb(call, "report", ring=True)
    daemon.control.verb(call, "answer")
    with handler.events(f"?call={call}") as events:
        seen = events.until("action", action="answer")
    assert [event["event"] for event in seen] == ["call", "action"]
    assert seen[0]["state"] == "answering"


def test_filters_leave_out_other_calls_and_apps(make_daemon) -> None:
    other = "com.example.other"
    daemon = make_daemon()
    daemon.settings["team.topics"] = [APP + ".voip", other + ".voip"]
    daemon.add_app()
    daemon.add_app(app=other)
    daemon.start()
    mine = str(uuid.uuid4())
    with daemon.control.events(f"?app={other}") as of_app, daemon.control.events(f"?call={mine}") as of_call:
        push(daemon, str(uuid.uuid4()))
        push(daemon, mine)
        theirs = str(uuid.uuid4())
        push(daemon, theirs, app=other)
        assert {event.get("call") for event in of_app.until("call", call=theirs)} == {None, theirs}
        assert {event["call"] for event in of_call.until("call", call=mine)} == {mine}


def test_a_handlers_stream_is_its_apps(make_daemon) -> None:
    other = "com.example.other"
    daemon = make_daemon()
    daemon.settings["team.topics"] = [APP + ".voip", other + ".voip"]
    daemon.add_app()
    daemon.add_app(app=other)
    daemon.start()
    call, wake = start_call(daemon)
    theirs, _ = start_call(daemon, app=other)
    with Control(daemon.control_socket, wake.secret).events() as events:
        Control(daemon.control_socket, wake.secret).verb(call, "report")
        seen = events.until("call", state="reported")
        assert theirs not in {event.get("call") for event in seen}
        assert {event["app"] for event in seen} == {APP}


def test_a_reader_that_does_not_read_is_dropped(make_daemon) -> None:
    daemon = make_daemon()
    handler = daemon.add_app("true")
    daemon.start()
    reader = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.connect(str(daemon.control_socket))
    reader.sendall(b"GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert reader.recv(12) == b"HTTP/1.1 200"
    call = str(uuid.uuid4())
    push(daemon, call)
    handler.wait(call)
    before = processes.resident_kilobytes(daemon.pid)
    # Each repeat is an event of about 150 bytes; far more of them than the socket's and the daemon's buffers hold.
    flood(daemon, call, 16000)
    until(lambda: is_dropped(reader), 10, "the reader to be dropped")
    assert processes.resident_kilobytes(daemon.pid) - before < 4 * READER_LIMIT // 1024 + 4096
    daemon.check_alive()
    reader.close()


def flood(daemon: Daemon, call: str, count: int) -> None:
    """Sends one push again and again on one connection."""
    token = daemon.device_token()
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        fields = push_fields(token, apns_id=call)
        for _ in range(count // 100):
            for stream in [client.send(fields) for _ in range(100)]:
                assert client.wait(stream).status == 200


def is_dropped(reader: socket.socket) -> bool:
    """Whether the daemon closed its end: then there is an end behind what the kernel still holds."""
    reader.settimeout(0.2)
    try:
        while reader.recv(65536):
            pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_a_reader_that_leaves_is_forgotten(daemon: Daemon) -> None:
    start = len(processes.descriptors(daemon.pid))
    for _ in range(20):
        daemon.control.events().close()
    start_call(daemon)
    until(lambda: len(processes.descriptors(daemon.pid)) <= start + 4, 5, "the streams' descriptors to be closed")
    daemon.check_alive()
