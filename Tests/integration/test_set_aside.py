"""One wrong file of an app or a team takes that one out of use, and nothing else."""

import json
import os
import uuid
from pathlib import Path

import pytest

from support.credentials import APP, TEAM, Credentials
from support.daemon import Daemon
from support.doctor import doctor
from support.programs import run
from support.pushing import push, start_call

OTHER = "com.example.door"
WRONG = "[wake]\nexce = ['/bin/true']\n"
BAD_CONFIGURATION = 9


@pytest.fixture
def two(make_daemon) -> Daemon:
    """A daemon with two apps, which a test starts."""
    daemon = make_daemon()
    daemon.settings["team.topics"] = [f"{app}.voip" for app in (APP, OTHER)]
    daemon.add_app()
    daemon.add_app(app=OTHER)
    return daemon


def app_file(daemon: Daemon, app: str = APP) -> Path:
    return daemon.directory / "apps.d" / f"{app}.toml"


def set_aside(daemon: Daemon) -> list[dict]:
    return daemon.control.get("/v1/status")["setAside"]


def test_an_app_with_a_wrong_file_keeps_its_tokens_and_its_pushes_are_recorded(two: Daemon) -> None:
    two.start()
    token = two.device_token()
    good = app_file(two).read_text()
    two.stop()
    app_file(two).write_text(WRONG)
    two.start()
    assert "a file is wrong" in two.log and str(app_file(two)) in two.log
    app = two.control.app(APP)
    assert (app["state"], app["tokens"]["development"]) == ("broken", token)
    assert f"{app_file(two)}:2" in app["why"] and "wake.exec" in app["why"]
    [file] = set_aside(two)
    assert (file["app"], file["usesFormer"]) == (APP, False)
    shown = two.ringwake("status").stdout
    assert "its handler is not started" in shown and str(app_file(two)) in shown

    call = str(uuid.uuid4())
    assert push(two, call).status == 200
    two.control.wait_for(call, "ended", 30)
    assert two.ringwake("push", "show", call).returncode == 0
    start_call(two, OTHER)

    app_file(two).write_text(good)
    assert two.ringwake("reload").returncode == 0
    assert two.control.app(APP)["state"] == "registered" and not set_aside(two)
    assert two.device_token() == token
    start_call(two)


@pytest.mark.parametrize("bad", [WRONG, "[wake]\nconnected = true\n"], ids=["wrong", "connected"])
def test_a_call_that_waits_for_a_handler_gets_the_one_of_the_corrected_file(two: Daemon, bad: str) -> None:
    [recorder] = [recorder for recorder in two.recorders if recorder.folder.name == APP]
    good = app_file(two).read_text()
    two.calls["report"] = "20s"
    two.start()
    two.stop()
    app_file(two).write_text(bad)
    two.start()
    call = str(uuid.uuid4())
    assert push(two, call).status == 200
    # It waits for a handler that connects, and does not ring for as long as other calls.
    assert two.control.wait_for(call, "queued", 30)["deadlineMs"] <= 20_000
    app_file(two).write_text(good)
    assert two.ringwake("reload").returncode == 0
    assert recorder.wait(call).environment["RINGWAKE_CALL"] == call


def test_a_reload_keeps_what_the_file_said_before_and_applies_the_rest(two: Daemon) -> None:
    two.start()
    app_file(two).write_text(WRONG)
    app_file(two, OTHER).unlink()
    done = two.ringwake("reload")
    assert done.returncode == BAD_CONFIGURATION, done
    assert "what it said before is in force" in done.stdout and str(app_file(two)) in done.stdout
    assert done.stdout.startswith("reloaded, except one file that is wrong:"), done
    assert [app["app"] for app in two.control.get("/v1/apps")["apps"]] == [APP]
    doctor(two).problem("configuration", "what it said before is in force", str(app_file(two)), "ringwake reload")
    start_call(two)
    assert "what it said before is in force" in two.ringwake("app", "show", APP).stdout
    two.control.post("/v1/reload")
    start_call(two)


def test_an_app_can_be_added_beside_a_wrong_file_and_a_wrong_one_can_be_removed(two: Daemon) -> None:
    app_file(two).write_text(WRONG)
    two.start()
    assert two.ringwake("app", "add", "com.example.new", "--exec", "/bin/true").returncode == 0
    done = two.ringwake("app", "add", APP, "--unit", "no unit", "--replace", "--force")
    assert done.returncode == BAD_CONFIGURATION and "nothing was changed" in done.stderr, done
    assert app_file(two).read_text() == WRONG
    assert two.ringwake("app", "remove", APP).returncode == 0
    assert not app_file(two).exists() and not set_aside(two)


def test_a_team_with_a_wrong_file_is_listed_and_can_be_removed(two: Daemon, tmp_path: Path) -> None:
    """The former rules stay in force until a restart; whoever wants to end that needs no editor."""
    two.start()
    team = "ACMETEAM01"
    assert two.ringwake("team", "add", team, "--topic", "com.acme.phone.voip").returncode == 0
    file = two.directory / "teams.d" / f"{team}.toml"
    good = file.read_text()
    file.write_text(good + "= nonsense\n")
    assert two.ringwake("reload").returncode == BAD_CONFIGURATION
    assert f"{team}: what it said before is in force" in two.ringwake("team", "list").stdout
    shown = two.ringwake("team", "show", team)
    assert shown.returncode == BAD_CONFIGURATION and f"{file}:" in shown.stderr, shown
    added = two.ringwake("team", "add", team, "--topic", "com.acme.phone.voip")
    assert added.returncode == 1 and "--replace" in added.stderr and "nonsense" in file.read_text(), added
    removed = two.ringwake("team", "remove", team)
    assert removed.returncode == 0 and not file.exists(), removed
    assert not set_aside(two) and team not in two.ringwake("team", "list").stdout


def test_a_team_whose_key_is_lost_sends_as_before_until_the_daemon_starts_again(two: Daemon, tmp_path: Path) -> None:
    own = two.credentials = Credentials.make(tmp_path / "own")
    two.start()
    key = own.token_public_key.read_bytes()
    own.token_public_key.write_bytes(b"")
    done = two.ringwake("reload")
    assert done.returncode == BAD_CONFIGURATION and str(own.token_public_key) in done.stdout, done
    start_call(two)
    two.stop()
    two.start()
    assert [(file["team"], file["usesFormer"]) for file in set_aside(two)] == [(TEAM, False)]
    assert push(two, str(uuid.uuid4())).status == 403
    own.token_public_key.write_bytes(key)
    assert two.ringwake("reload").returncode == 0
    start_call(two)


def test_a_reload_names_what_cannot_work(two: Daemon) -> None:
    two.start()
    two.set_handler(["/nonexistent/handler"])
    done = two.ringwake("reload")
    assert done.returncode == 0 and "cannot work: " in done.stdout and "/nonexistent/handler" in done.stdout
    assert "a handler cannot be woken as configured" in two.log


def test_status_shows_how_the_last_reload_ended(two: Daemon) -> None:
    two.start()
    assert "reload" not in two.control.get("/v1/status")
    text = two.text()
    two.write_configuration(text + "nonsense\n")
    assert two.ringwake("reload").returncode == BAD_CONFIGURATION
    failed = two.control.get("/v1/status")["reload"]
    assert str(two.configuration) in failed["why"] and failed["needsRestart"] == []
    assert "the last reload failed" in two.ringwake("status").stdout
    two.write_configuration(text.replace('level = "info"', 'level = "debug"'))
    assert two.ringwake("reload").returncode == 0
    assert two.control.get("/v1/status")["reload"]["needsRestart"] == ["log.level"]
    two.write_configuration("nonsense\n")
    two.ringwake("reload")
    assert two.control.get("/v1/status")["reload"]["needsRestart"] == ["log.level"], "it still waits"


def test_drop_ins_change_settings_and_config_show_names_their_lines(two: Daemon) -> None:
    folder = Path(f"{two.configuration}.d")
    folder.mkdir()
    (folder / "50-calls.toml").write_text('[calls]\nring = "77s"\n')
    two.start()
    shown = two.ringwake("config", "show", "--origin")
    assert shown.returncode == 0, shown
    [line] = [line for line in shown.stdout.splitlines() if line.startswith("calls.ring ")]
    assert line.split("#") == [line.split("#")[0], f" {folder / '50-calls.toml'}:2"] and "77s" in line
    assert any(line.startswith("journal.keep = 30d") and line.endswith("# default") for line in shown.stdout.splitlines())
    settings = json.loads(two.ringwake("config", "show", "--json").stdout)["settings"]
    assert all("file" in setting for setting in settings)
    (folder / "60-wrong.toml").write_text('\n[calls]\nrign = "77s"\n')
    done = two.ringwake("reload")
    assert done.returncode == BAD_CONFIGURATION and f"{folder / '60-wrong.toml'}:3" in done.stderr, done
    start_call(two)


def test_a_ring_command_that_is_missing_is_found_before_it_has_to_ring(two: Daemon) -> None:
    two.sections["ring"] = 'command = ["/nowhere/ring"]'
    done = two.run_to_its_end("--check-config")
    assert done.returncode == BAD_CONFIGURATION and "'ring.command': /nowhere/ring" in done.stderr, done
    two.start()
    assert "/nowhere/ring" in two.log


@pytest.mark.skipif(os.getuid() != 0, reason="becoming another user takes root")
def test_the_check_is_made_as_the_user_of_the_daemon(two: Daemon) -> None:
    """Root can read what that user cannot: here the key of the server."""
    assert two.run_to_its_end("--check-config").returncode == 0
    two.directory.chmod(0o755)
    two.configuration.chmod(0o644)
    done = run(*two.command("--check-config", "--as", "nobody"), cwd="/")
    assert done.returncode == BAD_CONFIGURATION, done
    assert str(two.credentials.server_key) in done.stderr and "checked as the user nobody" in done.stderr, done
    assert run(*two.command("--check-config", "--as", "no-such-user"), cwd="/").returncode == 5
