"""Who listened to the daemon when it was killed comes back: what is told again, and by which right."""

import time

import pytest

from support.control import Control, Refused
from support.pushing import push
from support.telephone import APP, PAYLOAD, ends, hang_up, ringing, send

LONG = {"report": "60s", "action": "60s", "ring": "60s", "claim": "10s"}


@pytest.mark.parametrize("stream", ["events", "handler"])
def test_who_listens_goes_on_where_he_was(telephone, stream: str) -> None:
    """A subscription is a connection and lost with the daemon; `since` has the next one tell what was missed."""
    app = telephone(calls={"ring": "2s"}).by_exec(more=PAYLOAD)
    app.daemon.start()
    control = app.daemon.control

    def opening(query: str) -> dict[str, str]:
        """Which calls a stream begins with, and where they stand."""
        with control.events(query) if stream == "events" else control.handler(APP, query) as lines:
            # A repeat is told to all who listen, behind the opening.
            assert push(app.daemon, heard, b"{}").status == 200
            return {line["call"]: line["state"] for line in lines.until("pushIgnored") if line["event"] == "call"}

    with control.events() as lines:
        heard = ringing(app)
        hang_up(app, heard)
        missed = ringing(app)
        numbers = {line["call"]: line["number"] for line in lines.until("call", call=missed, state="ringing")
                   if line["event"] == "call"}  # fmt: skip
    app.daemon.kill()
    time.sleep(2.2)
    app.daemon.start()
    ends(app.daemon, missed, "unanswered")
    assert opening("") == {}
    assert opening(f"?since={numbers[missed]}") == {missed: "ended"}
    assert opening(f"?since={numbers[heard]}") == {heard: "ended", missed: "ended"}
    assert opening(f"?since={numbers[missed] + 1}") == {}


def test_one_that_came_by_itself_and_forgot_its_secret_is_given_another(telephone) -> None:
    app = telephone(calls=LONG).only_connected(more=PAYLOAD)
    app.daemon.start()
    control = app.daemon.control
    with control.handler(APP) as lines:
        former = next(iter(lines))["secret"]
        call = send(app.daemon)
        lines.until("wake")
        handler = Control(control.path, former)
        handler.verb(call, "report", ring=True)
        control.wait_for(call, "ringing")
        app.daemon.kill()
        app.daemon.start()
    with control.handler(APP) as lines:
        secret = next(iter(lines))["secret"]
        assert secret != former
        with pytest.raises(Refused):
            handler.verb(call, "ended")
        Control(control.path, secret).verb(call, "ended")
    ends(app.daemon, call, "remoteEnded")
