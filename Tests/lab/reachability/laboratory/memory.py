"""Memory with few routes and with many."""

from .outcome import Outcome, Table
from .peers import available
from .watchers import IpMonitor, Ours, Watcher

FEW, MANY = 10, 50_000
# What many routes may cost, in kB.
AIM = 1024


class Loaded:
    """A watcher that finds a number of routes when it starts."""

    def __init__(self, watcher: Watcher, routes: int) -> None:
        self.watcher, self.routes = watcher, routes

    def __enter__(self) -> Watcher:
        lay_out = self.watcher.lay_out
        self.watcher.lay_out = lambda: (lay_out(), add_routes(self.watcher, self.routes))
        return self.watcher.__enter__()

    def __exit__(self, *_: object) -> None:
        self.watcher.__exit__()


def add_routes(watcher: Watcher, count: int) -> None:
    watcher.stage.network.batch(
        f"route add 10.{number >> 8}.{number & 255}.0/24 dev wlan0" for number in range(count)
    )


def measure(quick: bool) -> Outcome:
    many = 2_000 if quick else MANY
    table = Table(
        "Memory and routes",
        f"kB of all the watcher's processes from smaps_rollup once it is at rest: with {FEW} routes when it starts, "
        f"with {many:,}, and when {many:,} come while it watches. Aim: at most 1 MB more.",
        ["", f"PSS, {FEW}", f"PSS, {many:,}", "private dirty, few", "private dirty, many", "more, they come later"],
        command="Tests/lab/reachability/run memory",
    )
    missed = []
    for kind in (Ours(), IpMonitor(), *(peer() for peer in available())):
        figures = {}
        for routes in (FEW, many):
            with Loaded(kind.again(), routes) as watcher:
                watcher.settle()
                figures[routes] = (watcher.memory_kb("Pss"), watcher.memory_kb("Private_Dirty"))
                if routes == FEW:
                    add_routes_later(watcher, many)
                    later = watcher.memory_kb("Private_Dirty") - figures[FEW][1]
        (pss, dirty), (pss_many, dirty_many) = figures[FEW], figures[many]
        table.add(kind.name, pss, pss_many, dirty, dirty_many, later)
        if kind.name == "ringwake" and max(dirty_many - dirty, later) > AIM:
            missed.append(f"{many:,} routes cost ringwake {max(dirty_many - dirty, later)} kB")
    return Outcome(table, missed)


def add_routes_later(watcher: Watcher, count: int) -> None:
    watcher.stage.network.batch(
        f"route add 11.{number >> 8}.{number & 255}.0/24 dev wlan0" for number in range(count)
    )
    watcher.settle()
