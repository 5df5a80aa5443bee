"""`ringwake setup`: from nothing to a push that is accepted, as a user and as root for a daemon of another user."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.programs import RINGWAKE, RINGWAKED, as_nobody, ringwake, run
from support.waiting import until

APP = "com.example.phone"
GROUP = 65534


@pytest.fixture
def home() -> Iterator[dict[str, str]]:
    """The environment of a user whose home is empty. A socket's path is short, so not in pytest's folders."""
    folder = Path(tempfile.mkdtemp(prefix="ringwake-home-"))
    if as_nobody():
        os.chown(folder, 65534, 65534)
    variables = {
        "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state"),
        "XDG_RUNTIME_DIR": str(folder), "NO_COLOR": "1", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus",
    }  # fmt: skip
    yield variables
    shutil.rmtree(folder, ignore_errors=True)


def setup(home: dict[str, str], *arguments: object, status: int = 0) -> dict:
    done = run(*as_nobody(), RINGWAKE, "setup", "--json", *arguments, env=home, cwd="/")
    assert done.returncode == status, done
    return json.loads(done.stdout) if status == 0 else json.loads(done.stderr)


@pytest.fixture
def start(home: dict[str, str]) -> Iterator:
    """Starts the user's daemon with the standard configuration, and stops it after the test."""
    started: list[subprocess.Popen] = []

    def go() -> None:
        # No program for audio is left behind, which would make folders after the test.
        with (Path(home["XDG_CONFIG_HOME"]) / "ringwake/ringwaked.toml").open("a") as file:
            file.write('[audio]\nbackend = "none"\n')
        log = open(Path(home["HOME"]) / "log", "ab")
        started.append(
            subprocess.Popen([*as_nobody(), RINGWAKED], cwd="/", env=os.environ | home, stdout=log, stderr=log)
        )
        answers = lambda: run(*as_nobody(), RINGWAKE, "status", env=home).returncode == 0  # noqa: E731
        until(answers, 15, lambda: (Path(home["HOME"]) / "log").read_text())

    yield go
    for process in started:
        process.terminate()
        assert process.wait(15) == 0


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in folder.rglob("*")
        if path.is_file()
    }


def curl(sender: dict) -> str:
    """The status that a push by the sender's certificate is answered with."""
    return run(
        "curl", "--silent", "--http2", "--cacert", sender["ca"], "--cert", sender["certificate"], "--output", "/dev/null",
        "--write-out", "%{http_code}", "--header", "apns-push-type: voip", "--header", "apns-topic: " + sender["topic"],
        "--data", "{}", f"{sender['url']}/3/device/{sender['tokens']['development']}",
    ).stdout  # fmt: skip


def test_a_user_gets_from_nothing_to_an_accepted_push(home: dict[str, str], start) -> None:
    first = setup(home, "--listen", "127.0.0.1:0")
    folder = Path(home["XDG_CONFIG_HOME"]) / "ringwake"
    assert {file["state"] for file in first["files"]} == {"made"}
    assert first["daemon"] == {"state": "notRunning", "needsRestart": []}
    assert first["sender"]["tokens"] == {}
    assert "systemctl --user enable --now ringwaked" in first["next"]
    made = contents(folder)
    for name, (data, mode) in made.items():
        assert mode == 0o600 or b"PRIVATE KEY" not in data, name
    assert made["ringwaked.toml"][1] == 0o600

    start()
    made = contents(folder)
    second = setup(home)
    assert {file["state"] for file in second["files"]} == {"kept"}
    assert contents(folder) == made
    assert second["daemon"]["state"] == "running" and second["next"] == []
    assert curl(second["sender"]) == "200"
    # No handler is there: the daemon itself rings.
    calls = lambda: json.loads(run(*as_nobody(), RINGWAKE, "call", "list", "--json", env=home).stdout)["calls"]  # noqa: E731
    until(lambda: [call for call in calls() if call["state"] == "ringing"], 10, "the call to ring")


def test_a_second_app_and_a_second_team_are_added_to_what_is_there(home: dict[str, str], start) -> None:
    setup(home, "--listen", "127.0.0.1:0")
    start()
    door = setup(home, "--app", "com.example.door", "--exec", "/bin/true")
    states = {Path(file["path"]).name: file["state"] for file in door["files"]}
    assert states["DEVTEAM001.toml"] == "changed" and states["com.example.door.toml"] == "made"
    assert states["ringwaked.toml"] == states["server.pem"] == "kept"
    assert curl(door["sender"]) == "200"
    other = setup(home, "--team", "OTHERTEAM1", "--app", "com.example.gate")
    assert other["sender"]["keyID"] != door["sender"]["keyID"]
    assert curl(other["sender"]) == "200"
    assert curl(setup(home)["sender"]) == "200"


def test_what_is_not_named_is_the_only_one_there_is(home: dict[str, str]) -> None:
    """Neither an app nor a team of the documentation appears beside the user's own, and the sender keeps its name."""
    own = ["--app", "com.acme.phone", "--team", "ACMETEAM01"]
    setup(home, *own, "--host", "phone.example.net", "--listen", "0.0.0.0:34567")
    folder = Path(home["XDG_CONFIG_HOME"]) / "ringwake"
    again = setup(home, "--host", "voip.example.net")
    assert (again["app"], again["sender"]["teamID"]) == ("com.acme.phone", "ACMETEAM01")
    assert sorted(path.stem for path in (folder / "apps.d").iterdir()) == ["com.acme.phone"]
    second = setup(home, "--app", "com.acme.door", "--team", "ACMETEAM02")
    assert second["sender"]["host"] == "phone.example.net"
    assert not any("certificate is not for" in note for note in second["notes"]), second
    assert setup(home, "--app", "com.acme.phone")["sender"]["teamID"] == "ACMETEAM01"
    for words, names in ((["--host", "a.example.net"], "com.acme.door, com.acme.phone"),
                         (["--app", "com.acme.third"], "ACMETEAM01, ACMETEAM02")):  # fmt: skip
        assert names in setup(home, *words, status=2)["message"]


def test_a_name_is_added_to_the_certificate_and_what_it_had_stays(home: dict[str, str]) -> None:
    setup(home, "--listen", "0.0.0.0:2197", "--host", "phone.example.net")
    folder = Path(home["XDG_CONFIG_HOME"]) / "ringwake"
    before = contents(folder)
    message = setup(home, "--host", "192.0.2.7")
    assert message["sender"]["url"] == "https://192.0.2.7:2197"
    shown = json.loads(ringwake("certs", "show", folder / "certs/server.pem", "--json").stdout)
    names = shown["files"][0]["certificates"][0]["names"]
    assert names == ["localhost", "127.0.0.1", "::1", "phone.example.net", "192.0.2.7"]
    changed = {name for name, value in contents(folder).items() if before[name] != value}
    assert changed == {"certs/server.pem"}


def test_a_file_that_somebody_wrote_is_kept(home: dict[str, str]) -> None:
    setup(home, "--listen", "127.0.0.1:2197")
    folder = Path(home["XDG_CONFIG_HOME"]) / "ringwake"
    team = folder / "teams.d" / "DEVTEAM001.toml"
    team.write_text('# mine\ntopics = ["com.example.phone.voip"]\n')
    message = setup(home, "--app", "com.example.door")
    assert team.read_text().startswith("# mine")
    assert any(str(team) in note and "com.example.door.voip" in note for note in message["notes"])


def test_a_configuration_with_other_certificates_is_refused(home: dict[str, str]) -> None:
    setup(home)
    file = Path(home["XDG_CONFIG_HOME"]) / "ringwake" / "ringwaked.toml"
    (file.parent / "mine.pem").write_bytes((file.parent / "certs/server.pem").read_bytes())
    file.write_text(file.read_text().replace("certs/server.pem", "mine.pem"))
    before = contents(file.parent)
    message = setup(home, status=1)
    assert "mine.pem" in message["message"]
    assert contents(file.parent) == before
    file.write_text("nonsense = 1\n")
    assert f"{file}:1" in setup(home, status=9)["message"]


def test_what_cannot_work_is_refused_before_anything_is_written(home: dict[str, str]) -> None:
    for arguments, status in [
        (["--listen", "localhost:2197"], 2), (["--listen", "127.0.0.1"], 2), (["--exec", "relative"], 2),
        (["--exec", "/no/such/program"], 5), (["--team", "../x"], 2), (["--payload", "nonsense"], 2),
        (["--ephemeral", "--directory", "/tmp/x"], 2),
    ]:  # fmt: skip
        setup(home, *arguments, status=status)
    assert not Path(home["XDG_CONFIG_HOME"]).exists()


@pytest.mark.skipif(os.getuid() != 0, reason="giving files to others takes root")
def test_the_systems_daemon_can_read_what_root_made_and_nobody_else_can(home: dict[str, str]) -> None:
    Path(home["HOME"]).chmod(0o755)
    folder = Path(home["HOME"]) / "etc"
    folder.mkdir()
    os.chown(folder, 0, GROUP)
    folder.chmod(0o750)
    done = ringwake("setup", "--directory", folder, "--listen", "127.0.0.1:0", env=home)
    assert done.returncode == 0, done
    assert "ringwaked --config" in done.stdout
    daemon = ["setpriv", "--reuid=1234", f"--regid={GROUP}", "--clear-groups", "--"]
    check = run(*daemon, RINGWAKED, "--check-config", "--config", folder / "ringwaked.toml")
    assert check.returncode == 0, check
    for path in folder.rglob("*"):
        assert path.stat().st_uid == 0 and not path.stat().st_mode & 0o022, path
    for secret in ["certs/ca.key", f"certs/voip-services-{APP}.pem"]:
        assert run(*daemon, "cat", folder / secret).returncode != 0
    stranger = ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", "--"]
    assert run(*stranger, "cat", folder / "ringwaked.toml").returncode != 0


def test_a_key_that_was_retired_stays_retired(home: dict[str, str], start) -> None:
    setup(home, "--app", APP, "--team", "ACMETEAM01")
    start()
    team = lambda *words: run(*as_nobody(), RINGWAKE, "team", *words, env=home, cwd="/")  # noqa: E731
    keys = lambda: json.loads(team("show", "ACMETEAM01", "--json").stdout)["team"]["keys"]  # noqa: E731
    [key] = keys()
    assert team("key", "retire", "ACMETEAM01", key["id"]).returncode == 0
    again = setup(home, "--app", APP, "--team", "ACMETEAM01", "--host", "third.example.net")
    assert any(key["id"] in note and "has retired" in note for note in again["notes"]), again
    assert keys() == []
