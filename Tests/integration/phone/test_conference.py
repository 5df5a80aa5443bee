"""Calls that are merged: one handler mixes them, and they are one line."""

import pytest

from support.apps import App
from support.telephone import (
    PAYLOAD, begin, connected, failures, hang_up, held, ringing, user, waits,
)  # fmt: skip


@pytest.fixture
def mixer(telephone) -> App:
    """An app with one handler for all of its calls."""
    return make(telephone)


def make(telephone, *misdeeds: str) -> App:
    app = telephone().by_exec(*misdeeds, more=PAYLOAD)
    app.daemon.start()
    return app


def pair(app: App, supports: bool = True) -> tuple[str, str]:
    """A held call and a connected one that the handler can mix."""
    first, second = held(app), connected(app)
    if supports:
        for call in (first, second):
            user(app.daemon, "call", "update", call, "--merge")
    return first, second


def states(app: App, *calls: str) -> list[str]:
    return [app.daemon.control.call(call)["state"] for call in calls]


def conferences(app: App, *calls: str) -> set[int | None]:
    return {app.daemon.control.call(call).get("conference") for call in calls}


def merged(app: App) -> tuple[str, str]:
    calls = pair(app)
    user(app.daemon, "call", "merge")
    waits(lambda: states(app, *calls) == ["connected"] * 2, "both to be heard")
    assert conferences(app, *calls) == {1}
    return calls


def test_merge_without_a_word(mixer: App) -> None:
    first, second = merged(mixer)
    (asked,) = mixer.records("event", event="action", action="merge")
    assert asked["call"] == first
    text = user(mixer.daemon, "call", "list").stdout
    assert text.count("conference 1") == 2, text
    # The event that a status bar reads has it.
    with mixer.daemon.control.events(f"?call={second}") as stream:
        event = stream.until("call", call=second)[-1]
    assert (event["conference"], event["supportsMerge"]) == (1, True)


def test_they_are_held_muted_and_resumed_together(mixer: App) -> None:
    calls = merged(mixer)
    user(mixer.daemon, "call", "mute", calls[0])
    waits(lambda: all(mixer.daemon.control.call(call)["muted"] for call in calls), "both to be muted")
    user(mixer.daemon, "call", "hold", calls[1])
    waits(lambda: states(mixer, *calls) == ["held"] * 2, "both to be held")
    user(mixer.daemon, "call", "unhold", calls[0])
    waits(lambda: states(mixer, *calls) == ["connected"] * 2, "both to be resumed")


def test_a_third_call_holds_both_and_joins(mixer: App) -> None:
    calls = merged(mixer)
    third = ringing(mixer)
    user(mixer.daemon, "call", "answer", third, "--hold-others")
    mixer.daemon.control.wait_for(third, "connected")
    assert states(mixer, *calls) == ["held"] * 2
    user(mixer.daemon, "call", "update", third, "--merge")
    # With a conference on the other side, one of its calls is as good as the other.
    user(mixer.daemon, "call", "merge", third, calls[0])
    waits(lambda: states(mixer, *calls, third) == ["connected"] * 3, "all to be heard")
    assert len(conferences(mixer, *calls, third)) == 1
    hang_up(mixer, third)
    assert states(mixer, *calls) == ["connected"] * 2, "the others go on"
    hang_up(mixer, calls[0])
    assert conferences(mixer, calls[1]) == {None}


def test_a_call_that_the_user_begins_is_merged_too(telephone) -> None:
    mixer = make(telephone)
    first = connected(mixer)
    second = begin(mixer, "--hold-others")
    mixer.daemon.control.wait_for(second, "connected")
    for call in (first, second):
        mixer.daemon.control.verb(call, "update", supportsMerge=True)
    user(mixer.daemon, "call", "merge", second)
    waits(lambda: states(mixer, first, second) == ["connected"] * 2, "both to be heard")


def test_after_the_user_hung_up_another_call_the_conference_comes_back(mixer: App) -> None:
    calls = merged(mixer)
    third = connected(mixer)
    waits(lambda: states(mixer, *calls) == ["held"] * 2, "both to be held")
    hang_up(mixer, third)
    waits(lambda: states(mixer, *calls) == ["connected"] * 2, "both to come back")


@pytest.mark.parametrize("moment", ["asked", "merged"])
def test_kill_of_the_daemon(telephone, moment: str) -> None:
    mixer = make(telephone, "merge=slow:2") if moment == "asked" else make(telephone)
    calls = pair(mixer)
    user(mixer.daemon, "call", "merge")
    if moment == "merged":
        waits(lambda: states(mixer, *calls) == ["connected"] * 2, "both to be heard")
    else:
        mixer.waits_for("misdeed", moment="merge")
    mixer.daemon.kill()
    mixer.daemon.start()
    # The handler that found no daemon does what it is asked again.
    waits(lambda: states(mixer, *calls) == ["connected"] * 2, "both to be heard")
    waits(lambda: conferences(mixer, *calls) == {1}, "the conference")
    user(mixer.daemon, "call", "hold", calls[0])
    waits(lambda: states(mixer, *calls) == ["held"] * 2, "both to be held")


def test_death_of_the_handler(telephone) -> None:
    mixer = make(telephone, "mute=crash")
    calls = merged(mixer)
    mixer.daemon.control.verb(calls[0], "mute")
    # One handler claims both, finds their number in them, and mixes them again.
    waits(lambda: len(mixer.records("said", verb="claim", status=200)) == 2, "both to be claimed")
    assert states(mixer, *calls) == ["connected"] * 2
    assert conferences(mixer, *calls) == {1}


def test_a_handler_that_fails_changes_nothing(telephone) -> None:
    mixer = make(telephone, "merge=fail")
    calls = pair(mixer)
    user(mixer.daemon, "call", "merge", *calls)
    mixer.waits_for("said", verb="fail")
    assert states(mixer, *calls) == ["held", "connected"]
    assert conferences(mixer, *calls) == {None}


def test_what_cannot_be_merged(telephone) -> None:
    mixer = make(telephone)
    first, second = pair(mixer, supports=False)
    assert "does not support merge" in user(mixer.daemon, "call", "merge", first, second, status=1).stderr
    assert mixer.daemon.control.request("POST", f"/v1/calls/{first}/merge", {"with": first})[0] == 400
    assert mixer.daemon.control.request("POST", f"/v1/calls/{first}/merge", {})[0] == 400
    assert mixer.daemon.control.request("POST", f"/v1/calls/{first}/merge", {"with": "nobody"})[0] == 404
    hang_up(mixer, second)
    assert user(mixer.daemon, "call", "merge", first, status=5).stderr
    assert failures(mixer.daemon) == []
