"""`ringwake power`: what woke the daemon, how often, and that there is nothing else that could."""

import json

from support.daemon import Daemon
from support.pushing import push, start_call
from support.waiting import until


def causes_of(daemon: Daemon) -> set[str]:
    return {cause["cause"] for cause in json.loads(daemon.ringwake("power", "--json").stdout)["causes"]}


def test_every_cause_of_a_wakeup_is_explained(daemon: Daemon) -> None:
    call, _ = start_call(daemon)
    # On a busy machine several things may be ready at once, and a wakeup counts for the first of them.
    until(lambda: push(daemon, call) and "provider" in causes_of(daemon), 10, "a sender to be what woke it")
    daemon.control.verb(call, "report", ring=True)
    daemon.control.verb(call, "end")
    daemon.control.verb(call, "fulfill", action="end")
    daemon.recorders[0].clear_away()
    daemon.control.post("/v1/reload")
    daemon.control.wait_for(call, "ended")
    done = daemon.ringwake("power", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    causes = {cause["cause"]: cause for cause in report["causes"]}
    assert {"provider", "control", "journal"} <= causes.keys()
    assert not [cause for cause in report["causes"] if "does not know" in cause["meaning"]]
    assert sum(cause["wakeups"] for cause in report["causes"]) == report["wakeups"]
    counts = [cause["wakeups"] for cause in report["causes"]]
    assert counts == sorted(counts, reverse=True)
    assert report["schema"] == 1 and report["optionalTimers"] == []
    hours = report["uptimeMs"] / 3_600_000
    for cause in report["causes"]:
        assert abs(cause["perHour"] - cause["wakeups"] / hours) < 0.01
    assert report["filterLevel"] <= report["wantedFilterLevel"] == 4


def test_people_see_the_same(daemon: Daemon) -> None:
    done = daemon.ringwake("power")
    assert done.returncode == 0
    assert done.stdout.startswith("wakeups  ") and " an hour\n  cause" in done.stdout
    assert "\ntimers   none runs while nothing happens\n" in done.stdout


def test_without_a_daemon_there_is_nothing_to_show(daemon: Daemon) -> None:
    daemon.stop()
    assert daemon.ringwake("power").returncode == 3
