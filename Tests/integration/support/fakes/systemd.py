"""A systemd manager for machines whose first process is another: the few methods that start and stop services.

    systemd.py LOG [session|system] [FOLDER]

It really starts what it is told to, with the standard input that it is given, in a process group of its own, and in a
control group of its own where the machine lets it (cgroup v2, root). It is no systemd: it knows no dependencies, no
rights and no other settings. `FOLDER/NAME.service` holds a unit's command, one argument a line; `%i` is its instance.

Environment, to make it fail: FAKE_JOB=failed|timeout|never (what becomes of every job to start), FAKE_REFUSE=NAME
(the D-Bus error of every start).
"""

import os
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import dbus
import dbus.service
from gi.repository import GLib
from recording import LOG, begin

NAME = "org.freedesktop.systemd1"
MANAGER = "org.freedesktop.systemd1.Manager"
UNIT = "org.freedesktop.systemd1.Unit"
SERVICE = "org.freedesktop.systemd1.Service"
PROPERTIES = "org.freedesktop.DBus.Properties"
NO_SUCH_UNIT = "org.freedesktop.systemd1.NoSuchUnit"
UNIT_EXISTS = "org.freedesktop.systemd1.UnitExists"
# sysexits of systemd's own: the program could not be started, systemd.exec(5).
EXIT_EXEC = 203
GROUPS = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")]
# How long a service has between SIGTERM and SIGKILL, in milliseconds.
STOP_TIMEOUT = 2000


def escaped(name: str) -> str:
    """As systemd writes a unit's name in an object path."""
    return "".join(c if c.isalnum() and c.isascii() else f"_{ord(c):02x}" for c in name)


def unescaped_instance(name: str) -> str:
    """The instance as `%I` shows it, systemd.unit(5)."""
    instance = name.partition("@")[2].rpartition(".")[0]
    return re.sub(r"\\x([0-9a-f]{2})", lambda hit: chr(int(hit[1], 16)), instance.replace("-", "/"))


def control_group(name: str) -> Path | None:
    """A new control group for this unit; nil where none can be made."""
    for root in GROUPS:
        if (root / "cgroup.procs").exists():
            path = root / f"ringwake-test-{os.getpid()}.slice" / name
            try:
                path.mkdir(parents=True)
            except OSError:
                return None
            return path
    return None


class Unit(dbus.service.Object):
    """A service, running or not."""

    def __init__(self, manager: "Manager", name: str) -> None:
        self.path = f"/org/freedesktop/systemd1/unit/{escaped(name)}"
        super().__init__(manager.bus, self.path)
        self.manager, self.name = manager, name
        self.process: subprocess.Popen | None = None
        self.group: Path | None = None
        self.unit = {
            "Id": name, "ActiveState": "inactive", "SubState": "dead", "LoadState": "loaded",
            "InvocationID": dbus.ByteArray(b""),
        }  # fmt: skip
        self.service = {
            "MainPID": dbus.UInt32(0), "Result": "success", "ExecMainStatus": dbus.Int32(0),
            "ExecMainCode": dbus.Int32(0), "ControlGroup": "",
        }  # fmt: skip

    def begin(self, command: list[str], environment: dict[str, str], standard_input: int | None) -> bool:
        self.group = control_group(self.name)
        procs = self.group / "cgroup.procs" if self.group else None

        def enter() -> None:
            if procs:
                procs.write_text("0")

        self.set(self.unit, UNIT, InvocationID=dbus.ByteArray(uuid.uuid4().bytes), ActiveState="activating")
        try:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL if standard_input is None else standard_input,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
                preexec_fn=enter,
            )  # fmt: skip
        except OSError as error:
            LOG("failed", unit=self.name, why=str(error))
            self.ended("exit-code", 1, EXIT_EXEC)
            return False
        LOG("started", unit=self.name, pid=self.process.pid, command=command, environment=environment,
            group=str(self.group))  # fmt: skip
        GLib.child_watch_add(GLib.PRIORITY_DEFAULT, self.process.pid, self.reaped)
        group = "/" + "/".join(self.group.parts[-2:]) if self.group else ""
        self.set(self.service, SERVICE, MainPID=dbus.UInt32(self.process.pid), ControlGroup=group)
        self.set(self.unit, UNIT, ActiveState="active", SubState="running")
        return True

    def reaped(self, _pid: int, status: int) -> None:
        was_killed = os.WIFSIGNALED(status)
        self.signal(signal.SIGKILL)
        # CLD_EXITED and CLD_KILLED, sigaction(2).
        code, number = (2, os.WTERMSIG(status)) if was_killed else (1, os.WEXITSTATUS(status))
        is_clean = number == 0 or was_killed and number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        self.ended("success" if is_clean else "signal" if was_killed else "exit-code", code, number)

    def ended(self, result: str, code: int, status: int) -> None:
        if self.process:
            self.process.returncode = 0  # Fetched already, by GLib.
            self.process = None
        LOG("ended", unit=self.name, result=result, code=code, status=status)
        self.set(self.service, SERVICE, MainPID=dbus.UInt32(0), Result=result, ExecMainCode=dbus.Int32(code),
                 ExecMainStatus=dbus.Int32(status))  # fmt: skip
        is_clean = result == "success"
        self.set(self.unit, UNIT, ActiveState="inactive" if is_clean else "failed",
                 SubState="dead" if is_clean else "failed")  # fmt: skip
        self.remove_group()
        self.manager.unit_ended(self)

    def remove_group(self) -> None:
        if self.group:
            try:
                self.group.rmdir()
            except OSError:
                pass  # A process in it takes a moment to be gone; the fake's end tries again.

    def signal(self, number: int) -> None:
        """To the main process and its children."""
        if self.process:
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                pass

    def set(self, table: dict, interface: str, **changed: object) -> None:
        table |= changed
        self.PropertiesChanged(interface, changed, [])

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):  # noqa: N802
        pass

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, interface, name):  # noqa: N802
        return self.GetAll(interface)[name]

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):  # noqa: N802
        return {UNIT: self.unit, SERVICE: self.service, "": self.unit | self.service}.get(str(interface), {})


class Manager(dbus.service.Object):
    """The object that units are started with."""

    def __init__(self, bus: dbus.Bus, folder: str | None) -> None:
        super().__init__(bus, "/org/freedesktop/systemd1")
        self.bus = bus
        self.folder = Path(folder) if folder else None
        self.units: dict[str, Unit] = {}
        self.transient: set[str] = set()
        self.jobs = 0

    def refuse(self) -> None:
        if error := os.environ.get("FAKE_REFUSE"):
            raise dbus.DBusException("refused, as the test wants it", name=error)

    def job(self, name: str, work) -> str:
        """A new job whose `work` is done after the answer, and answers whether it could be."""
        self.jobs += 1
        number, path = self.jobs, f"/org/freedesktop/systemd1/job/{self.jobs}"
        fate = os.environ.get("FAKE_JOB")

        def run() -> bool:
            if fate != "never":
                done = "done" if not fate and work() else fate or "failed"
                self.JobRemoved(number, path, name, done)
            return False

        self.JobNew(number, path, name)
        GLib.idle_add(run)
        return path

    def unit(self, name: str) -> Unit:
        if name not in self.units:
            self.units[name] = Unit(self, name)
            self.UnitNew(name, self.units[name].path)
        return self.units[name]

    def unit_ended(self, unit: Unit) -> None:
        if unit.name in self.transient:
            # CollectMode=inactive-or-failed: nothing stays of it.
            self.transient.discard(unit.name)
            self.units.pop(unit.name, None)
            self.UnitRemoved(unit.name, unit.path)
            GLib.idle_add(unit.remove_from_connection)

    def found(self, name: str) -> Unit:
        if name not in self.units:
            raise dbus.DBusException(f"Unit {name} not loaded.", name=NO_SUCH_UNIT)
        return self.units[name]

    @dbus.service.method(MANAGER, in_signature="ss", out_signature="o")
    def StartUnit(self, name, mode):  # noqa: N802
        name = str(name)
        LOG("StartUnit", unit=name, mode=str(mode))
        self.refuse()
        template = re.sub(r"@.*\.", "@.", name)
        file = self.folder / template if self.folder else None
        if not file or not file.exists():
            raise dbus.DBusException(f"Unit {name} not found.", name=NO_SUCH_UNIT)
        instance = unescaped_instance(name)
        command = [line.replace("%i", name.partition("@")[2].rpartition(".")[0]).replace("%I", instance)
                   for line in file.read_text().splitlines()]  # fmt: skip
        unit = self.unit(name)
        environment = {"PATH": "/usr/bin:/bin"}
        return self.job(name, lambda: bool(unit.process) or unit.begin(command, environment, None))

    @dbus.service.method(MANAGER, in_signature="ssa(sv)a(sa(sv))", out_signature="o")
    def StartTransientUnit(self, name, mode, properties, auxiliary):  # noqa: N802
        name, given = str(name), {str(key): value for key, value in properties}
        shown = {key: value for key, value in given.items() if not isinstance(value, dbus.types.UnixFd)}
        LOG("StartTransientUnit", unit=name, mode=str(mode), properties=shown, all=sorted(given))
        self.refuse()
        if name in self.units:
            raise dbus.DBusException(f"Unit {name} was already loaded.", name=UNIT_EXISTS)
        # ExecStart a(sasb): path, arguments with the program first, and whether a failure is ignored.
        path, arguments, _ = given["ExecStart"][0]
        command = [str(path), *(str(argument) for argument in arguments[1:])]
        environment = {"PATH": "/usr/bin:/bin"}
        environment |= dict(str(entry).partition("=")[::2] for entry in given.get("Environment", []))
        standard_input = given.get("StandardInputFileDescriptor")
        descriptor = standard_input.take() if standard_input is not None else None
        self.transient.add(name)
        unit = self.unit(name)

        def start() -> bool:
            try:
                return unit.begin(command, environment, descriptor)
            finally:
                if descriptor is not None:
                    os.close(descriptor)

        return self.job(name, start)

    @dbus.service.method(MANAGER, in_signature="ss", out_signature="o")
    def StopUnit(self, name, mode):  # noqa: N802
        unit = self.found(str(name))
        LOG("StopUnit", unit=str(name), mode=str(mode))

        def stop() -> bool:
            unit.signal(signal.SIGTERM)
            GLib.timeout_add(STOP_TIMEOUT, lambda: unit.signal(signal.SIGKILL))
            return True

        return self.job(unit.name, stop)

    @dbus.service.method(MANAGER, in_signature="ssi", out_signature="")
    def KillUnit(self, name, whom, number):  # noqa: N802
        LOG("KillUnit", unit=str(name), whom=str(whom), signal=int(number))
        self.found(str(name)).signal(int(number))

    @dbus.service.method(MANAGER, in_signature="s", out_signature="o")
    def GetUnit(self, name):  # noqa: N802
        return self.found(str(name)).path

    @dbus.service.method(MANAGER, in_signature="s", out_signature="o")
    def LoadUnit(self, name):  # noqa: N802
        return self.unit(str(name)).path

    @dbus.service.method(MANAGER, in_signature="u", out_signature="o")
    def GetUnitByPID(self, pid):  # noqa: N802
        for unit in self.units.values():
            if unit.process and unit.process.pid == int(pid):
                return unit.path
        raise dbus.DBusException(f"PID {pid} does not belong to any loaded unit.", name=NO_SUCH_UNIT)

    @dbus.service.method(MANAGER, in_signature="ay", out_signature="o")
    def GetUnitByInvocationID(self, invocation):  # noqa: N802
        for unit in self.units.values():
            if bytes(unit.unit["InvocationID"]) == bytes(invocation):
                return unit.path
        raise dbus.DBusException("No unit with the specified invocation ID found.", name=NO_SUCH_UNIT)

    @dbus.service.method(MANAGER, in_signature="s", out_signature="")
    def ResetFailedUnit(self, name):  # noqa: N802
        self.found(str(name))

    @dbus.service.method(MANAGER, in_signature="", out_signature="")
    def Subscribe(self):  # noqa: N802
        LOG("Subscribe")

    @dbus.service.method(MANAGER, in_signature="", out_signature="")
    def Unsubscribe(self):  # noqa: N802
        LOG("Unsubscribe")

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, interface, name):  # noqa: N802
        return {"Version": "252", "Features": ""}[str(name)]

    @dbus.service.signal(MANAGER, signature="uos")
    def JobNew(self, number, path, unit):  # noqa: N802
        pass

    @dbus.service.signal(MANAGER, signature="uoss")
    def JobRemoved(self, number, path, unit, result):  # noqa: N802
        pass

    @dbus.service.signal(MANAGER, signature="so")
    def UnitNew(self, name, path):  # noqa: N802
        pass

    @dbus.service.signal(MANAGER, signature="so")
    def UnitRemoved(self, name, path):  # noqa: N802
        pass

    def clear_away(self) -> None:
        """Ends what it started, as the machine's end would."""
        for unit in list(self.units.values()):
            unit.signal(signal.SIGKILL)
            if unit.process:
                unit.process.wait()
            unit.remove_group()
        for root in GROUPS:
            try:
                (root / f"ringwake-test-{os.getpid()}.slice").rmdir()
            except OSError:
                pass


def main() -> None:
    bus, loop = begin(sys.argv[2] if len(sys.argv) > 2 else "system")
    # subprocess and GLib both fetch children; only GLib may.
    manager = Manager(bus, sys.argv[3] if len(sys.argv) > 3 else None)
    name = dbus.service.BusName(NAME, bus, do_not_queue=True)
    GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGTERM, loop.quit)
    try:
        loop.run()
    finally:
        manager.clear_away()
        del name


main()
