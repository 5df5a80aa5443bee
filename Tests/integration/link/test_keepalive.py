"""Probes: how the gateway finds out how seldom keep-alives are enough, and what that costs."""

import socket
import time
from collections.abc import Callable

import pytest
from support import nat as nats
from support import processes, sockets
from support.credentials import Credentials
from support.daemon import Daemon
from support.nat import Nat, Pair
from support.waiting import until

# Nobody waits for minutes here; seconds.
SHORTEST, LONGEST = 5, 8
# What lies between the two.
BETWEEN = 6
# Five good periods and what is added to them, until the device probes.
DUE = 90
# The silence, and what the gateway's kernel needs to give a connection up.
LASTS = 60
ENDED = "a probe of a network ended"


@pytest.fixture
def quick(nat: Nat, make_paired: Callable[..., Pair]) -> Pair:
    def make_gateway(make_daemon: Callable[..., Daemon], *, credentials: Credentials) -> Daemon:
        gateway = nat.make_gateway(make_daemon, credentials=credentials)
        gateway.sections["gateway"] += "".join(
            f'{name} = "{seconds}s"\n'
            for name, seconds in (
                ("keepalive", SHORTEST), ("keepalive_shortest", SHORTEST), ("keepalive_longest", LONGEST)
            )
        )  # fmt: skip
        return gateway

    return make_paired(make_gateway)


def idle_time(pid: int) -> int:
    """What the kernel waits on the one link before it sends a keep-alive; seconds."""
    with sockets.connected(pid, nats.PORT) as link:
        return link.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)


def probe(quick: Pair) -> None:
    """Waits for a probe, and for its end."""
    # To look at the link wakes the device, and that is when it probes.
    until(lambda: quick.device.link.get("keepAliveTriedSeconds") == LONGEST, DUE, quick.logs)
    assert f"{SHORTEST} s, by the gateway; {LONGEST} s is being tried" in quick.device.ringwake("link", "status").stdout
    before = processes.settled_switches(quick.device.pid)
    time.sleep(SHORTEST)
    assert processes.voluntary_switches(quick.device.pid) == before, "silence"
    until(lambda: ENDED in quick.gateway.log, LASTS, quick.logs)


@pytest.mark.alone
def test_the_interval_grows_where_the_router_lets_it(quick: Pair) -> None:
    peer = quick.peer
    assert quick.device.link["keepAliveSeconds"] == idle_time(quick.gateway.pid) == SHORTEST
    probe(quick)
    until(lambda: quick.device.link["keepAliveSeconds"] == LONGEST, 10, quick.logs)
    assert quick.device.link["keepAliveLongestSeconds"] == LONGEST
    assert not quick.device.link.keys() & {"keepAliveTriedSeconds", "keepAliveFailedSeconds"}, quick.device.link
    assert idle_time(quick.gateway.pid) == LONGEST
    quick.ring()
    quick.check_once()
    assert quick.peer == peer, "the same link"
    # What was learned outlives the gateway.
    quick.gateway.stop()
    quick.gateway.start()
    quick.wait_for_another_link(None)
    assert quick.device.link["keepAliveSeconds"] == idle_time(quick.gateway.pid) == LONGEST


@pytest.mark.alone
def test_the_interval_stays_below_what_the_router_forgets(quick: Pair) -> None:
    quick.nat.forget_after(BETWEEN)
    # The link's entry gets the new time with the next keep-alive.
    peer = quick.peer
    probe(quick)
    assert "how=died" in quick.gateway.log, quick.logs()
    assert idle_time(quick.gateway.pid) == SHORTEST
    quick.ring()
    quick.check_once()
    assert quick.peer == peer, "the same link"
    # The device is told with its next link.
    quick.nat.renumber("192.168.77.8")
    quick.wait_for_another_link(peer)
    until(lambda: quick.device.link.get("keepAliveFailedSeconds") == LONGEST, 10, quick.logs)
    assert quick.device.link["keepAliveSeconds"] == SHORTEST
