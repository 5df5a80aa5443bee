"""What a push sender sees of its mistakes, and what the device says: the table in `Documentation/test-your-sender.md`."""

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.credentials import Credentials
from support.daemon import Daemon
from support.mistakes import MISTAKES, Ground, Mistake, prepare
from support.programs import ROOT
from support.waiting import until

GUIDE = ROOT / "Documentation" / "test-your-sender.md"
MINIMUM_MISTAKES = 13


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory, foreign_credentials: Credentials) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("mistakes")
    daemon = Daemon(Credentials.make(folder / "own"))
    try:
        yield prepare(daemon, folder, foreign_credentials)
        daemon.stop()
    finally:
        daemon.clear_away()


def attempts(ground: Ground) -> list[dict]:
    """What the device refused, the newest first."""
    return ground.daemon.control.get("/v1/refusals?limit=500")["refusals"]


def refused(ground: Ground) -> dict[str, int]:
    """What `ringwake status` counts."""
    return json.loads(ground.daemon.ringwake("status", "--json").stdout)["pushes"]["refused"]


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.name for mistake in MISTAKES])
def test_the_sender_sees_its_mistake_and_the_device_says_the_cause(ground: Ground, mistake: Mistake) -> None:
    known, before = len(attempts(ground)), refused(ground)
    seen = mistake.make(ground)
    assert any(words in seen for words in mistake.sees.split(" or ")), seen
    if reason := mistake.reason:
        assert refused(ground) == before | {reason: before.get(reason, 0) + 1}
    if mistake.says is None:
        assert len(attempts(ground)) == known
        return
    until(lambda: len(attempts(ground)) > known, 5, "the device to know of it")
    newest, *others = attempts(ground)
    assert len(others) == known and mistake.says in newest["cause"], newest
    assert mistake.says in ground.daemon.ringwake("push", "list", "--refused", "--limit", "1").stdout


def test_a_push_that_comes_after_its_expiration_is_accepted_and_the_list_of_pushes_says_why_nothing_rings(
    ground: Ground,
) -> None:
    push = str(uuid.uuid4())
    assert ground.by_token("--header", "apns-expiration: 1", "--header", f"apns-id: {push}") == "200"
    shown = ground.daemon.ringwake("push", "show", push)
    assert "its push came after its expiration" in shown.stdout, shown
    assert re.search(rf"{push} .* expired", ground.daemon.ringwake("push", "list").stdout)


def test_there_are_enough_kinds_and_the_table_of_the_guide_has_each_with_what_is_seen() -> None:
    text = GUIDE.read_text().partition("## What the sender sees\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]
    expected = []
    for mistake in MISTAKES:
        sees = " or ".join(f"`{words}`" for words in mistake.sees.split(" or "))
        expected.append([sees, f"`{mistake.says}`" if mistake.says else "nothing"])
    assert [row[:2] for row in rows] == expected
    assert all(what for _, _, what in rows)
    assert len(MISTAKES) >= MINIMUM_MISTAKES
