"""Every scenario: what is said of each target after each step, asked once and watched."""

import pytest
from reachability.command import TOLD_WITHIN, Watch, ask, watching, wrong
from reachability.scenarios import SCENARIOS
from reachability.scenarios.model import Facts, Scenario, Step
from reachability.stage import Stage
from support.programs import as_nobody

# Scenarios whose addresses are being checked as long as the test lasts.
TENTATIVE = {"tentative", "optimistic"}
# Some for what concerns all alike.
FEW = [one for one in SCENARIOS if one.name in ("fail-over", "ipv6-default-route-lost")]
FILTER_LEVELS = range(5)

each = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
few = pytest.mark.parametrize("scenario", FEW, ids=lambda scenario: scenario.name)


@each
def test_asked_once(stage: Stage, scenario: Scenario) -> None:
    ask_at_each_step(stage, scenario)


@each
def test_watched(stage: Stage, scenario: Scenario) -> None:
    watch_each_step(stage, scenario)


@few
def test_by_a_user_without_rights(stage: Stage, scenario: Scenario) -> None:
    watch_each_step(stage, scenario, before=tuple(as_nobody()))


@few
@pytest.mark.parametrize("level", FILTER_LEVELS)
def test_watched_at_each_filter_level(stage: Stage, scenario: Scenario, level: int) -> None:
    watch_each_step(stage, scenario, options=("--filter-level", str(level)))


def ask_at_each_step(stage: Stage, scenario: Scenario) -> None:
    stage.perform(scenario.setup)
    for step, facts in scenario.states():
        if step:
            stage.perform(step.commands)
        stage.settle(scenario.name in TENTATIVE)
        mistakes = wrong(facts, ask(stage.network, *scenario.targets))
        assert not mistakes, f"{step.name if step else 'at first'}:\n{mistakes}"


def watch_each_step(stage: Stage, scenario: Scenario, **options) -> None:
    stage.perform(scenario.setup)
    tentative = scenario.name in TENTATIVE
    with watching(stage, *scenario.targets, tentative=tentative, **options) as watch:
        before: dict[str, Facts] = {}
        for step, facts in scenario.states():
            if step:
                follow(stage, watch, step, before, facts, tentative)
            else:
                assert not (mistakes := wrong(facts, watch.said)), f"at first:\n{mistakes}"
            before = facts
        assert watch.rest(stage) == []


def follow(
    stage: Stage, watch: Watch, step: Step, before: dict[str, Facts], after: dict[str, Facts], tentative: bool
) -> None:
    """Makes the changes of a step and looks whether just what changes by them is told."""
    stage.perform(step.commands)
    changing = {target for target in after if after[target] != before[target]}
    lines = []
    # A line that is not right yet may be followed by one that is: changes are made one by one.
    while mistakes := wrong({target: after[target] for target in changing - step.perhaps}, watch.said):
        lines.append(watch.next(f"'{step.name}' to be told of:\n{mistakes}", TOLD_WITHIN))
    stage.settle(tentative)
    # Half the way of `rest`: what is held beyond that shows in the next step.
    lines += watch.until_sentinel(stage)
    said = [line.message for line in lines]
    assert not (mistakes := wrong(after, watch.said)), f"{step.name}:\n{mistakes}\n{said}"
    for target in after:
        count = sum(line.target == target for line in lines)
        fewest = 1 if target in changing - step.perhaps else 0
        most = step.most if target in changing | step.perhaps else 0
        assert fewest <= count <= most, f"{step.name}: {target} was told of {count} times\n{said}"
