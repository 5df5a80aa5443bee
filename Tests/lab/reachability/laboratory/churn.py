"""What other programs do to a network all day, and what is about none of our targets."""

import socket
import struct
import time
from collections.abc import Callable

from reachability.stage import Stage
from support.waiting import until

ROUTES, ADVERTISEMENTS, RENEWALS, CONTAINERS, ADDRESSES = 10_000, 1_000, 1_000, 100, 1_000
# An address that is refreshed is older than this: ours drops no message about a younger one. Seconds.
AGE = 6
ICMPV6_ROUTER_ADVERTISEMENT, PREFIX_INFORMATION, ALL_NODES = 134, 3, "ff02::1"
PREFIX = "2001:db8:7::"


def routes(stage: Stage, share: float) -> None:
    """Routes to elsewhere come."""
    stage.network.batch(
        f"route add 10.{number >> 8}.{number & 255}.0/24 dev wlan0" for number in range(int(ROUTES * share))
    )


def containers(stage: Stage, share: float) -> None:
    """Pairs of links as containers have them come, are switched on, get an address, and go."""
    stage.network.batch(
        line
        for number in range(int(CONTAINERS * share))
        for line in (
            f"link add veth{number} type veth peer name ceth{number}",
            f"link set veth{number} up",
            f"link set ceth{number} up",
            f"link delete veth{number}",
        )
    )


def renewals(stage: Stage, share: float) -> None:
    """A DHCP client renews its lease."""
    stage.network.batch(
        f"address change 192.0.2.7/24 dev wlan0 valid_lft {3600 + number} preferred_lft {3600 + number}"
        for number in range(int(RENEWALS * share))
    )


def advertisements(stage: Stage, share: float) -> None:
    """A router advertises its prefix: RFC 4861 section 4.2, with the option of section 4.6.2."""
    advertise(stage, int(ADVERTISEMENTS * share))


def prepare_advertisements(stage: Stage) -> None:
    """The first makes the address; those after it only refresh it."""
    stage.network.sysctl("net.ipv6.conf.wlan0.accept_ra", 1)
    advertise(stage, 1)
    time.sleep(AGE)


def addresses(stage: Stage, share: float) -> None:
    """Addresses come and go on an interface that leads nowhere."""
    stage.network.batch(
        f"address {verb} 10.9.{number >> 8}.{number & 255}/32 dev aside0"
        for number in range(int(ADDRESSES * share / 2))
        for verb in ("add", "delete")
    )


def prepare_addresses(stage: Stage) -> None:
    """An interface beside the way; a first address shows that its addresses change."""
    stage.perform(["cable aside0", "address add 10.0.0.1/24 dev aside0"])
    stage.settle()
    stage.network.ip("address", "add", "10.9.255.1/32", "dev", "aside0")


def prepare_renewals(stage: Stage) -> None:
    time.sleep(AGE)


def advertise(stage: Stage, count: int) -> None:
    with stage.router.entered():
        sender = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    with sender:
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        destination = (ALL_NODES, 0, 0, stage.router.index("wlan0-peer"))
        until(lambda: "tentative" not in stage.router.ip("address"), AGE, "the router's address")
        for number in range(count):
            valid = 86_400 + number
            option = struct.pack("!BBBBIII16s", PREFIX_INFORMATION, 4, 64, 0xC0, valid, valid, 0,
                                 socket.inet_pton(socket.AF_INET6, PREFIX))  # fmt: skip
            # The kernel writes the checksum.
            header = struct.pack("!BBHBBHII", ICMPV6_ROUTER_ADVERTISEMENT, 0, 0, 64, 0, 1800, 0, 0)
            sender.sendto(header + option, destination)
            # As much time as a watcher needs to wake up for each.
            time.sleep(0.001)


def nothing(stage: Stage) -> None:
    """Needs no preparation."""


Churn = Callable[[Stage, float], None]
# What is done, with its name, and what has to be there before.
CHURNS: dict[str, tuple[Churn, Callable[[Stage], None]]] = {
    "10,000 routes": (routes, nothing),
    "1,000 advertisements": (advertisements, prepare_advertisements),
    "1,000 renewals": (renewals, prepare_renewals),
    "100 containers": (containers, nothing),
    "1,000 addresses": (addresses, prepare_addresses),
}
