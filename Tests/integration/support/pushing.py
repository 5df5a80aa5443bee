"""The shortest way to a call: a push by provider token on a connection of its own."""

import uuid

from .credentials import APP
from .daemon import Daemon
from .h2client import Answer, H2Client
from .handlers import Wake


def push(daemon: Daemon, call: str, payload: bytes = b"{}", app: str = APP, **fields: str) -> Answer:
    """Sends one push for `app` with a provider token, which may send to every app of these tests."""
    fields = {"authorization": daemon.credentials.authorization(), "apns_topic": app + ".voip"} | fields
    with H2Client(daemon.host_and_port, daemon.credentials.context()) as client:
        return client.push(daemon.device_token(app), payload, apns_id=call, **fields)


def start_call(daemon: Daemon, app: str = APP, **fields: str) -> tuple[str, Wake]:
    """A call whose handler has been woken: its id, and what the handler was given."""
    call = str(uuid.uuid4())
    answer = push(daemon, call, app=app, **fields)
    assert (answer.status, answer.reason) == (200, None)
    [recorder] = [recorder for recorder in daemon.recorders if recorder.folder.name == app]
    return call, recorder.wait(call)


def stages(call: dict) -> list[str]:
    """The stages of a call's timeline, which are in the order of their times."""
    times = [hop["atUs"] for hop in call["timeline"]]
    assert times == sorted(times) and times[0] == 0
    return [hop["stage"] for hop in call["timeline"]]
