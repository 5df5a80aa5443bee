"""Real audio servers in folders of their own: PulseAudio, and PipeWire with WirePlumber and pipewire-pulse.

Both have the null sinks `speaker` and `headset` and the source `microphone`, which play to nobody and record silence; or
only some of these, where a test says so before the start.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from . import programs
from .buses import Bus
from .waiting import until

# Starting takes some hundred milliseconds; the bound is for a machine under load. In seconds.
START_TIMEOUT = 60

DEVICES = {"speaker": "sink", "headset": "sink", "microphone": "source"}

# Names of the databases are the server's own; what it stores is what the tests are about.
PULSEAUDIO = """
load-module module-device-restore
load-module module-stream-restore
load-module module-card-restore
load-module module-default-device-restore
load-module module-native-protocol-unix
load-module module-null-sink sink_name=speaker sink_properties=device.description=Speaker
load-module module-null-sink sink_name=headset sink_properties=device.description=Headset
load-module module-null-source source_name=microphone description=Microphone
"""

# In the server's own configuration, so that it has them again after it was killed.
PIPEWIRE_OBJECT = """
    {{ factory = adapter
      args = {{
        factory.name = support.null-audio-sink
        node.name = "{name}"
        node.description = "{name}"
        media.class = "{media}"
        audio.position = [ FL FR ]
        object.linger = true
      }} }}
"""

MEDIA = {"sink": "Audio/Sink", "source": "Audio/Source/Virtual"}

# No device of this machine is a test's business.
WIREPLUMBER = {
    "main.lua.d/51-no-devices.lua": (
        "alsa_monitor.enabled = false\nv4l2_monitor.enabled = false\nlibcamera_monitor.enabled = false\n"
    ),
    "bluetooth.lua.d/51-no-devices.lua": "bluez_monitor.enabled = false\n",
}


TOOLS = {
    "pulseaudio": "pulseaudio", "pactl": "pulseaudio-utils", "pacat": "pulseaudio-utils", "pipewire": "pipewire",
    "wireplumber": "wireplumber", "pipewire-pulse": "pipewire-pulse",
}  # fmt: skip


def missing() -> list[str]:
    """Says for each program that is needed and not there what to do."""
    return [
        f"'{tool}' is not installed; apt-get install {package}"
        for tool, package in TOOLS.items()
        if not shutil.which(tool)
    ]


class AudioServer:
    """An audio server and what it needs: its folders, a session bus, its processes."""

    kind = ""
    # What it has from its start; the tests plug others in, and out.
    devices: tuple[str, ...] = tuple(DEVICES)

    def __init__(self) -> None:
        # A socket's path has at most 107 bytes, so not in pytest's deep folders.
        self.folder = Path(tempfile.mkdtemp(prefix=f"ringwake-{self.kind}-"))
        for name in ("run", "home", "config", "state", "data"):
            (self.folder / name).mkdir(mode=0o700)
        # Clients make this folder too, and pipewire-pulse gives up when one is quicker.
        (self.folder / "run" / "pulse").mkdir(mode=0o700)
        self.session_bus = Bus("session")
        # No system bus of this machine's; a test that wants one brings it along.
        self.variables = {"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"}
        self.processes: list[subprocess.Popen] = []

    def commands(self) -> list[list[str]]:
        """What is started, in this order, each once the one before is there."""
        raise NotImplementedError

    def has_started(self, number: int) -> bool:
        """Whether the command of this place does its work."""
        raise NotImplementedError

    # Processes

    def environment(self) -> dict[str, str]:
        """How clients find it, and it its files."""
        folders = {"RUNTIME_DIR": "run", "CONFIG_HOME": "config", "STATE_HOME": "state", "DATA_HOME": "data"}
        found = {f"XDG_{name}": str(self.folder / folder) for name, folder in folders.items()}
        found |= {"HOME": str(self.folder / "home")}
        return found | self.session_bus.environment() | self.variables

    def start(self) -> "AudioServer":
        if not self.session_bus.process:
            self.session_bus.start()
        for number, command in enumerate(self.commands()):
            log = (self.folder / f"{command[0]}.log").open("ab")
            self.processes.append(
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                    env=os.environ | self.environment(),
                )  # fmt: skip
            )
            log.close()
            until(lambda at=number: self._is_there(at), START_TIMEOUT, lambda: f"{command[0]}; its log:\n{self.log}")
        return self

    def _is_there(self, number: int) -> bool:
        process = self.processes[number]
        assert process.poll() is None, f"{process.args} ended with {process.returncode}; its log:\n{self.log}"
        return self.has_started(number)

    def kill(self) -> None:
        """Takes the life of all of it at once, as a crash or the want of memory would."""
        for process in self.processes:
            process.kill()
        self._forget()

    def stop(self) -> None:
        """Ends it in good order: what it stores late is stored."""
        for process in reversed(self.processes):
            process.terminate()
            process.wait(START_TIMEOUT)
        self._forget()

    def _forget(self) -> None:
        for process in self.processes:
            process.wait(START_TIMEOUT)
        self.processes = []

    def clear_away(self) -> None:
        self.kill()
        self.session_bus.clear_away()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def log(self) -> str:
        return "\n".join(file.read_text(errors="replace") for file in sorted(self.folder.glob("*.log")))

    # What clients see

    def run(self, *command: object, **options) -> subprocess.CompletedProcess:
        """Runs a program that finds this server and no other."""
        return programs.run(*command, env=self.environment(), **options)

    def pactl(self, *arguments: object) -> str:
        """Runs pactl(1), which speaks to both servers and which nobody here wrote."""
        done = self.run("pactl", *arguments)
        assert done.returncode == 0, f"pactl {arguments}: {done.stderr}"
        return done.stdout

    def list(self, what: str) -> list[dict]:
        """`sinks`, `sources`, `cards`, `sink-inputs`, `source-outputs`, as pactl has them."""
        return json.loads(self.pactl("-f", "json", "list", what))

    def info(self) -> dict:
        return json.loads(self.pactl("-f", "json", "info"))

    def answers(self) -> bool:
        return self.run("pactl", "info").returncode == 0

    def has_devices(self) -> bool:
        if not self.answers():
            return False
        names = {device["name"] for what in ("sinks", "sources") for device in self.list(what)}
        return names >= set(self.devices)

    def plug_in(self, name: str) -> int:
        """A device of DEVICES that comes later; a number for `unplug`."""
        return int(self.pactl("load-module", *self.module(name)))

    def module(self, name: str) -> tuple[str, ...]:
        """What is loaded for a device, with its arguments."""
        raise NotImplementedError

    def unplug(self, number: int) -> None:
        self.pactl("unload-module", number)


class PulseAudio(AudioServer):
    kind = "pulseaudio"
    script = PULSEAUDIO

    def commands(self) -> list[list[str]]:
        script = self.folder / "default.pa"
        left_out = [f"_name={name}" for name in DEVICES if name not in self.devices]
        lines = [line for line in self.script.splitlines() if not any(name in line for name in left_out)]
        script.write_text("\n".join(lines) + "\n")
        options = ["--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--log-target=stderr"]
        return [["pulseaudio", "-n", f"--file={script}", *options]]

    def has_started(self, number: int) -> bool:
        return self.has_devices()

    def module(self, name: str) -> tuple[str, ...]:
        kind = DEVICES[name]
        return f"module-null-{kind}", f"{kind}_name={name}"


class PipeWire(AudioServer):
    kind = "pipewire"

    def commands(self) -> list[list[str]]:
        objects = "".join(PIPEWIRE_OBJECT.format(name=name, media=MEDIA[DEVICES[name]]) for name in self.devices)
        files = {"pipewire/pipewire.conf.d/devices.conf": f"context.objects = [{objects}]\n"}
        files |= {f"wireplumber/{name}": text for name, text in WIREPLUMBER.items()}
        for name, text in files.items():
            file = self.folder / "config" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return [["pipewire"], ["wireplumber"], ["pipewire-pulse"]]

    def has_started(self, number: int) -> bool:
        if number == 0:
            # A killed server leaves its socket's file behind, at which nobody answers.
            return accepts(self.folder / "run" / "pipewire-0")
        if number == 1:
            # It answers before it has made its session; streams that come earlier go nowhere.
            return self.run("wpctl", "status").returncode == 0
        sinks = [name for name in self.devices if DEVICES[name] == "sink"]
        return self.has_devices() and (not sinks or self.info()["default_sink_name"] in sinks)

    def module(self, name: str) -> tuple[str, ...]:
        return "module-null-sink", f"sink_name={name}", f"media.class={MEDIA[DEVICES[name]]}"


def accepts(path: Path) -> bool:
    """Whether a process listens on a unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        return connection.connect_ex(str(path)) == 0


SERVERS: dict[str, type[AudioServer]] = {server.kind: server for server in (PulseAudio, PipeWire)}
