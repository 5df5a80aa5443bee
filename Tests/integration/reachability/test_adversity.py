"""A kernel that drops messages, one that refuses the filter, and a sender who is not the kernel."""

import contextlib
import os
import re
import signal
import socket
import struct

import pytest
from reachability.command import Watch, watching, wrong
from reachability.scenarios.links import BY_WIFI, NO_ROUTE, REMOTE, WIFI
from reachability.stage import Stage
from support import processes
from support.netns import Namespace

TARGETS = {"any": BY_WIFI, REMOTE: BY_WIFI}
LOSE, REGAIN = "route delete default via 192.0.2.1 dev wlan0", "route add default via 192.0.2.1 dev wlan0"

# linux/rtnetlink.h, linux/if_link.h, RFC 2863
RTM_NEWLINK, RTM_DELLINK, RTM_DELROUTE = 16, 17, 25
IFLA_IFNAME, IFLA_OPERSTATE, IF_OPER_DOWN = 3, 16, 2
NLMSG_DONE = 3


def follows_changes(stage: Stage, watch: Watch) -> None:
    stage.perform([LOSE])
    while wrong(dict.fromkeys(TARGETS, NO_ROUTE), watch.said):
        watch.next("the loss")
    stage.perform([REGAIN])
    while wrong(TARGETS, watch.said):
        watch.next("the gain")
    assert watch.rest(stage) == []


@pytest.mark.parametrize("ends_lost", [True, False], ids=["lost at the end", "as before at the end"])
def test_a_flood_while_it_cannot_read_ends_in_the_truth(stage: Stage, ends_lost: bool) -> None:
    stage.perform(WIFI)
    with watching(stage, *TARGETS, options=("--verbose",)) as watch:
        processes.stop(watch.process.pid)
        # More than the socket's buffer holds, of changes that pass every filter.
        stage.network.batch([LOSE, REGAIN] * 3000 + ([LOSE] if ends_lost else []))
        os.kill(watch.process.pid, signal.SIGCONT)
        if ends_lost:
            while wrong(dict.fromkeys(TARGETS, NO_ROUTE), watch.said):
                watch.next("the loss")
            stage.perform([REGAIN])
            while wrong(TARGETS, watch.said):
                watch.next("the gain")
        watch.rest(stage)
        assert not (mistakes := wrong(TARGETS, watch.said)), mistakes
        assert re.search(r"overruns\D*[1-9]", watch.complaints), watch.complaints
        follows_changes(stage, watch)


@pytest.mark.parametrize("lie", ["a link is down", "a link is gone", "a route is gone", "an answer has ended", "noise"])
def test_a_sender_who_is_not_the_kernel_is_not_believed(stage: Stage, lie: str) -> None:
    stage.perform(WIFI)
    messages = {
        "a link is down": [link_message(RTM_NEWLINK, stage.network)],
        "a link is gone": [link_message(RTM_DELLINK, stage.network)],
        # rtm_family, lengths, table main, type unicast.
        "a route is gone": [
            struct.pack("=IHHII8BI", 28, RTM_DELROUTE, 0, 0, 0, socket.AF_INET, 0, 0, 0, 254, 3, 0, 1, 0)
        ],
        "an answer has ended": [struct.pack("=IHHIIi", 20, NLMSG_DONE, 2, number, 0, 0) for number in range(200)],
        "noise": [b"\0" * 7, b"\xff" * 64, *(os.urandom(size) for size in range(1, 200))],
    }[lie]
    with watching(stage, *TARGETS, options=("--verbose", "--filter-level", "0")) as watch:
        with stage.network.entered():
            sender = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        with sender:
            ports = netlink_ports(stage.network)
            assert ports, "its sockets are in /proc/net/netlink"
            for port in ports:
                send_all(sender, port, messages)
            assert watch.rest(stage) == []
            assert not (mistakes := wrong(TARGETS, watch.said)), mistakes
        follows_changes(stage, watch)
        assert re.search(r"foreign\D*[1-9]", watch.complaints), watch.complaints


def send_all(sender: socket.socket, port: int, messages: list[bytes]) -> None:
    for message in messages:
        # The buffer of a socket that nobody reads just now may fill up.
        with contextlib.suppress(BlockingIOError):
            sender.sendto(message, socket.MSG_DONTWAIT, (port, 0))


def link_message(kind: int, network: Namespace) -> bytes:
    """`wlan0 is switched off`, or gone."""
    name = struct.pack("=HH8s", 12, IFLA_IFNAME, b"wlan0")
    state = struct.pack("=HHB3x", 5, IFLA_OPERSTATE, IF_OPER_DOWN)
    body = struct.pack("=BxHiII", socket.AF_UNSPEC, 1, network.index("wlan0"), 0, 0xFFFFFFFF) + name + state
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def netlink_ports(network: Namespace) -> set[int]:
    """The port ids of all route sockets in a namespace, but the kernel's own."""
    rows = [line.split() for line in network.exec("cat", "/proc/net/netlink").stdout.splitlines()[1:]]
    return {int(row[2]) for row in rows if int(row[1]) == socket.NETLINK_ROUTE} - {0}


def test_a_kernel_without_room_for_the_filter_gets_a_smaller_one(stage: Stage) -> None:
    stage.perform(WIFI)
    stage.network.sysctl("net.core.optmem_max", 2048)
    many = [f"198.51.100.{number}" for number in range(10, 70)]
    with watching(stage, *TARGETS, *many, options=("--verbose",)) as watch:
        assert re.search(r"(?i)level\D*[0-3]\b", watch.complaints), watch.complaints
        stage.perform([LOSE])
        for _ in range(len(many) + len(TARGETS)):
            watch.next("the losses")
        assert not wrong(dict.fromkeys([*TARGETS, *many], NO_ROUTE), watch.said)
