"""A device behind a router with NAT: three namespaces, and what routers do to links that nobody uses.

    device 192.168.77.7 --wlan0-- lan0 router wan0 203.0.113.2 -- 203.0.113.1 gateway
    fd00:77::7                                     2001:db8:1::2  2001:db8:1::1

    with Nat(timeout=20) as nat:
        gateway = nat.make_gateway(make_daemon).start()
        device = nat.make_device(make_daemon).start()
        pair(gateway, device)
        nat.expire()

The router forgets a connection for which no packet came for `timeout` seconds, and from then on takes nothing that
belongs to it, from neither side and without a word: no RST tells anybody. IPv4 is translated; IPv6 is routed, and passes
the same firewall. Needs root, nft and conntrack: `unavailable()` says so.
"""

import contextlib
import json
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from . import links, netns
from .credentials import Credentials
from .daemon import Daemon
from .links import Device, devices
from .netns import Namespace, check
from .waiting import until

GATEWAY, GATEWAY6, NAME = "203.0.113.1", "2001:db8:1::1", "gateway.example.org"
WAN, WAN6 = "203.0.113.2", "2001:db8:1::2"
LAN, LAN6, DEVICE, DEVICE6 = "192.168.77.1", "fd00:77::1", "192.168.77.7", "fd00:77::7"
# A second network of the device, as a telephone has one beside its Wi-Fi.
MOBILE, MOBILE_DEVICE = "192.168.78.1", "192.168.78.7"
# What the gateway's certificate has to be for.
HOSTS = [GATEWAY, GATEWAY6, NAME]
# The port for links.
PORT = 8883

# The gateway gives up a link that does not answer after 10 s; a device one whose gateway does not.
GIVE_UP = 60
# Another app, which comes later.
DOOR = "com.example.door"

# Long enough that no test meets it by accident; seconds.
PATIENT = 3600

# What is cut off passes no other chain. `conntrack` forgets by itself, so the chains name no connection.
RULES = """
table inet router {
    counter from_device { }
    counter from_gateway { }
    chain cut { type filter hook prerouting priority -310; }
    chain count {
        type filter hook prerouting priority -305
        meta l4proto tcp iifname "lan*" counter name from_device
        meta l4proto tcp iifname "wan0" counter name from_gateway
    }
    chain forward {
        type filter hook forward priority filter; policy drop
        ct state established,related accept
        ct state invalid drop
        iifname "lan*" accept
    }
    chain input {
        type filter hook input priority filter
        meta l4proto tcp drop
    }
    chain translate {
        type nat hook postrouting priority srcnat
        meta nfproto ipv4 oifname "wan0" masquerade
    }
}
"""


def unavailable() -> str | None:
    """Why there can be no NAT here; nil when there can."""
    if reason := netns.unavailable():
        return reason
    for tool, package in {"nft": "nftables", "conntrack": "conntrack"}.items():
        if not shutil.which(tool):
            return f"'{tool}' is not installed; apt-get install {package}"
    return None


def make_credentials(folder: Path) -> Credentials:
    """Credentials whose server certificate is for the gateway's addresses and its name."""
    return Credentials.make(folder, hosts=HOSTS)


class Nat:
    """The three networks. Gone at the end of `with`."""

    def __init__(self, timeout: int = PATIENT) -> None:
        self.gateway, self.router, self.device = Namespace(), Namespace(), Namespace()
        self.timeout = timeout
        self.stack = contextlib.ExitStack()

    def __enter__(self) -> "Nat":
        if reason := unavailable():
            raise RuntimeError(reason)
        with self.stack:
            for namespace in (self.gateway, self.router, self.device):
                self.stack.enter_context(namespace)
            self._lay()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def _lay(self) -> None:
        self.router.veth("wan0", self.gateway, "eth0")
        self.router.veth("lan0", self.device, "wlan0")
        for namespace, name, *addresses in (
            (self.gateway, "eth0", f"{GATEWAY}/24", f"{GATEWAY6}/64"),
            (self.router, "wan0", f"{WAN}/24", f"{WAN6}/64"),
            (self.router, "lan0", f"{LAN}/24", f"{LAN6}/64"),
            (self.device, "wlan0", f"{DEVICE}/24", f"{DEVICE6}/64"),
        ):
            for address in addresses:
                namespace.ip("address", "add", address, "dev", name)
        self.default_routes()
        self.gateway.ip("-6", "route", "add", "fd00:77::/64", "via", WAN6)
        # A carrier takes nothing with the address of another.
        for name, value in (
            ("net.ipv4.ip_forward", 1), ("net.ipv6.conf.all.forwarding", 1), ("net.ipv4.conf.all.rp_filter", 1),
            ("net.netfilter.nf_conntrack_tcp_loose", 0),
        ):  # fmt: skip
            self.router.sysctl(name, value)
        self.forget_after(self.timeout)
        self.nft(RULES)
        # The kernel tells of a carrier after a moment; an IPv6 address is of use from then on.
        for namespace in (self.gateway, self.router, self.device):
            until(lambda: "tentative" not in namespace.ip("-6", "address"), 60, "the addresses to be usable")  # noqa: B023
        self.device.etc("hosts", f"127.0.0.1 localhost\n{GATEWAY} {NAME}\n{GATEWAY6} {NAME}\n")

    # The router

    def nft(self, text: str) -> None:
        """Has the router's firewall do this, nft(8)."""
        check(*self.router.command("nft", "-f", "-"), input=text)

    def forget_after(self, seconds: int) -> None:
        """Sets how long a connection may be idle; one that exists keeps its time until its next packet."""
        self.timeout = seconds
        self.router.sysctl("net.netfilter.nf_conntrack_tcp_timeout_established", seconds)

    def entries(self) -> list[str]:
        """The links that the router knows and has not seen ending."""
        done = self.router.exec("conntrack", "-L", "-p", "tcp", "--dport", str(PORT))
        lines = done.stdout + self.router.exec("conntrack", "-L", "-f", "ipv6", "-p", "tcp", "--dport", PORT).stdout
        return [line for line in lines.splitlines() if " ESTABLISHED " in line]

    def expire(self) -> None:
        """Has the router forget all connections now, as one does that is switched off and on."""
        for family in ("ipv4", "ipv6"):
            check(*self.router.command("conntrack", "-F", "-f", family))

    def cut(self, match: str = "") -> None:
        """Drops all packets between the two, or those that match, without a word; `restore` ends it."""
        self.nft(f"add rule inet router cut {match} drop\n")

    def restore(self) -> None:
        self.nft("flush chain inet router cut\n")

    def traffic(self) -> dict[str, tuple[int, int]]:
        """Packets and bytes (of IP) that came from each side, TCP only."""
        text = check(*self.router.command("nft", "-j", "list", "counters", "table", "inet", "router"))
        counters = [item["counter"] for item in json.loads(text)["nftables"] if "counter" in item]
        return {counter["name"]: (counter["packets"], counter["bytes"]) for counter in counters}

    # The device's networks

    def default_routes(self) -> None:
        """The device's way out, and its IPv6 address: gone once its interface was down. No DHCP client brings them."""
        self.device.ip("route", "replace", "default", "via", LAN)
        self.device.ip("-6", "address", "replace", f"{DEVICE6}/64", "dev", "wlan0")
        self.device.ip("-6", "route", "replace", "default", "via", LAN6)

    def unplug(self) -> None:
        """Takes the device's interface down, and its routes with it."""
        self.device.ip("link", "set", "wlan0", "down")

    def plug(self) -> None:
        self.device.ip("link", "set", "wlan0", "up")
        self.default_routes()

    def renumber(self, address: str) -> None:
        """Gives the device another IPv4 address, as a DHCP server does that has forgotten it."""
        self.device.ip("-4", "address", "flush", "dev", "wlan0")
        self.device.ip("address", "add", f"{address}/24", "dev", "wlan0")
        self.default_routes()

    def add_mobile(self) -> None:
        """Gives the device a second network, which it does not use yet."""
        self.router.veth("lan1", self.device, "wwan0")
        self.router.ip("address", "add", f"{MOBILE}/24", "dev", "lan1")
        self.device.ip("address", "add", f"{MOBILE_DEVICE}/24", "dev", "wwan0")
        self.device.ip("route", "add", "default", "via", MOBILE, "metric", "600")

    def move_to_mobile(self) -> None:
        """Its default route leads over the second network now; the first one stays, with its address."""
        self.device.ip("route", "delete", "default", "via", LAN)

    # The daemons

    def make_gateway(self, make_daemon: Callable[..., Daemon], **options) -> Daemon:
        """A gateway at the public end that is not started yet."""
        gateway = make_daemon(user=self.gateway.command(), **options)
        gateway.settings["log.level"] = "debug"
        gateway.sections["gateway"] = f'listen = "{GATEWAY}:{PORT}"\naddress = "{GATEWAY}:{PORT}"\n'
        return gateway

    def make_named_gateway(self, make_daemon: Callable[..., Daemon], **options) -> Daemon:
        """One that devices know by its name, and that takes links by IPv4 and IPv6."""
        gateway = self.make_gateway(make_daemon, address=f"{GATEWAY}:{PORT}", **options)
        gateway.sections["gateway"] = f'on_push_ports = true\naddress = "{NAME}:{PORT}"\n'
        gateway.sections["[listener]"] = f'address = "[{GATEWAY6}]:{PORT}"\nenvironment = "development"\n'
        return gateway

    def make_device(self, make_daemon: Callable[..., Daemon], **options) -> Device:
        """A device behind the router, with one app, that is not started yet."""
        device = links.make_device(make_daemon, user=self.device.command(), **options)
        device.sections["reachability"] = 'loss_hold = "0s"\n'
        # Its handlers report nothing. What becomes of their calls would be told to the gateway 5 s later, by which the device
        # may find a dead link before the test does.
        device.calls["report"] = "60s"
        return device

    def send(self, gateway: Daemon, token: str, push_id: str, **options):
        """A push, by a sender beside the gateway."""
        with self.gateway.entered():
            return links.send(gateway, token, push_id, **options)


class Pair:
    """A gateway, and a device behind the router that is paired with it."""

    def __init__(self, nat: Nat, gateway: Daemon, device: Device) -> None:
        self.nat, self.gateway, self.device = nat, gateway, device
        self.token = ""
        self.calls: list[str] = []

    def start(self) -> "Pair":
        self.gateway.start()
        self.device.start()
        links.pair(self.gateway, self.device)
        self.token = self.device.device_token()
        return self

    def push(self) -> str:
        """A push that is accepted; answers its call."""
        self.calls.append(str(uuid.uuid4()))
        answer = self.nat.send(self.gateway, self.token, self.calls[-1])
        assert (answer.status, answer.reason) == (200, None), self.logs()
        return self.calls[-1]

    def ring(self) -> None:
        """A push that wakes its handler on the device, and of which the gateway knows that it came."""
        self.wait(self.push())
        until(lambda: self.waiting == 0, GIVE_UP, self.logs)

    def wait(self, call: str, seconds: float = GIVE_UP) -> None:
        until(lambda: call in self.device.recorders[0].wakes(), seconds, lambda: f"call {call}:\n{self.logs()}")

    def check_once(self) -> None:
        """Each call so far rang, once, and nothing waits."""
        until(lambda: self.waiting == 0, GIVE_UP, self.logs)
        for call in self.calls:
            assert self.device.log.count(f"call={call} state=woken") == 1, self.logs()

    def logs(self) -> str:
        return f"{devices(self.gateway)}\n{self.device.link}\ngateway:\n{self.gateway.log}\ndevice:\n{self.device.log}"

    @property
    def waiting(self) -> int:
        return devices(self.gateway)[0]["waiting"]

    @property
    def peer(self) -> str | None:
        """Where the gateway sees the device; none while it is offline."""
        return devices(self.gateway)[0].get("peer")

    def wait_until_offline(self) -> None:
        until(lambda: self.peer is None, GIVE_UP, self.logs)

    def wait_for_another_link(self, former: str | None) -> None:
        until(lambda: self.peer not in (None, former), GIVE_UP, self.logs)
        self.device.wait_until_linked()
