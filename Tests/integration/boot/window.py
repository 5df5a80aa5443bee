#!/usr/bin/python3
"""A call handler with a window, in GTK 3: it shows who calls, and has the buttons Answer and End.

It runs as a unit with a user of its own. A handler says of the call that it has what the user says.
"""

import http.client
import json
import os
import socket
import sys
import threading
import time
import urllib.parse

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

APP = os.environ["RINGWAKE_APP"]
# How long the daemon may be away, in seconds.
RETRY_TIMEOUT = 30


class Connection(http.client.HTTPConnection):
    """HTTP on the control socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("/run/ringwake/control.sock")


def request(method: str, target: str, body: object = None) -> http.client.HTTPResponse:
    connection = Connection("localhost")
    connection.request(method, target, None if body is None else json.dumps(body), {"Connection": "close"})
    return connection.getresponse()


class Window(Gtk.Window):
    """The window of one call."""

    def __init__(self, call: str, caller: str) -> None:
        super().__init__(title=caller)
        self.call, self.caller = call, caller
        self.set_default_size(400, 300)
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        self.label = Gtk.Label(label=caller)
        box.pack_start(self.label, True, True, 0)
        # Each has half of the width, and the lower two thirds.
        buttons = Gtk.Box(homogeneous=True, height_request=200)
        for verb in ("answer", "end"):
            button = Gtk.Button(label=verb.capitalize())
            button.connect("clicked", lambda _, verb=verb: self.pressed(verb))
            buttons.pack_start(button, True, True, 0)
        box.pack_start(buttons, False, True, 0)
        self.add(box)
        self.connect("delete-event", lambda *_: self.pressed("end") or True)
        self.show_all()

    def pressed(self, verb: str) -> None:
        self.send(verb, {})

    def send(self, verb: str, body: dict) -> None:
        answer = request("POST", f"/v1/calls/{urllib.parse.quote(self.call, safe='')}/{verb}?app={APP}", body)
        print(verb, body, answer.status, answer.read().decode().strip(), flush=True)

    def happened(self, event: dict) -> None:
        if event.get("call") != self.call:
            return
        if event["event"] == "action":
            self.send("fulfill", {"action": event["action"]})
        elif event["event"] == "call":
            self.label.set_text(event["state"])
            self.set_title(f"{self.caller}: {event['state']}")
            # A call that has lost its handler, because the daemon restarted: it is still this one's.
            if "claimMs" in event:
                self.send("claim", {})
            if event["state"] == "ended":
                Gtk.main_quit()

    def listen(self) -> None:
        """Reads the events, in a thread of its own; the daemon may restart meanwhile."""
        deadline = time.monotonic() + RETRY_TIMEOUT
        while time.monotonic() < deadline:
            try:
                for line in request("GET", f"/v1/events?app={APP}&call={urllib.parse.quote(self.call, safe='')}"):
                    GLib.idle_add(self.happened, json.loads(line))
                    deadline = time.monotonic() + RETRY_TIMEOUT
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.1)
        # Without a daemon there is nothing to handle.
        os._exit(1)


[push] = json.loads(request("GET", f"/v1/apps/{APP}/pushes").read())["pushes"]
if not Gtk.init_check()[0]:
    sys.exit("there is no display")
window = Window(push["call"], push["payload"]["ringwake"]["caller"])
threading.Thread(target=window.listen, daemon=True).start()
window.send("report", {"ring": True})
Gtk.main()
