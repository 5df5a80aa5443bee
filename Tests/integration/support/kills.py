"""`kill -9` of a gateway and of its device under load, and what must be true when both are back; for a test and a lab.

    site = KillSite(make_daemon, native, seed)
    site.pair()
    site.live(kills=6, pushes=300)
    site.settle()
    assert site.problems() == []
"""

import itertools
import json
import random
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import h2.exceptions

from .callers import CallerRecords
from .daemon import Daemon
from .h2client import H2Client, push_fields
from .links import Device, devices, make_gateway, pair
from .waiting import until

APPS = ("com.example.phone", "com.example.door", "com.example.radio")
SENDERS = 4
# Of ten pushes one is sent once, whatever becomes of it; a real sender's time may be over, too.
ONCE_OF_TEN = 1
DEAD = (OSError, h2.exceptions.ProtocolError, AssertionError)
# How long a connection may go without an answer, in seconds.
PATIENCE = 15
# So that each call ends soon.
DEADLINES = {"report": "20s", "ring": "20s", "action": "5s", "claim": "5s"}
# While the device is away, so many pushes are accepted before it comes back.
AWAY = 12
# A mailbox takes 20 of one app.
FULL = 20
# Gateways killed one after the other at most: with each, a device that has lost its link waits longer.
GATEWAYS_IN_A_ROW = 2
# The gateway remembers what became of so many pushes of a device at least.
REMEMBERED = 400


@dataclass
class Push:
    """One push, which is its own call. Times are of the monotonic clock."""

    id: str
    app: str
    is_sent_once: bool
    first_sent: float = 0
    accepted_at: float | None = None
    answers: Counter = field(default_factory=Counter)


class Load:
    """Senders that take pushes in turn, and send each until it is answered 200."""

    def __init__(self, gateway: Daemon, address: tuple[str, int], tokens: dict[str, str]) -> None:
        self.gateway, self.address, self.tokens = gateway, address, tokens
        # One token, as of a real sender.
        self.authorization = gateway.credentials.authorization()
        self.pushes: dict[str, Push] = {}
        self.accepted = 0
        self.problems: list[str] = []
        self._waiting: list[Push] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def add(self, push: Push) -> None:
        self.pushes[push.id] = push
        self._waiting.append(push)

    def start(self) -> None:
        self._stopping.clear()
        self._waiting.reverse()
        self._threads = [threading.Thread(target=self._guard, daemon=True) for _ in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    @property
    def is_done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(PATIENCE * 2)
        assert not self.problems, self.problems

    def _guard(self) -> None:
        try:
            self._run()
        except Exception as error:
            self.problems.append(repr(error))

    def _run(self) -> None:
        client: H2Client | None = None
        while push := self._take():
            while not self._stopping.is_set():
                try:
                    client = client or self._connect()
                    push.first_sent = push.first_sent or time.monotonic()
                    named = {
                        "apns_id": push.id, "apns_topic": push.app + ".voip", "authorization": self.authorization,
                    }  # fmt: skip
                    payload = json.dumps({"aps": {}, "push": push.id}).encode()
                    answer = client.request(push_fields(self.tokens[push.app], **named), payload)
                except DEAD as error:
                    client = None
                    push.answers[type(error).__name__] += 1
                else:
                    push.answers[answer.status, answer.reason] += 1
                    if answer.status == 200:
                        push.accepted_at = time.monotonic()
                        with self._lock:
                            self.accepted += 1
                        break
                if push.is_sent_once and push.first_sent:
                    break
                # Its mailbox is full, or the gateway is being started.
                self._stopping.wait(0.02)

    def _connect(self) -> H2Client:
        client = H2Client(self.address, self.gateway.credentials.context())
        client.socket.settimeout(PATIENCE)
        return client

    def _take(self) -> Push | None:
        with self._lock:
            return self._waiting.pop() if self._waiting and not self._stopping.is_set() else None


class KillSite:
    """A gateway and a device that are killed, and their senders."""

    def __init__(self, make_daemon: Callable[..., Daemon], caller: Path, seed: int) -> None:
        self.generator = random.Random(seed)
        self.gateway = make_gateway(make_daemon)
        self.gateway.settings |= {"log.level": "info", "team.topics": [app + ".voip" for app in APPS]}
        self.device: Device = make_daemon(kind=Device)
        self.device.settings["log.level"] = "info"
        self.device.calls = dict(DEADLINES)
        self.records = self.device.directory / "records"
        for app in APPS:
            # It lets each call ring, and sends its requests again while a daemon is away.
            self.device.set_handler([str(caller), str(self.records), "1", "30"], app=app)
        self.kills: Counter = Counter()
        self.in_a_row = 0

    def pair(self) -> "KillSite":
        self.gateway.start()
        # Both ports stay the same from now on: the device and the senders know no others.
        host, port = self.gateway.host_and_port
        self.address = (host, port)
        link = self.gateway.control.get("/v1/gateway")["address"]
        self.gateway.address = f"{host}:{port}"
        self.gateway.sections["gateway"] = f'listen = "{link}"\naddress = "127.0.0.1"\n'
        self.gateway.write_configuration()
        self.device.start()
        pair(self.gateway, self.device)
        tokens = {app: self.device.device_token(app) for app in APPS}
        self.load = Load(self.gateway, self.address, tokens)
        return self

    # What happens

    def live(self, kills: int, pushes: int) -> None:
        """Sends pushes, and kills both at random moments meanwhile."""
        for _ in range(pushes):
            is_once = self.generator.randrange(10) < ONCE_OF_TEN
            name = str(uuid.UUID(int=self.generator.getrandbits(128), version=4))
            # By its last digit the handler lets it ring until it hangs up.
            self.load.add(Push(name[:-1] + "9", self.generator.choice(APPS), is_once))
        before = self.load.accepted
        moments = sorted(before + moment for moment in self.generator.sample(range(1, pushes * 3 // 4), kills))
        self.load.start()
        try:
            for moment in moments:
                until(lambda: self._is_past(moment), 300, self._said)  # noqa: B023
                # Anywhere in a push's way.
                time.sleep(self.generator.random() * 0.02)
                self._kill()
            until(lambda: self.load.is_done, 300, self._said)
        finally:
            self.load.stop()

    def _is_past(self, accepted: int) -> bool:
        return self.load.accepted >= accepted or self.load.is_done

    def _kill(self) -> None:
        what = self.generator.choices(["device", "gateway", "both", "away"], [3, 4, 1, 2])[0]
        if self.in_a_row == GATEWAYS_IN_A_ROW and what == "gateway":
            what = "both"
        self.in_a_row = self.in_a_row + 1 if what == "gateway" else 0
        self.kills[what] += 1
        victims = {"device": [self.device], "gateway": [self.gateway], "both": [self.gateway, self.device],
                   "away": [self.device]}[what]  # fmt: skip
        for victim in victims:
            victim.kill()
        if what == "away":
            # Its mailbox may be full before that.
            enough = self.load.accepted + AWAY
            until(lambda: self._is_past(enough) or devices(self.gateway)[0]["waiting"] >= FULL, 300, self._said)
            # The gateway alone, with what waits.
            if self.generator.randrange(2):
                self.kills["gateway with mail"] += 1
                self.gateway.kill()
                self.gateway.start()
        for victim in victims:
            victim.start()

    def settle(self) -> None:
        """Waits until nothing waits anywhere, and every call has ended."""
        self.device.wait_until_linked(120)
        until(lambda: devices(self.gateway)[0]["waiting"] == 0, 120, self._said)
        until(lambda: self.device.control.status()["activeCalls"] == 0, 120, lambda: str(self.device.control.status()))

    def _said(self) -> str:
        return (f"{self.load.accepted} of {len(self.load.pushes)}, {self.kills}, {devices(self.gateway)}, "
                f"{self.device.link}, {self.answers()}")  # fmt: skip

    def answers(self) -> Counter:
        return Counter(itertools.chain.from_iterable(push.answers.elements() for push in self.load.pushes.values()))

    # What must be true then

    def journal(self) -> list[dict]:
        """Every push of the device, oldest first."""
        found: list[dict] = []
        before = ""
        while True:
            page = self.device.control.get(f"/v1/pushes?limit=500{before}")
            found += page["pushes"]
            if "next" not in page:
                return found[::-1]
            before = f"&before={page['next']}"

    def problems(self, with_receipts: bool = True) -> list[str]:
        """Everything that is not as it must be."""
        journal = self.journal()
        found = self.miscounted(journal) + self.disordered(journal) + self.unheard() + self.misanswered()
        return found + self.divergences() + (self.misreported(journal) if with_receipts else [])

    def miscounted(self, journal: list[dict]) -> list[str]:
        counts = Counter(push["pushId"] for push in journal)
        found = [f"push {name} is not from here" for name in counts if name not in self.load.pushes]
        for name, push in self.load.pushes.items():
            if push.accepted_at and counts[name] != 1:
                found.append(f"push {name} was answered 200 and is in the journal {counts[name]} times")
            elif counts[name] > 1:
                found.append(f"push {name} was never answered 200 and is in the journal {counts[name]} times")
        return found

    def disordered(self, journal: list[dict]) -> list[str]:
        """A push that was accepted before another of the same app was first sent stands before it."""
        by_app: dict[str, list[Push]] = defaultdict(list)
        for one in journal:
            if one["pushId"] in self.load.pushes:
                push = self.load.pushes[one["pushId"]]
                by_app[push.app].append(push)
        found = []
        for app, pushes in by_app.items():
            latest: Push | None = None
            for push in pushes:
                if latest and push.accepted_at and push.accepted_at < latest.first_sent:
                    found.append(f"{app}: push {push.id} was accepted before {latest.id} was sent, and comes after it")
                if not latest or push.first_sent > latest.first_sent:
                    latest = push
        return found

    def unheard(self) -> list[str]:
        records = CallerRecords(self.records)
        woken = records.calls("woken") | records.calls("offered")
        accepted = {name for name, push in self.load.pushes.items() if push.accepted_at}
        return [f"push {name} woke no handler" for name in accepted - woken] + records.problems()

    def misreported(self, journal: list[dict]) -> list[str]:
        """Receipts that say something else than the journal, once the device has had its time to tell."""
        known = [one for one in journal if one["pushId"] in self.load.pushes][-REMEMBERED:]
        wanted = {one["pushId"]: self.device.control.get(f"/v1/pushes/{one['pushId']}") for one in known}
        wanted = {name: (one["state"], one.get("reason"), one["attempt"]) for name, one in wanted.items()}
        told: dict[str, tuple] = {}

        def agree() -> bool:
            left = {name for name in wanted if told.get(name) != wanted[name]}
            with H2Client(self.address, self.gateway.credentials.context()) as client:
                for name in left:
                    told[name] = self._receipt(client, self.load.pushes[name])
            return told == wanted

        try:
            until(agree, 60, "receipts")
        except AssertionError:
            return [f"push {name}: the receipt says {told[name]}, the journal {state}"
                    for name, state in wanted.items() if told[name] != state]  # fmt: skip
        return []

    def _receipt(self, client: H2Client, push: Push) -> tuple:
        path = f"/3/device/{self.load.tokens[push.app]}/pushes/{push.id}"
        answer = client.request(
            [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", path),
             ("authorization", self.load.authorization), ("apns-topic", push.app + ".voip")],
            None,
        )  # fmt: skip
        if answer.status != 200:
            return (answer.status, answer.reason, 0)
        receipt = json.loads(answer.body)
        return (receipt["state"], receipt.get("reason"), receipt.get("attempt"))

    def misanswered(self) -> list[str]:
        """The mailbox is full now and then, or the same push is still being written; nothing else is refused."""
        usual = {200, 429, 503}
        return [f"a push was answered {answer}" for answer in self.answers()
                if isinstance(answer, tuple) and answer[0] not in usual]  # fmt: skip

    def divergences(self) -> list[str]:
        words = ("do not agree", "without reaching its app", "cannot be read", "left out", "needs a person")
        return [f"the log says: {line}" for daemon in (self.gateway, self.device) for line in daemon.log.splitlines()
                if any(word in line for word in words)]  # fmt: skip


