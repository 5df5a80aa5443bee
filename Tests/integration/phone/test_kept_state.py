"""What is kept beside calls: strikes, an app's small state, do not disturb; what is excluded, and what is damaged."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from support.apps import App
from support.credentials import APP
from support.telephone import PAYLOAD, connected, ends, hang_up, ringing, send, strikes, user, waits


def kill(app: App) -> None:
    """The daemon is killed when what it says is on the disk."""
    # A list is read after all that was handed in before.
    app.daemon.control.get("/v1/calls?limit=1")
    app.daemon.kill()


def restart(app: App) -> None:
    """The daemon is killed and started again; its handlers live on."""
    kill(app)
    app.daemon.start()


def test_strikes_are_kept(telephone) -> None:
    app = telephone().by_exec("wake!=exit:1", more=PAYLOAD + '[strikes]\nlimit = 3\nwindow = "1h"\n')
    app.daemon.start()
    for count in range(1, 4):
        ends(app.daemon, send(app.daemon), "handlerFailed")
        before = strikes(app.daemon)
        restart(app)
        now = strikes(app.daemon)
        assert (now["count"], now["struckOut"]) == (count, count == 3)
        assert [one["call"] for one in now["recent"]] == [one["call"] for one in before["recent"]]
        assert all(0 <= one["agoMs"] < 120_000 for one in now["recent"])
    lives = app.lives()
    ends(app.daemon, send(app.daemon), "handlerFailed")
    assert app.lives() == lives
    user(app.daemon, "app", "clear-strikes", APP)
    restart(app)
    assert strikes(app.daemon)["count"] == 0


def test_an_app_keeps_a_small_state_with_the_daemon(telephone, tmp_path: Path) -> None:
    app = telephone().by_exec(more=PAYLOAD + "[restoration]\nstate = true\n")
    app.daemon.start()
    blob = bytes(range(256)) * 256
    file = tmp_path / "blob"
    file.write_bytes(blob)
    assert app.daemon.ringwake("app", "state", APP).returncode != 0
    user(app.daemon, "app", "state", APP, "--put", file)
    restart(app)
    assert user(app.daemon, "app", "state", APP, text=False).stdout == blob
    file.write_bytes(blob + b"x")
    done = app.daemon.ringwake("app", "state", APP, "--put", file)
    assert done.returncode == 1 and str(64 * 1024) in done.stderr, done
    user(app.daemon, "app", "state", APP, "--clear")
    restart(app)
    assert app.daemon.control.request("GET", f"/v1/apps/{APP}/state")[0] == 404


def test_an_app_that_did_not_ask_for_it_keeps_nothing(phone: App, tmp_path: Path) -> None:
    file = tmp_path / "blob"
    file.write_text("x")
    done = phone.daemon.ringwake("app", "state", APP, "--put", file)
    assert done.returncode == 4 and "restoration" in done.stderr, done


@pytest.mark.parametrize(
    ("group", "lost"), [("calls", "call"), ("strikes", "strikes"), ("state", "state"), ("dnd", "dnd")]
)
def test_what_is_excluded_is_not_restored(telephone, tmp_path: Path, group: str, lost: str) -> None:
    app = telephone(restoration=f'exclude = ["{group}"]')
    app.by_exec("mute=skip", more=PAYLOAD + "[restoration]\nstate = true\n")
    app.daemon.calls = {"action": "2s"}
    app.daemon.start()
    (tmp_path / "blob").write_text("x")
    user(app.daemon, "app", "state", APP, "--put", tmp_path / "blob")
    call = connected(app)
    user(app.daemon, "call", "mute", call)
    waits(lambda: strikes(app.daemon)["count"] == 1, "a strike")
    user(app.daemon, "dnd", "on")
    restart(app)
    kept = {
        "call": app.daemon.control.call(call)["state"] == "connected",
        "strikes": strikes(app.daemon)["count"] == 1,
        "state": app.daemon.ringwake("app", "state", APP).returncode == 0,
        "dnd": json.loads(user(app.daemon, "dnd", "--json").stdout)["active"],
    }
    assert kept == {name: name != lost for name in kept}


# Damage

def rows(app: App) -> dict[str, tuple[int, bytes]]:
    """The rows that restoration reads, of a daemon that does not run: version and bytes by path."""
    with sqlite3.connect(app.daemon.directory / "state" / "store.db") as store:
        found = store.execute(
            "SELECT path, version, data FROM state UNION ALL "
            "SELECT 'call/' || number, version, CAST(snapshot AS BLOB) FROM call WHERE state <> 'ended'"
        ).fetchall()
    store.close()
    return {path: (version, data) for path, version, data in found}


def change_rows(app: App, statement: str, *values: object) -> None:
    with sqlite3.connect(app.daemon.directory / "state" / "store.db") as store:
        assert store.execute(statement, values).rowcount > 0
    store.close()


# Decoded without complaint, and more than can be counted on from.
OVERFLOWS = {
    "attempt": (r'"attempt":\d+', '"attempt":9223372036854775807'), "fetched": (r'"fetched":\d+', '"fetched":-5'),
    "deadline": (r'"action_time":\d+', '"action_time":-9223372036854775808'),
    "handler": (r'("handler":|"wake":{"number":)\d+', r'\g<1>18446744073709551615'),
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "what"), [("call", what) for what in OVERFLOWS] + [("handlers", "handler")]
)
def test_numbers_that_nobody_wrote_are_set_aside(phone: App, path: str, what: str) -> None:
    call = connected(phone)
    phone.daemon.kill()
    name = "call/1" if path == "call" else f"app/{APP}/{path}"
    data = bytes(rows(phone)[name][1]).decode()
    changed = re.sub(*OVERFLOWS[what], data)
    assert changed != data
    if path == "call":
        change_rows(phone, "UPDATE call SET snapshot = ? WHERE id = ?", changed, call)
    else:
        change_rows(phone, "UPDATE state SET data = ? WHERE path = ?", changed.encode(), name)
    phone.daemon.start()
    if path == "call":
        ended = ends(phone.daemon, call, "failed")
        assert "could not be read" in ended["detail"]
    assert phone.daemon.control.status()["restoration"]["setAside"] == 1
    hang_up(phone, ringing(phone))


DAMAGE = {
    "no JSON": ("data = ?", b"{\0nonsense"), "cut off": ("data = substr(data, 1, ?)", 20),
    "empty": ("data = ?", b""), "a later version": ("version = ?", 99), "huge": ("data = zeroblob(?)", 2_000_000),
}  # fmt: skip


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("path", ["call", "handlers", "strikes"])
def test_a_row_that_cannot_be_read_is_set_aside_and_said(telephone, how: str, path: str) -> None:
    app = telephone(calls={"action": "2s", "claim": "2s"}).by_exec("mute=skip", more=PAYLOAD)
    app.daemon.start()
    call = connected(app)
    user(app.daemon, "call", "mute", call)
    waits(lambda: strikes(app.daemon)["count"] == 1, "a strike")
    kill(app)
    name = "call/1" if path == "call" else f"app/{APP}/{path}"
    assert name in rows(app), rows(app).keys()
    what, value = DAMAGE[how]
    if path == "call":
        what = {"no JSON": "snapshot = CAST(? AS TEXT)", "cut off": "snapshot = substr(snapshot, 1, ?)",
                "empty": "snapshot = CAST(? AS TEXT)", "huge": "snapshot = hex(zeroblob(?))"}.get(how, what)  # fmt: skip
        change_rows(app, f"UPDATE call SET {what} WHERE 'call/' || number = ?", value, name)
    else:
        change_rows(app, f"UPDATE state SET {what} WHERE path = ?", value, name)
    app.daemon.start()
    status = app.daemon.control.status()["restoration"]
    assert status["setAside"] == 1 and status["why"], status
    assert name in app.daemon.log
    assert "aside" in user(app.daemon, "status").stdout
    # The rest is there, and the daemon works: calls come, and this one ends by itself.
    if path != "strikes":
        assert strikes(app.daemon)["count"] >= 1
    if path == "strikes":
        assert app.daemon.control.call(call)["state"] == "connected"
    user(app.daemon, "call", "end", call) if app.daemon.control.call(call)["state"] != "ended" else None
    app.daemon.control.wait_for(call, "ended", 20)
    ringing(app)
    # It is read no second time.
    app.daemon.kill()
    aside = [found for found in rows(app) if found.startswith("aside/") and found.endswith(name)]
    assert len(aside) == 1
    app.daemon.start()
    assert app.daemon.control.status()["restoration"]["setAside"] == 0
