"""A gateway, and a device in a machine that suspends: pushes to it, and what became of them."""

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from support.callers import CallerRecords
from support.daemon import Daemon
from support.links import devices, invitation, send
from support.nat import GATEWAY, LAN, PORT
from support.netns import Namespace
from support.waiting import until

from .card import Card
from .guest import STEP_TIMEOUT, TAP, Guest
from .image import APP, RECORDS

# How long it may take until everything has settled, on a processor that QEMU imitates; seconds.
SETTLE_TIMEOUT = 240
PAYLOAD = b'{"aps":{}}'


@dataclass
class Push:
    """One push, which is its own call. Times are of the monotonic clock."""

    id: str
    sent: float
    answer: tuple | None = None
    answered: float = 0
    # Whether the guest slept when it was sent, and when it was answered.
    slept: tuple[bool, bool] = (False, False)

    @property
    def is_accepted(self) -> bool:
        return self.answer == (200, None)


@dataclass
class Site:
    network: Namespace
    gateway: Daemon
    guest: Guest
    card: Card
    token: str = ""
    pushes: dict[str, Push] = field(default_factory=dict)

    @classmethod
    def make(cls, image: Path, folder: Path, network: Namespace, make_daemon: Callable[..., Daemon]) -> "Site":
        """Boots the machine and pairs it; the gateway is at the other end of its cable."""
        network.ip("tuntap", "add", TAP, "mode", "tap")
        for address in (f"{LAN}/24", f"{GATEWAY}/32"):
            network.ip("address", "add", address, "dev", TAP)
        network.ip("link", "set", TAP, "up")
        gateway = make_daemon(user=network.command())
        # A gateway that is started again has the same address.
        gateway.sections["gateway"] = f'listen = "{GATEWAY}:{PORT}"\naddress = "{GATEWAY}:{PORT}"\n'
        gateway.address = f"{GATEWAY}:2197"
        gateway.start()
        guest = Guest(image, folder, network)
        site = cls(network, gateway, guest, Card(network, guest))
        guest.run("systemctl start ringwaked")
        link = invitation(gateway)["link"]
        # A program that has just begun is slow there, and its limits are for real processors.
        until(
            lambda: guest.try_to(f"ringwake link pair '{link}'")[0] == 0 or devices(gateway), SETTLE_TIMEOUT, site.said
        )
        until(site.is_linked, SETTLE_TIMEOUT, site.said)
        until(lambda: site.tokens(), SETTLE_TIMEOUT, site.said)
        site.token = site.tokens()["development"]
        return site

    def close(self) -> None:
        self.card.close()
        self.guest.close()

    @property
    def device(self) -> dict:
        """What the gateway knows of it."""
        return devices(self.gateway)[0]

    def tokens(self) -> dict:
        return json.loads(self.guest.run(f"ringwake app show {APP} --json"))["tokens"]

    def is_linked(self) -> bool:
        return self.device["state"] == "online"

    def said(self) -> str:
        known = devices(self.gateway)
        log = self.guest.try_to("journalctl --unit ringwaked --no-pager --output cat --lines 30")[1]
        return f"{known}\ngateway: {self.gateway.log[-2000:]}\n{self.guest.said()}\ndevice: {log}"

    # Pushes

    def push(self) -> Push:
        """Sends one, and waits for its answer."""
        # By its last digit the handler lets it ring until it hangs up.
        push = Push(str(uuid.uuid4())[:-1] + "9", time.monotonic())
        self.pushes[push.id] = push
        before = self.guest.monitor.is_asleep
        with self.network.entered():
            answer = send(self.gateway, self.token, push.id, PAYLOAD)
        push.answer, push.answered = (answer.status, answer.reason), time.monotonic()
        push.slept = (before, self.guest.monitor.is_asleep)
        return push

    def push_later(self, delays: list[float]) -> list[threading.Thread]:
        """Sends one after each of these times, in seconds from now."""
        threads = [threading.Thread(target=self._push_after, args=(delay,), daemon=True) for delay in delays]
        for thread in threads:
            thread.start()
        return threads

    def _push_after(self, delay: float) -> None:
        time.sleep(delay)
        self.push()

    # What became of them

    def settle(self) -> None:
        """Waits until nothing waits anywhere, and every call has ended; the guest is awake."""
        until(self.is_linked, SETTLE_TIMEOUT, self.said)
        until(lambda: self.device["waiting"] == 0, SETTLE_TIMEOUT, self.said)
        until(lambda: self.status()["activeCalls"] == 0, SETTLE_TIMEOUT, self.said)

    def status(self) -> dict:
        return json.loads(self.guest.run("ringwake status --json"))

    def has_rung(self, push: Push) -> bool:
        return self.guest.try_to(f"grep -q 'ringing {push.id}' {RECORDS}")[0] == 0

    def wait_for_ring(self, push: Push, seconds: float = STEP_TIMEOUT) -> None:
        until(lambda: self.has_rung(push), seconds, self.said)

    def journal(self) -> list[dict]:
        """Every push that the device has."""
        found: list[dict] = []
        before = ""
        while True:
            page = json.loads(self.guest.run(f"ringwake push list --json --limit 100 {before}"))
            found += page["pushes"]
            if "next" not in page:
                return found
            before = f"--before {page['next']}"

    def outcome(self, folder: Path) -> tuple[Counter, list[str]]:
        """How many rang and what became of the others, and what is not as it must be."""
        records_file = folder / "records"
        records_file.write_text(self.guest.run(f"cat {RECORDS} 2>/dev/null; true") + "\n")
        records = CallerRecords(records_file)
        rang = records.calls("ringing")
        journal = self.journal()
        counts = Counter(one["pushId"] for one in journal)
        outcomes: Counter = Counter()
        problems = records.problems()
        for push in self.pushes.values():
            if not push.is_accepted:
                outcomes[f"answered {push.answer}"] += 1
                if counts[push.id]:
                    problems.append(f"push {push.id} was answered {push.answer}, and is in the device's journal")
                continue
            if counts[push.id] != 1:
                problems.append(f"push {push.id} was answered 200 and is in the device's journal {counts[push.id]} times")
                continue
            if push.id in rang:
                outcomes["rang"] += 1
                continue
            call = json.loads(self.guest.run(f"ringwake call show {push.id} --json"))
            if call["missed"] and call.get("reason"):
                outcomes[f"missed call, {call['reason']}"] += 1
            else:
                problems.append(f"push {push.id} neither rang nor is a missed call: {call}")
        problems += [f"push {name} is not from here" for name in counts if name not in self.pushes]
        return outcomes, problems
