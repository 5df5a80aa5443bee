"""Who is right: every step of every scenario of the tests, judged by ours, by `ip route get` and by GLib."""

import json
import subprocess
from pathlib import Path

from reachability.command import ask
from reachability.scenarios import SCENARIOS
from reachability.scenarios.model import Facts, Scenario
from reachability.stage import Stage
from support.netns import Namespace

from .outcome import Outcome, Table
from .programs import SYSTEM_PYTHON

OURS, IP, GLIB = "ringwake", "ip route get", "GNetworkMonitor"
# What stands for `any`, of each family.
PROBES = ("9.0.0.1", "2600::1")
TENTATIVE = {"tentative", "optimistic"}


class Glib:
    """GLib's monitor in a namespace; nil where there are no bindings."""

    def __init__(self, network: Namespace) -> None:
        self.network = network
        self._start()

    def _start(self) -> None:
        script = Path(__file__).with_name("glib_monitor.py")
        self.process = self.network.popen(
            SYSTEM_PYTHON, "-B", script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.kind = json.loads(self.process.stdout.readline() or "null")

    def ask(self, targets: list[str]) -> dict[str, bool]:
        self.process.stdin.write(json.dumps(targets) + "\n")
        self.process.stdin.flush()
        if line := self.process.stdout.readline():
            return json.loads(line)
        # It has crashed, as an application with it would: no answer to this step, and another goes on.
        self.process.wait()
        self._start()
        return {}


def ask_ip(network: Namespace, target: str) -> bool:
    """Whether `ip route get` finds a way."""
    if target == "any":
        return any(ask_ip(network, probe) for probe in PROBES)
    local, _, remote = target.rpartition(",")
    address, _, zone = remote.partition("%")
    command = ["ip", "route", "get", address, *(["from", local] if local else []), *(["oif", zone] if zone else [])]
    return network.exec(*command).returncode == 0


def measure(quick: bool) -> Outcome:
    scenarios = SCENARIOS[:4] if quick else SCENARIOS
    wrong: dict[str, dict[str, list[str]]] = {OURS: {}, IP: {}, GLIB: {}}
    counts = {"steps": 0, "answers": 0}
    kinds: set[str] = set()
    for scenario in scenarios:
        with Stage() as stage:
            judge(stage, scenario, wrong, counts, kinds)
    table = Table(
        "Who is right",
        f"{len(scenarios)} scenarios with {counts['steps']} steps and {counts['answers']} answers: whether a "
        "destination can be reached, after each step, with nothing but the kernel's tables to go by. `ip route get` "
        f"is asked anew each time; GLib's monitor ({', '.join(sorted(kinds)) or 'not there'}) lives through a "
        "scenario, as in an application. Of ringwake every member of the answer is compared, of the others only yes "
        "or no, and no answer, because it has crashed, is a wrong one; where a connection has to be made first either "
        "counts. A row for each scenario in which somebody is "
        "wrong. Aim: 0.",
        ["", OURS, IP, GLIB],
        command="Tests/lab/reachability/run correctness",
    )
    present = [OURS, IP] + ([GLIB] if kinds else [])
    for scenario in scenarios:
        if any(scenario.name in wrong[who] for who in present):
            table.add(scenario.name, *cells(wrong, present, scenario.name))
    total = {who: sum(len(steps) for steps in wrong[who].values()) for who in present}
    table.add("wrong answers in all", *(total.get(who, "-") for who in (OURS, IP, GLIB)))
    wrong_steps = {who: len({step for steps in wrong[who].values() for step in steps}) for who in present}
    table.add("steps with a wrong answer", *(wrong_steps.get(who, "-") for who in (OURS, IP, GLIB)))
    missed = [f"ringwake is wrong: {step}" for steps in wrong[OURS].values() for step in steps]
    return Outcome(table, missed)


def cells(wrong: dict[str, dict[str, list[str]]], present: list[str], scenario: str) -> list[object]:
    return [len(wrong[who].get(scenario, [])) if who in present else "-" for who in (OURS, IP, GLIB)]


def judge(
    stage: Stage, scenario: Scenario, wrong: dict[str, dict[str, list[str]]], counts: dict[str, int], kinds: set[str]
) -> None:
    stage.perform(scenario.setup)
    stage.settle(scenario.name in TENTATIVE)
    glib = Glib(stage.network)
    kinds |= {glib.kind} if glib.kind else set()
    for step, facts in scenario.states():
        if step:
            stage.perform(step.commands)
            stage.settle(scenario.name in TENTATIVE)
        counts["steps"] += 1
        counts["answers"] += len(facts)
        title = f"{scenario.name}: {step.name if step else 'at first'}"
        ours = ask(stage.network, *scenario.targets)
        theirs = glib.ask(scenario.targets) if glib.kind else {}
        for target, truth in facts.items():
            mistaken = {
                OURS: bool(truth.differences(ours[target])),
                IP: differs(truth, ask_ip(stage.network, target)),
                GLIB: bool(glib.kind) and (target not in theirs or differs(truth, theirs[target])),
            }
            for who in (who for who, is_wrong in mistaken.items() if is_wrong):
                wrong[who].setdefault(scenario.name, []).append(title)


def differs(truth: Facts, answer: bool) -> bool:
    return truth.status != "requiresConnection" and answer != truth.reachable
