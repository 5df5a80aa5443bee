"""Protected records that another program than the daemon reads: portable backups, exports, and restores that write anew."""

import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from support.apps import App
from support.backups import create, restore
from support.daemon import Daemon
from support.protection import Protection
from support.telephone import PAYLOAD, ends, send, user
from support.waiting import until

CALLER, NAME = "+49301234567", "Ada Geheim"
KINDS = ("payloads", "callers", "app_state", "lists")


@pytest.fixture
def daemon(telephone, tmp_path: Path) -> Daemon:
    """With a passphrase, a call that was declined, and a list."""
    app: App = telephone().by_exec(more=PAYLOAD)
    daemon = app.daemon
    daemon.sections["protection"] = 'root_key = "passphrase"\n'
    daemon.sections["protection.classes"] = "".join(f'{kind} = "complete"\n' for kind in KINDS)
    daemon.start()
    Protection(daemon).set_passphrase("correct horse")
    call = send(daemon, caller=CALLER, name=NAME)
    daemon.control.wait_for(call, "ringing")
    user(daemon, "call", "decline", call)
    ends(daemon, call, "declined")
    user(daemon, "block", "add", "+4930")
    (tmp_path / "wrong").write_text("battery staple\n")
    return daemon


def option(daemon: Daemon, file: Path | None = None) -> tuple[object, ...]:
    # The passphrase of the test's daemon.
    return "--protection-passphrase-file", file or daemon.directory / "passphrase"


def exported(daemon: Daemon, to: Path, *words: object) -> tuple[list[dict], str]:
    done = daemon.ringwake("backup", "export", "--to", to, "--config", daemon.configuration, *words)
    assert done.returncode == 0, done
    return [json.loads(line) for line in to.read_text().splitlines()], done.stderr


@pytest.mark.parametrize("runs", [True, False], ids=["running", "stopped"])
def test_an_export_has_them_with_the_passphrase_and_says_what_it_lacks_without(
    daemon: Daemon, tmp_path: Path, runs: bool
) -> None:
    if not runs:
        daemon.stop()
    records, said = exported(daemon, tmp_path / "locked.jsonl")
    locked = [record for record in records if record.get("locked") == "complete"]
    # The call's caller and the entry of the list.
    assert {record["kind"] for record in locked} == {"call", "list_entry"}
    assert records[-1]["locked"] == len(locked)
    assert f"{len(locked)} records was left out" in said and "--protection-passphrase-file" in said
    assert NAME not in (tmp_path / "locked.jsonl").read_text()
    records, said = exported(daemon, tmp_path / "open.jsonl", *option(daemon))
    assert said == "" and "locked" not in records[-1]
    [call] = [record for record in records if record["kind"] == "call"]
    assert call["facts"]["caller_name"] == NAME
    assert [record["pattern"] for record in records if record["kind"] == "list_entry"] == ["+4930"]
    wrong = daemon.ringwake(
        "backup", "export", "--to", tmp_path / "no", "--config", daemon.configuration,
        *option(daemon, tmp_path / "wrong"),
    )  # fmt: skip
    assert wrong.returncode == 1 and "the passphrase is wrong" in wrong.stderr and not (tmp_path / "no").exists()


def test_a_portable_backup_has_them_and_is_restored(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst", "--no-keys", "--portable", *option(daemon))
    refused = daemon.ringwake("backup", "create", "--to", tmp_path, "--no-keys", *option(daemon))
    assert refused.returncode == 2 and "goes with --portable" in refused.stderr
    assert restore(daemon, file)["state"] == "restored"
    assert Protection(daemon).unlock("correct horse").returncode == 0
    [call] = json.loads(user(daemon, "call", "list", "--json").stdout)["calls"]
    assert (call["caller"], call["callerName"]) == (CALLER, NAME)
    # The passes end with former keys that go; these records had none.
    until(lambda: not any("rekeying" in one for one in Protection(daemon).message["classes"]), 20, "the pass to end")
    state = [path.read_bytes() for path in (daemon.directory / "state").glob("store.db*")]
    assert not any(NAME.encode() in content for content in state)


def test_a_merge_opens_the_backups_records_with_its_passphrase(daemon: Daemon, tmp_path: Path) -> None:
    file = create(daemon, tmp_path / "b.tar.zst", "--no-keys")
    backed_up = tmp_path / "former"
    backed_up.write_text("correct horse\n")
    # Another machine, with another passphrase.
    daemon.stop()
    shutil.rmtree(daemon.directory / "state")
    daemon.start()
    Protection(daemon).set_passphrase("another one")
    refused = restore(daemon, file, "--merge", status=1)
    assert "are protected" in refused["message"] and "--protection-passphrase-file" in refused["message"], refused
    refused = restore(daemon, file, "--merge", *option(daemon), status=1)
    assert "the passphrase is wrong" in refused["message"], refused
    done = restore(daemon, file, "--merge", *option(daemon, backed_up))
    assert done["state"] == "restored", done
    assert Protection(daemon).unlock("another one").returncode == 0
    calls = json.loads(user(daemon, "call", "list", "--json").stdout)["calls"]
    assert {call["caller"] for call in calls} == {CALLER}
    # Neither is in what a restore leaves.
    for path in daemon.directory.rglob("*"):
        if path.is_file() and path.name != "passphrase":
            assert b"correct horse" not in path.read_bytes(), path


def writer_of(pipe: Path) -> int | None:
    """A descriptor to write to it, when somebody has it open for reading."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def test_new_keys_while_the_store_is_copied_are_no_backup_without_them(daemon: Daemon, tmp_path: Path) -> None:
    """The command waits where it reads the passphrase, after it has looked at the file of keys and before it copies."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    answers = []
    backup = threading.Thread(
        target=lambda: answers.append(
            daemon.ringwake(
                "backup", "create", "--to", tmp_path, "--no-keys", "--portable", "--protection-passphrase-file", pipe,
                "--config", daemon.configuration,
            )
        )
    )  # fmt: skip
    backup.start()
    descriptor = until(lambda: writer_of(pipe), 30, lambda: f"the command to read the passphrase: {answers}")
    with os.fdopen(descriptor, "w") as writer:
        before = Protection(daemon).generations["complete"]
        user(daemon, "protection", "rekey", "complete")
        assert Protection(daemon).generations["complete"] == before + 1
        writer.write("correct horse\n")
    backup.join()
    assert answers[0].returncode == 1 and "protection.json changed while it was backed up" in answers[0].stderr
    assert not list(tmp_path.glob("*.zst*"))
