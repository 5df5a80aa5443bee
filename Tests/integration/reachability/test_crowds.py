"""A thousand links and fifty thousand routes that are about none of the targets."""

from reachability.command import Watch, ask, watching, wrong
from reachability.scenarios.links import BY_WIFI, NO_ROUTE, REMOTE, WIFI
from reachability.stage import Stage
from support import processes
from support.waiting import until

LINKS = 1000
ROUTES = 50_000
TARGETS = {"any": BY_WIFI, REMOTE: BY_WIFI}
LOST = {"any": NO_ROUTE, REMOTE: NO_ROUTE}


def make_links(stage: Stage) -> None:
    """Pairs of interfaces as containers have them; one in ten is up."""
    lines = []
    for number in range(LINKS // 2):
        lines.append(f"link add a{number} type veth peer name b{number}")
        if number % 10 == 0:
            lines += [f"link set a{number} up", f"link set b{number} up"]
    stage.network.batch(lines)


def make_routes(stage: Stage, verb: str = "add") -> None:
    """Routes to none of the targets."""
    stage.network.batch(
        f"route {verb} 10.{number >> 8}.{number & 255}.0/24 dev wlan0" for number in range(ROUTES)
    )


def still_told(stage: Stage, watch: Watch) -> None:
    """What matters is told, amid all that does not."""
    stage.perform(["route delete default via 192.0.2.1 dev wlan0"])
    for _ in LOST:
        watch.next("the loss")
    assert not (mistakes := wrong(LOST, watch.said)), mistakes
    stage.perform(["route add default via 192.0.2.1 dev wlan0"])
    for _ in TARGETS:
        watch.next("the gain")
    assert not (mistakes := wrong(TARGETS, watch.said)), mistakes
    assert watch.rest(stage) == []


def test_a_thousand_links(stage: Stage) -> None:
    stage.perform(WIFI)
    with watching(stage, *TARGETS) as watch:
        make_links(stage)
        assert watch.rest(stage) == [], "links that come are no change"
        assert not (mistakes := wrong(TARGETS, ask(stage.network, *TARGETS))), mistakes
        still_told(stage, watch)
    with watching_again(stage) as watch:
        stage.network.batch(f"link delete a{number}" for number in range(LINKS // 2))
        assert watch.rest(stage) == [], "links that go are no change"
        still_told(stage, watch)


def watching_again(stage: Stage):
    """A second watch in the same network, which has its sentinel already."""
    stage.perform(["link delete sentinel0", "rule delete pref 1", "route flush table 9"])
    return watching(stage, *TARGETS)


def test_fifty_thousand_routes(stage: Stage) -> None:
    stage.perform(WIFI)
    with watching(stage, *TARGETS) as watch:
        before = processes.resident_kilobytes(watch.process.pid)
        make_routes(stage)
        assert watch.rest(stage) == [], "routes to others are no change"
        assert not (mistakes := wrong(TARGETS, ask(stage.network, *TARGETS))), mistakes
        still_told(stage, watch)
        # They are the kernel's; none is kept.
        assert processes.resident_kilobytes(watch.process.pid) - before < 1024
    with watching_again(stage) as watch:
        make_routes(stage, "delete")
        assert watch.rest(stage) == []
        still_told(stage, watch)


def test_churn_of_others_does_not_wake_it(stage: Stage) -> None:
    stage.perform(WIFI)
    with watching(stage, *TARGETS, options=("--filter-level", "4")) as watch:
        assert watch.rest(stage) == []
        # A line is read before its writer is back to sleep, and a rest of the damping may follow.
        until(lambda: processes.is_asleep(watch.process.pid), 10, "the watch to fall asleep")
        before = processes.voluntary_switches(watch.process.pid)
        stage.network.batch(f"route add 10.1.{number}.0/24 dev wlan0" for number in range(200))
        stage.network.batch(
            line
            for number in range(20)
            for line in (f"link add c{number} type veth peer name d{number}", f"link set c{number} up",
                         f"link set d{number} up", f"link delete c{number}")
        )  # fmt: skip
        # The kernel tells of a carrier up to a second later; the sentinel's line comes after it, and wakes.
        stage.settle()
        assert processes.voluntary_switches(watch.process.pid) == before
        assert watch.rest(stage) == []
