"""An older file of keys that was put back, and records that are damaged: found, said, and undone."""

import sqlite3

from support.apps import App
from support.daemon import Daemon
from support.doctor import doctor
from support.protection import Protection
from support.telephone import PAYLOAD, ends, send, shown, user
from support.waiting import until

CALLER = "+49301234567"
LISTED = "+49900111222"
KINDS = ("payloads", "callers", "app_state", "lists")


def begin(telephone) -> App:
    app = telephone().by_exec(more=PAYLOAD)
    daemon = app.daemon
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"\n'
    daemon.sections["protection.classes"] = "".join(f'{kind} = "complete"\n' for kind in KINDS)
    daemon.start()
    return app


def declined(daemon: Daemon) -> str:
    call = send(daemon, caller=CALLER)
    daemon.control.wait_for(call, "ringing")
    user(daemon, "call", "decline", call)
    ends(daemon, call, "declined")
    return call


def put_back(daemon: Daemon, keys: bytes) -> None:
    """As somebody does who restores one file."""
    daemon.stop()
    state = daemon.directory / "state"
    for file in (state / "protection.json", state / "copies" / "protection.json"):
        file.write_bytes(keys)
    daemon.start()


def rekeyed(daemon: Daemon) -> tuple[bytes, bytes]:
    """The file of keys before a re-keying, and after it."""
    protection = Protection(daemon)
    before = protection.file.read_bytes()
    user(daemon, "protection", "rekey")
    daemon.log_mentions("the former keys are removed")
    until(lambda: b'"number":1' not in protection.file.read_bytes(), 20, "the former keys to go")
    return before, protection.file.read_bytes()


def test_an_older_file_of_keys_is_said_and_the_newest_one_brings_everything_back(telephone) -> None:
    daemon = begin(telephone).daemon
    protection = Protection(daemon)
    user(daemon, "block", "add", LISTED)
    call = declined(daemon)
    older, newest = rekeyed(daemon)
    put_back(daemon, older)
    message = protection.message
    assert message["unusable"] and "protection.json is older than the store" in message["why"], message
    assert daemon.control.status()["protection"]["unusable"]
    assert "is older than the store" in user(daemon, "status").stdout
    doctor(daemon).problem("protection", "older than the store", "put the newest protection.json back")
    assert shown(daemon, call)["lockedBy"] == "complete"
    # The number of a new key would be that of the missing one.
    refused = daemon.ringwake("protection", "rekey")
    assert refused.returncode == 1 and "put the newest protection.json back" in refused.stderr
    assert protection.file.read_bytes() == older
    # Calls ring, and a kill changes nothing.
    declined(daemon)
    daemon.kill()
    daemon.start()
    assert protection.message["unusable"]
    put_back(daemon, newest)
    assert "unusable" not in protection.message
    assert shown(daemon, call)["caller"] == CALLER
    assert LISTED in user(daemon, "block", "list", "blocked").stdout


def test_where_the_newest_file_is_lost_its_class_can_be_given_up(telephone) -> None:
    daemon = begin(telephone).daemon
    protection = Protection(daemon)
    user(daemon, "block", "add", LISTED)
    call = declined(daemon)
    older, _ = rekeyed(daemon)
    put_back(daemon, older)
    assert protection.message["unusable"]
    user(daemon, "protection", "delete", "complete", "--yes")
    assert "unusable" not in protection.message and protection.generations["complete"] == 3
    assert "caller" not in shown(daemon, call)
    user(daemon, "block", "add", LISTED)
    assert user(daemon, "block", "list", "blocked").stdout.count(LISTED) == 1
    assert shown(daemon, declined(daemon))["caller"] == CALLER


def test_damaged_records_are_counted_and_said(telephone) -> None:
    daemon = begin(telephone).daemon
    user(daemon, "block", "add", LISTED)
    user(daemon, "block", "add", CALLER + "9")
    call = declined(daemon)
    daemon.stop()
    store = sqlite3.connect(daemon.directory / "state" / "store.db")
    with store:
        for table, key, column in (("list_entry", "key", "entry"), ("call", "number", "caller")):
            # The last byte of one record is another one.
            [row, record] = store.execute(f"SELECT {key}, {column} FROM {table} LIMIT 1").fetchone()
            record = record[:-1] + bytes([record[-1] ^ 1])
            store.execute(f"UPDATE {table} SET {column} = ?1 WHERE {key} = ?2", (record, row))
    store.close()
    daemon.start()
    assert "caller" not in shown(daemon, call)
    # The other entry is there.
    assert user(daemon, "block", "list", "blocked").stdout.count("+49") == 1
    until(
        lambda: daemon.control.status()["journal"].get("damagedRecords") == 2, 20,
        lambda: f"the damage to be counted; {daemon.control.status()['journal']}",
    )  # fmt: skip
    for kind in ("lists", "callers"):
        daemon.log_mentions(f"stored records are damaged; a backup may have them kind={kind} records=1")
    assert "2 protected records are damaged" in user(daemon, "status").stdout
    doctor(daemon).problem("store", "2 protected records are damaged", "backup")
