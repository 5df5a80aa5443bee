"""`ringwake team` against a real daemon: who may send, from the next push on."""

import json
import shutil
from pathlib import Path

import pytest

from support.credentials import APP, TOPIC, Credentials
from support.daemon import Daemon
from support.programs import ringwake

TEAM = "OTHERTEAM1"


@pytest.fixture
def other(tmp_path: Path) -> Credentials:
    """Another sender, with a key of its own."""
    return Credentials.make(tmp_path / "other", team=TEAM)


def send(daemon: Daemon, sender: Credentials, team: str = TEAM) -> tuple[int, str]:
    """A push with the sender's key: the exit status, and what was printed."""
    host, port = daemon.host_and_port
    done = ringwake(
        "push", "--token", daemon.device_token(), "--host", host, "--port", port, "--ca", daemon.credentials.ca,
        "--topic", TOPIC, "--key", sender.token_key, "--team", team,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def team(daemon: Daemon, *arguments: object, status: int = 0) -> str:
    done = daemon.ringwake("team", *arguments)
    assert done.returncode == status, done
    return done.stdout + done.stderr


def test_a_file_that_is_no_token_key_is_refused(daemon: Daemon, other: Credentials) -> None:
    team(daemon, "add", TEAM, "--app", APP)
    for file in (other.ca, daemon.configuration):
        assert str(file) in team(daemon, "key", "add", TEAM, file, "--key-id", "ABC123DEFG", status=1)
    assert json.loads(team(daemon, "show", TEAM, "--json"))["team"]["keys"] == []
    assert "note: Apple's key ids" in team(daemon, "key", "add", TEAM, other.token_key, "--key-id", "mine")


def test_dev_ca_names_what_remains_to_be_done(make_daemon, tmp_path: Path) -> None:
    directory = tmp_path / "certs"
    daemon = make_daemon(credentials=Credentials.make(directory))
    daemon.add_app()
    daemon.start()
    done = daemon.ringwake("certs", "dev-ca", "--directory", directory, "--app", APP, "--app", "com.example.door")
    assert done.returncode == 0, done
    # The daemon uses the directory, and has the team and the first app.
    assert "[server]" not in done.stdout and "[[team]]" not in done.stdout
    assert f"Add to the topics of team DEVTEAM001, in {daemon.configuration}: com.example.door.voip" in done.stdout
    assert f"Then:\n  ringwake reload\n  ringwake push --app {APP} --trace\n" in done.stdout
    assert "  ringwake app add com.example.door --exec" in done.stdout
    # A team that is new.
    done = daemon.ringwake("certs", "dev-ca", "--directory", directory, "--app", "com.example.gate", "--team", TEAM)
    assert "[server]" not in done.stdout and f'[[team]]\nid = "{TEAM}"' in done.stdout


def test_a_team_may_send_from_when_it_is_added_until_its_key_is_retired(daemon: Daemon, other: Credentials) -> None:
    assert send(daemon, other)[0] == 7
    shown = team(daemon, "add", TEAM, "--app", APP, "--key", other.token_key)
    assert other.key_id in shown and "the daemon uses it now" in shown
    assert send(daemon, other)[0] == 0
    file = daemon.directory / "teams.d" / f"{TEAM}.toml"
    assert "PRIVATE KEY" not in file.read_text() and "PUBLIC KEY" in file.read_text()
    assert TEAM in daemon.control.app(APP)["teams"]

    successor = file.parent.parent / "AuthKey_SUCCESSOR1.p8"
    shutil.copy(Credentials.make(daemon.directory / "new", team=TEAM).token_key, successor)
    team(daemon, "key", "add", TEAM, successor)
    assert [key["id"] for key in json.loads(team(daemon, "show", TEAM, "--json"))["team"]["keys"]] == [
        other.key_id, "SUCCESSOR1",
    ]  # fmt: skip
    assert send(daemon, other)[0] == 0
    team(daemon, "key", "retire", TEAM, other.key_id)
    status, text = send(daemon, other)
    assert (status, "InvalidProviderToken" in text) == (7, True)
    team(daemon, "remove", TEAM)
    assert not file.exists()
    assert TEAM not in daemon.control.app(APP)["teams"]


def test_topics_are_replaced_and_keys_stay(daemon: Daemon, other: Credentials) -> None:
    team(daemon, "add", TEAM, "--app", "com.example.door", "--key", other.token_key)
    assert send(daemon, other)[0] == 7
    team(daemon, "add", TEAM, "--app", APP, status=1)
    team(daemon, "add", TEAM, "--app", APP, "--replace")
    assert send(daemon, other)[0] == 0


def test_a_team_of_ringwaked_toml_is_left_to_its_author(daemon: Daemon) -> None:
    before = daemon.configuration.read_text()
    for arguments in (["remove"], ["key", "retire"]):
        done = daemon.ringwake("team", *arguments, "DEVTEAM001", *([daemon.credentials.key_id] if len(arguments) > 1 else []))
        assert done.returncode == 1 and str(daemon.configuration) in done.stderr, done
    assert "DEVTEAM001" in team(daemon, "list")
    assert daemon.configuration.read_text() == before


def test_a_team_in_two_places_is_refused_and_both_are_named(daemon: Daemon) -> None:
    file = daemon.directory / "teams.d" / "DEVTEAM001.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text('topics = ["com.example.phone.voip"]\n')
    done = daemon.ringwake("reload")
    assert done.returncode == 9
    for path in (file, daemon.configuration):
        assert str(path) in done.stdout, done
    assert send(daemon, daemon.credentials, "DEVTEAM001")[0] == 0, "the one of ringwaked.toml counts"


def test_a_file_that_the_daemon_refuses_changes_nothing(daemon: Daemon, other: Credentials) -> None:
    daemon.configuration.write_text(daemon.text() + "nonsense\n")
    done = daemon.ringwake("team", "add", TEAM, "--app", APP, "--key", other.token_key)
    assert done.returncode == 9, done
    assert not (daemon.directory / "teams.d" / f"{TEAM}.toml").exists()


def test_app_add_says_when_no_team_may_send_to_the_app(daemon: Daemon) -> None:
    done = daemon.ringwake("app", "add", "com.example.door", "--exec", "/bin/true")
    assert done.returncode == 0 and "ringwake team add ID --app com.example.door" in done.stdout, done
    team(daemon, "add", TEAM, "--app", "com.example.door")
    assert TEAM in daemon.ringwake("app", "show", "com.example.door").stdout


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["add", TEAM], 2),
        (["add", "../x", "--app", APP], 2),
        (["add", TEAM, "--all-topics", "--topic", TOPIC], 2),
        (["add", TEAM, "--app", APP, "--key", "/etc/hostname"], 2),
        (["add", TEAM, "--app", APP, "--key", "/etc/hostname", "--key-id", "ABC123DEFG"], 1),
        (["show", TEAM], 5),
        (["remove", TEAM], 5),
        (["key", "retire", "DEVTEAM001", "NONE"], 5),
    ],
)
def test_exit_codes(daemon: Daemon, arguments: list[str], status: int) -> None:
    assert daemon.ringwake("team", *arguments).returncode == status
    assert not (daemon.directory / "teams.d").exists()
