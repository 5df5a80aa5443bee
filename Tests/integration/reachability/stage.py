"""The network of a scenario: one namespace for us, one at the other end of every cable."""

import contextlib
import fcntl
import json
import os
import struct
from collections.abc import Iterable

from support.netns import Namespace
from support.waiting import until

# linux/if_tun.h
TUNSETIFF, TUNSETPERSIST = 0x400454CA, 0x400454CB
DEVICES = {"tun": 0x0001 | 0x1000, "tap": 0x0002 | 0x1000}

# The kernel's linkwatch tells of a carrier up to a second later, of all namespaces' links in turn; seconds.
SETTLE_TIMEOUT = 60
ACTIVE = {"UP", "UNKNOWN", "DORMANT"}


class Stage:
    """Lays out networks and changes them as the lines of scenarios say.

    `cable NAME [dormant]`   a new interface with a cable to the other end
    `tun NAME`, `tap NAME`   a device that this process reads; `untun NAME` ends that, and the device stays
    `sysctl NAME VALUE`      a setting of the kernel
    `away NAME`              moves an interface to the other end
    `await WORD`             waits until an address has this flag
    `router: COMMAND`        a command of ip(8) at the other end of the cables
    `COMMAND`                a command of ip(8) here
    """

    def __init__(self) -> None:
        self.network, self.router = Namespace(), Namespace()
        self.devices: dict[str, int] = {}
        self.stack = contextlib.ExitStack()

    def __enter__(self) -> "Stage":
        with self.stack:
            self.stack.enter_context(self.network)
            self.stack.enter_context(self.router)
            self.stack.callback(self._close_devices)
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def perform(self, lines: Iterable[str]) -> None:
        """Does what the lines say, one after the other."""
        for line in lines:
            match line.split():
                case ["cable", name]:
                    self.network.veth(name, self.router)
                case ["cable", name, "dormant"]:
                    self.network.veth(name, self.router, up=False)
                    self.network.ip("link", "set", name, "mode", "dormant")
                    self.router.ip("link", "set", f"{name}-peer", "up")
                    self.network.ip("link", "set", name, "up")
                case ["tun" | "tap" as kind, name]:
                    self._open_device(kind, name)
                case ["untun", name]:
                    os.close(self.devices.pop(name))
                case ["sysctl", name, value]:
                    self.network.sysctl(name, value)
                case ["away", name]:
                    self.network.ip("link", "set", name, "netns", self.router.name)
                case ["await", word]:
                    until(lambda: word in self.network.ip("address"), SETTLE_TIMEOUT, f"an address that is {word}")
                case ["router:", *arguments]:
                    self.router.ip(*arguments)
                case arguments:
                    self.network.ip(*arguments)

    def settle(self, tentative: bool = False) -> None:
        """Waits until the kernel has told what follows from the last change.

        The carrier of each link (IFF_LOWER_UP) has come to its operational state, and no address is being checked but
        where a scenario has one go on (`tentative`).
        """
        looks: list[bool] = []

        def settled() -> bool:
            looks.append(self._is_settled(tentative))
            # Twice: the routes' flags follow the link's state after a moment.
            return all(looks[-2:]) and len(looks) > 1

        until(settled, SETTLE_TIMEOUT, lambda: self.network.ip("address"))

    def _is_settled(self, tentative: bool) -> bool:
        for link in json.loads(self.network.ip("-json", "address", "show") or "[]"):
            flags, state = link.get("flags", ()), link.get("operstate")
            if "UP" in flags and ("LOWER_UP" in flags) != (state in ACTIVE):
                return False
            for address in link.get("addr_info", ()):
                if address.get("tentative") and not address.get("dadfailed") and not tentative:
                    return False
        return True

    def _open_device(self, kind: str, name: str) -> None:
        """Makes a device that stays until it is deleted, and is its program."""
        with self.network.entered():
            self.devices[name] = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
            fcntl.ioctl(self.devices[name], TUNSETIFF, struct.pack("16sH22x", name.encode(), DEVICES[kind]))
            fcntl.ioctl(self.devices[name], TUNSETPERSIST, 1)

    def _close_devices(self) -> None:
        for descriptor in self.devices.values():
            os.close(descriptor)
        self.devices.clear()
