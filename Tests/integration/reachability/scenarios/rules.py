"""Policy rules: which table a look-up goes to, and rules that refuse."""

from .links import (
    BY_MOBILE, BY_WIFI, BY_WIFI6, GATEWAY, MOBILE, MOBILE_GATEWAY, MOBILE_OWN, NO_ROUTE, OWN, REMOTE, REMOTE6, WIFI,
    WIFI_BOTH,
)  # fmt: skip
from .model import WLAN, Scenario, Step, both, no, via

FROM_WIFI, FROM_MOBILE = f"{OWN},{REMOTE}", f"{MOBILE_OWN},{REMOTE}"

RULES = [
    Scenario(
        "rule-from",
        (*WIFI, *MOBILE, f"route add default via {MOBILE_GATEWAY} dev wwan0 table 100"),
        {"any": BY_WIFI, FROM_WIFI: BY_WIFI, FROM_MOBILE: via(GATEWAY, WLAN, MOBILE_OWN)},
        (
            Step("a rule for the second address comes", (f"rule add pref 100 from {MOBILE_OWN} lookup 100",),
                 {FROM_MOBILE: BY_MOBILE}),
            Step("its table loses its route", ("route flush table 100",),
                 {FROM_MOBILE: via(GATEWAY, WLAN, MOBILE_OWN)}),
            Step("it gets another", (f"route add default via {MOBILE_GATEWAY} dev wwan0 table 100",),
                 {FROM_MOBILE: BY_MOBILE}),
            Step("the rule goes", (f"rule delete from {MOBILE_OWN} lookup 100",),
                 {FROM_MOBILE: via(GATEWAY, WLAN, MOBILE_OWN)}),
        ),
    ),  # fmt: skip
    Scenario(
        "rule-to",
        (*WIFI, *MOBILE, f"route add default via {MOBILE_GATEWAY} dev wwan0 table 100"),
        {"any": BY_WIFI, REMOTE: BY_WIFI, "9.9.9.9": BY_WIFI},
        (
            Step("a rule for a destination comes", ("rule add pref 100 to 198.51.100.0/24 lookup 100",),
                 {REMOTE: BY_MOBILE}),
            Step("the mobile network goes", ("link set wwan0 down",), {REMOTE: BY_WIFI}),
            Step("the rule goes", ("rule delete to 198.51.100.0/24 lookup 100",)),
        ),
    ),
    Scenario(
        # A rule for marked packets is about none of ours.
        "rule-fwmark",
        (*WIFI, *MOBILE, f"route add default via {MOBILE_GATEWAY} dev wwan0 table 100"),
        {"any": BY_WIFI, REMOTE: BY_WIFI},
        (
            Step("a rule for marked packets comes", ("rule add pref 100 fwmark 7 lookup 100",)),
            Step("and goes", ("rule delete fwmark 7 lookup 100",)),
        ),
    ),
    Scenario(
        # WireGuard's: all that carries no mark goes through the tunnel's table.
        "rule-not-fwmark",
        (*WIFI, *MOBILE, f"route add default via {MOBILE_GATEWAY} dev wwan0 table 100"),
        {"any": BY_WIFI, REMOTE: BY_WIFI},
        (
            Step("a rule for all that is not marked comes", ("rule add pref 100 not fwmark 7 lookup 100",),
                 {"any": BY_MOBILE, REMOTE: BY_MOBILE}),
            Step("and goes", ("rule delete not fwmark 7 lookup 100",), {"any": BY_WIFI, REMOTE: BY_WIFI}),
        ),
    ),  # fmt: skip
    Scenario(
        "refusing-rules",
        WIFI_BOTH,
        {"any": both(BY_WIFI), REMOTE: BY_WIFI, REMOTE6: BY_WIFI6},
        (
            Step("prohibit", ("rule add pref 100 to 198.51.100.0/24 prohibit",), {REMOTE: no("prohibited")}),
            Step("away", ("rule delete to 198.51.100.0/24 prohibit",), {REMOTE: BY_WIFI}),
            Step("blackhole", ("rule add pref 100 to 198.51.100.0/24 blackhole",), {REMOTE: no("blackhole")}),
            Step("away again", ("rule delete to 198.51.100.0/24 blackhole",), {REMOTE: BY_WIFI}),
            # fib4_rule_action: ENETUNREACH, which is what no route at all says too.
            Step("unreachable", ("rule add pref 100 to 198.51.100.0/24 unreachable",), {REMOTE: NO_ROUTE}),
            Step("away once more", ("rule delete to 198.51.100.0/24 unreachable",), {REMOTE: BY_WIFI}),
            Step("prohibit for IPv6", ("-6 rule add pref 100 to 2001:db8:9::/48 prohibit",),
                 {REMOTE6: no("prohibited")}),
            Step("away for IPv6", ("-6 rule delete to 2001:db8:9::/48 prohibit",), {REMOTE6: BY_WIFI6}),
            Step("all is prohibited", ("rule add pref 100 prohibit",),
                 {"any": BY_WIFI6, REMOTE: no("prohibited")}),
            Step("none is", ("rule delete prohibit",), {"any": both(BY_WIFI), REMOTE: BY_WIFI}),
        ),
    ),  # fmt: skip
]
