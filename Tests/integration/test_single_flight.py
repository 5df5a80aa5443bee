"""One handler an app: what comes while it runs it fetches, or it is started again for it."""

import uuid

from support.control import Control
from support.credentials import APP
from support.daemon import Daemon
from support.handlers import Wake
from support.pushing import push
from support.waiting import until


def part(daemon: Daemon, wake: Wake) -> Control:
    """The control API as that handler has it."""
    return Control(daemon.control.path, wake.environment["RINGWAKE_WAKE_SECRET"])


def single(make_daemon, *then: str) -> Daemon:
    made = make_daemon()
    made.add_app(*then, instances="app")
    return made.start()


def send(daemon: Daemon, payload: bytes = b"{}", **fields: str) -> str:
    call = str(uuid.uuid4())
    assert push(daemon, call, payload, **fields).status == 200
    return call


def test_a_second_call_waits_and_is_fetched(make_daemon) -> None:
    daemon = single(make_daemon)
    recorder = daemon.recorders[0]
    first = send(daemon)
    handler = part(daemon, recorder.wait(first))
    with Control(daemon.control.path, handler.secret).events(f"?app={APP}") as events:
        second = send(daemon, b'{"number": 1e2}')
        assert events.until("pushWaiting", call=second)[-1]["kind"] == "call"
    assert daemon.control.call(second)["state"] == "queued"
    assert daemon.control.call(second)["attempt"] == 0
    [fetched] = handler.get(f"/v1/apps/{APP}/pushes")["pushes"]
    assert (fetched["kind"], fetched["call"], fetched["attempt"]) == ("call", second, 1)
    assert fetched["payload"] == {"number": 100.0} and fetched["schema"] == 1
    assert 0 < fetched["deadline_ms"] <= 5000
    # An answer may be lost: until the call is reported it can be fetched again.
    assert [push["call"] for push in handler.get(f"/v1/apps/{APP}/pushes")["pushes"]] == [second]
    for call in (first, second):
        assert handler.verb(call, "report", ring=True)["state"] == "ringing"
    assert handler.get(f"/v1/apps/{APP}/pushes")["pushes"] == []
    assert recorder.count() == 1
    assert daemon.control.call(first)["pid"] == daemon.control.call(second)["pid"]


def test_a_waiting_call_is_reported_without_being_fetched(make_daemon) -> None:
    daemon = single(make_daemon)
    first = send(daemon)
    handler = part(daemon, daemon.recorders[0].wait(first))
    second = send(daemon)
    assert handler.verb(second, "report", ring=True)["state"] == "ringing"
    # What the push brought is still there to be read, once.
    assert [push["call"] for push in handler.get(f"/v1/apps/{APP}/pushes")["pushes"]] == [second]
    assert handler.get(f"/v1/apps/{APP}/pushes")["pushes"] == []


def test_a_handler_that_exits_is_started_again_for_the_next(make_daemon) -> None:
    daemon = single(make_daemon, "true")
    recorder = daemon.recorders[0]
    calls = [send(daemon) for _ in range(5)]
    recorder.wait_for_all(5)
    assert sorted(recorder.wakes()) == sorted(calls)
    pids = {wake.pid for wake in recorder.wakes().values()}
    assert len(pids) == 5
    for call in calls:
        ended = daemon.control.wait_for(call, "ended")
        assert (ended["reason"], ended["missed"], ended["attempt"]) == ("handlerFailed", True, 1)


def test_a_handler_that_leaves_a_call_waiting_is_replaced(make_daemon) -> None:
    daemon = make_daemon()
    daemon.calls["report"] = "2s"
    recorder = daemon.add_app(instances="app")
    daemon.start()
    first = send(daemon)
    wake = recorder.wait(first)
    handler = part(daemon, wake)
    handler.verb(first, "report", ring=True)
    second = send(daemon)
    handler.verb(first, "ended")
    again = recorder.wait(second)
    assert again.pid != wake.pid
    assert again.message["attempt"] == 1
    assert part(daemon, again).verb(second, "report", ring=True)["state"] == "ringing"


def test_a_call_that_nobody_fetches_is_missed_in_the_end(make_daemon) -> None:
    daemon = make_daemon()
    daemon.calls["ring"] = "1s"
    recorder = daemon.add_app(instances="app")
    daemon.start()
    first = send(daemon)
    handler = part(daemon, recorder.wait(first))
    handler.verb(first, "report", ring=True)
    daemon.control.verb(first, "answer")
    handler.verb(first, "fulfill", action="answer")
    second = send(daemon)
    ended = daemon.control.wait_for(second, "ended")
    assert (ended["reason"], ended["missed"]) == ("expired", True)
    assert "busy" in ended["detail"]
    assert daemon.control.call(first)["state"] == "connected"
    assert recorder.count() == 1


def test_one_app_does_not_hold_up_another(make_daemon) -> None:
    daemon = make_daemon()
    other = "com.example.intercom"
    daemon.settings["team.topics"] = [APP + ".voip", other + ".voip"]
    first = daemon.add_app(instances="app")
    second = daemon.add_app(app=other, instances="app")
    daemon.start()
    slow = send(daemon)
    first.wait(slow)
    waits = send(daemon)
    quick = send(daemon, app=other)
    second.wait(quick)
    assert daemon.control.call(waits)["state"] == "queued"


def test_a_secret_opens_only_the_calls_of_its_handler(make_daemon) -> None:
    daemon = make_daemon()
    recorder = daemon.add_app(instances="call")
    daemon.start()
    first, second = send(daemon), send(daemon)
    wakes = recorder.wait_for_all(2)
    status, answer = part(daemon, wakes[first]).request("POST", f"/v1/calls/{second}/report", {"ring": True})
    assert (status, answer["error"]) == (403, "not-permitted")
    assert daemon.control.call(second)["state"] == "woken"
    assert part(daemon, wakes[second]).verb(second, "report", ring=True)["state"] == "ringing"


def test_updates_wait_for_the_handler(make_daemon) -> None:
    daemon = make_daemon()
    recorder = daemon.add_app(instances="app", more='[payload]\ncall = "/id"\ncaller_name = "/name"\n')
    daemon.start()
    send(daemon, b'{"id": "c1"}')
    handler = part(daemon, recorder.wait("c1"))
    send(daemon, b'{"id": "c1", "name": "Alice"}')
    [update] = handler.get(f"/v1/apps/{APP}/pushes")["pushes"]
    assert (update["kind"], update["call"], update["payload"]["name"]) == ("update", "c1", "Alice")
    assert daemon.control.call("c1")["callerName"] == "Alice"
    assert recorder.count() == 1


def test_a_handler_that_ended_fetches_nothing(make_daemon) -> None:
    daemon = single(make_daemon, "true")
    call = send(daemon)
    wake = daemon.recorders[0].wait(call)
    daemon.control.wait_for(call, "ended")
    until(lambda: part(daemon, wake).request("GET", f"/v1/apps/{APP}/pushes")[0] == 403, 5, "the secret to be void")
