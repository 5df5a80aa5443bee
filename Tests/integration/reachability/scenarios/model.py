"""The words in which scenarios are written."""

import ipaddress
from dataclasses import dataclass, field, replace


class _Anything:
    """Equal to everything: what the kernel is free to choose."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "(anything)"


ANYTHING = _Anything()


@dataclass(frozen=True)
class Link:
    """An interface, and what its kind means for all that goes over it."""

    name: str
    type: str
    flags: frozenset[str] = frozenset()
    expensive: bool = False


LO = Link("lo", "loopback")
WLAN = Link("wlan0", "wifi")
ETH = Link("eth0", "wiredEthernet")
WWAN = Link("wwan0", "cellular", frozenset({"isWWAN", "transientConnection"}), expensive=True)
TUN = Link("tun0", "other", frozenset({"transientConnection"}))
TAP = Link("tap0", "wiredEthernet")
BRIDGE = Link("br0", "wiredEthernet")


@dataclass(frozen=True)
class Facts:
    """What is to be said of one target, in the members of `ringwake reachability --json`."""

    status: str
    reason: object = None
    flags: object = frozenset()
    interface: object = None
    interfaceType: object = None
    source: object = None
    gateway: object = None
    isExpensive: object = False
    supportsIPv4: bool = False
    supportsIPv6: bool = False
    supportsDNS: bool = True

    @property
    def reachable(self) -> bool:
        return self.status == "satisfied"

    def differences(self, message: dict) -> list[str]:
        """What a message says otherwise; empty when it is right."""
        members = {
            "reachable": self.reachable, "status": self.status, "reason": self.reason, "interface": self.interface,
            "interfaceType": self.interfaceType, "source": self.source, "gateway": self.gateway,
            "isExpensive": self.isExpensive, "isConstrained": False, "supportsIPv4": self.supportsIPv4,
            "supportsIPv6": self.supportsIPv6, "supportsDNS": self.supportsDNS,
        }  # fmt: skip
        found = [
            f"{name} is {message.get(name, '(missing)')!r}, not {wanted!r}"
            for name, wanted in members.items()
            if name not in message or not (wanted == message[name])
        ]
        flags = frozenset(message.get("flags", ()))
        if self.status == "unsatisfied":
            # The kind of the link that is the reason may be told all the same.
            wrong = "reachable" in flags
        else:
            wrong = not (self.flags == flags)
        return found + ([f"flags are {sorted(flags)}, not {self.flags}"] if wrong else [])


def via(gateway: object, link: Link, source: object, *flags: str) -> Facts:
    """Reachable through a gateway."""
    return _satisfied(link, source, {"reachable", *link.flags, *flags}, gateway)


def over(link: Link, source: object) -> Facts:
    """Reachable over a link that has one other end and needs no gateway."""
    return _satisfied(link, source, {"reachable", *link.flags})


def direct(link: Link, source: object) -> Facts:
    """Reachable on the link itself."""
    return _satisfied(link, source, {"reachable", "isDirect", *link.flags})


def own(address: str, *flags: str) -> Facts:
    """An address of this machine. Which interface is named is left open."""
    facts = _satisfied(LO, address, {"reachable", "isLocalAddress", *flags})
    return replace(facts, interface=ANYTHING, interfaceType=ANYTHING, isExpensive=ANYTHING)


def no(reason: object, link: Link | None = None) -> Facts:
    """Not reachable; the link is the one that is to blame."""
    return Facts(
        "unsatisfied", reason, interface=link and link.name, interfaceType=link and link.type, source=ANYTHING,
        gateway=ANYTHING, isExpensive=ANYTHING,
    )  # fmt: skip


def needs_connection(facts: Facts) -> Facts:
    """The same, once a connection was made, which traffic does."""
    flags = facts.flags | {"transientConnection", "connectionRequired", "connectionOnTraffic"}
    return replace(
        facts, status="requiresConnection", reason="connectionRequired", flags=flags, supportsIPv4=ANYTHING,
        supportsIPv6=ANYTHING,
    )  # fmt: skip


def both(facts: Facts) -> Facts:
    """The same, and the other family has a way too."""
    return replace(facts, supportsIPv4=True, supportsIPv6=True)


def by_ipv6(facts: Facts) -> Facts:
    """The same by IPv6, where the source does not say so."""
    return replace(facts, supportsIPv4=False, supportsIPv6=True)


def without_dns(facts: Facts) -> Facts:
    """The same, but no name server can be reached."""
    return replace(facts, supportsDNS=False)


def _satisfied(link: Link, source: object, flags: set[str], gateway: object = None) -> Facts:
    is_ipv6 = isinstance(source, str) and ipaddress.ip_address(source).version == 6
    return Facts(
        "satisfied", None, frozenset(flags), link.name, link.type, source, gateway, link.expensive,
        supportsIPv4=not is_ipv6, supportsIPv6=is_ipv6,
    )  # fmt: skip


@dataclass(frozen=True)
class Step:
    """Changes that are made one after the other, and what holds once they are all made."""

    name: str
    # Lines of `stage.Stage.perform`.
    commands: tuple[str, ...]
    # What is to be said now, of the targets that the step changes.
    facts: dict[str, Facts] = field(default_factory=dict)
    # Lines of a watch that one target gets at most: more than one where the changes come to us one by one.
    most: int = 1
    # Targets that may be told of, or may not: it depends on what the kernel chose before.
    perhaps: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Scenario:
    """A network, what is said of it at first, and its steps."""

    name: str
    setup: tuple[str, ...]
    facts: dict[str, Facts]
    steps: tuple[Step, ...]

    @property
    def targets(self) -> list[str]:
        return list(self.facts)

    def states(self) -> list[tuple[Step | None, dict[str, Facts]]]:
        """What is to be said of every target at first and after each step."""
        found: list[tuple[Step | None, dict[str, Facts]]] = [(None, dict(self.facts))]
        for step in self.steps:
            assert not (unknown := step.facts.keys() - self.facts.keys()), f"{self.name}: {step.name}: {unknown}"
            found.append((step, found[-1][1] | step.facts))
        return found
