"""When a change is told: gains and switches of interface at once, losses when they last."""

import time

from reachability.command import SENTINEL, Watch, watching, wrong
from reachability.scenarios.links import BY_MOBILE, BY_WIFI, GATEWAY, MOBILE, NO_ROUTE, REMOTE, WIFI
from reachability.stage import Stage

# What a loss has to last, in seconds: the default of --loss-hold.
HOLD = 0.2
LOSE, REGAIN = "route delete default via 192.0.2.1 dev wlan0", f"route add default via {GATEWAY} dev wlan0"


def changed(stage: Stage, watch: Watch, *commands: str) -> list:
    """The lines that follow from changes made in one go, within a few milliseconds."""
    stage.network.batch(commands)
    return watch.rest(stage)


def test_a_loss_that_heals_within_the_hold_is_not_told(stage: Stage) -> None:
    stage.perform(WIFI)
    with watching(stage, "any", REMOTE, options=("--loss-hold", "5s")) as watch:
        stage.perform([LOSE])
        assert watch.until_sentinel(stage) == [], "judged, and held"
        stage.perform([REGAIN])
        assert watch.until_sentinel(stage) == [], "healed"


def test_a_loss_that_heals_at_once_is_not_told(stage: Stage) -> None:
    stage.perform(WIFI)
    with watching(stage, "any", REMOTE) as watch:
        for _ in range(3):
            assert changed(stage, watch, LOSE, REGAIN) == []
        assert changed(stage, watch, "link set wlan0 down", "link set wlan0 up", REGAIN) == []


def test_a_loss_that_heals_while_the_socket_rests_is_not_told(stage: Stage) -> None:
    stage.perform(WIFI)
    with watching(stage, "any", REMOTE) as watch:
        # After a few changes the socket is left alone for longer than the hold, often after a loss was read.
        for _ in range(12):
            assert changed(stage, watch, "link set wlan0 down", "link set wlan0 up", REGAIN) == []


def test_a_loss_is_told_after_its_hold_and_no_sooner(stage: Stage) -> None:
    stage.perform(WIFI)
    with watching(stage, REMOTE) as watch:
        for _ in range(3):
            began = time.monotonic()
            stage.perform([LOSE])
            line = watch.next("the loss")
            assert not wrong({REMOTE: NO_ROUTE}, {REMOTE: line.message})
            assert line.time - began >= HOLD
            stage.perform([REGAIN])
            assert not wrong({REMOTE: BY_WIFI}, {REMOTE: watch.next("the gain").message})


def test_without_a_hold_every_loss_is_told(stage: Stage) -> None:
    stage.perform(WIFI)
    with watching(stage, REMOTE, options=("--loss-hold", "0ms")) as watch:
        for command, facts in [(LOSE, NO_ROUTE), (REGAIN, BY_WIFI)] * 3:
            stage.perform([command])
            assert not wrong({REMOTE: facts}, {REMOTE: watch.next(command).message})
        assert watch.rest(stage) == []


def test_a_switch_of_interface_with_a_gap_is_one_line(stage: Stage) -> None:
    stage.perform(WIFI)
    stage.perform(MOBILE[:2])
    with watching(stage, "any", REMOTE) as watch:
        # For a moment there is no way at all.
        lines = changed(stage, watch, LOSE, MOBILE[2])
        assert sorted(line.target for line in lines) == [REMOTE, "any"]
        assert not wrong({"any": BY_MOBILE, REMOTE: BY_MOBILE}, watch.said)


def test_a_switch_of_interface_does_not_wait_for_the_hold_of_another(stage: Stage) -> None:
    stage.perform(WIFI)
    stage.perform([*MOBILE[:2], "route add 198.18.7.7 via 192.0.2.1 dev wlan0"])
    with watching(stage, REMOTE, "198.18.7.7", options=("--loss-hold", "5s")) as watch:
        # Both ways go; one is replaced. Its line comes although the other's loss is held for long.
        stage.network.batch(["route delete 198.18.7.7", LOSE, "route add 198.51.100.0/24 via 203.0.113.1 dev wwan0"])
        first = watch.next("the switch")
        assert not wrong({REMOTE: BY_MOBILE}, {first.target: first.message})
        assert watch.next_of("198.18.7.7")["reason"] == "noRoute"


def test_the_last_state_of_a_way_that_flaps_is_told(stage: Stage) -> None:
    stage.perform(WIFI)
    with watching(stage, "any", REMOTE) as watch:
        stage.network.batch([LOSE, REGAIN] * 300 + [LOSE])
        while wrong({"any": NO_ROUTE, REMOTE: NO_ROUTE}, watch.said):
            assert watch.next("the loss").target != SENTINEL
        stage.network.batch([REGAIN, LOSE] * 300 + [REGAIN])
        while wrong({"any": BY_WIFI, REMOTE: BY_WIFI}, watch.said):
            watch.next("the gain")
        watch.rest(stage)
        assert not wrong({"any": BY_WIFI, REMOTE: BY_WIFI}, watch.said)
