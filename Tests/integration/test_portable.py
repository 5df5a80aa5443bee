"""The records of `ringwake backup export`, read and written by a program that knows Documentation/portable.md only."""

import base64
import json
import os
import sqlite3
import threading
import uuid
from pathlib import Path

from support.apps import App
from support.daemon import Daemon
from support.pushing import push
from support.telephone import PAYLOAD, connected, ringing, user

# What the document says: the members of each kind, and those that may be missing.
MEMBERS = {
    "header": ({"schema", "store"}, {"program", "created_ms", "host"}),
    "call": ({"number", "app", "id", "sender", "received_ms", "state", "version", "facts"}, set()),
    "payload": ({"call", "push", "data"}, set()),
    "push": (
        {"number", "id", "app", "topic", "environment", "sender", "priority", "call", "outcome", "received_ms"},
        {"collapse_id", "journaled_ns"},
    ),
    "state": ({"path", "version", "written_ms"}, {"json", "data"}),
    "list": ({"name", "type", "updated_ms"}, {"source", "etag"}),
    "list_entry": ({"list", "pattern"}, {"label"}),
    "device": ({"id", "version"}, {"json", "data"}),
    "mail": ({"device", "run", "sequence", "received_ms", "version", "payload"}, {"facts", "data"}),
    "end": ({"records"}, set()),
}  # fmt: skip
FACTS = {
    "push", "topic", "environment", "collapse_id", "caller", "caller_name", "identified_as", "video", "reason", "detail",
    "restriction", "attempt", "one_attempt", "ring_before", "ring_time", "times", "progress",
}  # fmt: skip


def read(path: Path) -> list[dict]:
    """The records, each of which is as the document says."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[0]["kind"] == "header" and records[0]["schema"] == 1
    assert records[-1] == {"kind": "end", "records": len(records) - 2}
    for record in records:
        required, optional = MEMBERS[record["kind"]]
        names = record.keys() - {"kind"}
        assert required <= names <= required | optional, record
        if record["kind"] == "call":
            assert record["facts"].keys() <= FACTS, record
    return records


def of(records: list[dict], kind: str) -> list[dict]:
    return [record for record in records if record["kind"] == kind]


def export(daemon: Daemon, path: Path) -> list[dict]:
    options = [] if daemon.process else ["--config", daemon.configuration]
    done = daemon.ringwake("backup", "export", "--to", path, *(options or ["--config", daemon.configuration]), "--json")
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["bytes"] == path.stat().st_size and path.stat().st_mode & 0o777 == 0o600
    return read(path)


def load(daemon: Daemon, path: Path, status: int = 0) -> dict:
    done = daemon.ringwake("backup", "import", path, "--config", daemon.configuration, "--json")
    assert done.returncode == status, done
    return json.loads(done.stdout if status == 0 else done.stderr)


def busy_device(make_daemon) -> Daemon:
    daemon: Daemon = make_daemon()
    app = App(daemon).by_exec(more=PAYLOAD + "[restoration]\nstate = true\n")
    daemon.start()
    user(daemon, "call", "end", connected(app, caller="sip:eve@example.com", name="Eve \"Ö\" \n"))
    user(daemon, "call", "decline", ringing(app, caller="sip:bob@example.com"))
    user(daemon, "block", "add", "sip:spam@example.com")
    user(daemon, "dnd", "on")
    user(daemon, "dnd", "off")
    kept = daemon.directory / "kept"
    kept.write_bytes(b'{"not": "ours to change"} \x00\xff')
    user(daemon, "app", "state", app.app, "--put", kept)
    ringing(app, caller="sip:dora@example.com")
    return daemon


def test_a_program_that_knows_only_the_document_reads_an_export(make_daemon, tmp_path: Path) -> None:
    daemon = busy_device(make_daemon)
    records = export(daemon, tmp_path / "running.jsonl")
    calls = {call["call"]: call for call in daemon.control.calls()}
    assert {record["id"] for record in of(records, "call")} == calls.keys()
    for record in of(records, "call"):
        shown = calls[record["id"]]
        assert (record["app"], record["state"], record["sender"]) == (shown["app"], shown["state"], shown["team"])
        assert record["facts"]["caller"] == shown["caller"] and record["facts"].get("reason") == shown.get("reason")
    [ringing_call] = [record for record in of(records, "call") if record["state"] == "ringing"]
    [payload] = of(records, "payload")
    assert payload["call"] == ringing_call["number"]
    assert json.loads(base64.b64decode(payload["data"]))["caller"] == "sip:dora@example.com"
    assert [record["pattern"] for record in of(records, "list_entry")] == ["spam@example.com"]
    state = {record["path"]: record for record in of(records, "state")}
    assert base64.b64decode(state["app/com.example.phone/state"]["data"]) == b'{"not": "ours to change"} \x00\xff'
    assert isinstance(state["device/dnd"]["json"], dict)
    daemon.stop()
    stopped = export(daemon, tmp_path / "stopped.jsonl")
    assert [record for record in of(stopped, "push")] == [record for record in of(records, "push")]


def test_an_export_is_imported_equal_on_another_device(make_daemon, tmp_path: Path) -> None:
    source = busy_device(make_daemon)
    source.stop()
    records = export(source, tmp_path / "one.jsonl")
    target: Daemon = make_daemon()
    App(target).by_exec(more=PAYLOAD + "[restoration]\nstate = true\n")
    target.start()
    refused = target.ringwake("backup", "import", tmp_path / "one.jsonl", "--json")
    assert refused.returncode != 0 and "the daemon runs" in refused.stderr
    target.stop()
    added = load(target, tmp_path / "one.jsonl")
    assert added["skipped"] == {} and sum(added["added"].values()) == len(records) - 2
    assert export(target, tmp_path / "two.jsonl")[1:] == records[1:]
    target.start()
    target.check_alive()
    calls = {call["call"]: call for call in target.control.calls()}
    assert {record["id"] for record in of(records, "call")} == calls.keys()
    assert all(call["state"] == "ended" for call in calls.values()), calls
    [listed] = target.control.get("/v1/lists")["lists"]
    assert (listed["list"], listed["entries"]) == ("blocked", 1)


def test_a_store_that_another_program_wrote_is_imported(make_daemon, tmp_path: Path) -> None:
    """Made by hand after the document, with members in another order and one that nobody knows."""
    call, sender = str(uuid.uuid4()), "DEVTEAM001"
    records = [
        {"schema": 1, "kind": "header", "store": 7, "made_by": "a test"},
        {
            "kind": "call", "id": call, "number": 1, "sender": sender, "app": "com.example.phone", "state": "ended",
            "version": 1, "received_ms": 1_764_000_000_000, "facts": {
                "push": call, "topic": "com.example.phone.voip", "environment": "development", "attempt": 1,
                "one_attempt": False, "ring_before": 45_000_000_000, "ring_time": 45_000_000_000, "reason": "unanswered",
                "caller": "sip:ann@example.com", "times": {"woke": 1000, "rang": 2000, "ended": 45_000_000_000},
            },
        },
        {
            "kind": "push", "number": 1, "id": call, "app": "com.example.phone", "topic": "com.example.phone.voip",
            "environment": "development", "sender": sender, "priority": 10, "call": call, "outcome": "started",
            "received_ms": 1_764_000_000_000,
        },
        {"kind": "list", "name": "mine", "type": "block", "updated_ms": 1_764_000_000_000},
        {"kind": "list_entry", "list": "mine", "pattern": "sip:spam@example.com", "label": "Spam"},
        {"kind": "weather", "rain": True},
    ]  # fmt: skip
    records.append({"kind": "end", "records": len(records) - 1})
    path = tmp_path / "made.jsonl"
    # The last line has no end.
    path.write_text("\n".join(json.dumps(record, indent=None) for record in records))
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    daemon.stop()
    done = load(daemon, path)
    assert done["added"] == {"call": 1, "push": 1, "list": 1, "list_entry": 1} and done["skipped"] == {"unknown": 1}
    daemon.start()
    [shown] = daemon.control.calls()
    assert (shown["call"], shown["caller"], shown["reason"]) == (call, "sip:ann@example.com", "unanswered")
    # The push is known: its repeat wakes nobody.
    assert push(daemon, call).status == 200
    assert daemon.recorders[0].count() == 0


def test_what_a_killed_daemon_had_in_its_log_only_is_exported(make_daemon, tmp_path: Path) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    calls = [str(uuid.uuid4()) for _ in range(3)]
    for call in calls:
        assert push(daemon, call).status == 200
    daemon.kill()
    assert (daemon.directory / "state" / "store.db-wal").stat().st_size > 0
    records = export(daemon, tmp_path / "killed.jsonl")
    assert [record["id"] for record in of(records, "push")] == calls
    daemon.start()
    assert {call["call"] for call in daemon.control.calls()} == set(calls)


def test_a_damaged_export_changes_nothing(make_daemon, tmp_path: Path) -> None:
    source = busy_device(make_daemon)
    source.stop()
    good = tmp_path / "good.jsonl"
    export(source, good)
    lines = good.read_text().splitlines()
    target: Daemon = make_daemon()
    target.start()
    target.stop()
    damaged = tmp_path / "damaged.jsonl"
    for text, words in [
        ("\n".join(lines[:-1]), "its end is missing"),
        ("\n".join(lines[:3] + lines[4:]), "should have"),
        ("\n".join([*lines[:2], "{", *lines[3:]]), "line 3"),
        ("x" * (5 << 20), "this is no export"),
        ("", "the export is empty"),
        (good.read_bytes()[: good.stat().st_size // 2].decode(errors="ignore"), "nothing was imported"),
    ]:
        damaged.write_text(text)
        message = load(target, damaged, status=2)["message"]
        assert words in message and "nothing was imported" in message, message
    connection = sqlite3.connect(target.directory / "state" / "store.db")
    assert connection.execute("SELECT (SELECT count(*) FROM call) + (SELECT count(*) FROM push)").fetchone() == (0,)
    connection.close()


def test_an_export_while_pushes_arrive_is_whole(make_daemon, tmp_path: Path) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    answered: list[str] = []
    is_wanted = True

    def send() -> None:
        while is_wanted:
            call = str(uuid.uuid4())
            assert push(daemon, call).status == 200
            answered.append(call)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        for number in range(3):
            before = list(answered)
            records = export(daemon, tmp_path / f"{number}.jsonl")
            assert {record["id"] for record in of(records, "push")} >= set(before)
    finally:
        is_wanted = False
        sender.join()
    # No partial file, no copy is left.
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []
    assert not (daemon.directory / "state" / "store.copy").exists()


def test_an_export_replaces_nothing_but_a_regular_file(make_daemon, tmp_path: Path) -> None:
    daemon = make_daemon()
    daemon.add_app()
    daemon.start()
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "target")
    for path in (pipe, link):
        done = daemon.ringwake("backup", "export", "--to", path, "--config", daemon.configuration)
        assert done.returncode == 1 and "is no regular file" in done.stderr, done
    assert pipe.is_fifo() and link.is_symlink()
    file = tmp_path / "file"
    file.write_text("former")
    assert export(daemon, file)


def test_an_import_from_the_future_says_what_that_does_to_pushes(make_daemon, tmp_path: Path) -> None:
    """The device had a wrong clock, or this one has: nobody can know, so it is taken, and said."""
    daemon = busy_device(make_daemon)
    records = export(daemon, tmp_path / "export.jsonl")
    for record in of(records, "push"):
        record["received_ms"] = 4_000_000_000_000
    file = tmp_path / "future.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    other = make_daemon()
    other.add_app()
    other.start()
    other.stop()
    done = other.ringwake("backup", "import", file, "--config", other.configuration)
    assert done.returncode == 0, done
    assert "of 2096-10-02T07:06:40.000Z" in done.stderr and "ringwake clock accept" in done.stderr, done.stderr
    other.start()
    assert push(other, str(uuid.uuid4())).status == 503
    user(other, "clock", "accept")
    assert push(other, str(uuid.uuid4())).status == 200


def test_an_import_of_any_time_ends_with_no_signal(make_daemon, tmp_path: Path) -> None:
    daemon = busy_device(make_daemon)
    records = export(daemon, tmp_path / "export.jsonl")
    for number, time in enumerate((-(2**63), 2**63 - 1)):
        for record in of(records, "push"):
            record["received_ms"] = time
        file = tmp_path / f"{number}.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        other = make_daemon()
        other.add_app()
        other.start()
        other.stop()
        done = other.ringwake("backup", "import", file, "--config", other.configuration)
        assert done.returncode == 0 and "signal" not in done.stderr, done
        other.start()
        assert push(other, str(uuid.uuid4())).status in (200, 503)
