"""Host names that move while nothing else happens: nobody who needs one is told of its old address."""

import json
import re
import time

from reachability.dns import NameServer
from support import api, programs
from support.credentials import APP
from support.daemon import Daemon
from support.netns import Namespace
from support.network import ROUTER, configure, reachability
from support.programs import as_nobody
from support.pushing import start_call
from support.waiting import until

OTHER = "com.example.other"
SERVER = "127.0.0.53"
# The age from which an answer is old, `HostTable.longestAge`, in seconds.
AGE = 30
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
BEHIND_ROUTER, ON_THE_LINK = ["reachable"], ["reachable", "isDirect"]


def name(who: str) -> str:
    return f"{who}.example.test"


def test_a_name_that_moved_is_looked_up_again_when_it_is_needed(network: Namespace, lonely: Daemon) -> None:
    needed = ("asked", "strangers", "lost", "silent", "reloaded")
    targets = json.dumps([name(who) for who in needed])
    lonely.add_app(app=OTHER, more=f"[reachability]\ntargets = {targets}\n")
    lonely.set_handler(lonely.recorders[0].exec, more=f'[reachability]\ntargets = ["{name("pushed")}"]\n')
    configure(lonely)
    network.etc("resolv.conf", f"nameserver {SERVER}\n")

    def told(who: str) -> dict:
        """What the app is said to reach: to look at it asks no name server."""
        connection = lonely.control.app(APP if who == "pushed" else OTHER)["connection"]
        return next(target for target in connection["targets"] if target["target"] == name(who))

    with NameServer(network, SERVER) as server:
        before = {who: f"198.51.100.{number}" for number, who in enumerate((*needed, "pushed"), 1)}
        server.names.update({name(who): [address] for who, address in before.items()})
        lonely.start()
        until(lambda: all(told(who)["flags"] == BEHIND_ROUTER for who in before), 10, "the names to be known")
        asked = server.asked.copy()
        server.names.update({name(who): [ROUTER] for who in before})
        lonely.control.get("/v1/reachability?" + "&".join(f"target={name(who)}" for who in before))
        assert server.asked == asked, "an answer that is not old is used"
        time.sleep(AGE + 1)
        assert server.asked == asked, "no timer has a name looked up"

        # Who asks waits for the answer.
        [answer] = lonely.control.get(f"/v1/reachability?target={name('asked')}")["targets"]
        assert answer["flags"] == ON_THE_LINK
        assert answer["addresses"] == [ROUTER]
        api.check(answer, "TargetMessage")
        assert told("asked")["addresses"] == [ROUTER]
        shown = lonely.ringwake("reachability", name("asked")).stdout
        assert re.search(rf"  \[reachable, isDirect\]  looked up {TIME}: {ROUTER}\n$", shown), shown
        shown = lonely.ringwake("app", "show", OTHER).stdout
        assert re.search(rf"{name('asked')}  .*  looked up {TIME}: {ROUTER}\n", shown), shown
        assert told("strangers")["flags"] == BEHIND_ROUTER

        if as_nobody():
            ask = (
                *as_nobody(), "curl", "-s", "--unix-socket", lonely.status_socket,
                f"http://localhost/v1/reachability?target={name('strangers')}",
            )  # fmt: skip
            [answer] = json.loads(programs.run(*ask).stdout)["targets"]
            assert (answer["flags"], answer["addresses"], answer["resolvedAt"]) == (ON_THE_LINK, None, None)
            asked = server.asked.copy()
            programs.run(*ask)
            assert server.asked == asked

        # What cannot be reached any more may have moved.
        network.ip("route", "add", "unreachable", before["lost"])
        until(lambda: told("lost")["flags"] == ON_THE_LINK, 10, "the name that was lost to be looked up again")

        # A push needs the app's servers.
        network.ip("route", "add", "unreachable", "198.51.100.99")
        server.names[name("pushed")] = ["198.51.100.99"]
        with lonely.control.events(f"?app={APP}") as events:
            events.until("connection", connection="online")
            with network.entered():
                start_call(lonely)
            events.until("connection", connection="offline", connectionReason="unreachable")
        assert told("pushed")["addresses"] == ["198.51.100.99"]

        # Without an answer it is told of the old addresses, with their age.
        server.silent = True
        [answer] = reachability(lonely, name("silent"))
        assert (answer["flags"], answer["addresses"]) == (BEHIND_ROUTER, [before["silent"]])
        assert answer["resolvedAt"] < told("asked")["resolvedAt"]
        server.silent = False

        assert told("reloaded")["flags"] == BEHIND_ROUTER
        lonely.control.post("/v1/reload")
        until(lambda: told("reloaded")["flags"] == ON_THE_LINK, 10, "the reload to have the names looked up")
