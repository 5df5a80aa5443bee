"""GLib's GNetworkMonitor, asked over a pipe: a line with targets, a line with what it says of each.

Started with the system's Python, which has the bindings; it lives as long as a scenario, as in an application.
"""

import json
import sys
import time

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib  # noqa: E402

# How long it may take to hear of a change, in seconds. It is idle when it has not heard of any.
HEARING = 0.1


def hear(context: GLib.MainContext) -> None:
    deadline = time.monotonic() + HEARING
    while time.monotonic() < deadline:
        if not context.iteration(False):
            time.sleep(0.005)


def says(monitor: Gio.NetworkMonitor, target: str) -> bool:
    if target == "any":
        return monitor.get_network_available()
    # It knows nothing of local addresses: a pair is its remote end.
    address = Gio.InetSocketAddress.new_from_string(target.rpartition(",")[2], 80)
    if address is None:
        return False
    try:
        return monitor.can_reach(address, None)
    except GLib.Error:
        return False


def main() -> None:
    # Without NetworkManager and without a portal there is no other than the netlink one.
    monitor = Gio.NetworkMonitor.get_default()
    context = GLib.MainContext.default()
    print(json.dumps(type(monitor).__name__), flush=True)
    for line in sys.stdin:
        hear(context)
        print(json.dumps({target: says(monitor, target) for target in json.loads(line)}), flush=True)


if __name__ == "__main__":
    main()
