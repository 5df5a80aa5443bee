"""Faults on order, and the requests of senders as they came: for people who test senders."""

import json
import subprocess
import time
import uuid

from support import programs
from support.credentials import APP
from support.daemon import Daemon
from support.h2client import H2Client, push_fields
from support.handlers import Recorder


def client(daemon: Daemon) -> H2Client:
    return H2Client(daemon.host_and_port, daemon.credentials.context())


def fields(daemon: Daemon, call: str) -> list[tuple[str, str]]:
    return push_fields(daemon.device_token(), apns_id=call, authorization=daemon.credentials.authorization())


def fault(daemon: Daemon, *arguments: object) -> dict:
    done = daemon.ringwake("app", "fault", APP, *arguments, "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_a_reason_after_some_pushes_for_some(daemon: Daemon, handler: Recorder) -> None:
    shown = fault(daemon, "Unregistered", "--after", 1, "--count", 2, "--environment", "development")
    assert shown["faults"] == [{"environment": "development", "fault": "Unregistered", "after": 1, "count": 2}]
    assert daemon.control.get("/v1/status")["pushes"]["appsWithFaults"] == [APP]
    assert APP in daemon.ringwake("status").stdout
    assert "Unregistered (development), after 1 push, for 2 pushes" in daemon.ringwake("app", "show", APP).stdout
    calls = [str(uuid.uuid4()) for _ in range(4)]
    before = int(time.time() * 1000)
    with client(daemon) as sender:
        answers = [sender.request(fields(daemon, call)) for call in calls]
    assert [answer.status for answer in answers] == [200, 410, 410, 200]
    assert json.loads(answers[1].body)["timestamp"] >= before
    for call in (calls[0], calls[3]):
        handler.wait(call)
    assert {push["pushId"] for push in daemon.control.get("/v1/pushes")["pushes"]} == {calls[0], calls[3]}
    assert "faults" not in daemon.control.get(f"/v1/apps/{APP}")
    assert "appsWithFaults" not in daemon.control.get("/v1/status")["pushes"]


def test_a_fault_does_not_outlive_the_daemon(daemon: Daemon) -> None:
    fault(daemon, "Forbidden")
    daemon.kill()
    daemon.start()
    with client(daemon) as sender:
        assert sender.request(fields(daemon, str(uuid.uuid4()))).status == 200


def test_a_delayed_answer_overtakes_nobody_and_wakes_at_once(daemon: Daemon, handler: Recorder) -> None:
    fault(daemon, "delay", "--delay", "3s", "--count", 1)
    call, other = str(uuid.uuid4()), str(uuid.uuid4())
    with client(daemon) as sender:
        late = sender.send(fields(daemon, call))
        handler.wait(call)
        assert sender.request(fields(daemon, other)).status == 200
        assert not sender.answers[late].is_complete
        assert sender.wait(late).status == 200


def test_goaway_reset_and_silence(daemon: Daemon, handler: Recorder) -> None:
    call = str(uuid.uuid4())
    fault(daemon, "goaway", "--count", 1)
    with client(daemon) as sender:
        assert sender.request(fields(daemon, call)).status == 200
        sender.wait_for_close()
        assert sender.goaway and sender.goaway.additional_data == b'{"reason":"Shutdown"}'
    handler.wait(call)
    fault(daemon, "reset", "--count", 1)
    with client(daemon) as sender:
        assert sender.request(fields(daemon, str(uuid.uuid4()))).frames == ["reset"]
        fault(daemon, "silence", "--count", 1)
        silent = sender.send(fields(daemon, str(uuid.uuid4())))
        assert sender.request(fields(daemon, str(uuid.uuid4()))).status == 200
        assert not sender.answers[silent].frames
    # A daemon that stops does not wait for it for ever.
    daemon.stop()


def test_a_fault_that_makes_no_sense_is_refused(daemon: Daemon) -> None:
    for arguments in (["Nonsense"], ["delay"], ["reset", "--delay", "1s"], [], ["reset", "--clear"]):
        assert daemon.ringwake("app", "fault", APP, *arguments).returncode == 2, arguments
    for arguments in (["reset", "--count", 0], ["reset", "--environment", "production"], ["delay", "--delay", "11m"]):
        assert daemon.ringwake("app", "fault", APP, *arguments).returncode == 2, arguments
    assert "faults" not in daemon.control.get(f"/v1/apps/{APP}")
    assert fault(daemon, "reset", "--for", "1h")["faults"][0]["forMs"] > 3_000_000
    assert "faults" not in fault(daemon, "--clear")


def test_requests_are_shown_as_they_came(daemon: Daemon, handler: Recorder) -> None:
    payload = '{ "a":\t"\u00fc \\u00fc" }'.encode()
    call = str(uuid.uuid4())
    with daemon.control.events("?pushes=true") as events, client(daemon) as sender:
        headers = fields(daemon, call) + [("x-mine", "1"), ("x-mine", "2")]
        assert sender.request(headers, payload).status == 200
        assert sender.request(fields(daemon, call), b"\xff").status == 400
        with client(daemon) as unknown:
            assert unknown.request(push_fields(daemon.device_token())).status == 403
        accepted, bad, stranger = (events.until("pushRequest")[-1] for _ in range(3))
    assert accepted["payload"].encode() == payload and accepted["status"] == 200 and accepted["app"] == APP
    sent = [(name, value) for name, value in headers if not name.startswith(":")]
    shown = [(field["name"], field["value"]) for field in accepted["headers"]]
    assert [name for name, _ in shown] == [name for name, _ in sent]
    assert [pair for pair in shown if pair[0] != "authorization"] == [pair for pair in sent if pair[0] != "authorization"]
    [(_, token)] = [pair for pair in shown if pair[0] == "authorization"]
    [(_, real)] = [pair for pair in sent if pair[0] == "authorization"]
    assert token == real.rsplit(".", 1)[0] + ".…", "not as anybody could use it"
    assert bad["payloadBinary"] == "/w==" and bad["pushReason"] == "PayloadEmpty" and "payload" not in bad
    assert stranger["pushReason"] == "MissingProviderToken" and "app" not in stranger and "team" not in stranger


def test_watch_shows_requests_and_nothing_else(daemon: Daemon, handler: Recorder) -> None:
    call = str(uuid.uuid4())
    watch = subprocess.Popen(
        [programs.RINGWAKE, "watch", "--pushes", "--json", "--count", "2", "--app", APP], stdout=subprocess.PIPE,
        env=daemon.environment(), text=True,
    )  # fmt: skip
    with client(daemon) as sender:
        while watch.poll() is None:
            assert sender.request(fields(daemon, call)).status == 200
            time.sleep(0.1)
    lines = [json.loads(line) for line in watch.stdout.read().splitlines()]
    assert [line["event"] for line in lines] == ["pushRequest"] * 2
    assert {line["pushId"] for line in lines} == {call}
