"""Links through a router with NAT: what it forgets, what the kernel keeps alive, and networks that change."""

import functools
import re
import socket
import time
from collections.abc import Callable

import pytest
from support import nat as nats
from support import processes, sockets
from support.links import devices
from support.nat import DOOR, GIVE_UP, Nat, Pair
from support.waiting import until

# How long a process that sleeps is watched; seconds.
IDLE = 5
# Of a link that nobody uses, tcp(7).
OPTIONS = {"TCP_KEEPIDLE": 240, "TCP_KEEPINTVL": 20, "TCP_KEEPCNT": 3}
FAILED = "the gateway cannot be reached"


# What the router keeps


def test_a_push_through_the_router(linked: Pair) -> None:
    linked.ring()
    linked.check_once()
    assert linked.peer and linked.peer.startswith(nats.WAN + ":"), "translated"
    assert len(linked.nat.entries()) == 1, linked.nat.entries()


@pytest.mark.alone
def test_the_kernels_keep_alives_hold_the_link_and_wake_nobody(linked: Pair) -> None:
    forget, keep_alive = 6, 2
    linked.nat.forget_after(forget)
    linked.ring()
    linked.check_once()
    linked.device.recorders[0].clear_away()
    with sockets.connected(linked.gateway.pid, nats.PORT) as link:
        options = {name: link.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in OPTIONS}
        assert (link.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), options) == (1, OPTIONS)
        # Nobody waits for minutes here: only the times are others.
        for name in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
            link.setsockopt(socket.IPPROTO_TCP, name, keep_alive)
        # With it one lost keep-alive would end the link; it is for what was sent just now.
        timeout = functools.partial(link.getsockopt, socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        until(lambda: timeout() == 0, GIVE_UP, linked.logs)
    peer = linked.peer
    before = processes.settled_switches(linked.device.pid)
    sent = linked.nat.traffic()["from_gateway"][0]
    time.sleep(2 * forget + 1)
    assert processes.voluntary_switches(linked.device.pid) == before
    assert linked.nat.traffic()["from_gateway"][0] >= sent + 3, "the gateway's kernel sent keep-alives"
    linked.ring()
    linked.check_once()
    assert linked.peer == peer, "the same link"


def change_the_path(linked: Pair) -> None:
    linked.nat.unplug()
    linked.nat.plug()


def add_an_app(linked: Pair) -> None:
    linked.device.add_app(app=DOOR)
    done = linked.device.ringwake("reload")
    assert done.returncode == 0, done


@pytest.mark.parametrize("tell", [change_the_path, add_an_app])
def test_a_forgotten_link_is_made_again(linked: Pair, tell: Callable[[Pair], None]) -> None:
    linked.ring()
    former = linked.peer
    linked.nat.expire()
    call = linked.push()
    assert linked.waiting == 1, "accepted, and written"
    # Nothing comes back, and so it is no RST that tells the gateway.
    linked.wait_until_offline()
    assert linked.nat.entries() == []
    assert call not in linked.device.recorders[0].wakes()
    tell(linked)
    linked.wait_for_another_link(former)
    linked.wait(call)
    linked.ring()
    linked.check_once()


def test_the_router_forgets_by_itself(linked: Pair) -> None:
    linked.nat.forget_after(2)
    linked.ring()
    # Within the first keep-alive's time.
    until(lambda: not linked.nat.entries(), GIVE_UP, lambda: f"{linked.nat.entries()}")
    call = linked.push()
    linked.wait_until_offline()
    change_the_path(linked)
    linked.wait(call)
    linked.check_once()


# Paths


def test_another_address(linked: Pair) -> None:
    linked.ring()
    former = linked.peer
    linked.nat.renumber("192.168.77.8")
    linked.wait_for_another_link(former)
    linked.ring()
    linked.check_once()
    assert "192.168.77.8" in "".join(linked.nat.entries())


def test_a_link_outlives_a_short_loss_of_the_interface(linked: Pair) -> None:
    linked.ring()
    former = linked.peer
    linked.nat.unplug()
    call = linked.push()
    linked.nat.plug()
    linked.wait(call)
    linked.ring()
    linked.check_once()
    assert linked.peer == former


@pytest.mark.alone
def test_without_a_path_nothing_is_tried(linked: Pair) -> None:
    linked.ring()
    linked.device.recorders[0].clear_away()
    linked.nat.unplug()
    call = linked.push()
    linked.wait_until_offline()
    before = processes.settled_switches(linked.device.pid)
    time.sleep(IDLE)
    assert processes.voluntary_switches(linked.device.pid) == before
    assert FAILED not in linked.device.log
    linked.nat.plug()
    linked.wait(call)
    linked.ring()
    linked.check_once()


@pytest.mark.alone
def test_nor_by_a_device_that_starts_without_one(linked: Pair) -> None:
    linked.device.kill()
    linked.nat.unplug()
    call = linked.push()
    linked.device.start()
    until(lambda: linked.device.link["state"] == "unreachable", 10, lambda: f"{linked.device.link}")
    before = processes.settled_switches(linked.device.pid)
    time.sleep(IDLE)
    assert processes.voluntary_switches(linked.device.pid) == before
    assert FAILED not in linked.device.log and "retryInMs" not in linked.device.link
    linked.nat.plug()
    linked.wait(call)
    linked.check_once()


def test_the_default_route_moves_to_another_interface(linked: Pair) -> None:
    linked.nat.add_mobile()
    linked.ring()
    former = linked.peer
    linked.nat.move_to_mobile()
    linked.wait_for_another_link(former)
    assert nats.MOBILE_DEVICE in "".join(linked.nat.entries())
    linked.ring()
    linked.check_once()


# Silence


def test_a_push_into_a_short_silence(linked: Pair) -> None:
    linked.ring()
    former = linked.peer
    linked.nat.cut()
    call = linked.push()
    assert linked.waiting == 1, "accepted, and written"
    linked.nat.restore()
    linked.wait(call)
    linked.ring()
    linked.check_once()
    assert linked.peer == former, "the kernel sent it again"


def test_a_push_into_a_long_silence(linked: Pair) -> None:
    linked.ring()
    former = linked.peer
    linked.nat.cut()
    call = linked.push()
    linked.wait_until_offline()
    linked.nat.restore()
    change_the_path(linked)
    linked.wait_for_another_link(former)
    linked.wait(call)
    linked.ring()
    linked.check_once()


def test_acknowledgements_into_silence(linked: Pair) -> None:
    """The device has the push, and the gateway does not know it."""
    linked.ring()
    linked.nat.cut('iifname "lan0"')
    call = linked.push()
    linked.wait(call)
    linked.wait_until_offline()
    assert linked.waiting == 1
    linked.nat.restore()
    change_the_path(linked)
    linked.ring()
    linked.check_once()


def test_an_answer_into_silence(linked: Pair) -> None:
    """The gateway finds a dead link also by what is no push. Its keep-alives pause while something is unacknowledged."""
    linked.ring()
    with sockets.connected(linked.gateway.pid, nats.PORT) as link:
        # Otherwise the push before would have the kernel look for a dead link.
        timeout = functools.partial(link.getsockopt, socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        until(lambda: timeout() == 0, GIVE_UP, linked.logs)
    linked.nat.cut('iifname "wan0"')
    add_an_app(linked)
    until(lambda: len(devices(linked.gateway)[0]["apps"]) == 2, GIVE_UP, linked.logs)
    # Before the device misses the answer, and ends its link.
    linked.nat.cut()
    linked.wait_until_offline()
    linked.nat.restore()
    change_the_path(linked)
    linked.ring()
    linked.check_once()


def test_a_gateway_that_is_away_is_tried_ever_less_often(linked: Pair) -> None:
    linked.ring()
    began = linked.device.log.count(FAILED)
    linked.gateway.kill()
    until(lambda: linked.device.log.count(FAILED) >= began + 3, GIVE_UP, lambda: linked.device.log)
    until(lambda: linked.device.link["state"] == "waiting", GIVE_UP, lambda: f"{linked.device.link}")
    assert linked.device.link["lastEnd"]["why"].endswith("Connection refused"), linked.device.link
    linked.gateway.start()
    linked.device.wait_until_linked(120)
    linked.ring()
    linked.check_once()


# Families


@pytest.mark.parametrize(
    ("silent", "peer"), [("ipv6", re.escape(nats.WAN)), ("ipv4", re.escape(f"[{nats.DEVICE6}]")), ("", r"\[fd")]
)
def test_one_name_and_two_families(nat: Nat, make_paired: Callable[..., Pair], silent: str, peer: str) -> None:
    if silent:
        nat.cut(f"meta nfproto {silent} meta l4proto tcp")
    linked = make_paired(nat.make_named_gateway)
    assert re.match(peer, linked.peer or ""), linked.peer
    linked.ring()
    linked.check_once()
