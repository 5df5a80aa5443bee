"""Addresses: which family there is, and addresses that are not ready to send from."""

from .links import BY_WIFI, BY_WIFI6, GATEWAY, GATEWAY6, NEAR, NO_ROUTE, OWN, OWN6, REMOTE, REMOTE6, WIFI, WIFI_BOTH
from .model import ANYTHING, WLAN, Link, Scenario, Step, both, by_ipv6, direct, no, own, via

ADDRESS6, GATEWAY_LL = f"{OWN6}/64", "fe80::1"
BY_ROUTER6 = via(GATEWAY_LL, WLAN, OWN6)
NEAR6 = direct(WLAN, OWN6)
# As a router advertisement leaves it.
WIFI6 = ("cable wlan0", f"address add {ADDRESS6} dev wlan0", f"route add default via {GATEWAY_LL} dev wlan0")
# Twenty probes take twenty seconds: longer than a test looks.
SLOW_DAD, NO_DAD = "sysctl net.ipv6.conf.wlan0.dad_transmits 20", "sysctl net.ipv6.conf.wlan0.dad_transmits 0"
NO_SOURCE = no("noSourceAddress", WLAN)
BARE = ("sysctl net.ipv6.conf.default.addr_gen_mode 1", "cable wlan0")

ADDRESSES = [
    Scenario(
        "ipv6-only",
        WIFI6,
        {"any": BY_ROUTER6, REMOTE6: BY_ROUTER6, REMOTE: NO_ROUTE, GATEWAY6: NEAR6, OWN6: own(OWN6, "isDirect")},
        (
            Step("the default route goes", ("-6 route delete default",), {"any": NO_ROUTE, REMOTE6: NO_ROUTE}),
            Step("it comes back", (f"route add default via {GATEWAY_LL} dev wlan0",),
                 {"any": BY_ROUTER6, REMOTE6: BY_ROUTER6}),
            Step("IPv4 joins it", WIFI[1:], {"any": both(BY_WIFI), REMOTE: BY_WIFI}),
            Step("and leaves", ("-4 address flush dev wlan0",), {"any": BY_ROUTER6, REMOTE: NO_ROUTE}),
        ),
    ),  # fmt: skip
    Scenario(
        "ipv4-only",
        ("sysctl net.ipv6.conf.default.disable_ipv6 1", *WIFI),
        {"any": BY_WIFI, REMOTE: BY_WIFI, REMOTE6: NO_ROUTE},
        (
            Step("IPv6 is switched on", ("sysctl net.ipv6.conf.wlan0.disable_ipv6 0",)),
            Step("it gets a way", (f"address add {ADDRESS6} dev wlan0 nodad",
                                   f"route add default via {GATEWAY6} dev wlan0"),
                 {"any": both(BY_WIFI), REMOTE6: BY_WIFI6}),
            Step("IPv6 is switched off", ("sysctl net.ipv6.conf.wlan0.disable_ipv6 1",),
                 {"any": BY_WIFI, REMOTE6: NO_ROUTE}),
        ),
    ),  # fmt: skip
    Scenario(
        "link-local-only",
        ("cable wlan0", f"route add default via {GATEWAY_LL} dev wlan0"),
        {"any": no("sourceLinkLocal", WLAN), REMOTE6: no("sourceLinkLocal", WLAN),
         "fe80::1%wlan0": by_ipv6(direct(WLAN, ANYTHING)), "fe80::1%wlan9": no("noInterface")},
        (
            # What is said to be on the link has no address to answer to either.
            Step("the default route has no gateway", ("-6 route replace default dev wlan0",),
                 perhaps=frozenset({"any", REMOTE6})),
            Step("and has one again", (f"-6 route replace default via {GATEWAY_LL} dev wlan0",),
                 perhaps=frozenset({"any", REMOTE6})),
            Step("a global address comes", (f"address add {ADDRESS6} dev wlan0 nodad",),
                 {"any": BY_ROUTER6, REMOTE6: BY_ROUTER6}),
            Step("and goes", (f"address delete {ADDRESS6} dev wlan0",),
                 {"any": no("sourceLinkLocal", WLAN), REMOTE6: no("sourceLinkLocal", WLAN)}),
            Step("the zone's interface comes", ("cable wlan9",),
                 {"fe80::1%wlan9": by_ipv6(direct(Link("wlan9", "wifi"), ANYTHING))}, most=3),
            Step("and goes again", ("link delete wlan9",), {"fe80::1%wlan9": no("noInterface")}),
        ),
    ),  # fmt: skip
    Scenario(
        # RFC 3927: an address that nobody gave.
        "ipv4-link-local-only",
        ("cable wlan0", "address add 169.254.3.4/16 dev wlan0"),
        {"any": NO_ROUTE, REMOTE: NO_ROUTE, "169.254.9.9": direct(WLAN, "169.254.3.4")},
        (
            Step("a default route comes", ("route add default via 169.254.0.1 dev wlan0",),
                 dict.fromkeys(("any", REMOTE), no("sourceLinkLocal", WLAN))),
            # As dhcpcd sets it when no server answers.
            Step("it has no gateway", ("route replace default dev wlan0 scope link src 169.254.3.4",),
                 perhaps=frozenset({"any", REMOTE})),
            Step("a real address comes", WIFI[1:2] + ("route replace default via 192.0.2.1 dev wlan0",),
                 {"any": BY_WIFI, REMOTE: BY_WIFI}, most=2),
        ),
    ),  # fmt: skip
    Scenario(
        "tentative",
        (*BARE, SLOW_DAD, f"address add {ADDRESS6} dev wlan0", f"route add default via {GATEWAY6} dev wlan0"),
        {"any": no("sourceTentative", WLAN), REMOTE6: no("sourceTentative", WLAN),
         GATEWAY6: no("sourceTentative", WLAN)},
        (
            Step("another address needs no check", ("address add 2001:db8:1::8/64 dev wlan0 nodad",),
                 {"any": via(GATEWAY6, WLAN, "2001:db8:1::8"), REMOTE6: via(GATEWAY6, WLAN, "2001:db8:1::8"),
                  GATEWAY6: direct(WLAN, "2001:db8:1::8")}),
        ),
    ),  # fmt: skip
    Scenario(
        "checked",
        (*BARE, "sysctl net.ipv6.conf.wlan0.dad_transmits 1", "route add 2001:db8:9::/48 dev wlan0"),
        {REMOTE6: NO_SOURCE},
        (
            # First tentative, which changes the reason; then its check has ended.
            Step("an address comes, and its check ends well", (f"address add {ADDRESS6} dev wlan0",),
                 {REMOTE6: NEAR6}, most=2),
        ),
    ),  # fmt: skip
    Scenario(
        "duplicate",
        (*BARE, "sysctl net.ipv6.conf.wlan0.dad_transmits 1",
         f"router: address add {ADDRESS6} dev wlan0-peer nodad",
         f"route add 2001:db8:9::/48 via {GATEWAY6} dev wlan0 onlink"),
        {REMOTE6: NO_SOURCE},
        (
            Step("an address comes that the neighbour has", (f"address add {ADDRESS6} dev wlan0", "await dadfailed"),
                 {REMOTE6: no("sourceDuplicate", WLAN)}, most=2),
            Step("another comes", ("address add 2001:db8:1::8/64 dev wlan0 nodad",),
                 {REMOTE6: via(GATEWAY6, WLAN, "2001:db8:1::8")}),
        ),
    ),  # fmt: skip
    Scenario(
        # RFC 4429: used while it is checked.
        "optimistic",
        (*BARE, SLOW_DAD, "sysctl net.ipv6.conf.wlan0.optimistic_dad 1", "sysctl net.ipv6.conf.wlan0.use_optimistic 1",
         f"address add {ADDRESS6} dev wlan0 optimistic", f"route add default via {GATEWAY6} dev wlan0"),
        {"any": BY_WIFI6, GATEWAY6: NEAR6},
        (
            Step("it goes", (f"address delete {ADDRESS6} dev wlan0",),
                 {"any": NO_SOURCE, GATEWAY6: NO_SOURCE}),
        ),
    ),  # fmt: skip
    Scenario(
        "deprecated",
        WIFI_BOTH,
        {"any": both(BY_WIFI), REMOTE6: BY_WIFI6, GATEWAY: NEAR},
        (
            Step("the address is deprecated", (f"address change {ADDRESS6} dev wlan0 preferred_lft 0",)),
            Step("a preferred one comes", ("address add 2001:db8:1::8/64 dev wlan0 nodad",),
                 {REMOTE6: via(GATEWAY6, WLAN, "2001:db8:1::8")}),
        ),
    ),  # fmt: skip
    Scenario(
        "renewals",
        (*WIFI[:1], f"address add {OWN}/24 dev wlan0 valid_lft 3600 preferred_lft 3600", *WIFI[2:]),
        {"any": BY_WIFI, REMOTE: BY_WIFI},
        (
            Step("the lease is renewed", (f"address change {OWN}/24 dev wlan0 valid_lft 3000 preferred_lft 3000",)),
            Step("and once more", (f"address change {OWN}/24 dev wlan0 valid_lft 3600 preferred_lft 3600",)),
        ),
    ),
]
