"""A gateway, and devices that are linked to it."""

import json
from collections.abc import Callable

from .credentials import APP, TOPIC
from .daemon import Daemon
from .h2client import H2Client
from .waiting import until


class Device(Daemon):
    """A daemon without a port: its pushes come from its gateway."""

    def text(self) -> str:
        calls = "\n".join(f'{name} = "{length}"' for name, length in self.calls.items())
        sections = "".join(f"[{name}]\n{lines}\n" for name, lines in self.sections.items())
        return f"""
state_directory = "state"
runtime_directory = "run"
role = "device"
[link]
environments = ["development"]
{self.settings.get("link", "")}
[calls]
{calls}
[log]
level = {json.dumps(self.settings.get("log.level", "debug"))}
{sections}"""

    @property
    def link(self) -> dict:
        return self.control.get("/v1/link")

    def is_linked(self) -> bool:
        """Linked, and the gateway has all registrations."""
        link = self.link
        return link["state"] == "linked" and link.get("gatewayRevision") == link["revision"]

    def wait_until_linked(self, seconds: float = 30) -> None:
        until(self.is_linked, seconds, lambda: f"the link: {self.link}; its log:\n{self.log}")


def make_gateway(make_daemon: Callable[..., Daemon], more: str = "") -> Daemon:
    """A gateway that is not started yet."""
    gateway = make_daemon()
    gateway.settings["log.level"] = "debug"
    gateway.sections["gateway"] = f'listen = "127.0.0.1:0"\naddress = "127.0.0.1"\n{more}'
    return gateway


def address(gateway: Daemon) -> str:
    """Where devices link."""
    return gateway.control.get("/v1/gateway")["address"]


def fix_port(gateway: Daemon, place: str) -> None:
    """From its next start on the gateway has this address: without it, each start has another port."""
    gateway.sections["gateway"] = f'listen = "{place}"\naddress = "127.0.0.1"\n'
    gateway.write_configuration()


def make_device(make_daemon: Callable[..., Daemon], **options) -> Device:
    """A device with one app, which is not started yet."""
    device = make_daemon(kind=Device, **options)
    device.add_app()
    return device


def invitation(gateway: Daemon) -> dict:
    done = gateway.ringwake("gateway", "invite", "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def pair(gateway: Daemon, device: Device) -> None:
    """Pairs by the link of an invitation, and waits for the registrations."""
    done = device.ringwake("link", "pair", invitation(gateway)["link"])
    assert done.returncode == 0, (done, gateway.log, device.log)
    device.wait_until_linked()


def send(gateway: Daemon, token: str, push_id: str, payload: bytes = b'{"aps":{}}', **options):
    """A push to a device token at the gateway."""
    fields = {"authorization": gateway.credentials.authorization(), "apns_topic": TOPIC} | options
    with H2Client(gateway.host_and_port, gateway.credentials.context()) as client:
        return client.push(token, payload, apns_id=push_id, **fields)


def devices(gateway: Daemon) -> list[dict]:
    return gateway.control.get("/v1/gateway/devices")["devices"]


__all__ = [
    "APP", "TOPIC", "Device", "address", "devices", "fix_port", "invitation", "make_device", "make_gateway", "pair", "send",
]  # fmt: skip
