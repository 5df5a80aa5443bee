"""A configuration that cannot work: each fault with a message that says what to do, and its exit status."""

import os
import shutil
import socket

import pytest

from support.credentials import APP, Credentials
from support.daemon import Daemon, owns_nothing
from support.programs import as_nobody, ringwake
from support.pushing import start_call

BAD_CONFIGURATION = 9
FAILED = 1
NOT_FOUND = 5


def refusal(daemon: Daemon, *arguments: object, status: int, says: list[str]) -> str:
    """Starts the daemon, which is to end with `status` and to say all this on one line."""
    done = daemon.run_to_its_end(*arguments)
    assert done.returncode == status, done
    [line] = [line for line in done.stderr.splitlines() if all(word in line for word in says)] or [None]
    assert line, f"no line with {says} in:\n{done.stderr}"
    return line


@pytest.fixture
def broken(make_daemon) -> Daemon:
    """A daemon that a test spoils before it starts."""
    daemon = make_daemon()
    daemon.add_app()
    return daemon


def test_a_good_configuration_passes(broken: Daemon) -> None:
    done = broken.run_to_its_end("--check-config")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.endswith(" is good: 1 listener, 1 app\n")
    assert not (broken.directory / "run").exists(), "--check-config changes nothing"
    assert not (broken.directory / "state").exists()


def test_a_configuration_that_is_not_there(broken: Daemon) -> None:
    done = broken.run_to_its_end("--config", broken.directory / "nowhere.toml")
    assert done.returncode in (NOT_FOUND, BAD_CONFIGURATION), done
    assert "nowhere.toml" in done.stderr and "No such file" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("state_directory", "state_directroy", [":2", "state_directroy", "state_directory"]),
        ("certificate =", "certificat =", ["server", "certificat", "certificate"]),
        ("[calls]", "[calls]\nrign = '45s'", ["rign", "ring"]),
        ("[calls]", "[cals]", ["cals", "calls"]),
        ("[calls]", "[calls]\nring = '45 parsecs'", ["calls.ring", "5s"]),
        ("[calls]", "[calls]\nring = '400d'", ["calls.ring", "at most", "366d"]),
        ("[calls]", "[calls]\nring = -1", ["ring"]),
        ("[calls]", "[calls]\nring = '99999999999999999999h'", ["ring"]),
        ('level = "info"', 'level = "chatty"', ["level", "chatty", "info"]),
        ("[server]", "[server", ["ringwaked.toml:4"]),
        ("[log]", '[log]\nlevel = "info"', ["level"]),
        ("[log]", "[[[log", [":20", "malformed"]),
        ("address = ", "adress = ", ["adress", "address"]),
        ('environment = "development"', 'environment = "staging"', ["environment", "staging"]),
        ("127.0.0.1:0", "127.0.0.1:65536", ["address"]),
        ("127.0.0.1:0", "localhost", ["address"]),
        ('id = "DEVTEAM001"', "id = 12", ["id"]),
        ("provider_cas = [", "provider_cas = [1, ", ["provider_cas"]),
        ("[[team.key]]", "[[team.key]]\nsecret = 'x'", ["secret"]),
    ],
)
@pytest.mark.parametrize("arguments", [["--check-config"], []], ids=["check", "start"])
def test_a_wrong_setting_is_named_with_file_and_key(
    broken: Daemon, arguments: list[str], old: str, new: str, says: list[str]
) -> None:
    assert old in broken.text()
    broken.write_configuration(broken.text().replace(old, new, 1))
    refusal(broken, *arguments, status=BAD_CONFIGURATION, says=["ringwaked.toml", *says])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[wake]\nexec = 'one string'", ["exec"]),
        ("[wake]\nexec = []", ["exec"]),
        ("[wake]\nexec = ['relative/path']", ["exec", "absolute"]),
        ("[wake]\nexce = ['/bin/true']", ["exce", "exec"]),
        ("wake = 1", ["wake"]),
        ("", ["wake"]),
        ("[wake\n", [":1"]),
        ("\x00\x01\xff", []),
    ],
)
def test_a_wrong_app_file_is_named(broken: Daemon, text: str, says: list[str]) -> None:
    (broken.directory / "apps.d" / f"{APP}.toml").write_bytes(text.encode("latin-1"))
    refusal(broken, "--check-config", status=BAD_CONFIGURATION, says=[f"{APP}.toml", *says])


def test_a_handler_that_is_not_there_is_named_with_its_file_and_setting(broken: Daemon) -> None:
    broken.set_handler(["/nowhere/handler"])
    line = refusal(broken, "--check-config", status=BAD_CONFIGURATION, says=["wake.exec", "/nowhere/handler"])
    assert line.count(f"{APP}.toml") == 1, line


def test_an_app_file_whose_name_is_no_bundle_id(broken: Daemon) -> None:
    (broken.directory / "apps.d" / "..toml").write_text("[wake]\nexec = ['/bin/true']\n")
    (broken.directory / "apps.d" / "not an app.toml").write_text("[wake]\nexec = ['/bin/true']\n")
    refusal(broken, "--check-config", status=BAD_CONFIGURATION, says=["not an app", "bundle id"])


@pytest.mark.parametrize("place", ["server.certificate", "server.key", "team.key.file"])
@pytest.mark.parametrize("fault", ["missing", "empty", "garbage", "directory"])
def test_a_credential_that_cannot_be_used(broken: Daemon, place: str, fault: str) -> None:
    file = broken.directory / "credential"
    match fault:
        case "empty":
            file.write_bytes(b"")
        case "garbage":
            file.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + os.urandom(1000))
        case "directory":
            file.mkdir()
    broken.settings[place] = str(file)
    # A team without its key is set aside, and the daemon starts.
    for arguments in (["--check-config"], []) if place.startswith("server") else (["--check-config"],):
        line = refusal(broken, *arguments, status=BAD_CONFIGURATION, says=[str(file)])
        assert fault != "missing" or "ringwake setup" in line, "it helps as it stands"


def test_a_provider_ca_that_is_none(broken: Daemon) -> None:
    file = broken.directory / "ca.pem"
    file.write_text("this is no certificate")
    broken.settings["server.provider_cas"] = [str(file)]
    done = broken.run_to_its_end("--check-config")
    assert done.returncode == BAD_CONFIGURATION, done
    assert "PEM" in done.stderr or "certificate" in done.stderr


def test_a_key_that_is_not_the_certificates(broken: Daemon, foreign_credentials: Credentials) -> None:
    broken.settings["server.key"] = str(foreign_credentials.server_key)
    for arguments in (["--check-config"], []):
        line = refusal(broken, *arguments, status=BAD_CONFIGURATION, says=[str(foreign_credentials.server_key)])
        assert "match" in line or "belong" in line, line


def test_a_listener_without_a_certificate(broken: Daemon) -> None:
    broken.write_configuration("[[listener]]\naddress = '127.0.0.1:0'\n")
    refusal(broken, "--check-config", status=BAD_CONFIGURATION, says=["listener", "server"])


def test_a_port_that_is_taken(broken: Daemon) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        broken.address = f"127.0.0.1:{port}"
        broken.write_configuration()
        refusal(broken, status=FAILED, says=[f"127.0.0.1:{port}", "another process"])
    broken.start().check_alive()


def test_a_second_daemon_leaves_the_first_alone(broken: Daemon) -> None:
    broken.start()
    done = broken.run_to_its_end()
    assert done.returncode == FAILED, done
    assert "use" in done.stderr or "runs" in done.stderr, done.stderr
    assert "daemon" in done.stderr or "ringwaked" in done.stderr
    start_call(broken)
    broken.check_alive()


def test_the_control_socket_of_a_dead_daemon_is_replaced(broken: Daemon) -> None:
    broken.start().kill()
    assert broken.control_socket.is_socket(), "kill -9 leaves it"
    broken.start()
    start_call(broken)


def test_something_else_in_the_control_sockets_place(broken: Daemon) -> None:
    broken.control_socket.parent.mkdir()
    broken.control_socket.write_text("precious")
    done = broken.run_to_its_end()
    assert done.returncode == FAILED, done
    assert str(broken.control_socket) in done.stderr
    assert broken.control_socket.read_text() == "precious"


def test_a_file_in_the_state_directorys_place(broken: Daemon) -> None:
    (broken.directory / "state").write_text("")
    done = broken.run_to_its_end()
    assert done.returncode == FAILED, done
    assert str(broken.directory / "state") in done.stderr


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_a_state_directory_that_is_not_writable(make_daemon) -> None:
    daemon = make_daemon(user=as_nobody())
    daemon.add_app()
    (daemon.directory / "state").mkdir()
    (daemon.directory / "run").mkdir()
    owns_nothing(daemon.directory / "run")
    keep_private_keys_readable(daemon)
    done = daemon.run_to_its_end()
    assert done.returncode == FAILED, done
    assert str(daemon.directory / "state") in done.stderr
    assert "ermission denied" in done.stderr


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_it_runs_for_any_user_who_owns_its_folders(make_daemon) -> None:
    daemon = make_daemon(user=as_nobody())
    daemon.add_app("true")
    keep_private_keys_readable(daemon)
    owns_nothing(daemon.directory)
    daemon.start()
    start_call(daemon)


def keep_private_keys_readable(daemon: Daemon) -> None:
    """Copies the credentials to where the other user can read them."""
    copy = daemon.directory / "certs"
    shutil.copytree(daemon.credentials.directory, copy)
    owns_nothing(copy)
    copy.chmod(0o755)
    daemon.credentials = Credentials(copy)


def test_state_of_a_newer_version_is_left_alone(broken: Daemon) -> None:
    broken.start().stop()
    file = broken.directory / "state" / "tokens.json"
    state = b'{"schema":99}'
    file.write_bytes(state)
    done = broken.run_to_its_end()
    assert done.returncode != 0, "tokens that cannot be read are not silently made anew"
    assert str(file) in done.stderr
    assert file.read_bytes() == state


def test_the_command_line_without_a_daemon(broken: Daemon) -> None:
    done = ringwake("status", env=broken.environment())
    assert done.returncode == 3, done
    assert str(broken.control_socket) in done.stderr


@pytest.mark.parametrize("arguments", [["--no-such-option"], ["what"]])
def test_wrong_arguments_are_a_usage_error(broken: Daemon, arguments: list[str]) -> None:
    done = broken.run_to_its_end(*arguments)
    assert done.returncode == 2, done
    assert arguments[0] in done.stderr and "--help" in done.stderr
