#!/usr/bin/env python3
"""Captures what the kernel says by rtnetlink, for the fixtures beside it. As root: unshare -n python3 capture.py

Each fixture is one datagram: a line of what it is, then its bytes in hexadecimal, 32 a line.
"""
import fcntl
import os
import select
import socket
import struct
import subprocess

GROUPS = [1, 5, 9, 7, 11, 8, 19, 32]
NEWLINK, DELLINK, NEWADDR, DELADDR, NEWROUTE, NEWRULE, NEWNEXTHOP = 16, 17, 20, 21, 24, 32, 104
HERE = os.path.dirname(os.path.abspath(__file__))


def ip(command):
    subprocess.run(["ip"] + command.split(), check=True)


def netlink():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.bind((0, 0))
    return s


def store(name, what, data):
    lines = [data[i:i + 32].hex() for i in range(0, len(data), 32)]
    with open(os.path.join(HERE, name + ".hex"), "w") as f:
        f.write("# " + what + "\n" + "\n".join(lines) + "\n")


def attributes(data):
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            return
        yield kind & 0x3FFF, data[4:length]
        data = data[(length + 3) & ~3:]


def attribute(data, kind):
    return next((v for k, v in attributes(data) if k == kind), b"")


events = netlink()
for group in GROUPS:
    events.setsockopt(270, 1, group)


def event(name, what, kind, match=lambda m: True):
    """The next event of a type that matches; others are passed over."""
    while True:
        if not select.select([events], [], [], 6)[0]:
            raise SystemExit("no event for " + name)
        data = events.recv(65536)
        if struct.unpack_from("=IH", data)[1] == kind and match(data):
            store(name, what, data)
            return data


def quiet():
    while select.select([events], [], [], 0.3)[0]:
        events.recv(65536)


def named(text):
    return lambda m: attribute(m[32:], 3).rstrip(b"\0") == text.encode() and m[16] == 0


def look_up(name, what, destination, flags=0):
    family = socket.AF_INET6 if ":" in destination else socket.AF_INET
    address = socket.inet_pton(family, destination)
    body = struct.pack("=BBBBBBBBI", family, len(address) * 8, 0, 0, 0, 0, 0, 0, flags)
    body += struct.pack("=HH", 4 + len(address), 1) + address
    s = netlink()
    s.setsockopt(270, 12, 1)
    s.send(struct.pack("=IHHII", 16 + len(body), 26, 1, 7, 0) + body)
    store(name, what, s.recv(65536))


MATCH = 0x2000

ip("link set lo up")
quiet()
ip("link add v0 type veth peer name v1")
event("link-veth", "RTM_NEWLINK: a new veth, v0, down", NEWLINK, named("v0"))
quiet()
ip("link set v0 name wlan0")
event("link-renamed", "RTM_NEWLINK: the veth as wlan0", NEWLINK, named("wlan0"))
ip("link set wlan0 name v0")
ip("link set v0 up")
quiet()
ip("link set v1 up")
event("link-up", "RTM_NEWLINK: v0, up and running", NEWLINK,
      lambda m: named("v0")(m) and attribute(m[32:], 16) == b"\x06")
quiet()
ip("link set v0 down")
event("link-down", "RTM_NEWLINK: v0, admin down", NEWLINK, named("v0"))
ip("link set v0 up")
quiet()
ip("link set v1 down")
event("link-no-carrier", "RTM_NEWLINK: v0, up without carrier", NEWLINK,
      lambda m: named("v0")(m) and attribute(m[32:], 16) != b"\x06")
ip("link set v1 up")
quiet()

keep = []
for name, kind in [("tun0", 1), ("tap0", 2)]:
    f = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(f, 0x400454CA, struct.pack("16sH22x", name.encode(), kind | 0x1000))
    keep.append(f)
    event("link-" + name[:3], "RTM_NEWLINK: a " + name[:3], NEWLINK, named(name))
quiet()

ip("link add br0 type bridge")
ip("link add p0 type veth peer name p1")
quiet()
ip("link set p0 master br0")
event("link-bridge-port", "RTM_NEWLINK: p0 is now a port of br0", NEWLINK,
      lambda m: named("p0")(m) and attribute(attribute(m[32:], 18), 4) == b"bridge\0"[:7])
quiet()
ip("link set p0 up")
event("link-of-bridge", "RTM_NEWLINK of family AF_BRIDGE: br0 about its port p0", NEWLINK, lambda m: m[16] == 7)
quiet()
ip("link set p0 nomaster")
event("link-gone-of-bridge", "RTM_DELLINK of family AF_BRIDGE: p0 is no port any more", DELLINK, lambda m: m[16] == 7)
quiet()
ip("link del p0")
event("link-gone", "RTM_DELLINK: p0", DELLINK, named("p0"))
quiet()

ip("addr add 192.0.2.2/24 dev v0")
event("address-v4", "RTM_NEWADDR: 192.0.2.2/24 on v0", NEWADDR)
quiet()
ip("addr add 198.51.100.1 peer 198.51.100.2/32 dev tun0")
event("address-v4-peer", "RTM_NEWADDR: 198.51.100.1 peer 198.51.100.2/32 on tun0", NEWADDR)
ip("addr add 2001:db8::9/64 dev v1 nodad")
quiet()
ip("addr add 2001:db8::2/64 dev v0")
event("address-v6-tentative", "RTM_NEWADDR: 2001:db8::2/64 on v0, tentative", NEWADDR, lambda m: m[16] == 10)
event("address-v6", "RTM_NEWADDR: 2001:db8::2/64 on v0, checked", NEWADDR, lambda m: m[16] == 10 and not m[18] & 0x40)
quiet()
ip("addr add 2001:db8::9/64 dev v0")
event("address-v6-failed", "RTM_NEWADDR: 2001:db8::9/64 on v0, a duplicate", NEWADDR,
      lambda m: m[16] == 10 and m[18] & 0x08)
quiet()
ip("addr del 2001:db8::9/64 dev v0")
event("address-gone", "RTM_DELADDR: 2001:db8::9/64 on v0", DELADDR, lambda m: m[16] == 10)
quiet()

ip("route add default via 192.0.2.1 dev v0 metric 100")
event("route-new", "RTM_NEWROUTE: default via 192.0.2.1", NEWROUTE)
look_up("answer-v4-gateway", "RTM_GETROUTE 203.0.113.1: via 192.0.2.1", "203.0.113.1")
look_up("answer-v4-gateway-match", "RTM_GETROUTE 203.0.113.1, FIB_MATCH: metric 100", "203.0.113.1", MATCH)
look_up("answer-v4-direct", "RTM_GETROUTE 192.0.2.77: on the link", "192.0.2.77")
look_up("answer-v4-local", "RTM_GETROUTE 192.0.2.2: this machine", "192.0.2.2")
look_up("answer-v4-broadcast", "RTM_GETROUTE 192.0.2.255: broadcast", "192.0.2.255")
ip("route add 10.1.0.0/16 via inet6 fe80::1 dev v0")
look_up("answer-v4-via-v6", "RTM_GETROUTE 10.1.0.1: via inet6 fe80::1", "10.1.0.1")
ip("route add 10.2.0.0/16 metric 7 nexthop via 192.0.2.3 dev v0 weight 1 nexthop via 192.0.2.4 dev v0 weight 1")
look_up("answer-v4-multipath-match", "RTM_GETROUTE 10.2.0.1, FIB_MATCH: two hops", "10.2.0.1", MATCH)
quiet()
ip("nexthop add id 5 via 192.0.2.5 dev v0")
event("nexthop-new", "RTM_NEWNEXTHOP: via 192.0.2.5", NEWNEXTHOP)
ip("route add 10.3.0.0/16 nhid 5")
look_up("answer-v4-nexthop-match", "RTM_GETROUTE 10.3.0.1, FIB_MATCH: nexthop object 5", "10.3.0.1", MATCH)
ip("route add unreachable 10.4.0.0/16")
look_up("answer-v4-unreachable", "RTM_GETROUTE 10.4.0.1: NLMSG_ERROR, EHOSTUNREACH", "10.4.0.1")
quiet()
ip("rule add from 10.9.0.0/16 lookup 99")
event("rule-new", "RTM_NEWRULE: from 10.9.0.0/16 lookup 99", NEWRULE)

look_up("answer-v6-none", "RTM_GETROUTE 2001:db8:1::1: there is none", "2001:db8:1::1")
ip("-6 route add default via 2001:db8::1 dev v0 metric 50")
look_up("answer-v6-gateway", "RTM_GETROUTE 2001:db8:1::1: via 2001:db8::1, metric 50", "2001:db8:1::1")
look_up("answer-v6-direct", "RTM_GETROUTE 2001:db8::77: on the link", "2001:db8::77")
look_up("answer-v6-local", "RTM_GETROUTE 2001:db8::2: this machine", "2001:db8::2")
for kind, net in [("unreachable", 2), ("prohibit", 3), ("blackhole", 4)]:
    ip("-6 route add %s 2001:db8:%d::/48" % (kind, net))
    look_up("answer-v6-" + kind, "RTM_GETROUTE 2001:db8:%d::1: %s" % (net, kind), "2001:db8:%d::1" % net)

# No wireless device here: written by hand, as net/wireless/wext-core.c fills it (ifinfomsg, IFLA_IFNAME, IFLA_WIRELESS).
body = struct.pack("=BxHiII", 0, 1, 3, 0x1043, 0)
body += struct.pack("=HH8s", 12, 3, b"wlan0\0") + struct.pack("=HH16s", 20, 11, b"\x10\0\x15\x8b")
store("link-wireless-event", "RTM_NEWLINK: a wireless event of wlan0 (written by hand after wext-core.c)",
      struct.pack("=IHHII", 16 + len(body), NEWLINK, 0, 0, 0) + body)
