"""A phone in the hands of its user: calls come by push, and everything is done by the command line."""

import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .apps import App
from .credentials import APP
from .daemon import Daemon
from .pushing import push
from .waiting import until

# Where the payloads of these tests say who calls.
PAYLOAD = '[payload]\ncaller = "/caller"\ncaller_name = "/name"\n'
OTHER_APP = "com.example.other"
BOB = "sip:bob@example.org"


def allow_two_apps(daemon: Daemon) -> None:
    """The sender may push to a second app too."""
    daemon.settings["team.topics"] = [APP + ".voip", OTHER_APP + ".voip"]


def send(daemon: Daemon, app: str = APP, **payload: object) -> str:
    """A push comes for a new call: its id."""
    call = str(uuid.uuid4())
    answer = push(daemon, call, json.dumps(payload).encode(), app=app)
    assert (answer.status, answer.reason) == (200, None)
    return call


def user(daemon: Daemon, *words: object, status: int = 0, **options) -> subprocess.CompletedProcess:
    """The user gives a command, which ends with this status: `user(daemon, "call", "answer", call)`."""
    done = daemon.ringwake(*words, **options)
    assert done.returncode == status, f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def shown(daemon: Daemon, call: str) -> dict:
    """The call as `ringwake call show` has it."""
    return json.loads(user(daemon, "call", "show", call, "--json").stdout)


def ringing(app: App, **payload: object) -> str:
    """A call of this app that rings, reported by its handler."""
    call = send(app.daemon, app.app, **payload)
    app.daemon.control.wait_for(call, "ringing")
    return call


def begins(daemon: Daemon, *words: str, to: str = BOB) -> str:
    """The user calls somebody: the call's id."""
    return json.loads(user(daemon, "call", "start", *words, to, "--json").stdout)["call"]


def begin(app: App, *words: str, to: str = BOB, status: int = 0) -> str:
    """The user calls somebody: the call's id."""
    if status == 0:
        return begins(app.daemon, "--app", app.app, *words, to=to)
    return user(app.daemon, "call", "start", "--app", app.app, *words, to, status=status).stderr


def outgoing(telephone, *misdeeds: str, rules: str = "", **options) -> App:
    """An app whose handler does these."""
    app = telephone(**options).by_exec(*misdeeds, more=PAYLOAD + (f"[calls]\n{rules}" if rules else ""))
    app.daemon.start()
    return app


def connected(app: App, **payload: object) -> str:
    """A call of this app that the user has answered."""
    call = ringing(app, **payload)
    user(app.daemon, "call", "answer", call)
    app.daemon.control.wait_for(call, "connected")
    return call


def held(app: App, **payload: object) -> str:
    """A call of this app that the user has answered, and then holds."""
    call = connected(app, **payload)
    user(app.daemon, "call", "hold", call)
    app.daemon.control.wait_for(call, "held")
    return call


def hang_up(app: App, call: str) -> dict:
    """The user ends the call, and its handler says that it did."""
    user(app.daemon, "call", "end", call)
    return app.daemon.control.wait_for(call, "ended")


def ends(daemon: Daemon, call: str, reason: str, seconds: float = 15) -> dict:
    """The call, once it has ended for this reason."""
    ended = daemon.control.wait_for(call, "ended", seconds)
    assert ended["reason"] == reason, ended
    return ended


def strikes(daemon: Daemon, app: str = APP) -> dict:
    """What `ringwake app show` says of an app's strikes."""
    return json.loads(user(daemon, "app", "show", app, "--json").stdout)["strikes"]


def failures(daemon: Daemon, app: str = APP) -> list[str]:
    """What the strikes against an app's handler were for, the oldest first."""
    return [strike["failure"] for strike in strikes(daemon, app)["recent"]]


def waits(look: Callable[[], object], what: str, seconds: float = 10) -> None:
    until(lambda: bool(look()), seconds, what)


@contextmanager
def nothing_more(count: Callable[[], int], what: str) -> Iterator[None]:
    """What is counted does not grow within this block; the block is to wait for what would come after it."""
    before = count()
    yield
    assert count() == before, f"{count() - before} more {what}"
