"""How soon a change is told while other addresses change all the time, beside `ip monitor`."""

import contextlib
import threading
import time
from collections.abc import Iterator

from support.programs import RINGWAKE

from .delay import LOSS, NO_HOLD, Teller
from .outcome import Outcome, Table, median, quantile
from .rtnetlink import Changer

ROUNDS = 12
# Address changes a second.
RATE = 20
# Long enough that the changes before use up what the damping allows; seconds.
PAUSE = 1.5
AIM = 2
# Where the addresses change: on the interface in use each message has to be read.
PLACES = {"quiet": "", "on an interface beside": "aside0", "on the interface in use": "wlan0"}


class NewsTeller(Teller):
    """A watcher of the default route, with an interface beside the way."""

    def __enter__(self) -> "NewsTeller":
        super().__enter__()
        self.stage.perform(["cable aside0", "address add 10.0.0.1/24 dev aside0"])
        self.stage.settle()
        return self

    def _tells(self, text: str) -> bool:
        # `ip monitor` prints the local routes of the other addresses too.
        return super()._tells(text) if self.is_ours else "default" in text


@contextlib.contextmanager
def churning(watchers: list[NewsTeller], link: str) -> Iterator[None]:
    """Changes addresses meanwhile."""
    changers = [Changer(watcher.stage.network) for watcher in watchers]
    indexes = [watcher.stage.network.index(link) if link else 0 for watcher in watchers]
    ended = threading.Event()

    def work() -> None:
        number = 0
        while link and not ended.wait(1 / RATE):
            number += 1
            # Odd numbers add an address, which the next number deletes.
            pair = (number + 1) // 2
            address = f"10.9.{pair >> 8 & 255}.{pair & 255}"
            for changer, index in zip(changers, indexes, strict=True):
                changer.address(number % 2 == 1, address, index)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        for changer in changers:
            changer.close()


def measure(quick: bool) -> Outcome:
    rounds = 3 if quick else ROUNDS
    table = Table(
        "News while addresses change",
        f"{rounds} rounds; {RATE} address changes a second, begun {PAUSE} s before. From before the system call that "
        "deletes the default route to the moment at which the line is read from a pipe; `ringwake` holds no loss. Both "
        f"in the same minute, each in a namespace of its own. Aim: {AIM} times what `ringwake` takes when it is quiet.",
        ["", "us, median", "us, p99", "x ip monitor"],
        command="Tests/lab/reachability/run news",
    )
    missed = []
    quiet = 0.0
    ours = [RINGWAKE, "reachability", "--local", "--watch", "--json", *NO_HOLD, "any"]
    for place, link in PLACES.items():
        with contextlib.ExitStack() as stack:
            watchers = [
                stack.enter_context(NewsTeller(place, name, LOSS, command, False, True))
                for name, command in [("ip monitor", ["ip", "monitor", "route"]), ("ringwake", ours)]
            ]
            stack.enter_context(churning(watchers, link))
            for _ in range(rounds):
                time.sleep(PAUSE)
                for watcher in watchers:
                    watcher.measure()
                time.sleep(PAUSE)
                for watcher in watchers:
                    watcher.change.undo(watcher.changer)
        base = median(watchers[0].delays)
        for watcher in watchers:
            middle, late = median(watcher.delays), quantile(watcher.delays, 0.99)
            table.add(
                f"{place}; {watcher.name}", f"{middle / 1000:.0f}", f"{late / 1000:.0f}", f"{middle / base:.2f}")
            if watcher.is_ours:
                quiet = quiet or middle
                if middle > AIM * quiet:
                    missed.append(f"{place}: {middle / quiet:.2f} times as long as when it is quiet")
    return Outcome(table, missed)
