"""Lists of callers in a backup and here: a merge and an import add the entries, and never one that blocks nobody."""

import json
from pathlib import Path

import pytest

from support.backups import create, restore
from support.daemon import Daemon

OURS, THEIRS, BOTH = "+4911*", "+4988*", "mallory@example.org"


def block(daemon: Daemon, *words: object) -> dict:
    done = daemon.ringwake("block", *words, "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def patterns(daemon: Daemon) -> list[str]:
    [blocked] = [one for one in block(daemon, "list")["lists"] if one["list"] == "blocked"]
    found = sorted(entry["pattern"] for entry in block(daemon, "list", "blocked")["entries"])
    assert blocked["entries"] == len(found)
    return found


def device(make_daemon, protection: bool, *listed: str) -> Daemon:
    daemon = make_daemon()
    daemon.add_app()
    if protection:
        daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"\n'
    daemon.start()
    for pattern in listed:
        block(daemon, "add", pattern, "--label", "theirs" if pattern == BOTH and THEIRS in listed else "ours")
    return daemon


@pytest.mark.parametrize("protection", [False, True], ids=["clear", "protected"])
@pytest.mark.parametrize("way", ["merge", "merge-running", "import"])
def test_entries_are_added_to_a_list_that_is_here(make_daemon, tmp_path: Path, way: str, protection: bool) -> None:
    former = device(make_daemon, False, THEIRS, BOTH)
    daemon = device(make_daemon, protection, OURS, BOTH)
    if way != "merge-running":
        daemon.stop()
    if way == "import":
        done = former.ringwake("backup", "export", "--to", tmp_path / "e.jsonl", "--config", former.configuration)
        assert done.returncode == 0, done
        done = daemon.ringwake("backup", "import", tmp_path / "e.jsonl", "--config", daemon.configuration)
        assert done.returncode == 0, done
    else:
        restore(daemon, create(former, tmp_path / "b.tar.zst", "--portable", "--no-keys"), "--merge")
    if way != "merge-running":
        daemon.start()
    daemon.log_mentions("ringwaked is ready")
    assert patterns(daemon) == sorted([OURS, THEIRS, BOTH])
    [both] = [entry for entry in block(daemon, "list", "blocked")["entries"] if entry["pattern"] == BOTH]
    assert protection or both["label"] == "ours"
    for caller in ("+49881", "+49112", BOTH):
        assert not block(daemon, "check", caller)["rings"], caller


def test_a_list_that_identifies_gets_none_that_block(make_daemon, tmp_path: Path) -> None:
    former = device(make_daemon, False, THEIRS)
    file = create(former, tmp_path / "b.tar.zst", "--portable", "--no-keys")
    daemon = device(make_daemon, False)
    block(daemon, "add", OURS, "--list", "blocked", "--identify", "--label", "known")
    restore(daemon, file, "--merge")
    assert patterns(daemon) == [OURS]
