"""What the fakes share: the bus, and a file in which they write down what was done to them."""

import json
import os
import sys

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

# Enough for every test; a fake that a test forgot ends by itself. In seconds.
LIFE = 600


def begin(kind: str) -> tuple[dbus.Bus, GLib.MainLoop]:
    """The bus of this kind whose address is in the environment, and a loop that ends with it."""
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(os.environ[f"DBUS_{kind.upper()}_BUS_ADDRESS"])
    loop = GLib.MainLoop()
    bus.call_on_disconnection(lambda _: loop.quit())
    GLib.timeout_add_seconds(LIFE, loop.quit)
    return bus, loop


class Log:
    """One JSON object a line, written at once."""

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def __call__(self, what: str, **members: object) -> None:
        line = json.dumps({"what": what, **members}, default=str) + "\n"
        os.write(self.descriptor, line.encode())


LOG = Log(sys.argv[1]) if len(sys.argv) > 1 else None
