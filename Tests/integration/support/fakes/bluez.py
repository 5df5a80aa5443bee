"""BlueZ on a system bus, as far as an audio server asks it: an adapter and one headset with A2DP and HFP.

    bluez.py LOG CONTROL bluez|ofono

`connect` on the socket CONTROL hands the headset's A2DP and HFP connections to whoever registered for them, as BlueZ
does when a headset comes. A2DP's transport is a socket that is read and thrown away. The hands-free side sends the
commands of a service level connection.

The voice link is a socket of the kernel's (SCO), which machines without Bluetooth have not: with `bluez` the profile is
there, and a server that takes it finds out that it cannot be had. With `ofono` oFono has the voice link, and hands over
a socket that gives silence.
"""

import socket
import sys
import threading

import dbus
import dbus.service
from gi.repository import GLib
from recording import Log, begin

ADAPTER = "/org/bluez/hci0"
DEVICE = ADAPTER + "/dev_00_11_22_33_44_55"
ADDRESS = "00:11:22:33:44:55"
A2DP_SINK = "0000110b-0000-1000-8000-00805f9b34fb"
A2DP_SOURCE = "0000110a-0000-1000-8000-00805f9b34fb"
HFP_HF = "0000111e-0000-1000-8000-00805f9b34fb"
HFP_AG = "0000111f-0000-1000-8000-00805f9b34fb"
OBJECTS = "org.freedesktop.DBus.ObjectManager"
PROPERTIES = "org.freedesktop.DBus.Properties"
# SBC at 44.1 kHz, joint stereo, 16 blocks, 8 subbands, loudness, bit pool 2 to 53.
SBC = [0x21, 0x15, 2, 53]


note = Log(sys.argv[1])


class Object(dbus.service.Object):
    """An object with properties."""

    def __init__(self, bus: dbus.Bus, path: str, interfaces: dict) -> None:
        super().__init__(bus, path)
        self.path = path
        self.interfaces = interfaces

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return self.interfaces[interface][name]

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return dbus.Dictionary(self.interfaces.get(interface, {}), signature="sv")

    @dbus.service.method(PROPERTIES, in_signature="ssv")
    def Set(self, interface, name, value):
        note("set", path=self.path, name=str(name), value=str(value))
        self.change(interface, name, value)

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    def change(self, interface: str, name: str, value: object) -> None:
        self.interfaces[interface][name] = value
        self.PropertiesChanged(interface, {name: value}, dbus.Array([], signature="s"))


class Adapter(Object):
    """`org.bluez.Adapter1`, and the door for media endpoints."""

    def __init__(self, bus, world):
        self.world = world
        super().__init__(
            bus, ADAPTER,
            {"org.bluez.Adapter1": {"Address": "00:00:00:00:00:01", "Name": "test", "Alias": "test", "Powered": True,
                                    "UUIDs": dbus.Array([A2DP_SOURCE, HFP_AG], signature="s")},
             "org.bluez.Media1": {}},
        )  # fmt: skip

    @dbus.service.method("org.bluez.Media1", in_signature="oa{sv}", sender_keyword="sender")
    def RegisterEndpoint(self, endpoint, properties, sender=None):
        note("endpoint", path=str(endpoint), uuid=str(properties["UUID"]), codec=int(properties.get("Codec", 0)))
        self.world.endpoints.append((sender, str(endpoint), str(properties["UUID"]), int(properties.get("Codec", 0))))

    @dbus.service.method("org.bluez.Media1", in_signature="o")
    def UnregisterEndpoint(self, endpoint):
        pass

    @dbus.service.method("org.bluez.Media1", in_signature="oa{sv}", sender_keyword="sender")
    def RegisterApplication(self, path, options, sender=None):
        note("application", path=str(path))
        self.world.read_application(sender, str(path))

    @dbus.service.method("org.bluez.Media1", in_signature="o")
    def UnregisterApplication(self, path):
        pass


class Device(Object):
    """`org.bluez.Device1`."""

    @dbus.service.method("org.bluez.Device1", in_signature="s")
    def ConnectProfile(self, uuid):
        note("connect profile", uuid=str(uuid))

    @dbus.service.method("org.bluez.Device1", in_signature="s")
    def DisconnectProfile(self, uuid):
        note("disconnect profile", uuid=str(uuid))


class Transport(Object):
    """`org.bluez.MediaTransport1`: what plays to the headset goes nowhere."""

    interface = "org.bluez.MediaTransport1"

    def __init__(self, bus, path):
        super().__init__(
            bus, path,
            {self.interface: {"Device": dbus.ObjectPath(DEVICE), "UUID": A2DP_SOURCE, "Codec": dbus.Byte(0),
                              "Configuration": dbus.Array([dbus.Byte(one) for one in SBC], signature="y"),
                              "State": "idle", "Delay": dbus.UInt16(0), "Volume": dbus.UInt16(127)}},
        )  # fmt: skip

    def acquire(self):
        # A radio takes packets, each whole.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        threading.Thread(target=swallow, args=(ours,), daemon=True).start()
        self.change(self.interface, "State", "active")
        note("acquired")
        return dbus.types.UnixFd(theirs.detach()), dbus.UInt16(672), dbus.UInt16(672)

    @dbus.service.method("org.bluez.MediaTransport1", out_signature="hqq")
    def Acquire(self):
        return self.acquire()

    @dbus.service.method("org.bluez.MediaTransport1", out_signature="hqq")
    def TryAcquire(self):
        return self.acquire()

    @dbus.service.method("org.bluez.MediaTransport1")
    def Release(self):
        self.change(self.interface, "State", "idle")


class Profiles(Object):
    """`org.bluez.ProfileManager1`: who takes the connections of HFP and HSP."""

    def __init__(self, bus, world):
        self.world = world
        super().__init__(bus, "/org/bluez", {})

    @dbus.service.method("org.bluez.ProfileManager1", in_signature="osa{sv}", sender_keyword="sender")
    def RegisterProfile(self, path, uuid, options, sender=None):
        note("profile", path=str(path), uuid=str(uuid))
        self.world.profiles[str(uuid)] = (sender, str(path))

    @dbus.service.method("org.bluez.ProfileManager1", in_signature="o")
    def UnregisterProfile(self, path):
        pass


class Manager(dbus.service.Object):
    """All objects that there are."""

    def __init__(self, bus, world):
        super().__init__(bus, "/")
        self.world = world

    @dbus.service.method(OBJECTS, out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return dbus.Dictionary(
            {
                dbus.ObjectPath(one.path): {
                    name: dbus.Dictionary(values, signature="sv") for name, values in one.interfaces.items()
                }
                for one in self.world.objects
            },
            signature="oa{sa{sv}}",
        )

    @dbus.service.signal(OBJECTS, signature="oa{sa{sv}}")
    def InterfacesAdded(self, path, interfaces):
        pass


class Ofono(dbus.service.Object):
    """`org.ofono.HandsfreeAudioManager` with one card, whose voice link is a socket pair."""

    path = "/card0"
    # CVSD, 8 kHz.
    codec = 1

    def __init__(self, bus):
        super().__init__(bus, "/")
        self.bus = bus
        self.card = OfonoCard(bus)
        self.agent: tuple[str, str] | None = None

    def properties(self):
        values = {"RemoteAddress": ADDRESS, "LocalAddress": "00:00:00:00:00:01", "Type": "gateway"}
        return dbus.Dictionary(values, signature="sv")

    @dbus.service.method("org.ofono.HandsfreeAudioManager", out_signature="a(oa{sv})")
    def GetCards(self):
        return dbus.Array([], signature="(oa{sv})")

    @dbus.service.method("org.ofono.HandsfreeAudioManager", in_signature="oay", sender_keyword="sender")
    def Register(self, agent, codecs, sender=None):
        note("agent", path=str(agent), codecs=[int(one) for one in codecs])
        self.agent = (sender, str(agent))
        self.card.agent = self.agent

    @dbus.service.method("org.ofono.HandsfreeAudioManager", in_signature="o")
    def Unregister(self, agent):
        self.agent = None

    @dbus.service.signal("org.ofono.HandsfreeAudioManager", signature="oa{sv}")
    def CardAdded(self, path, properties):
        pass


class OfonoCard(dbus.service.Object):
    """`org.ofono.HandsfreeAudioCard`."""

    def __init__(self, bus):
        super().__init__(bus, Ofono.path)
        self.bus = bus
        self.agent: tuple[str, str] | None = None

    def link(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        threading.Thread(target=talk, args=(ours,), daemon=True).start()
        note("voice link")
        return dbus.types.UnixFd(theirs.detach())

    @dbus.service.method("org.ofono.HandsfreeAudioCard", out_signature="hy")
    def Acquire(self):
        return self.link(), dbus.Byte(Ofono.codec)

    @dbus.service.method("org.ofono.HandsfreeAudioCard")
    def Connect(self):
        sender, path = self.agent
        self.bus.get_object(sender, path, introspect=False).NewConnection(
            dbus.ObjectPath(Ofono.path), self.link(), dbus.Byte(Ofono.codec), signature="ohy",
            dbus_interface="org.ofono.HandsfreeAudioAgent",
            reply_handler=lambda: None, error_handler=lambda error: note("failed", error=str(error)),
        )  # fmt: skip


class World:
    """The adapter, the headset, and what the audio server has registered."""

    def __init__(self, bus: dbus.Bus) -> None:
        self.bus = bus
        self.endpoints: list[tuple[str, str, str, int]] = []
        self.profiles: dict[str, tuple[str, str]] = {}
        self.adapter = Adapter(bus, self)
        uuids = dbus.Array([A2DP_SINK, HFP_HF], signature="s")
        self.device = Device(
            bus, DEVICE,
            {"org.bluez.Device1": {"Address": ADDRESS, "Name": "Headset", "Alias": "Headset", "Paired": True,
                                   "Trusted": True, "Connected": False, "ServicesResolved": False, "UUIDs": uuids,
                                   "Adapter": dbus.ObjectPath(ADAPTER), "Class": dbus.UInt32(0x240404),
                                   "Icon": "audio-headset"}},
        )  # fmt: skip
        self.objects: list[Object] = [self.adapter, self.device]
        self.registry = Profiles(bus, self)
        self.ofono: Ofono | None = None
        self.manager = Manager(bus, self)

    def read_application(self, sender: str, path: str) -> None:
        """The endpoints that came as an application's objects."""

        def got(objects):
            for endpoint, interfaces in objects.items():
                if one := interfaces.get("org.bluez.MediaEndpoint1"):
                    self.endpoints.append((sender, str(endpoint), str(one["UUID"]), int(one["Codec"])))
                    note("endpoint", path=str(endpoint), uuid=str(one["UUID"]), codec=int(one["Codec"]))

        self.bus.get_object(sender, path).GetManagedObjects(
            dbus_interface=OBJECTS, reply_handler=got, error_handler=lambda error: note("failed", error=str(error))
        )

    def connect(self) -> None:
        """The headset comes."""
        self.device.change("org.bluez.Device1", "Connected", True)
        self.connect_music()
        if self.ofono:
            self.ofono.CardAdded(dbus.ObjectPath(Ofono.path), self.ofono.properties())
        else:
            self.connect_voice()
        self.device.change("org.bluez.Device1", "ServicesResolved", True)

    def connect_music(self) -> None:
        for sender, path, uuid, codec in self.endpoints:
            if uuid == A2DP_SOURCE and codec == 0:
                transport = Transport(self.bus, DEVICE + "/sep1/fd0")
                self.objects.append(transport)
                values = dbus.Dictionary(transport.interfaces[Transport.interface], signature="sv")
                self.manager.InterfacesAdded(
                    dbus.ObjectPath(transport.path), {Transport.interface: values}
                )
                # PulseAudio describes this method wrongly, so its description is not asked for.
                self.bus.get_object(sender, path, introspect=False).SetConfiguration(
                    dbus.ObjectPath(transport.path), values, dbus_interface="org.bluez.MediaEndpoint1",
                    signature="oa{sv}",
                    reply_handler=lambda: note("configured"),
                    error_handler=lambda error: note("failed", error=str(error)),
                )  # fmt: skip
                return
        note("failed", error="nobody takes SBC")

    def connect_voice(self) -> None:
        if HFP_AG not in self.profiles:
            return note("failed", error="nobody takes HFP")
        sender, path = self.profiles[HFP_AG]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        threading.Thread(target=hands_free, args=(ours,), daemon=True).start()
        self.bus.get_object(sender, path).NewConnection(
            dbus.ObjectPath(DEVICE), dbus.types.UnixFd(theirs.detach()), dbus.Dictionary({}, signature="sv"),
            dbus_interface="org.bluez.Profile1",
            reply_handler=lambda: note("voice"), error_handler=lambda error: note("failed", error=str(error)),
        )  # fmt: skip
        return None


def swallow(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def talk(connection: socket.socket) -> None:
    """The other end of a voice link: it answers each packet with one of silence, as the radio keeps time."""
    try:
        while packet := connection.recv(1024):
            connection.send(bytes(len(packet)))
    except OSError:
        pass


def hands_free(connection: socket.socket) -> None:
    """The headset's side of the service level connection (HFP 1.7 § 4.2)."""
    for line in ("AT+BRSF=0", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1"):
        connection.sendall(line.encode() + b"\r")
        answer = connection.recv(4096)
        note("hands-free", asked=line, answer=answer.decode(errors="replace"))
    while data := connection.recv(4096):
        note("hands-free", answer=data.decode(errors="replace"))


def main() -> None:
    bus, loop = begin("system")
    world = World(bus)
    name = dbus.service.BusName("org.bluez", bus)
    control, kind = sys.argv[2:4]
    if kind == "ofono":
        # Two names on one connection would share the root object.
        other, _ = begin("system")
        world.ofono = Ofono(other)
        ofono = dbus.service.BusName("org.ofono", other)
        note("ofono", name=ofono.get_name())
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(control)
    listener.listen()

    def accept(*_: object) -> bool:
        connection, _ = listener.accept()
        connection.recv(64)
        world.connect()
        connection.close()
        return True

    GLib.io_add_watch(listener, GLib.IO_IN, accept)
    note("ready", name=name.get_name())
    loop.run()


main()
