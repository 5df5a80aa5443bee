"""What a sender learns of an accepted push, and what its clock means for its calls."""

import json
import re
import time
import uuid

import pytest
from support.credentials import APP
from support.daemon import Daemon
from support.pushing import push
from support.waiting import until

MAPPING = '[payload]\npreset = "ringwake"\n'


@pytest.fixture
def asked(make_daemon) -> Daemon:
    """A daemon whose team wants to know the outcome, by its file."""
    daemon = make_daemon()
    daemon.settings["team.outcome"] = True
    daemon.add_app(more=MAPPING)
    return daemon.start()


def outcome(daemon: Daemon, **facts: object) -> str:
    answer = push(daemon, str(uuid.uuid4()), json.dumps({"ringwake": facts}).encode())
    assert answer.status == 200, answer
    return json.loads(answer.body)["outcome"]


def test_each_outcome_and_that_of_a_push_that_is_sent_again(asked: Daemon) -> None:
    assert asked.ringwake("dnd", "on").returncode == 0
    # Without a caller, the handler has to say who calls.
    assert outcome(asked, call="quiet", caller="sip:a@example.org") == "restricted"
    assert outcome(asked, call="quiet") == "restricted"
    assert asked.ringwake("dnd", "off").returncode == 0
    assert outcome(asked, call="one") == outcome(asked, call="one") == "started"
    assert outcome(asked, call="one", cancel=True) == "cancelled"
    assert outcome(asked, call="one") == "duplicate"
    assert outcome(asked, call="late", age=60, ringTime=30) == outcome(asked, call="late") == "expired"


def test_the_command_shows_an_outcome_that_rings_nowhere(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app(more=MAPPING)
    daemon.start()
    assert daemon.ringwake("dnd", "on").returncode == 0
    command = ["push", "--app", APP, "--data"]
    # A caller that tries twice comes through.
    payloads = ['{"ringwake":{"caller":"sip:%s@example.org"}}' % name for name in "ab"]
    blocked = daemon.ringwake(*command, payloads[0])
    assert blocked.returncode == 0 and re.search(r"outcome +restricted\n", blocked.stdout), blocked
    assert json.loads(daemon.ringwake(*command, payloads[1], "--json").stdout)["outcome"] == "restricted"
    assert daemon.ringwake("dnd", "off").returncode == 0
    assert "outcome" not in daemon.ringwake(*command, payloads[0]).stdout


def test_only_a_sender_that_asks_gets_a_body(make_daemon) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    plain = push(daemon, str(uuid.uuid4()))
    assert (plain.status, plain.body, plain.frames) == (200, b"", ["headers+end"])
    asking = push(daemon, str(uuid.uuid4()), ringwake_outcome="1")
    assert (asking.status, asking.body) == (200, b'{"outcome":"started"}')


@pytest.mark.parametrize("minutes", [10, -10])
def test_a_sender_whose_clock_is_wrong_loses_no_call(asked: Daemon, minutes: int) -> None:
    assert outcome(asked, call="off", sentAt=time.time() - 60 * minutes, age=2, ringTime=30) == "started"
    [(team, behind)] = asked.control.status()["pushes"]["clocksBehindMs"].items()
    assert abs(behind - 60_000 * minutes + 2000) < 30_000
    until(lambda: "warning the clocks of sender and device differ" in asked.log, 10, "the warning")
    assert f"team={team}" in asked.log
    for words in ("status", "doctor"):
        assert f"the clock of team {team} is" in asked.ringwake(words).stdout
    assert outcome(asked, call="right", sentAt=time.time(), age=0) == "started"
    assert "clocksBehindMs" not in asked.control.status()["pushes"]


def test_a_team_keeps_its_wish_when_its_keys_change(make_daemon, tmp_path) -> None:
    daemon = make_daemon()
    daemon.add_app(more=MAPPING)
    daemon.start()
    assert daemon.ringwake("team", "add", "ASKING0001", "--all-topics", "--outcome").returncode == 0
    key = daemon.credentials.token_public_key
    added = daemon.ringwake("team", "key", "add", "ASKING0001", key, "--key-id", "ASKINGKEY1", "--json")
    assert added.returncode == 0 and json.loads(added.stdout)["team"]["outcome"] is True, added
    assert "outcome = true" in (daemon.directory / "teams.d" / "ASKING0001.toml").read_text()
