"""The services of a phone that others wrote, played by python3-dbusmock, and systemd by a fake of ours."""

from pathlib import Path

from .buses import Bus, Service
from .waiting import until

MOCK = "org.freedesktop.DBus.Mock"


class Mocked:
    """A service on a bus that dbusmock plays."""

    name = path = ""

    def __init__(self, bus: Bus, *options: str) -> None:
        self.bus = bus
        self.service: Service = bus.mock(self.name, *options)

    def calls(self, method: str) -> list[list]:
        """The arguments of each call of a method so far; of a variant its value, without its type."""
        # A t with the time and an av with the arguments, for each.
        found = self.bus.call(self.name, self.path, f"{MOCK}.GetMethodCalls", "s", method)[0]
        return [[plain(argument) for argument in arguments] for _, arguments in found]

    def waits_for_calls(self, method: str, count: int, seconds: float = 10) -> list[list]:
        """The calls of a method once there are as many."""
        return until(
            lambda: found if len(found := self.calls(method)) >= count else None, seconds,
            lambda: f"{count} calls of {method}; there are {self.calls(method)}",
        )  # fmt: skip

    def emit(self, interface: str, name: str, signature: str, *values: object, path: str | None = None) -> None:
        """Sends a signal; `values` are its arguments, each of a basic type."""
        words = [word for kind, value in zip(signature, values, strict=True) for word in (kind, value)]
        self.bus.call(
            self.name, path or self.path, f"{MOCK}.EmitSignal", "sssav", interface, name, signature, len(values), *words
        )

    def replace(self, interface: str, method: str, takes: str, gives: str, code: str) -> None:
        """From now on this Python code of dbusmock's is what a method does."""
        self.bus.call(self.name, self.path, f"{MOCK}.AddMethod", "sssss", interface, method, takes, gives, code)


class Logind(Mocked):
    """logind: who keeps the machine from sleeping."""

    name, path = "org.freedesktop.login1", "/org/freedesktop/login1"
    manager = "org.freedesktop.login1.Manager"

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, "--template", "logind")

    def inhibitors(self) -> list[dict]:
        """Those that are held now: a descriptor of them is open somewhere."""
        found = self.bus.call(self.name, self.path, f"{self.manager}.ListInhibitors")[0]
        return [dict(zip(("what", "who", "why", "mode"), one, strict=False)) for one in found]

    def is_inhibited(self) -> bool:
        return bool(self.inhibitors())

    session = "org.freedesktop.login1.Session"

    def add_session(self, name: str, user: int, seat: str = "seat0") -> None:
        self.bus.call(
            self.name, self.path, f"{MOCK}.AddSession", "ssusb", name, seat, str(user), f"user-{user}", "true"
        )

    def announce(self, name: str) -> None:
        """Tells everybody of a session that was added."""
        self.emit(self.manager, "SessionNew", "so", name, f"{self.path}/session/{name}")

    def lock(self, name: str, is_locked: bool) -> None:
        """As the desktop of a session does when its screen is locked or unlocked."""
        path = f"{self.path}/session/{name}"
        self.bus.call(self.name, path, f"{self.session}.SetLockedHint", "b", str(is_locked).lower())

    def refuse(self) -> None:
        """As polkit does with whom it does not know."""
        error = 'raise dbus.exceptions.DBusException("no", name="org.freedesktop.DBus.Error.AccessDenied")'
        self.replace(self.manager, "Inhibit", "ssss", "h", error)


class Notifications(Mocked):
    """The desktop's notifications."""

    name, path = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"

    def __init__(self, bus: Bus, capabilities: str = "actions body body-markup persistence") -> None:
        parameters = f'{{"capabilities": "{capabilities}"}}'
        super().__init__(bus, "--template", "notification_daemon", "--parameters", parameters)

    def shown(self) -> list[dict]:
        """Each notification that was ever asked for, with the id that it got."""
        names = ("app", "replaces", "icon", "summary", "body", "actions", "hints", "expires")
        found, next_id = [], 1
        for arguments in self.calls("Notify"):
            one = dict(zip(names, arguments, strict=True))
            one["id"] = one["replaces"] or next_id
            next_id += not one["replaces"]
            found.append(one)
        return found

    def closed(self) -> list[int]:
        return [number for (number,) in self.calls("CloseNotification")]

    def open(self) -> list[dict]:
        """Those that the user sees now."""
        latest = {one["id"]: one for one in self.shown()}
        return [one for number, one in latest.items() if number not in self.closed()]

    def waits_for_open(self, count: int, seconds: float = 10) -> list[dict]:
        until(lambda: len(self.open()) == count, seconds, lambda: f"{count} notifications; there are {self.open()}")
        return self.open()

    def press(self, notification: dict, action: str) -> None:
        """The user presses one of its buttons."""
        self.emit(self.name, "ActionInvoked", "us", notification["id"], action)


class ModemManager(Mocked):
    """ModemManager with one modem that can call."""

    name, path = "org.freedesktop.ModemManager1", "/org/freedesktop/ModemManager1"
    modem = "/org/freedesktop/ModemManager1/Modem/0"
    voice = "org.freedesktop.ModemManager1.Modem.Voice"
    interface = "org.freedesktop.ModemManager1.Call"
    # MMCallState.
    STATES = {
        "unknown": 0, "dialing": 1, "ringing-out": 2, "ringing-in": 3, "active": 4, "held": 5, "waiting": 6,
        "terminated": 7,
    }  # fmt: skip

    def __init__(self, bus: Bus, has_modem: bool = True) -> None:
        super().__init__(bus, "--is-object-manager", self.name, self.path, self.name)
        self.states: dict[str, int] = {}
        if has_modem:
            self.add_modem()

    def add_modem(self) -> None:
        # An object with an interface, properties a{sv} and methods a(ssss).
        self.bus.call(
            self.name, self.path, f"{MOCK}.AddObject", "ssa{sv}a(ssss)", self.modem, self.voice, 2, "Calls", "ao", 0,
            "EmergencyOnly", "b", "false", 1, "ListCalls", "", "ao",
            'ret = self.Get("org.freedesktop.ModemManager1.Modem.Voice", "Calls")',
        )  # fmt: skip
        self.bus.call(
            self.name, self.path, f"{MOCK}.EmitSignal", "sssav", "org.freedesktop.DBus.ObjectManager",
            "InterfacesAdded", "oa{sa{sv}}", 2, "o", self.modem, "a{sa{sv}}", 1, self.voice, 1, "Calls", "ao", 0,
        )  # fmt: skip

    def add_call(self, number: int, state: str) -> str:
        """A cellular call begins, or comes."""
        path = f"{self.path}/Call/{number}"
        self.bus.call(
            self.name, self.path, f"{MOCK}.AddObject", "ssa{sv}a(ssss)", path, self.interface, 3,
            "State", "i", self.STATES[state], "Number", "s", "+4930123456", "Direction", "i", 1, 0,
        )  # fmt: skip
        self.states[path] = self.STATES[state]
        self._list_calls()
        self.emit(self.voice, "CallAdded", "o", path, path=self.modem)
        return path

    def change(self, call: str, state: str) -> None:
        old, new = self.states[call], self.STATES[state]
        self.states[call] = new
        self.bus.call(
            self.name, call, f"{MOCK}.UpdateProperties", "sa{sv}", self.interface, 1, "State", "i", new
        )
        self.emit(self.interface, "StateChanged", "iiu", old, new, 0, path=call)

    def delete(self, call: str) -> None:
        del self.states[call]
        self._list_calls()
        self.emit(self.voice, "CallDeleted", "o", call, path=self.modem)
        self.bus.call(self.name, self.path, f"{MOCK}.RemoveObject", "s", call)

    # The networks of modems. Properties of ModemManager's interfaces Modem and Modem.Modem3gpp.
    radio = "org.freedesktop.ModemManager1.Modem"
    network = "org.freedesktop.ModemManager1.Modem.Modem3gpp"
    manager = "org.freedesktop.DBus.ObjectManager"
    TYPES = {"AccessTechnologies": "u", "RegistrationState": "u", "OperatorName": "s", "OperatorCode": "s"}

    def plug_in(self, number: int = 1, **properties: object) -> str:
        """A modem that knows networks appears: `plug_in(AccessTechnologies=1 << 14, OperatorName="Example")`."""
        path = f"{self.path}/Modem/{number}"
        nothing = {"AccessTechnologies": 0, "RegistrationState": 0, "OperatorName": "", "OperatorCode": ""}
        properties = nothing | properties
        for interface in (self.radio, self.network):
            words = self._properties(interface, properties)
            if interface == self.radio:
                self.bus.call(self.name, self.path, f"{MOCK}.AddObject", "ssa{sv}a(ssss)", path, interface, *words, 0)
            else:
                self.bus.call(self.name, path, f"{MOCK}.AddProperties", "sa{sv}", interface, *words)
        self.bus.call(
            self.name, self.path, f"{MOCK}.EmitSignal", "sssav", self.manager, "InterfacesAdded", "oa{sa{sv}}", 2,
            "o", path, "a{sa{sv}}", 2, self.radio, *self._properties(self.radio, properties),
            self.network, *self._properties(self.network, properties),
        )  # fmt: skip
        return path

    def turn(self, modem: str, **properties: object) -> None:
        """Properties of a modem change, and that is told."""
        for interface in (self.radio, self.network):
            words = self._properties(interface, properties)
            if words[0]:
                self.bus.call(self.name, modem, f"{MOCK}.UpdateProperties", "sa{sv}", interface, *words)

    def pull_out(self, modem: str) -> None:
        self.bus.call(self.name, self.path, f"{MOCK}.RemoveObject", "s", modem)
        self.bus.call(
            self.name, self.path, f"{MOCK}.EmitSignal", "sssav", self.manager, "InterfacesRemoved", "oas", 2,
            "o", modem, "as", 2, self.radio, self.network,
        )  # fmt: skip

    def _properties(self, interface: str, properties: dict) -> list:
        own = {
            name: value for name, value in properties.items()
            if (name == "AccessTechnologies") == (interface == self.radio)
        }  # fmt: skip
        return [len(own), *(word for name, value in own.items() for word in (name, self.TYPES[name], value))]

    def _list_calls(self) -> None:
        self.bus.call(
            self.name, self.modem, f"{MOCK}.UpdateProperties", "sa{sv}", self.voice, 1, "Calls", "ao",
            len(self.states), *self.states,
        )  # fmt: skip


class Systemd:
    """systemd's manager, as fakes/systemd.py plays it: it really starts what it is told to."""

    name = "org.freedesktop.systemd1"

    def __init__(self, bus: Bus) -> None:
        self.units = bus.folder / "units"
        self.units.mkdir(exist_ok=True)
        self.service = bus.fake(self.name, "systemd.py", bus.kind, self.units)

    def add_unit(self, name: str, command: list[str]) -> Path:
        path = self.units / name
        path.write_text("\n".join(command))
        return path

    def records(self, what: str) -> list[dict]:
        return [record for record in self.service.records() if record["what"] == what]

    def makes_groups(self) -> bool:
        """Whether what it starts has a control group of its own, which the rights of a unit's processes rest on."""
        return self.service.waits_for("started")["group"] != "None"


def plain(value: object) -> object:
    """A value of busctl's JSON without the types of its variants."""
    if isinstance(value, dict) and value.keys() == {"type", "data"}:
        return plain(value["data"])
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value
