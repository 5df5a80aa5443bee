"""Changes made by netlink from this process, with the time at which each was asked for."""

import errno
import os
import socket
import struct
import time

from support.netns import Namespace

# linux/netlink.h, linux/rtnetlink.h, linux/if.h
NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE, NLMSG_ERROR = 1, 4, 0x400, 2
RTM_NEWLINK, RTM_NEWADDR, RTM_DELADDR, RTM_NEWROUTE, RTM_DELROUTE = 16, 20, 21, 24, 25
IFA_LOCAL = 2
RTA_OIF, RTA_GATEWAY, RTA_PRIORITY = 4, 5, 6
RT_TABLE_MAIN, RTPROT_BOOT, RT_SCOPE_UNIVERSE, RTN_UNICAST = 254, 3, 0, 1
IFF_UP = 1


class Changer:
    """A socket in a namespace that changes what is there."""

    def __init__(self, network: Namespace) -> None:
        self.network = network
        with network.entered():
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
        self.sequence = 0

    def close(self) -> None:
        self.socket.close()

    def default_route(self, add: bool, gateway: str, link: str, metric: int = 0) -> int:
        """Sets or deletes it; answers when, in nanoseconds of the monotonic clock."""
        body = struct.pack(
            "=8BI", socket.AF_INET, 0, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, RT_SCOPE_UNIVERSE, RTN_UNICAST, 0
        )
        body += struct.pack("=HH4s", 8, RTA_GATEWAY, socket.inet_aton(gateway))
        body += struct.pack("=HHI", 8, RTA_OIF, self.network.index(link))
        body += struct.pack("=HHI", 8, RTA_PRIORITY, metric)
        return self._ask(RTM_NEWROUTE if add else RTM_DELROUTE, NLM_F_CREATE if add else 0, body)

    def link(self, name: str, up: bool) -> int:
        """Switches a link on or off; answers when."""
        body = struct.pack(
            "=BxHiII", socket.AF_UNSPEC, 0, self.network.index(name), IFF_UP if up else 0, IFF_UP
        )
        return self._ask(RTM_NEWLINK, 0, body)

    def address(self, add: bool, address: str, index: int) -> int:
        """Adds an IPv4 address to the link of this index, or deletes it; answers when."""
        body = struct.pack("=4BI", socket.AF_INET, 32, 0, RT_SCOPE_UNIVERSE, index)
        body += struct.pack("=HH4s", 8, IFA_LOCAL, socket.inet_aton(address))
        return self._ask(RTM_NEWADDR if add else RTM_DELADDR, NLM_F_CREATE if add else 0, body)

    def _ask(self, kind: int, flags: int, body: bytes) -> int:
        self.sequence += 1
        header = struct.pack("=IHHII", 16 + len(body), kind, NLM_F_REQUEST | NLM_F_ACK | flags, self.sequence, 0)
        began = time.monotonic_ns()
        self.socket.send(header + body)
        answer = self.socket.recv(4096)
        number = -struct.unpack_from("=i", answer, 16)[0]
        if number:
            raise OSError(number, f"{errno.errorcode.get(number)}: {os.strerror(number)}")
        return began
