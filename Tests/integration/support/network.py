"""A daemon on a network of its own, which a test can change: a Wi-Fi in a namespace, and a router at its other end."""

import contextlib
from collections.abc import Iterator

from . import api
from .control import UnixConnection
from .daemon import Daemon
from .netns import Namespace

ROUTER = "192.0.2.1"
OWN = "192.0.2.7"
FAR = "198.51.100.9"


@contextlib.contextmanager
def wifi() -> Iterator[Namespace]:
    """A namespace with a Wi-Fi that leads to a router, and from there anywhere."""
    with Namespace() as network, Namespace() as router:
        network.veth("wlan0", router, "lan0")
        router.ip("address", "add", f"{ROUTER}/24", "dev", "lan0")
        network.ip("address", "add", f"{OWN}/24", "dev", "wlan0")
        default_route(network)
        network.etc("resolv.conf", f"nameserver {ROUTER}\n")
        network.etc("hosts", "127.0.0.1 localhost\n198.51.100.7 sip.example.org\n")
        yield network


def default_route(network: Namespace, verb: str = "add") -> None:
    network.ip("route", verb, "default", "via", ROUTER)


def configure(daemon: Daemon, more: str = "") -> None:
    """Writes a configuration with which losses are told at once; `more` goes on in [reachability]."""
    daemon.write_configuration(daemon.text() + f'\n[reachability]\nloss_hold = "0s"\n{more}')


def reachability(daemon: Daemon, *targets: str) -> list[dict]:
    """What the control socket says of these targets."""
    answer = daemon.control.get("/v1/reachability?" + "&".join(f"target={target}" for target in targets))
    api.check(answer, "TargetListMessage")
    return answer["targets"]


def hold(daemon: Daemon, count: int, start: int = 0) -> UnixConnection:
    """A watch of so many targets, which are not those of another `start`."""
    names = "&".join(f"target=10.0.{start}.{number}" for number in range(count))
    connection = UnixConnection(daemon.control_socket)
    connection.request("GET", f"/v1/reachability?watch=true&{names}")
    connection.answer = connection.getresponse()
    return connection
