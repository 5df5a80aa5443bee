"""The peers that are daemons: from Debian, each with the least configuration with which it watches and changes nothing.

Their files are in a folder that only they see; NetworkManager and connman get a D-Bus daemon of their own.
"""

import shutil
import tempfile
from pathlib import Path

from .watchers import Watcher, programs

HOOK = "#!/bin/sh\nexit 0\n"
BUS = """<busconfig>
  <type>system</type>
  <listen>unix:path={path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_destination="*"/>
    <allow receive_sender="*"/><allow send_type="signal"/><allow eavesdrop="true"/>
  </policy>
</busconfig>
"""


class Peer(Watcher):
    """A daemon with a folder of its own."""

    program = ""
    folder: Path

    def prepare(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ringwake-peer-"))
        self.stage.stack.callback(shutil.rmtree, self.folder, ignore_errors=True)

    def file(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path


class Netplug(Peer):
    name, program = "netplug", "netplugd"

    def commands(self) -> list[list[str]]:
        hook = self.file("hook", HOOK, 0o755)
        return [["netplugd", "-F", "-P", "-i", "wlan0", "-s", str(hook), "-p", "/run/netplugd.pid"]]


class Dhcpcd(Peer):
    name, program = "dhcpcd", "dhcpcd"
    private_folders = "/run /var/lib"

    def commands(self) -> list[list[str]]:
        # It manages wlan0, and neither asks a server nor gives it an address.
        lines = "nodhcp\nnodhcp6\nnoipv4ll\nnoipv6rs\nnoarp\nnogateway\nnohook resolv.conf\nallowinterfaces wlan0\n"
        configuration = self.file("dhcpcd.conf", lines)
        hook = self.file("hook", HOOK, 0o755)
        return [["dhcpcd", "--nobackground", "--config", str(configuration), "--script", str(hook)]]


class OnBus(Peer):
    """A daemon that speaks D-Bus, with a bus of its own."""

    def environment(self) -> dict[str, str]:
        return {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.folder}/bus"}

    def bus(self) -> list[str]:
        configuration = self.file("bus.conf", BUS.format(path=self.folder / "bus"))
        return ["dbus-daemon", "--nofork", "--nopidfile", f"--config-file={configuration}"]

    def start(self) -> None:
        super().start()
        # The bus is not the peer.
        self.bus_process = self.running.pop(0)

    def after_bus(self, command: str) -> list[str]:
        """A command that waits for the bus first."""
        return ["sh", "-c", f"until [ -S {self.folder}/bus ]; do sleep 0.05; done; exec {command}"]


class Connman(OnBus):
    name, program = "connman", "connmand"
    private_folders = "/run /var/lib"

    def commands(self) -> list[list[str]]:
        lines = "[General]\nNetworkInterfaceBlacklist=veth\nAllowHostnameUpdates=false\nEnableOnlineCheck=false\n"
        configuration = self.file("main.conf", lines)
        return [self.bus(), self.after_bus(f"connmand --nodaemon --nodnsproxy --config={configuration}")]


class NetworkManager(OnBus):
    name, program = "NetworkManager + dispatcher", "NetworkManager"
    private_folders = "/run /var/lib"

    def commands(self) -> list[list[str]]:
        lines = "[main]\nplugins=keyfile\ndns=none\nno-auto-default=*\nconfigure-and-quit=no\n[logging]\nlevel=ERR\n"
        configuration = self.file("NetworkManager.conf", lines)
        manager = f"NetworkManager --no-daemon --config={configuration} --config-dir={self.folder}/none --log-level=ERR"
        dispatcher = "/usr/lib/NetworkManager/nm-dispatcher --persist"
        return [self.bus(), self.after_bus(manager), self.after_bus(dispatcher)]


PEERS: list[type[Peer]] = [Netplug, Dhcpcd, Connman, NetworkManager]


def available() -> list[type[Peer]]:
    return [peer for peer in PEERS if programs.find(peer.program)]
