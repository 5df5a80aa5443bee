"""Links that come, go, lose their carrier, change their names or wait."""

from .model import (
    ANYTHING, BRIDGE, ETH, LO, WLAN, WWAN, Link, Scenario, Step, both, direct, needs_connection, no, own, via,
    without_dns,
)  # fmt: skip

REMOTE, REMOTE6 = "198.51.100.9", "2001:db8:9::9"
GATEWAY, OWN = "192.0.2.1", "192.0.2.7"
GATEWAY6, OWN6 = "2001:db8:1::1", "2001:db8:1::7"
MOBILE_GATEWAY, MOBILE_OWN = "203.0.113.1", "203.0.113.7"

# A Wi-Fi with IPv4, the same with both families, and a mobile network with a worse metric.
WIFI = ("cable wlan0", f"address add {OWN}/24 dev wlan0", f"route add default via {GATEWAY} dev wlan0")
WIFI_BOTH = (*WIFI, f"address add {OWN6}/64 dev wlan0", f"route add default via {GATEWAY6} dev wlan0")
MOBILE = (
    "cable wwan0", f"address add {MOBILE_OWN}/24 dev wwan0",
    f"route add default via {MOBILE_GATEWAY} dev wwan0 metric 600",
)  # fmt: skip

BY_WIFI, BY_WIFI6 = via(GATEWAY, WLAN, OWN), via(GATEWAY6, WLAN, OWN6)
BY_MOBILE = via(MOBILE_GATEWAY, WWAN, MOBILE_OWN)
NEAR = direct(WLAN, OWN)
NO_ROUTE = no("noRoute")
PULLED, UNPLUGGED = no("noCarrier", WLAN), "router: link set wlan0-peer down"
PLUGGED = "router: link set wlan0-peer up"
SOME_LINK = Link(ANYTHING, ANYTHING)

LINKS = [
    Scenario(
        "cable-pull",
        WIFI_BOTH,
        {"any": both(BY_WIFI), REMOTE: BY_WIFI, REMOTE6: BY_WIFI6, GATEWAY: NEAR, OWN: own(OWN, "isDirect")},
        (
            # IPv4's tables stay as they are; so do IPv6's, but for the link's state.
            Step("the cable is pulled", (UNPLUGGED,), dict.fromkeys(("any", REMOTE, REMOTE6, GATEWAY), PULLED)),
            Step(
                "it is plugged in again", (PLUGGED,),
                {"any": both(BY_WIFI), REMOTE: BY_WIFI, REMOTE6: BY_WIFI6, GATEWAY: NEAR}, most=2,
            ),
            Step("its other end gets an address", ("router: address add 192.0.2.1/24 dev wlan0-peer",)),
        ),
    ),
    Scenario(
        "admin-down",
        WIFI,
        {"any": BY_WIFI, REMOTE: BY_WIFI, GATEWAY: NEAR, OWN: own(OWN, "isDirect")},
        (
            # All routes over it go, without a word but that of the link; the address stays.
            Step("the link is switched off", ("link set wlan0 down",),
                 dict.fromkeys(("any", REMOTE, GATEWAY), NO_ROUTE)),
            Step("on again", ("link set wlan0 up",), {GATEWAY: NEAR}, most=2),
            Step("the default route is set again", (f"route add default via {GATEWAY} dev wlan0",),
                 {"any": BY_WIFI, REMOTE: BY_WIFI}),
        ),
    ),  # fmt: skip
    Scenario(
        "link-deleted",
        WIFI_BOTH,
        {"any": both(BY_WIFI), REMOTE: BY_WIFI, REMOTE6: BY_WIFI6, OWN: own(OWN, "isDirect")},
        (
            Step("the link is deleted", ("link delete wlan0",),
                 dict.fromkeys(("any", REMOTE, REMOTE6, OWN), NO_ROUTE)),
            Step("another of its name comes, with IPv4 alone", WIFI,
                 {"any": BY_WIFI, REMOTE: BY_WIFI, OWN: own(OWN, "isDirect")}, most=3),
        ),
    ),  # fmt: skip
    Scenario(
        "fail-over",
        (*WIFI, *MOBILE),
        {"any": BY_WIFI, REMOTE: BY_WIFI, GATEWAY: NEAR, MOBILE_GATEWAY: direct(WWAN, MOBILE_OWN)},
        (
            Step("the better route goes", (f"route delete default via {GATEWAY} dev wlan0",),
                 {"any": BY_MOBILE, REMOTE: BY_MOBILE}),
            Step("it comes back", (f"route add default via {GATEWAY} dev wlan0",), {"any": BY_WIFI, REMOTE: BY_WIFI}),
            # What was on the link itself is now looked for at the mobile network's gateway.
            Step("the Wi-Fi is switched off", ("link set wlan0 down",),
                 {"any": BY_MOBILE, REMOTE: BY_MOBILE, GATEWAY: BY_MOBILE}),
            Step("on again, without a route", ("link set wlan0 up",), {GATEWAY: NEAR}, most=2),
            Step("a worse route comes", (f"route add default via {GATEWAY} dev wlan0 metric 700",)),
            Step("the mobile network goes", ("link set wwan0 down",),
                 {"any": BY_WIFI, REMOTE: BY_WIFI, MOBILE_GATEWAY: BY_WIFI}),
        ),
    ),  # fmt: skip
    Scenario(
        # The kernel goes on using a route over a dead link: what it sends is lost.
        "dead-link-kept",
        (*WIFI, *MOBILE),
        {"any": BY_WIFI, REMOTE: BY_WIFI},
        (
            Step("the cable is pulled", (UNPLUGGED,), {"any": PULLED, REMOTE: PULLED}),
            Step("the dead route goes", (f"route delete default via {GATEWAY} dev wlan0",),
                 {"any": BY_MOBILE, REMOTE: BY_MOBILE}),
        ),
    ),  # fmt: skip
    Scenario(
        "dead-link-passed-over",
        (*WIFI, *MOBILE, "sysctl net.ipv4.conf.wlan0.ignore_routes_with_linkdown 1"),
        {"any": BY_WIFI, REMOTE: BY_WIFI},
        (
            Step("the cable is pulled", (UNPLUGGED,), {"any": BY_MOBILE, REMOTE: BY_MOBILE}),
            Step("it is plugged in again", (PLUGGED,), {"any": BY_WIFI, REMOTE: BY_WIFI}, most=2),
        ),
    ),
    Scenario(
        # A link that was not there when the watch began, and that no message was asked for.
        "late-link",
        WIFI,
        {"any": BY_WIFI, REMOTE: BY_WIFI, MOBILE_GATEWAY: BY_WIFI},
        (
            Step("a modem comes", MOBILE, {MOBILE_GATEWAY: direct(WWAN, MOBILE_OWN)}),
            Step("the Wi-Fi moves to another namespace", ("away wlan0",),
                 {"any": BY_MOBILE, REMOTE: BY_MOBILE}),
            Step("the modem loses its signal", ("router: link set wwan0-peer down",),
                 dict.fromkeys(("any", REMOTE, MOBILE_GATEWAY), no("noCarrier", WWAN))),
            Step("the modem is pulled out", ("link delete wwan0",),
                 dict.fromkeys(("any", REMOTE, MOBILE_GATEWAY), NO_ROUTE)),
        ),
    ),  # fmt: skip
    Scenario(
        # What it is taken for goes by its name where nothing else tells.
        "rename",
        WIFI,
        {"any": BY_WIFI, REMOTE: BY_WIFI, GATEWAY: NEAR, OWN: own(OWN, "isDirect")},
        (
            Step("it gets a cable's name", ("link set wlan0 name eth0",),
                 {"any": via(GATEWAY, ETH, OWN), REMOTE: via(GATEWAY, ETH, OWN), GATEWAY: direct(ETH, OWN)},
                 perhaps=frozenset({OWN})),
            Step("it gets its old one", ("link set eth0 name wlan0",),
                 {"any": BY_WIFI, REMOTE: BY_WIFI, GATEWAY: NEAR}, perhaps=frozenset({OWN})),
        ),
    ),  # fmt: skip
    Scenario(
        "dormant-mobile",
        ("cable wwan0 dormant", *MOBILE[1:]),
        {"any": needs_connection(BY_MOBILE), REMOTE: needs_connection(BY_MOBILE)},
        (
            Step("it connects", ("link set wwan0 state up",), {"any": BY_MOBILE, REMOTE: BY_MOBILE}),
            Step("it falls asleep", ("link set wwan0 state dormant",),
                 {"any": needs_connection(BY_MOBILE), REMOTE: needs_connection(BY_MOBILE)}),
        ),
    ),  # fmt: skip
    Scenario(
        # IEEE 802.1X, or a WPA handshake, is not through.
        "dormant-wifi",
        ("cable wlan0 dormant", *WIFI[1:]),
        {"any": no("interfaceDormant", WLAN), GATEWAY: no("interfaceDormant", WLAN), OWN: own(OWN, "isDirect")},
        (
            Step("it is let in", ("link set wlan0 state up",), {"any": BY_WIFI, GATEWAY: NEAR}),
            Step("it is shut out", ("link set wlan0 state dormant",),
                 dict.fromkeys(("any", GATEWAY), no("interfaceDormant", WLAN))),
        ),
    ),  # fmt: skip
    Scenario(
        "loopback-down",
        WIFI,
        {"127.0.0.1": own("127.0.0.1"), OWN: own(OWN, "isDirect"), REMOTE: BY_WIFI},
        (
            # resolv.conf names no server, which means 127.0.0.1. The FIB goes on saying "local".
            Step("lo is switched off", ("link set lo down",),
                 {"127.0.0.1": without_dns(no("interfaceDown", LO)), OWN: without_dns(no("interfaceDown", SOME_LINK)),
                  REMOTE: without_dns(BY_WIFI)}),
            Step("and on again", ("link set lo up",),
                 {"127.0.0.1": own("127.0.0.1"), OWN: own(OWN, "isDirect"), REMOTE: BY_WIFI}, most=2),
        ),
    ),  # fmt: skip
    Scenario(
        # Addresses and routes belong to the bridge; its port has the carrier.
        "bridge",
        ("link add br0 type bridge", "cable wlan1", "link set wlan1 master br0", "link set br0 up",
         f"address add {OWN}/24 dev br0", f"route add default via {GATEWAY} dev br0"),
        {"any": via(GATEWAY, BRIDGE, OWN), GATEWAY: direct(BRIDGE, OWN)},
        (
            Step("the port's cable is pulled", ("router: link set wlan1-peer down",),
                 dict.fromkeys(("any", GATEWAY), no("noCarrier", BRIDGE))),
            Step("and plugged in", ("router: link set wlan1-peer up",),
                 {"any": via(GATEWAY, BRIDGE, OWN), GATEWAY: direct(BRIDGE, OWN)}, most=2),
            Step("the port leaves", ("link set wlan1 nomaster",),
                 dict.fromkeys(("any", GATEWAY), no("noCarrier", BRIDGE))),
        ),
    ),  # fmt: skip
]
