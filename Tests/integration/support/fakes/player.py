"""A media player (MPRIS) on a session bus, which takes the order to pause and carries it out when it is told to.

    player.py LOG later|stopping

`later`: it pauses when `org.example.Player.CarryOut` is called. `stopping`: it stops itself with SIGSTOP when it gets
the order, and carries it out when it is continued.
"""

import os
import signal
import sys

import dbus
import dbus.service
from recording import Log, begin

NAME = "org.mpris.MediaPlayer2.fake"
PLAYER = "org.mpris.MediaPlayer2.Player"
PROPERTIES = "org.freedesktop.DBus.Properties"

note = Log(sys.argv[1])


class Player(dbus.service.Object):
    status = "Playing"

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, _: str, name: str) -> object:
        if name == "Metadata":
            return dbus.Dictionary({"mpris:trackid": dbus.ObjectPath("/track/1")}, signature="sv", variant_level=1)
        if name == "CanPause":
            return dbus.Boolean(True, variant_level=1)
        return dbus.String(self.status, variant_level=1)

    @dbus.service.method(PLAYER)
    def Pause(self) -> None:
        note("ordered")
        if sys.argv[2] == "stopping":
            os.kill(os.getpid(), signal.SIGSTOP)
            self.become("Paused")

    @dbus.service.method(PLAYER)
    def Play(self) -> None:
        self.become("Playing")

    @dbus.service.method("org.example.Player")
    def CarryOut(self) -> None:
        self.become("Paused")

    def become(self, status: str) -> None:
        self.status = status
        self.PropertiesChanged(PLAYER, {"PlaybackStatus": status}, [])
        note(status)

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface: str, changed: dict, invalidated: list) -> None:
        pass


def main() -> None:
    bus, loop = begin("session")
    player = Player(bus, "/org/mpris/MediaPlayer2")
    name = dbus.service.BusName(NAME, bus)
    note("ready", name=name.get_name(), path=str(player))
    loop.run()


main()
