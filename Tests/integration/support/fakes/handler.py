"""A call handler as an app's author would write one: woken in any way, and with the misdeeds that a test asks for.

    handler.py LOG exec [MISDEED ...]                     its push is on standard input; fetches further ones
    handler.py LOG stay [MISDEED ...]                     the same, and then keeps a connection
    handler.py LOG unit CONTROL APP [MISDEED ...]         fetches its pushes; its control group is its right
    handler.py LOG socket PATH [MISDEED ...]              listens, or takes the listener of descriptor 3
    handler.py LOG dbus session|system NAME [MISDEED ...]
    handler.py LOG connected CONTROL APP [MISDEED ...]    comes by itself and keeps a connection

MISDEED is MOMENT=WHAT. A moment is `wake` (before anything else), `report`, `claim`, `ringing`, an action, or of an
outgoing call `connecting` or `connected`: the other side is reached, and answers at once. WHAT is

    crash      it kills itself            exit:3     it exits with that status
    hang       it does nothing any more   slow:1.5   it goes on after that many seconds
    skip       it leaves that out         fail       it says that it could not do the action
    ended:unanswered   it says that the call has ended   provisional   it reports the call, and never confirms it
    twice      it does it twice           lie:CALL:APP   it does it to that call, and then to its own

Each happens once in all the lives of one LOG, unless its moment has an exclamation mark: `answer!=crash`.
"""

import http.client
import json
import os
import queue
import signal
import socket
import sys
import threading
import time
import urllib.parse

# A handler that a test forgot ends by itself. In seconds.
LIFE = 300
# How long one answer of the daemon may take, in seconds.
ANSWER_TIMEOUT = 60
# How long a handler tries to find the daemon again, in seconds.
PATIENCE = 60


class Log:
    """One JSON object a line, with the process that wrote it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def __call__(self, what: str, **members: object) -> None:
        line = json.dumps({"what": what, "pid": os.getpid(), **members}) + "\n"
        os.write(self.descriptor, line.encode())

    def has(self, **members: object) -> bool:
        with open(self.path) as file:
            return any(members.items() <= json.loads(line).items() for line in file)


class Connection(http.client.HTTPConnection):
    """HTTP on a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=ANSWER_TIMEOUT)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Handler:
    """What is the same for every way."""

    def __init__(self, log: Log, misdeeds: list[str]) -> None:
        self.log = log
        self.misdeeds = dict(misdeed.split("=", 1) for misdeed in misdeeds)
        self.control = os.environ.get("RINGWAKE_SOCKET", "")
        self.secret = os.environ.get("RINGWAKE_WAKE_SECRET", "")
        self.app = os.environ.get("RINGWAKE_APP", "")
        # The calls that are its own, and where each stands.
        self.calls: dict[str, str] = {}
        self.inbox: queue.Queue = queue.Queue()
        self.stays = False

    # The control socket

    def fields(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"} if self.secret else {}

    def request(self, method: str, target: str, body: object = None) -> tuple[int, dict]:
        connection = Connection(self.control)
        try:
            connection.request(method, target, None if body is None else json.dumps(body), self.fields())
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except OSError as error:
            return 0, {"error": str(error)}
        finally:
            connection.close()

    def say(self, verb: str, call: str, body: dict | None = None, app: str | None = None) -> bool:
        name = urllib.parse.quote(call, safe="")
        target = f"/v1/calls/{name}/{verb}?app={app or self.app}"
        status, answer = self.request("POST", target, body)
        self.log("said", verb=verb, call=call, app=app or self.app, status=status, body=body,
                 error=answer.get("error"), state=answer.get("state"))  # fmt: skip
        return status == 200

    def listen(self, target: str) -> None:
        """Puts each line of a stream into the inbox, and None when it ends."""
        self.target = target
        connection = Connection(self.control)
        connection.request("GET", target, None, self.fields())
        answer = connection.getresponse()
        self.log("listens", target=target, status=answer.status)
        if answer.status != 200:
            raise PermissionError(answer.read())
        # A test may have nothing to say for a long time.
        if connection.sock:
            connection.sock.settimeout(None)

        def read() -> None:
            try:
                while line := answer.readline():
                    self.inbox.put(json.loads(line))
            except (OSError, ValueError, http.client.HTTPException):
                pass
            self.inbox.put(None)

        threading.Thread(target=read, daemon=True).start()

    def listen_again(self) -> bool:
        """The end of a stream is not the end of a call: the daemon may be back before long, and know this handler."""
        self.log("stream ended", calls=self.calls)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                self.listen(self.target)
                return True
            except PermissionError:
                if not self.stays or not self.secret:
                    return False
                # It is known no more, and comes as a new one.
                self.secret = ""
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        return False

    # Misdeeds

    def misdeed(self, moment: str) -> str:
        """What it does instead at this moment, empty for what it should; some misdeeds do not return."""
        for name in (moment, moment + "!"):
            what = self.misdeeds.get(name)
            if what and (name.endswith("!") or not self.log.has(what="misdeed", moment=moment)):
                break
        else:
            return ""
        self.log("misdeed", moment=moment, how=what)
        how, _, rest = what.partition(":")
        match how:
            case "crash":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(int(rest))
            case "hang":
                # Also deaf for the polite way out, where it is the whole process that hangs.
                if threading.current_thread() is threading.main_thread():
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                while True:
                    time.sleep(LIFE)
            case "slow":
                time.sleep(float(rest))
                return ""
        return what

    def do(self, moment: str, verb: str, call: str, body: dict | None) -> None:
        """Says something about a call, or does the moment's misdeed."""
        what = self.misdeed(moment)
        how, _, rest = what.partition(":")
        match how:
            case "":
                self.say(verb, call, body)
            case "skip":
                pass
            case "fail":
                self.say("fail", call, body)
            case "ended":
                self.say("ended", call, {"reason": rest})
            case "provisional":
                self.say("report", call, {})
            case "twice":
                self.say(verb, call, body)
                self.say(verb, call, body)
            case "lie":
                other, _, app = rest.rpartition(":")
                self.say(verb, other, body, app)
                self.say(verb, call, body)
            case _:
                raise SystemExit(f"there is no misdeed '{what}'")

    # Pushes and events

    def given(self, push: dict, way: str) -> None:
        """A push: of its standard input, fetched, or delivered."""
        kind, call = push["kind"], push["call"]
        self.log("woken", kind=kind, call=call, way=way, attempt=push["attempt"], payload=push["payload"],
                 deadline=push["deadline_ms"], schema=push["schema"])  # fmt: skip
        self.misdeed("wake")
        if kind == "claim":
            self.calls[call] = "claimed"
            self.do("claim", "claim", call, None)
        elif kind == "call" and call not in self.calls:
            self.calls[call] = "woken"
            caller = push["payload"].get("caller", "sip:alice@example.org")
            self.do("report", "report", call, {"caller": caller, "ring": True})
        elif kind == "start":
            self.calls[call] = "woken"

    def fetch(self) -> None:
        status, answer = self.request("GET", f"/v1/apps/{self.app}/pushes")
        self.log("fetched", status=status, count=len(answer.get("pushes", [])))
        for push in answer.get("pushes", []):
            self.given(push, "fetched")

    def happened(self, event: dict) -> None:
        name, call = event["event"], event.get("call", "")
        self.log("event", event=name, call=call, state=event.get("state"), action=event.get("action"),
                 reason=event.get("endReason"), digits=event.get("digits"), claim=event.get("claimMs"))  # fmt: skip
        if name == "handler":
            self.secret = event.get("secret") or self.secret
        elif name == "wake":
            self.given(event["push"], "delivered")
        elif name == "pushWaiting":
            self.fetch()
        elif call in self.calls and name == "action":
            action = event["action"]
            self.do(action, "fulfill", call, {"action": action})
            if action == "start":
                self.do("connecting", "connecting", call, None)
                self.do("connected", "connected", call, None)
        elif name == "call" and "claimMs" in event and call not in self.calls:
            # Nobody has it.
            self.calls[call] = "claimed"
            self.do("claim", "claim", call, None)
        elif call in self.calls and name == "call":
            self.calls[call] = event["state"]
            if event["state"] == "ringing":
                self.misdeed("ringing")
            if event["state"] == "ended":
                del self.calls[call]

    def live(self) -> None:
        """Until its calls are over, or for ever when it stays."""
        while self.calls or self.stays:
            event = self.inbox.get(timeout=LIFE)
            if event is not None:
                self.happened(event)
            elif not self.listen_again():
                break
        self.log("leaves")


def on_standard_input(handler: Handler, stays: bool) -> None:
    push = json.load(sys.stdin)
    handler.stays = stays
    kept = f"/v1/apps/{handler.app}/handler"
    # The stream first: what happens between the report and its beginning would be missed.
    handler.listen(kept if stays else f"/v1/events?app={handler.app}")
    handler.given(push, "exec")
    handler.live()


def as_unit(handler: Handler, control: str, app: str) -> None:
    handler.control, handler.app = control, app
    handler.listen(f"/v1/events?app={app}")
    handler.fetch()
    handler.live()


def listening(handler: Handler, path: str) -> None:
    # sd_listen_fds(3): descriptor 3, when this process was started for a listener.
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        listener = socket.socket(fileno=3)
    else:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(16)
    handler.log("listening", path=path)

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            one = Handler(handler.log, [])
            one.misdeeds = handler.misdeeds
            line = json.loads(lines.readline())
            push = line["wake"]
            one.control, one.secret, one.app = line["socket"], line["secret"], push["app"]
            one.listen(f"/v1/events?app={one.app}")
            one.given(push, "socket")
            one.live()
        handler.log("hung up")

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def on_bus(handler: Handler, kind: str, name: str) -> None:
    # The system's Python has them; the other ways need nothing but the standard library.
    import dbus
    import dbus.mainloop.glib
    import dbus.service
    from gi.repository import GLib

    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    loop = GLib.MainLoop()

    class Object(dbus.service.Object):
        @dbus.service.method("org.ringwake.Handler1", in_signature="sss", out_signature="")
        def IncomingPush(self, request, secret, control):  # noqa: N802
            one = Handler(handler.log, [])
            one.misdeeds = handler.misdeeds
            push = json.loads(str(request))
            one.control, one.secret, one.app = str(control), str(secret), push["app"]

            def serve() -> None:
                one.listen(f"/v1/events?app={one.app}")
                one.given(push, "dbus")
                one.live()

            threading.Thread(target=serve, daemon=True).start()

        @dbus.service.method("org.ringwake.Handler1", in_signature="ss", out_signature="")
        def Release(self, app, call):  # noqa: N802
            handler.log("released")
            loop.quit()

    bus = dbus.bus.BusConnection(os.environ[f"DBUS_{kind.upper()}_BUS_ADDRESS"])
    bus.call_on_disconnection(lambda _: loop.quit())
    held = [dbus.service.BusName(name, bus, do_not_queue=True), Object(bus, "/" + name.replace(".", "/"))]
    handler.log("on bus", name=name)
    loop.run()
    held.clear()


def connected(handler: Handler, control: str, app: str) -> None:
    handler.control, handler.app, handler.stays = control, app, True
    handler.listen(f"/v1/apps/{app}/handler")
    handler.live()


def main() -> None:
    signal.alarm(LIFE)
    log, way, *rest = Log(sys.argv[1]), *sys.argv[2:]
    counts = {"exec": 0, "stay": 0, "unit": 2, "socket": 1, "dbus": 2, "connected": 2}
    where, misdeeds = rest[: counts[way]], rest[counts[way] :]
    handler = Handler(log, misdeeds)
    log("begins", way=way, arguments=rest)
    match way:
        case "exec" | "stay":
            on_standard_input(handler, way == "stay")
        case "unit":
            as_unit(handler, *where)
        case "socket":
            listening(handler, *where)
        case "dbus":
            on_bus(handler, *where)
        case "connected":
            connected(handler, *where)


if __name__ == "__main__":
    main()
