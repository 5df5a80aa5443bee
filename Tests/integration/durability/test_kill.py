"""`kill -9` at random moments of a flood of pushes: nothing that was answered 200 is lost, and nothing rings twice.

RINGWAKE_TEST_SCALE=10 makes ten times as many rounds; RINGWAKE_TEST_SEED=N repeats a run, as far as two processes on
one machine can be repeated.
"""

import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime

import pytest

from support.callers import CallerRecords
from support.credentials import APP
from support.daemon import Daemon
from support.flood import Flood, Push, new_call
from support.native import Native
from support.store import read_store
from support.waiting import until
from support.watching import Watcher

SCALE = int(os.environ.get("RINGWAKE_TEST_SCALE") or 1)
ROUNDS = 20 * SCALE
PUSHES_PER_ROUND = 300
REPEATS_PER_ROUND = 20
# One handler for all of its calls, and one for each.
ONE, EACH = APP, "com.example.each"
# Of 1,000 calls of handlers that send again what was not answered, so many may not ring at this rate of kills.
SILENT_OF_1000 = 2
# The last digit of a call that native/caller.c lets ring until it hangs up.
RINGS = "9"
# Short, so that every call ends soon after the last round.
DEADLINES = {"report": "2s", "ring": "2s", "action": "2s", "claim": "2s"}
# A daemon is killed after a random number of answers, and at the latest after so many seconds.
LONGEST_LIFE = 3
# How a push may be good for: seconds, one attempt, too late, without a limit; the first ones are more frequent.
EXPIRATIONS = [5, None, -60, 0, 5, None, 2]


class Lives:
    """One state directory and the daemons that lived on it."""

    def __init__(self, daemon: Daemon, native: Native, generator: random.Random, patience: int = 0) -> None:
        """With `patience`, in seconds, handlers send their requests again, and every call is to ring."""
        self.daemon = daemon
        self.patience = patience
        self.pushes_per_round = PUSHES_PER_ROUND // (5 if patience else 1)
        self.generator = generator
        self.records = daemon.directory / "records"
        daemon.calls = dict.fromkeys(DEADLINES, f"{patience}s") if patience else dict(DEADLINES)
        daemon.settings["team.topics"] = [ONE + ".voip", EACH + ".voip"]
        daemon.settings["log.level"] = "error"
        command = [str(native.caller), str(self.records), *(["1", str(patience)] if patience else ["20"])]
        daemon.set_handler(command, app=ONE, instances="app")
        daemon.set_handler(command, app=EACH, instances="call")
        self.flood = Flood(daemon)
        # The events of each daemon, in order.
        self.watched: list[list[dict]] = []

    def add_pushes(self, count: int) -> None:
        for _ in range(count):
            # A handler has its calls one after the other: with patience few get into its queue, and none expires there.
            app = self.generator.choices([ONE, EACH], [1, 9 if self.patience else 1])[0]
            last, expiration = (RINGS, None) if self.patience else (None, self.generator.choice(EXPIRATIONS))
            self.flood.add(Push(new_call(self.generator, last), app, expiration))

    def repeat_pushes(self, count: int) -> None:
        """Senders that did not see their 200 send again what was accepted, lately or long ago."""
        accepted = sorted(push.apns_id for push in self.flood.accepted())
        for name in self.generator.sample(accepted, min(count, len(accepted))):
            self.flood.repeat(name)

    def live_and_die(self, end: Callable[[Daemon], None] = Daemon.kill) -> None:
        """A daemon takes pushes until it is killed."""
        self.add_pushes(self.pushes_per_round)
        self.repeat_pushes(REPEATS_PER_ROUND)
        self.daemon.start()
        with Watcher(self.daemon) as watcher:
            self.flood.start()
            enough = len(self.flood.accepted()) + self.generator.randrange(self.pushes_per_round)
            deadline = time.monotonic() + LONGEST_LIFE
            while len(self.flood.accepted()) < enough and time.monotonic() < deadline:
                time.sleep(self.generator.random() * 0.01)
            end(self.daemon)
        self.flood.stop()
        self.watched.append(watcher.events)

    def die_at_once(self) -> None:
        """A daemon is killed while it starts and takes up what the last one left."""
        with self.daemon.log_file.open("ab") as log:
            self.daemon.process = subprocess.Popen(
                self.daemon.command(), cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        time.sleep(self.generator.random() * 0.1)
        self.daemon.kill()

    def live_to_the_end(self) -> None:
        """A daemon answers what was not answered, and ends every call."""
        self.daemon.start()
        watcher = Watcher(self.daemon)
        self.flood.start()
        until(lambda: self.flood.is_done, 60, lambda: f"all pushes: {self.refusals()} {self.flood.broken[-4:]}")
        self.flood.stop()
        until(lambda: self.daemon.control.status()["activeCalls"] == 0, 30, "all calls to end")
        self.last = watcher

    def refusals(self) -> Counter:
        return Counter(answer for push in self.flood.pushes.values() for answer in push.answers)

    def pages(self, target: str, member: str) -> list[dict]:
        """A whole list of the control API."""
        found: list[dict] = []
        before = ""
        while True:
            page = self.daemon.control.get(f"{target}limit=500{before}")
            found += page[member]
            if "next" not in page:
                return found
            before = f"&before={page['next']}"


@pytest.fixture(scope="module")
def seed() -> int:
    return int(os.environ.get("RINGWAKE_TEST_SEED") or random.SystemRandom().randrange(1 << 32))


def test_what_was_answered_is_delivered_or_missed_and_rings_once(make_daemon, native: Native, seed: int) -> None:
    print(f"RINGWAKE_TEST_SEED={seed}")
    lives = Lives(make_daemon(), native, random.Random(seed))
    for number in range(ROUNDS):
        # Now and then it is stopped in good order, which must lose no more.
        lives.live_and_die(Daemon.stop if number % 7 == 6 else Daemon.kill)
        if number % 4 == 3:
            lives.die_at_once()
    lives.live_to_the_end()

    pushes = lives.pages("/v1/pushes?", "pushes")
    calls = {call["call"]: call for call in lives.pages("/v1/calls?", "calls")}
    missed = {call["call"] for call in lives.pages("/v1/calls?missed=true&", "calls")}
    records = CallerRecords(lives.records)
    assert_nothing_is_lost(lives, pushes, calls, missed, records)
    assert_nothing_comes_too_late(lives, calls, records)
    lives.daemon.stop()
    with lives.last as watcher:
        lives.watched.append(watcher.events)
    repeated = {push.apns_id for push in lives.flood.pushes.values() if push.sent > 1}
    assert records.problems(repeated) == []
    assert event_problems(lives.watched, repeated) == []
    contents = read_store(lives.daemon.directory / "state")
    assert lives.flood.pushes.keys() <= contents.pushes
    assert records.calls("ringing") <= contents.rung
    print(f"{len(pushes)} pushes, {Counter(call['reason'] for call in calls.values())}, {lives.refusals()}")
    print(f"{sum(max(records.attempts(call), default=0) > 1 for call in calls)} calls delivered again")


def test_a_call_rings_although_the_daemon_dies_while_its_handler_reports_it(
    make_daemon, native: Native, seed: int
) -> None:
    """What was recorded and not answered is said again by the same handler; it is no fault, and the call rings."""
    print(f"RINGWAKE_TEST_SEED={seed}")
    lives = Lives(make_daemon(), native, random.Random(seed), patience=30)
    for _ in range(ROUNDS):
        lives.live_and_die()
    lives.live_to_the_end()
    calls = lives.pages("/v1/calls?", "calls")
    lives.daemon.stop()
    with lives.last as watcher:
        lives.watched.append(watcher.events)
    silent = [call for call in calls if "rang" not in stages(call)]
    print(f"{len(silent)} of {len(calls)} calls did not ring: {Counter(call['reason'] for call in silent)}")
    repeated = {push.apns_id for push in lives.flood.pushes.values() if push.sent > 1}
    assert event_problems(lives.watched, repeated) == []
    assert CallerRecords(lives.records).problems(repeated) == []
    assert len(silent) * 1000 <= SILENT_OF_1000 * len(calls), silent[:3]


def assert_nothing_is_lost(
    lives: Lives, pushes: list[dict], calls: dict[str, dict], missed: set[str], records: CallerRecords
) -> None:
    """Every push that was answered 200 is known, its call has ended, and was given to a handler or is a missed call."""
    accepted = {push.apns_id for push in lives.flood.accepted()}
    assert accepted == {push["pushId"] for push in pushes} and len(pushes) == len(accepted)
    assert [call for call in calls.values() if call["state"] != "ended"] == []
    lost = accepted - missed - records.calls("woken")
    assert not lost, f"{len(lost)} neither delivered nor missed: {[calls.get(call) for call in list(lost)[:3]]}"
    # What only a handler knows of is not enough: the person has to see a call that never rang.
    silent = [call for name, call in calls.items() if name not in missed and "rang" not in stages(call)]
    assert not silent, f"{len(silent)} calls never rang and are not missed: {silent[:3]}"
    for name in random.Random(1).sample(sorted(accepted), 100):
        one = lives.daemon.control.get(f"/v1/pushes/{name}")
        assert (one["call"], one["state"] in ("ended", "expired", "missed", "cancelled")) == (name, True), one


def assert_nothing_comes_too_late(lives: Lives, calls: dict[str, dict], records: CallerRecords) -> None:
    for push in lives.flood.pushes.values():
        call = calls[push.apns_id]
        if push.expires is not None and push.expires < 0:
            assert (call["reason"], records.attempts(push.apns_id)) == ("expired", [])
        if push.expires == 0:
            # A start that claims a call is no attempt to deliver it; a repeated push may wake a handler in vain.
            assert len(records.attempts(push.apns_id)) <= push.sent, f"one attempt was allowed: {call}"
        if push.expires and "rang" in stages(call):
            rang = next(hop["atUs"] for hop in call["timeline"] if hop["stage"] == "rang")
            received = datetime.fromisoformat(call["receivedAt"]).timestamp()
            # A push is good until the second that it names is over; the wall clock is kept in milliseconds.
            assert received + rang / 1e6 < int(push.expiration) + 1.01, f"rang after its expiration: {call}"


def stages(call: dict) -> set[str]:
    return {hop["stage"] for hop in call["timeline"]}


def event_problems(lives: list[list[dict]], repeated: set[str]) -> list[str]:
    """What the events of all daemons together must not show: a second ring, and a life after the end of a ring.

    A call that ended before it rang may be delivered once more, if the kill came before its end was written. And a push
    that was `repeated`, by then long after its call, may wake a handler, since no wake waits for the journal. Neither
    rings a second time.
    """
    rings: Counter = Counter()
    over: set[str] = set()
    last: dict[str, str] = {}
    found = []
    for events in lives:
        for event in (event for event in events if event["event"] == "call"):
            call = event["call"]
            # It is told again that a call rings when its handler is another one, or the daemon.
            rings[call] += event["state"] == "ringing" and last.get(call) != "ringing"
            last[call] = event["state"]
            if event["state"] == "ended":
                if rings[call]:
                    over.add(call)
            elif call in over - repeated:
                found.append(f"call {call} is {event['state']} after its ring and its end")
    return found + [f"call {call} rang {count} times" for call, count in rings.items() if count > 1]
