"""Block and identification lists: by command, from files and from URLs; looked up here alone, and kept."""

import json
import sqlite3
import threading
from pathlib import Path

import pytest

from support.apps import App
from support.pages import Page, Pages
from support.telephone import ends, failures, ringing, send, shown, user, waits

ALICE, MALLORY = "sip:alice@example.org", "sip:mallory@spam.example"

VCARD = """BEGIN:VCARD\r
VERSION:3.0\r
FN:Dr. Erika\r
 \x20Mustermann\r
TEL;TYPE=CELL:+49 (151) 123-45\r
 67\r
TEL;VALUE=uri:tel:+49-30-7654321\r
IMPP:sip:erika@example.org\r
END:VCARD\r
BEGIN:VCARD\r
VERSION:2.1\r
N;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:M=C3=BCller;Max\r
FN;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Max M=C3=BCller\r
TEL;WORK:0049 89 998877\r
END:VCARD\r
"""
CSV = '\ufeffnumber;name\r\n+4990011111;"Spam; Inc. ""One"""\r\n+49901*;Expensive\r\nnonsense here,;x\r\n'
PLAIN = "# spam\n+4990022222\n*@spam.example\n\n+49902*\n"


def block(app: App, *words: object, status: int = 0) -> dict:
    """`ringwake block` with these words, as JSON."""
    done = user(app.daemon, "block", *words, "--json", status=status)
    return json.loads(done.stdout) if done.stdout else {}


def blocked(app: App, caller: str) -> dict:
    """A call of this caller is kept out before anything is woken: the call."""
    before = app.lives()
    ended = ends(app.daemon, send(app.daemon, caller=caller), "blocked")
    assert ended["restriction"]["kind"] == "blocked" and not ended["missed"]
    assert app.lives() == before and failures(app.daemon) == []
    return ended


def patterns(app: App, name: str) -> list[str]:
    return [entry["pattern"] for entry in block(app, "list", name)["entries"]]


def test_add_and_remove_are_in_force_at_once(phone: App) -> None:
    ringing(phone, caller=MALLORY)
    assert block(phone, "add", MALLORY, "+49900*", "--label", "spam")["entries"] == 2
    for caller in (MALLORY, "Mallory <SIP:mallory@SPAM.example;transport=tcp>", "+49 900 123", "tel:+4990099"):
        ended = blocked(phone, caller)
    assert ended["detail"] == "blocked by the list 'blocked'"
    ringing(phone, caller="+4989123")
    block(phone, "remove", "+49900*")
    ringing(phone, caller="+49900123")
    blocked(phone, MALLORY)
    user(phone.daemon, "block", "remove", "--all", "--list", "blocked")
    ringing(phone, caller=MALLORY)


def test_anonymous_callers(phone: App) -> None:
    block(phone, "add", "anonymous")
    blocked(phone, "sip:anonymous@anonymous.invalid")
    ringing(phone, caller=ALICE)


def test_check_says_what_would_become_of_a_caller(phone: App) -> None:
    block(phone, "add", "*@spam.example")
    assert block(phone, "check", MALLORY, status=0)["rings"] is False
    found = block(phone, "check", MALLORY)
    assert (found["list"], found["pattern"], found["restriction"]["kind"]) == ("blocked", "*@spam.example", "blocked")
    assert block(phone, "check", ALICE)["rings"] is True


def test_a_caller_who_is_known_only_at_the_report_is_blocked_then(telephone) -> None:
    app = telephone().by_exec()
    app.daemon.start()
    block(app, "add", MALLORY)
    call = send(app.daemon, caller=MALLORY)
    ended = ends(app.daemon, call, "blocked")
    assert app.woken(call) and "rang" not in [hop["stage"] for hop in ended["timeline"]]
    assert failures(app.daemon) == []
    # The handler was told, and may say so to the caller.
    app.waits_for("event", call=call, state="ended", reason="blocked")


def test_an_identification_list_says_who_calls(phone: App) -> None:
    block(phone, "add", "+4989123456", "--identify", "--label", "Dr. Bauer")
    call = ringing(phone, caller="+49 89 123456")
    assert shown(phone.daemon, call)["identifiedAs"] == "Dr. Bauer"
    assert "maybe Dr. Bauer" in user(phone.daemon, "call", "show", call).stdout
    # It is kept with the call.
    user(phone.daemon, "call", "decline", call)
    ends(phone.daemon, call, "declined")
    assert "maybe Dr. Bauer" in user(phone.daemon, "call", "list").stdout


# Files

@pytest.mark.parametrize(
    ("text", "name", "expected", "problems"),
    [
        (VCARD, "contacts.vcf", {"+491511234567", "+49307654321", "erika@example.org", "+4989998877"}, 0),
        (CSV, "spam.csv", {"+4990011111", "+49901*"}, 1),
        (PLAIN, "spam.txt", {"+4990022222", "*@spam.example", "+49902*"}, 0),
    ],
)
def test_a_file_is_imported(phone: App, tmp_path: Path, text: str, name: str, expected: set, problems: int) -> None:
    file = tmp_path / name
    file.write_bytes(text.encode())
    user(phone.daemon, "block", "import", file, "--list", "imported")
    found = {pattern.removeprefix("sip:") for pattern in patterns(phone, "imported")}
    assert found == expected
    [one] = [one for one in block(phone, "list")["lists"] if one["list"] == "imported"]
    assert (one["entries"], one["source"], one["kind"]) == (len(expected), str(file), "block")
    blocked(phone, sorted(expected)[0].replace("*", "123"))
    if problems:
        assert "1" in user(phone.daemon, "block", "import", file, "--list", "imported").stdout


def test_names_of_a_vcard_identify(phone: App, tmp_path: Path) -> None:
    file = tmp_path / "contacts.vcf"
    file.write_bytes(VCARD.encode())
    user(phone.daemon, "block", "import", file, "--identify")
    for caller, name in (("+4989998877", "Max Müller"), ("+49 30 7654321", "Dr. Erika Mustermann")):
        assert shown(phone.daemon, ringing(phone, caller=caller))["identifiedAs"] == name


def test_an_import_replaces_the_list(phone: App, tmp_path: Path) -> None:
    file = tmp_path / "list"
    for text, expected in (("+491\n+492\n", ["+491", "+492"]), ("+493\n", ["+493"])):
        file.write_text(text)
        user(phone.daemon, "block", "import", file)
        assert patterns(phone, "blocked") == expected
    ringing(phone, caller="+491")
    blocked(phone, "+493")


def test_a_pipe_is_imported(phone: App) -> None:
    done = phone.daemon.ringwake("block", "import", "-", stdin=None, input="+4990011111\n")
    assert done.returncode == 0, done
    blocked(phone, "+4990011111")


@pytest.mark.parametrize("text", ["", "<html><body>Not found</body></html>\n", "\0\1\2\3" * 100])
def test_a_file_that_holds_nothing_leaves_the_list_as_it_was(phone: App, tmp_path: Path, text: str) -> None:
    block(phone, "add", MALLORY)
    file = tmp_path / "broken"
    file.write_text(text)
    done = phone.daemon.ringwake("block", "import", file)
    assert done.returncode != 0 and done.stderr, done
    assert len(patterns(phone, "blocked")) == 1
    blocked(phone, MALLORY)


def test_a_large_list_is_imported_while_calls_come(phone: App, tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("w") as out:
        out.writelines(f"+4990{number:08}\n" for number in range(100_000))
    done = []
    importer = threading.Thread(target=lambda: done.append(user(phone.daemon, "block", "import", file, timeout=120)))
    importer.start()
    while importer.is_alive():
        user(phone.daemon, "call", "decline", ringing(phone, caller=ALICE))
    importer.join()
    assert done
    [one] = block(phone, "list")["lists"]
    assert one["entries"] == 100_000
    blocked(phone, "+499000099999")
    ringing(phone, caller="+499000100000")


# URLs

@pytest.fixture
def pages():
    with Pages() as pages:
        yield pages


def test_a_url_is_imported_and_fetched_again_only_when_it_changed(phone: App, pages: Pages) -> None:
    pages.pages["/spam.csv"] = Page(CSV.encode(), etag='"one"')
    url = pages.url("/spam.csv")
    user(phone.daemon, "block", "import", url, "--list", "spam")
    [one] = block(phone, "list")["lists"]
    assert (one["source"], one["etag"], one["entries"]) == (url, '"one"', 2)
    blocked(phone, "+4990011111")
    user(phone.daemon, "block", "import", "--refresh")
    assert [asked.status for asked in pages.asked] == [200, 304]
    assert pages.asked[1].if_none_match == '"one"'
    assert patterns(phone, "spam") == ["+4990011111", "+49901*"]
    pages.pages["/spam.csv"] = Page(b"number,name\n+4990033333,New\n", etag='"two"')
    user(phone.daemon, "block", "import", "--refresh")
    assert patterns(phone, "spam") == ["+4990033333"]
    blocked(phone, "+4990033333")
    ringing(phone, caller="+4990011111")


@pytest.mark.parametrize(
    "page",
    [
        Page(b"gone\n", status=404), Page(b"+491\n", status=500), Page(PLAIN.encode(), cut=10),
        Page(b"<html>maintenance</html>\n"), Page(b"", status=302, fields={"Location": "file:///etc/passwd"}),
        Page(b"", status=302, fields={"Location": "/loop"}),
    ],
    ids=["404", "500", "cut off", "another page", "redirect to a file", "endless redirect"],
)
def test_a_url_that_fails_leaves_the_list_as_it_was(phone: App, pages: Pages, page: Page) -> None:
    pages.pages["/list"] = Page(b"+4990011111\n", etag='"one"')
    pages.pages["/loop"] = Page(b"", status=302, fields={"Location": "/loop"})
    user(phone.daemon, "block", "import", pages.url("/list"), "--list", "spam")
    pages.pages["/list"] = page
    done = phone.daemon.ringwake("block", "import", "--refresh")
    assert done.returncode != 0 and "spam" in done.stdout + done.stderr, done
    assert patterns(phone, "spam") == ["+4990011111"]
    blocked(phone, "+4990011111")


def test_offline_what_was_imported_stays_in_force(phone: App, pages: Pages) -> None:
    pages.pages["/list"] = Page(b"+4990011111\n", etag='"one"')
    user(phone.daemon, "block", "import", pages.url("/list"), "--list", "spam")
    pages.close()
    assert phone.daemon.ringwake("block", "import", "--refresh").returncode != 0
    blocked(phone, "+4990011111")


def test_one_list_that_cannot_be_had_does_not_keep_the_others_old(phone: App, pages: Pages) -> None:
    for name in ("a", "b"):
        pages.pages[f"/{name}"] = Page(b"+4990011111\n", etag='"one"')
        user(phone.daemon, "block", "import", pages.url(f"/{name}"), "--list", name)
    pages.pages["/a"] = Page(b"gone", status=404)
    pages.pages["/b"] = Page(b"+4990022222\n", etag='"two"')
    assert phone.daemon.ringwake("block", "import", "--refresh").returncode != 0
    assert patterns(phone, "a") == ["+4990011111"] and patterns(phone, "b") == ["+4990022222"]


# Over a restart

@pytest.mark.parametrize("how", ["stop", "kill"])
def test_lists_are_kept_over_a_restart(phone: App, how: str) -> None:
    block(phone, "add", MALLORY, "+49900*")
    block(phone, "add", ALICE, "--identify", "--label", "Alice from work")
    getattr(phone.daemon, how)()
    phone.daemon.start()
    for caller in (MALLORY, "+49900123"):
        blocked(phone, caller)
    assert shown(phone.daemon, ringing(phone, caller=ALICE))["identifiedAs"] == "Alice from work"


def indexes(app: App) -> list[Path]:
    """The files of the state directory beside the store: the index of the lists is among them."""
    return [path for path in (app.daemon.directory / "state").rglob("*")
            if path.is_file() and not path.name.startswith("store.db") and "index" in path.name]  # fmt: skip


@pytest.mark.parametrize("how", ["gone", "empty", "cut", "noise"])
def test_an_index_that_is_damaged_is_made_anew(phone: App, how: str) -> None:
    block(phone, "add", MALLORY, "+49900*")
    blocked(phone, MALLORY)
    phone.daemon.stop()
    found = indexes(phone)
    assert found, list((phone.daemon.directory / "state").iterdir())
    for path in found:
        contents = path.read_bytes()
        match how:
            case "gone":
                path.unlink()
            case "empty":
                path.write_bytes(b"")
            case "cut":
                path.write_bytes(contents[: len(contents) // 2])
            case "noise":
                path.write_bytes(bytes(len(contents)))
    phone.daemon.start()
    # It is made beside the calls: until it is there, a caller may come through.
    waits(lambda: block(phone, "check", MALLORY)["rings"] is False, "the lists to be in force again")
    blocked(phone, "+49900123")
    assert phone.daemon.control.status()["journal"]["state"] == "working"


def test_an_import_that_the_daemon_did_not_outlive_changes_nothing(phone: App) -> None:
    block(phone, "add", MALLORY)
    begun = phone.daemon.control.post("/v1/lists/blocked/import", {"kind": "block"})
    phone.daemon.kill()
    phone.daemon.start()
    assert phone.daemon.control.request("POST", f"/v1/imports/{begun['id']}/finish", {})[0] == 404
    assert len(patterns(phone, "blocked")) == 1
    blocked(phone, MALLORY)
    phone.daemon.stop()
    store = sqlite3.connect(phone.daemon.directory / "state" / "store.db")
    assert store.execute("SELECT count(*) FROM list_entry").fetchone() == (1,)
    store.close()
