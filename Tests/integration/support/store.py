"""The daemon's store as SQLite shows it: what it holds, and what must never be in it."""

import sqlite3
from pathlib import Path

from .promises import Contents

# The version of the tables.
VERSION = 8
# A folder for each version that was released, with stores of it.
RELEASED = Path(__file__).parents[2] / "Fixtures" / "store"

# Queries that find nothing in a store in which nothing is half-written.
NEVER = {
    "a push without its call": "SELECT push.push_id FROM push "
    "LEFT JOIN call ON call.id = call_id AND call.app = push.app WHERE call.number IS NULL",
    "an open call that a start would not find": "SELECT id FROM call WHERE state <> 'ended' "
    "AND number NOT IN (SELECT call FROM payload)",
    "a call to deliver without its payload": "SELECT id FROM call LEFT JOIN payload ON payload.call = number "
    "AND push = 0 WHERE state NOT IN ('ended', 'confirmed') AND json_extract(snapshot, '$.times.rang') IS NULL "
    "AND ifnull(length(bytes), 0) = 0",
    "a payload without its call": "SELECT payload.call FROM payload LEFT JOIN call ON payload.call = number "
    "WHERE number IS NULL",
    "an ended call without a reason": "SELECT id FROM call WHERE state = 'ended' "
    "AND (json_extract(snapshot, '$.reason') IS NULL OR json_extract(snapshot, '$.times.ended') IS NULL)",
    "an ended call with payloads": "SELECT id FROM call JOIN payload ON payload.call = number WHERE state = 'ended'",
    "a ringing call without the time": "SELECT id FROM call WHERE state = 'ringing' "
    "AND json_extract(snapshot, '$.times.rang') IS NULL",
}


def read_contents(connection: sqlite3.Connection) -> Contents:
    """The pushes and rings of an open store, which holds nothing half-written; none before it has its tables."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'push'").fetchone():
        assert connection.execute("PRAGMA user_version").fetchone() == (0,), "a store with a version and no tables"
        return Contents()
    assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    for what, query in NEVER.items():
        found = connection.execute(query).fetchall()
        assert not found, f"{what}: {found[:3]}, {len(found)} in all"
    pushes = connection.execute("SELECT lower(push_id) FROM push")
    # A call rings as soon as the request for it is on the disk.
    rung = connection.execute(
        "SELECT lower(id) FROM call WHERE json_extract(snapshot, '$.times.rang') IS NOT NULL "
        "OR (state = 'confirmed' AND json_extract(snapshot, '$.progress.retry_at') IS NULL)"
    )
    return Contents({push_id for (push_id,) in pushes}, {call for (call,) in rung})


def read_store(state: Path) -> Contents:
    """What the store of a daemon that does not run holds; the store is checked, and left as it is."""
    # Not by copying: that would leave out a file that belongs to it and has a name that the test does not know.
    connection = sqlite3.connect(state / "store.db", isolation_level=None)
    try:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        assert found == [("ok",)], f"integrity_check says {found}"
        return read_contents(connection)
    finally:
        connection.close()
