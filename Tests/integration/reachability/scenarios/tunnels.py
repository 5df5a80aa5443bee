"""Links to one other end: tunnels, VPNs, point-to-point addresses; and taps, which are none."""

from .links import BY_WIFI, GATEWAY, NEAR, NO_ROUTE, OWN, REMOTE, WIFI
from .model import TAP, TUN, WLAN, Scenario, Step, direct, no, over, own, via

INSIDE, PARTNER, SERVER = "10.8.0.2", "10.8.0.1", "198.18.5.5"
# As a VPN lays it: its own packets go on by Wi-Fi.
VPN = ("tun tun0", "link set tun0 up", f"address add {INSIDE} peer {PARTNER} dev tun0",
       f"route add {SERVER} via {GATEWAY}")  # fmt: skip
BY_VPN = over(TUN, INSIDE)

TUNNELS = [
    Scenario(
        "point-to-point",
        VPN[:3],
        {"any": NO_ROUTE, PARTNER: BY_VPN, INSIDE: own(INSIDE, "isDirect"), REMOTE: NO_ROUTE},
        (
            Step("it gets the default route", ("route add default dev tun0",), {"any": BY_VPN, REMOTE: BY_VPN}),
            Step("a gateway behind it changes nothing but the gateway",
                 (f"route replace default via {PARTNER} dev tun0",),
                 dict.fromkeys(("any", REMOTE), via(PARTNER, TUN, INSIDE))),
            # The device is there without a program that reads it: the kernel says no carrier.
            Step("its program ends", ("untun tun0",),
                 dict.fromkeys(("any", REMOTE, PARTNER), no("noCarrier", TUN))),
            Step("the link is deleted", ("link delete tun0",),
                 dict.fromkeys(("any", REMOTE, PARTNER, INSIDE), NO_ROUTE)),
        ),
    ),  # fmt: skip
    Scenario(
        "tap",
        ("tap tap0", "link set tap0 up", "address add 10.9.0.2/24 dev tap0"),
        {"10.9.0.1": direct(TAP, "10.9.0.2"), REMOTE: NO_ROUTE},
        (
            Step("it gets a default route", ("route add default via 10.9.0.1",),
                 {REMOTE: via("10.9.0.1", TAP, "10.9.0.2")}),
            Step("its program ends", ("untun tap0",), dict.fromkeys(("10.9.0.1", REMOTE), no("noCarrier", TAP))),
        ),
    ),  # fmt: skip
    Scenario(
        # Seen as offline, or as the Wi-Fi, by many.
        "vpn",
        WIFI,
        {"any": BY_WIFI, REMOTE: BY_WIFI, SERVER: BY_WIFI, GATEWAY: NEAR},
        (
            Step("its link comes", VPN),
            Step("it takes everything, in halves", ("route add 0.0.0.0/1 dev tun0", "route add 128.0.0.0/1 dev tun0"),
                 {"any": BY_VPN, REMOTE: BY_VPN}, most=2),
            Step("it ends", ("link delete tun0",), {"any": BY_WIFI, REMOTE: BY_WIFI}),
            Step("it comes with a better metric",
                 (f"route replace default via {GATEWAY} dev wlan0 metric 600",
                  f"route delete default via {GATEWAY} dev wlan0 metric 0", *VPN[:3],
                  "route add default dev tun0 metric 50"), {"any": BY_VPN, REMOTE: BY_VPN}, most=3),
            Step("the Wi-Fi's cable is pulled", ("router: link set wlan0-peer down",),
                 {SERVER: no("noCarrier", WLAN), GATEWAY: no("noCarrier", WLAN)}),
            Step("and plugged in", ("router: link set wlan0-peer up",), {SERVER: BY_WIFI, GATEWAY: NEAR}, most=2),
            Step("it is switched off", ("link set tun0 down",), {"any": BY_WIFI, REMOTE: BY_WIFI}),
        ),
    ),  # fmt: skip
    Scenario(
        # An address for one other end alone, on a link that could have more.
        "peer-address",
        ("cable wlan0", f"address add {OWN} peer 198.18.1.1 dev wlan0"),
        {"198.18.1.1": NEAR, "198.18.1.2": NO_ROUTE, "any": NO_ROUTE},
        (
            Step("it gets a default route", ("route add default via 198.18.1.1",),
                 dict.fromkeys(("any", "198.18.1.2"), via("198.18.1.1", WLAN, OWN))),
        ),
    ),  # fmt: skip
]
