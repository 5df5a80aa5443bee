"""Routes: each way to lose the default route, and each kind of route that leads nowhere."""

from dataclasses import replace

from .links import (
    BY_MOBILE, BY_WIFI, BY_WIFI6, GATEWAY, GATEWAY6, MOBILE, MOBILE_GATEWAY, NEAR, NO_ROUTE, OWN, OWN6, REMOTE,
    REMOTE6, SOME_LINK, UNPLUGGED, WIFI, WIFI_BOTH,
)  # fmt: skip
from .model import ANYTHING, WLAN, Facts, Scenario, Step, both, by_ipv6, direct, no, own, via

LOST = {"any": NO_ROUTE, REMOTE: NO_ROUTE}
BACK = {"any": BY_WIFI, REMOTE: BY_WIFI}
SET_AGAIN = f"route add default via {GATEWAY} dev wlan0"
SECOND = "198.18.0.7"


def refusals(remote: str, found: Facts, family: str, prefix: str) -> list[Step]:
    """Routes of each kind that refuse, one after the other, and away again."""
    kinds = {"unreachable": "unreachable", "prohibit": "prohibited", "blackhole": "blackhole", "throw": "noRoute"}
    steps = []
    for kind, reason in kinds.items():
        route = f"{family} route {{}} {kind} {prefix} metric 5"
        steps += [
            Step(f"{kind} {prefix} is set", (route.format("add"),), {remote: no(reason)}),
            Step(f"{kind} {prefix} is deleted", (route.format("delete"),), {remote: found}),
        ]
    return steps


ROUTES = [
    Scenario(
        "default-route-lost",
        WIFI,
        {"any": BY_WIFI, REMOTE: BY_WIFI, GATEWAY: NEAR},
        (
            Step("it is deleted", ("route delete default",), LOST),
            Step("it is set again", (SET_AGAIN,), BACK),
            Step("the link is switched off", ("link set wlan0 down",), LOST | {GATEWAY: NO_ROUTE}),
            Step("on again", ("link set wlan0 up", SET_AGAIN), BACK | {GATEWAY: NEAR}, most=2),
            Step("the address is deleted", (f"address delete {OWN}/24 dev wlan0",), LOST | {GATEWAY: NO_ROUTE}),
            Step("and set again", (*WIFI[1:],), BACK | {GATEWAY: NEAR}),
            Step("the addresses are flushed", ("address flush dev wlan0",), LOST | {GATEWAY: NO_ROUTE}),
            Step("and set again after that", (*WIFI[1:],), BACK | {GATEWAY: NEAR}),
            Step("the table is flushed", ("route flush table main",), LOST | {GATEWAY: NO_ROUTE}),
        ),
    ),
    Scenario(
        "nexthop-object-deleted",
        (*WIFI[:2], f"nexthop add id 7 via {GATEWAY} dev wlan0", "route add default nhid 7"),
        {"any": BY_WIFI, REMOTE: BY_WIFI, GATEWAY: NEAR},
        (
            Step("the nexthop is deleted", ("nexthop delete id 7",), LOST),
            Step("it is made again, and the route too",
                 (f"nexthop add id 7 via {GATEWAY} dev wlan0", "route add default nhid 7"), BACK),
            Step("the nexthop is replaced", ("nexthop replace id 7 via 192.0.2.2 dev wlan0",),
                 dict.fromkeys(("any", REMOTE), via("192.0.2.2", WLAN, OWN))),
        ),
    ),  # fmt: skip
    Scenario(
        "ipv6-default-route-lost",
        WIFI_BOTH,
        {"any": both(BY_WIFI), REMOTE6: BY_WIFI6, GATEWAY6: direct(WLAN, OWN6)},
        (
            Step("it is deleted", ("-6 route delete default",), {"any": BY_WIFI, REMOTE6: NO_ROUTE}),
            Step("it is set again", (f"route add default via {GATEWAY6} dev wlan0",),
                 {"any": both(BY_WIFI), REMOTE6: BY_WIFI6}),
            # IPv6's own rule: the routes stay, with an address of the link's own to send from.
            Step("IPv4's is deleted", ("-4 route delete default",), {"any": BY_WIFI6}),
            Step("the link is switched off", ("link set wlan0 down",),
                 dict.fromkeys(("any", REMOTE6, GATEWAY6), NO_ROUTE)),
            Step("IPv4's way comes back", ("link set wlan0 up", SET_AGAIN), {"any": BY_WIFI}, most=2),
        ),
    ),  # fmt: skip
    Scenario(
        "second-address",
        (*WIFI, f"address add {SECOND}/24 dev wlan0"),
        {"any": BY_WIFI, REMOTE: BY_WIFI, OWN: own(OWN, "isDirect")},
        (
            # The default route stays, and another address is sent from.
            Step("the first address is deleted", (f"address delete {OWN}/24 dev wlan0",),
                 {"any": via(GATEWAY, WLAN, SECOND), REMOTE: via(GATEWAY, WLAN, SECOND),
                  OWN: via(GATEWAY, WLAN, SECOND)}),
            Step("the last one too", (f"address delete {SECOND}/24 dev wlan0",),
                 dict.fromkeys(("any", REMOTE, OWN), NO_ROUTE)),
        ),
    ),  # fmt: skip
    Scenario(
        "no-default-route",
        (*WIFI[:2], f"route add 198.51.100.0/24 via {GATEWAY} dev wlan0"),
        {"any": NO_ROUTE, GATEWAY: NEAR, REMOTE: BY_WIFI, "9.9.9.9": NO_ROUTE},
        (
            Step("the one route goes", ("route delete 198.51.100.0/24",), {REMOTE: NO_ROUTE}),
            Step("a route that covers none of them comes", (f"route add 198.51.101.0/24 via {GATEWAY}",)),
            Step("a host route comes", (f"route add {REMOTE} via {GATEWAY}",), {REMOTE: BY_WIFI}),
        ),
    ),
    Scenario(
        "refusing-routes", WIFI, {"any": BY_WIFI, REMOTE: BY_WIFI},
        tuple(refusals(REMOTE, BY_WIFI, "-4", "198.51.100.0/24")),
    ),  # fmt: skip
    Scenario(
        "refusing-ipv6-routes", WIFI_BOTH, {"any": both(BY_WIFI), REMOTE6: BY_WIFI6},
        tuple(refusals(REMOTE6, BY_WIFI6, "-6", "2001:db8:9::/48")),
    ),  # fmt: skip
    Scenario(
        # The way of programs that refuse all but a VPN.
        "refusing-default-route",
        (*WIFI, "route replace default via 192.0.2.1 dev wlan0 metric 100"),
        {"any": BY_WIFI, GATEWAY: NEAR},
        (
            Step("the one without a metric goes", (f"route delete default via {GATEWAY} dev wlan0 metric 0",)),
            Step("a blackhole comes before it", ("route add blackhole default metric 5",), {"any": no("blackhole")}),
            Step("and becomes prohibit", ("route delete blackhole default metric 5",
                                          "route add prohibit default metric 5"), {"any": no("prohibited")}, most=3),
            Step("and goes", ("route delete prohibit default metric 5",), {"any": BY_WIFI}),
        ),
    ),  # fmt: skip
    Scenario(
        "halves",
        (*WIFI[:2],),
        {"any": NO_ROUTE, REMOTE: NO_ROUTE, "9.9.9.9": NO_ROUTE},
        (
            Step("the upper half comes", (f"route add 128.0.0.0/1 via {GATEWAY}",), {REMOTE: BY_WIFI}),
            Step("the lower half too", (f"route add 0.0.0.0/1 via {GATEWAY}",), {"any": BY_WIFI, "9.9.9.9": BY_WIFI}),
            Step("the upper half goes", ("route delete 128.0.0.0/1",), {"any": NO_ROUTE, REMOTE: NO_ROUTE}),
        ),
    ),
    Scenario(
        "multipath",
        (*WIFI[:2], *MOBILE[:2],
         f"route add default nexthop via {GATEWAY} dev wlan0 nexthop via 203.0.113.1 dev wwan0"),
        {"any": (EITHER := replace(BY_WIFI, flags=ANYTHING, interface=ANYTHING, interfaceType=ANYTHING,
                                   source=ANYTHING, gateway=ANYTHING, isExpensive=ANYTHING)), REMOTE: EITHER},
        (
            Step("one of the two goes", ("link set wlan0 down",), {"any": BY_MOBILE, REMOTE: BY_MOBILE},
                 perhaps=frozenset({"any", REMOTE})),
            Step("the other too", ("link set wwan0 down",), {"any": NO_ROUTE, REMOTE: NO_ROUTE}),
        ),
    ),  # fmt: skip
    Scenario(
        # The kernel goes on sending over the one without a carrier, by its weight nearly everything.
        "multipath-with-a-dead-hop",
        (*WIFI[:2], *MOBILE[:2],
         f"route add default nexthop via {GATEWAY} dev wlan0 weight 250 nexthop via {MOBILE_GATEWAY} dev wwan0"),
        {"any": EITHER},
        (
            Step("its cable is pulled", (UNPLUGGED,), {"any": BY_MOBILE}, perhaps=frozenset({"any"})),
            Step("the other's too", ("router: link set wwan0-peer down",), {"any": no("noCarrier", SOME_LINK)}),
            Step("the other is plugged in again", ("router: link set wwan0-peer up",), {"any": BY_MOBILE}),
        ),
    ),  # fmt: skip
    Scenario(
        # RFC 5549: an IPv4 route with a gateway of the other family.
        "gateway-of-the-other-family",
        (*WIFI[:2], "-4 route add default via inet6 fe80::1 dev wlan0"),
        {"any": via("fe80::1", WLAN, OWN), REMOTE: via("fe80::1", WLAN, OWN)},
        (Step("it goes", ("-4 route delete default via inet6 fe80::1 dev wlan0",), LOST),),
    ),
    Scenario(
        "broadcast-and-multicast",
        WIFI,
        {"192.0.2.255": NEAR, "255.255.255.255": NEAR, "224.0.0.251": NEAR,
         "ff02::fb%wlan0": by_ipv6(direct(WLAN, ANYTHING))},
        (
            Step("the default route goes", ("route delete default",),
                 {"255.255.255.255": NO_ROUTE, "224.0.0.251": NO_ROUTE}),
            Step("multicast gets a route", ("route add 224.0.0.0/4 dev wlan0",), {"224.0.0.251": NEAR}),
            Step("the link is switched off", ("link set wlan0 down",),
                 {"192.0.2.255": NO_ROUTE, "224.0.0.251": NO_ROUTE, "ff02::fb%wlan0": no(ANYTHING, WLAN)}),
        ),
    ),  # fmt: skip
    Scenario(
        "pair",
        (*WIFI, *MOBILE),
        {f"{OWN},{REMOTE}": BY_WIFI, f"203.0.113.7,{REMOTE}": via(GATEWAY, WLAN, "203.0.113.7"),
         f"192.0.2.99,{REMOTE}": no("sourceNotLocal")},
        (
            Step("an address comes", ("address add 192.0.2.99/24 dev wlan0",),
                 {f"192.0.2.99,{REMOTE}": via(GATEWAY, WLAN, "192.0.2.99")}),
            Step("another goes", ("address delete 203.0.113.7/24 dev wwan0",),
                 {f"203.0.113.7,{REMOTE}": no("sourceNotLocal")}),
            Step("the first comes first no more", (f"address delete {OWN}/24 dev wlan0",),
                 {f"{OWN},{REMOTE}": no("sourceNotLocal"), f"192.0.2.99,{REMOTE}": no("sourceNotLocal")}),
        ),
    ),  # fmt: skip
]

