"""What an app says of its own calls for the user."""

import pytest

from support.apps import App
from support.control import Control, EventStream
from support.credentials import APP
from support.telephone import PAYLOAD, send, shown, user


class Handler:
    """A connected handler that acts only when the test says so."""

    def __init__(self, app: App, stream: EventStream, secret: str | None = None) -> None:
        self.app, self.stream = app, stream
        self.secret = secret or next(iter(stream))["secret"]
        self.control = Control(app.daemon.control_socket, self.secret)

    def ringing(self) -> str:
        call = send(self.app.daemon)
        self.stream.until("wake")
        self.control.verb(call, "report", ring=True)
        return call

    def does(self, call: str, verb: str, **body: object) -> None:
        """It asks for `verb`, is asked for the action of that name, and fulfils it."""
        self.control.verb(call, verb, **body)
        action = "end" if verb == "decline" else verb
        self.stream.until("action", call=call, action=action)
        self.control.verb(call, "fulfill", action=action)


def by(app: App, call: str) -> dict[str, str | None]:
    return {hop["stage"]: hop.get("by") for hop in app.daemon.control.call(call)["timeline"]}


def connected_only(telephone, rules: str = "") -> App:
    app = telephone().only_connected(more=PAYLOAD + (f"[calls]\n{rules}\n" if rules else ""))
    app.daemon.start()
    return app


def test_an_app_answers_and_ends_its_call(telephone) -> None:
    app = connected_only(telephone)
    with app.daemon.control.handler(APP) as stream:
        handler = Handler(app, stream)
        call = handler.ringing()
        handler.does(call, "answer")
        handler.does(call, "mute")
        handler.does(call, "hold")
        assert app.daemon.control.call(call)["state"] == "held"
        handler.does(call, "unhold")
        handler.does(call, "dtmf", digits="12#")
        assert "answered (by app)" in app.daemon.ringwake("call", "show", call).stdout
        app.daemon.kill()
        app.daemon.start()
    assert by(app, call)["answered"] == "app"
    # The secret is in force for the process that got it.
    with handler.control.handler(APP) as stream:
        Handler(app, stream, handler.secret).does(call, "end")
    message = app.daemon.control.wait_for(call, "ended")
    assert message["reason"] == "localEnded" and not message["missed"]
    assert (by(app, call)["hungUp"], by(app, call)["rang"]) == ("app", None)
    app.daemon.kill()
    app.daemon.start()
    assert by(app, call)["hungUp"] == "app", "the call log has it"


def test_an_app_declines_its_call(telephone) -> None:
    app = connected_only(telephone)
    with app.daemon.control.handler(APP) as stream:
        handler = Handler(app, stream)
        call = handler.ringing()
        handler.does(call, "decline")
    assert app.daemon.control.wait_for(call, "ended")["reason"] == "declined"
    assert by(app, call)["hungUp"] == "app"


def test_a_call_that_its_handler_ends_before_it_rings_is_missed(telephone) -> None:
    app = connected_only(telephone)
    with app.daemon.control.handler(APP) as stream:
        handler = Handler(app, stream)
        call = send(app.daemon)
        stream.until("wake")
        handler.does(call, "end")
    message = app.daemon.control.wait_for(call, "ended")
    assert (message["reason"], message["missed"]) == ("handlerFailed", True)
    assert "before it rang" in message["detail"] and by(app, call)["hungUp"] == "app"


def test_an_app_that_is_not_trusted_does_all_but_answer(telephone) -> None:
    app = connected_only(telephone, "self_answer = false")
    with app.daemon.control.handler(APP) as stream:
        handler = Handler(app, stream)
        call = handler.ringing()
        status, answer = handler.control.request("POST", f"/v1/calls/{call}/answer")
        assert (status, answer["error"]) == (403, "not-permitted") and "self_answer" in answer["message"]
        told = app.daemon.ringwake("call", "answer", call, env={"RINGWAKE_WAKE_SECRET": handler.secret})
        assert told.returncode == 4 and "self_answer" in told.stderr
        assert shown(app.daemon, call)["state"] == "ringing"
        user(app.daemon, "call", "answer", call)
        stream.until("action", call=call, action="answer")
        handler.control.verb(call, "fulfill", action="answer")
        handler.does(call, "hold")
        handler.does(call, "end")
    assert by(app, call)["answered"] is None and by(app, call)["hungUp"] == "app"


@pytest.mark.parametrize("verb", ["answer", "end", "hold", "unhold", "mute", "dtmf"])
def test_a_handler_has_no_say_in_calls_of_another_one(telephone, verb: str) -> None:
    app = connected_only(telephone)
    with app.daemon.control.handler(APP) as one, app.daemon.control.handler(APP) as two:
        handlers = [Handler(app, one), Handler(app, two)]
        call = send(app.daemon)
        [owner] = [
            handler for handler in handlers
            if handler.control.request("POST", f"/v1/calls/{call}/report", {"ring": True})[0] == 200
        ]  # fmt: skip
        handlers.remove(owner)
        body = {"digits": "1"} if verb == "dtmf" else {}
        status, answer = handlers[0].control.request("POST", f"/v1/calls/{call}/{verb}", body)
        assert (status, answer["error"]) == (403, "not-permitted"), answer
        assert app.daemon.control.call(call)["state"] == "ringing"
