"""What the handlers of native/caller.c wrote down."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """One line: what happened to a call, and the number behind it."""

    what: str
    number: int


class CallerRecords:
    """The lines of all handlers in the order in which they were written, by call."""

    def __init__(self, path: Path) -> None:
        self.steps: dict[str, list[Step]] = defaultdict(list)
        for line in path.read_text().splitlines() if path.exists() else []:
            what, call, *number = line.split()
            self.steps[call].append(Step(what, int(number[0]) if number else 0))

    def calls(self, what: str) -> set[str]:
        return {call for call, steps in self.steps.items() if any(step.what == what for step in steps)}

    def attempts(self, call: str) -> list[int]:
        """The attempt numbers of its wakes, in order."""
        return [step.number for step in self.steps.get(call, []) if step.what == "woken"]

    def problems(self, repeated: set[str] = frozenset()) -> list[str]:
        """What no call may show, whatever became of its daemon.

        One whose push was `repeated` long after its end may be given to a handler again, in vain: the journal, which
        knows it, is not waited for.
        """
        found = []
        for call, steps in self.steps.items():
            kinds = [step.what for step in steps]
            attempts = self.attempts(call)
            if kinds.count("ringing") > 1:
                found.append(f"call {call} rang twice: {kinds}")
            for last in ("ringing", "ended"):
                if call not in repeated and last in kinds and "woken" in kinds[kinds.index(last) :]:
                    found.append(f"call {call} was given to a handler after it was {last}: {kinds}")
            if call not in repeated and attempts != sorted(attempts):
                found.append(f"the attempts of call {call} do not rise: {attempts}")
        return found
