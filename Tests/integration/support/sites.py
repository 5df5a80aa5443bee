"""A gateway with an honest device, for tests of what others do to them."""

import re
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from . import mqtt
from .daemon import Daemon
from .links import Device, invitation, make_device, make_gateway, pair, send
from .mqtt import CONNACK, DeviceKey, Link


def address(gateway: Daemon) -> tuple[str, int]:
    host, _, port = gateway.control.get("/v1/gateway")["address"].rpartition(":")
    return host, int(port)


class Site:
    """A gateway, and an honest device that is paired with it."""

    def __init__(self, gateway: Daemon, device: Device, folder: Path) -> None:
        self.gateway, self.device, self.folder = gateway, device, folder
        self.address = address(gateway)
        self.token = device.device_token()

    def make_key(self, **options) -> DeviceKey:
        """A key that the gateway knows."""
        key = DeviceKey.make(self.folder)
        answer = mqtt.pair(self.address, key, invitation(self.gateway)["code"], **options)
        assert answer.reason == 0, (answer, self.gateway.log)
        return key

    def link(self, key: DeviceKey, **user: object) -> Link:
        """A link that was accepted."""
        link = Link(self.address, key)
        answer = link.connect(**({"revision": 0} | user))
        assert (answer.kind, answer.reason) == (CONNACK, 0), answer
        return link

    def ring(self) -> None:
        """A push that wakes its handler on the honest device."""
        call = str(uuid.uuid4())
        answer = send(self.gateway, self.token, call)
        assert (answer.status, answer.reason) == (200, None), self.gateway.log
        self.device.recorders[0].wait(call, 60)

    def check(self) -> None:
        self.gateway.check_alive()
        self.device.check_alive()
        assert self.device.is_linked(), self.device.log

    def lines(self, since: int = 0) -> Counter:
        """The lines of the gateway's log, by kind."""
        said = self.gateway.log_file.read_bytes()[since:].decode(errors="replace")
        return Counter(re.sub(r" [A-Za-z]+=.*", "", line) for line in said.splitlines())


def make_site(make_daemon: Callable[..., Daemon], folder: Path) -> Site:
    gateway = make_gateway(make_daemon)
    gateway.settings["log.level"] = "info"
    gateway.start()
    device = make_device(make_daemon).start()
    # Handlers that stay are of no use here.
    device.recorders[0].exec[2:] = ["true"]
    pair(gateway, device)
    return Site(gateway, device, folder)
