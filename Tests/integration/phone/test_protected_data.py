"""What a daemon stores of calls and apps: who can read it when, and what of it is in the files."""

import json
from pathlib import Path

import pytest

from support.apps import App
from support.credentials import APP
from support.daemon import Daemon
from support.protection import Protection
from support.telephone import PAYLOAD, ends, hang_up, send, shown, user
from support.waiting import until

SECRETS = ("+49301234567", "Ada Geheim", "payload-secret", "state-secret")
CALL = {"caller": SECRETS[0], "name": SECRETS[1], "more": SECRETS[2]}
KINDS = ("payloads", "callers", "app_state", "lists")
MORE = PAYLOAD + "[restoration]\nstate = true\n"


def classes(daemon: Daemon, protection: str) -> None:
    lines = "".join(f'{kind} = "{protection}"\n' for kind in KINDS)
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"\n'
    daemon.sections["protection.classes"] = lines


def found(daemon: Daemon) -> set[str]:
    """The secrets that are in the files of the state directory."""
    files = [path.read_bytes() for path in (daemon.directory / "state").rglob("*") if path.is_file()]
    return {secret for secret in SECRETS if any(secret.encode() in file for file in files)}


def keep_state(daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "state"
    file.write_text(SECRETS[3])
    user(daemon, "app", "state", APP, "--put", file)


def state(daemon: Daemon, status: int = 0) -> bytes:
    """What the app keeps, as 'ringwake app state' prints it, which ends with this status."""
    return user(daemon, "app", "state", APP, status=status, text=False).stdout


def caller(daemon: Daemon, call: str) -> tuple:
    message = shown(daemon, call)
    return message.get("caller"), message.get("callerName"), message.get("lockedBy")


KNOWN = (SECRETS[0], SECRETS[1], None)


def begin(telephone, protection: str | None) -> App:
    app = telephone().by_exec(more=MORE)
    if protection:
        classes(app.daemon, protection)
    app.daemon.start()
    return app


def rings_and_ends(app: App) -> str:
    call = send(app.daemon, **CALL)
    app.daemon.control.wait_for(call, "ringing")
    user(app.daemon, "call", "decline", call)
    ends(app.daemon, call, "declined")
    return call


def test_without_protection_the_files_have_it_as_it_is(telephone, tmp_path: Path) -> None:
    app = begin(telephone, None)
    keep_state(app.daemon, tmp_path)
    call = send(app.daemon, **CALL)
    app.daemon.control.wait_for(call, "ringing")
    assert found(app.daemon) == set(SECRETS)


@pytest.mark.parametrize("protection", ["complete", "completeUntilFirstUserAuthentication"])
def test_nothing_of_it_is_in_the_files(telephone, tmp_path: Path, protection: str) -> None:
    app = begin(telephone, protection)
    daemon = app.daemon
    keep_state(daemon, tmp_path)
    call = send(daemon, **CALL)
    daemon.control.wait_for(call, "ringing")
    assert found(daemon) == set()
    daemon.kill()
    assert found(daemon) == set()
    daemon.start()
    # The call goes on with who called.
    assert daemon.control.wait_for(call, "ringing")["caller"] == SECRETS[0]
    user(daemon, "call", "decline", call)
    ends(daemon, call, "declined")
    daemon.stop()
    assert found(daemon) == set()
    daemon.start()
    assert caller(daemon, call) == KNOWN and state(daemon) == SECRETS[3].encode()


def test_a_locked_device_rings_and_shows_the_past_when_it_is_unlocked(telephone, tmp_path: Path) -> None:
    app = begin(telephone, "complete")
    daemon, protection = app.daemon, Protection(app.daemon)
    keep_state(daemon, tmp_path)
    before = rings_and_ends(app)
    assert caller(daemon, before) == KNOWN
    user(daemon, "protection", "lock")
    protection.waits_until("locked")
    # What was there can't be read, and the error names the class.
    status, error = daemon.control.request("GET", f"/v1/apps/{APP}/state")
    assert status == 423 and "complete" in error["message"], error
    assert caller(daemon, before) == (None, None, "complete")
    for command in (("show", before), ("list",)):
        assert "locked (complete)" in user(daemon, "call", *command).stdout
    # A call comes, rings with its caller, and hides it when it is over.
    during = send(daemon, **CALL)
    assert daemon.control.wait_for(during, "ringing")["caller"] == SECRETS[0]
    user(daemon, "call", "decline", during)
    ends(daemon, during, "declined")
    assert caller(daemon, during) == (None, None, "complete")
    assert found(daemon) == set()
    # The same after a kill: the lock lasts.
    daemon.kill()
    daemon.start()
    assert protection.message["state"] == "locked"
    state(daemon, status=1)
    for call in (before, during):
        assert caller(daemon, call) == (None, None, "complete")
    user(daemon, "protection", "unlock")
    for call in (before, during):
        assert caller(daemon, call) == KNOWN
    listed = json.loads(user(daemon, "call", "list", "--json").stdout)["calls"]
    assert [one.get("caller") for one in listed] == [SECRETS[0]] * 2
    assert state(daemon) == SECRETS[3].encode()


def test_a_call_that_a_kill_leaves_to_a_locked_device_is_missed_with_the_reason(telephone) -> None:
    app = begin(telephone, "complete")
    daemon, protection = app.daemon, Protection(app.daemon)
    user(daemon, "protection", "lock")
    protection.waits_until("locked")
    waiting = send(daemon, **CALL)
    ringing = daemon.control.wait_for(waiting, "ringing")
    daemon.kill()
    daemon.start()
    # It rings on, though nobody can read who calls.
    message = daemon.control.wait_for(waiting, "ringing")
    assert (ringing["caller"], message.get("caller"), message["lockedBy"]) == (SECRETS[0], None, "complete")
    user(daemon, "protection", "unlock")
    assert daemon.control.wait_for(waiting, "ringing")["caller"] == SECRETS[0]


def test_protection_that_begins_later_hides_what_was_there(telephone, tmp_path: Path) -> None:
    app = begin(telephone, None)
    daemon = app.daemon
    keep_state(daemon, tmp_path)
    call = rings_and_ends(app)
    daemon.stop()
    classes(daemon, "completeUntilFirstUserAuthentication")
    daemon.write_configuration()
    daemon.start()
    daemon.log_mentions("records were written again with new keys")
    assert found(daemon) == set()
    assert caller(daemon, call) == KNOWN and state(daemon) == SECRETS[3].encode()
    # And another key, while the daemon runs and through a kill.
    protection = Protection(daemon)
    user(daemon, "protection", "rekey")
    until(lambda: json.loads(protection.file.read_text()), 20, "the file of keys")
    daemon.kill()
    daemon.start()
    until(
        lambda: all(len(one["generations"]) == 1 for one in json.loads(protection.file.read_text())["classes"]), 20,
        "the former keys to go",
    )  # fmt: skip
    assert set(protection.generations.values()) == {2}
    assert caller(daemon, call) == KNOWN and state(daemon) == SECRETS[3].encode()


def test_a_deleted_key_takes_its_data_with_it_at_once(telephone, tmp_path: Path) -> None:
    app = begin(telephone, "complete")
    daemon = app.daemon
    keep_state(daemon, tmp_path)
    call = rings_and_ends(app)
    user(daemon, "protection", "delete", "complete", "--yes")
    for again in (False, True):
        if again:
            daemon.kill()
            daemon.start()
        assert caller(daemon, call) == (None, None, None)
        state(daemon, status=5)
    # What comes now has a new key.
    assert caller(daemon, rings_and_ends(app)) == KNOWN


LISTED = ("+49900111222", "Berta Geheim")


def test_a_locked_device_blocks_whom_a_list_names_and_shows_nobody_the_list(telephone) -> None:
    app = begin(telephone, None)
    daemon, protection = app.daemon, Protection(app.daemon)
    user(daemon, "block", "add", LISTED[0], "--label", LISTED[1])
    user(daemon, "block", "add", SECRETS[0], "--identify", "--label", LISTED[1])
    daemon.stop()
    classes(daemon, "complete")
    daemon.write_configuration()
    daemon.start()
    daemon.log_mentions("records were written again with new keys")

    def is_hidden() -> bool:
        files = [path.read_bytes() for path in (daemon.directory / "state").rglob("*") if path.is_file()]
        return not any(secret.encode() in file for file in files for secret in (*LISTED, SECRETS[0]))

    until(is_hidden, 20, "the index of callers to be built with the keys")
    ends(daemon, send(daemon, caller=LISTED[0]), "blocked")
    assert caller(daemon, rings_and_ends(app)) == KNOWN
    user(daemon, "protection", "lock")
    protection.waits_until("locked")
    for again in (False, True):
        if again:
            daemon.kill()
            daemon.start()
        ends(daemon, send(daemon, caller=LISTED[0]), "blocked")
        call = send(daemon, **CALL)
        assert "identifiedAs" not in daemon.control.wait_for(call, "ringing")
        user(daemon, "call", "decline", call)
        ends(daemon, call, "declined")
        assert [one["list"] for one in daemon.control.get("/v1/lists")["lists"]] == ["blocked", "known"]
        for method, path, body in (
            ("GET", "/v1/lists/blocked", None),
            ("POST", "/v1/lists/blocked/entries", {"add": [{"pattern": "+4989"}]}),
            ("DELETE", "/v1/lists/blocked", None),
        ):
            status, error = daemon.control.request(method, path, body)
            assert status == 423 and "complete" in error["message"], (method, status, error)
        assert is_hidden()
    user(daemon, "protection", "unlock")
    entries = daemon.control.get("/v1/lists/blocked")["entries"]
    assert [(one["pattern"], one["label"]) for one in entries] == [LISTED]
    user(daemon, "block", "remove", LISTED[0])
    call = send(daemon, caller=LISTED[0])
    daemon.control.wait_for(call, "ringing")
    user(daemon, "call", "decline", call)
    # What was listed is gone with its key, and nobody is blocked.
    user(daemon, "block", "add", LISTED[0])
    ends(daemon, send(daemon, caller=LISTED[0]), "blocked")
    user(daemon, "protection", "delete", "complete", "--yes")
    until(lambda: not daemon.control.get("/v1/lists/blocked")["entries"], 20, "the entries to be gone")
