"""`ringwake certs renew` and the daemon that uses the certificates: renewed, expired, and of another user."""

import datetime
import json
import os
import ssl
import tempfile
import uuid
from pathlib import Path

import pytest
from cryptography import x509

from support.credentials import Credentials
from support.daemon import Daemon
from support.programs import ringwake, run
from support.pushing import push

GROUP = 65534


@pytest.fixture
def own(tmp_path: Path) -> Credentials:
    """Credentials of this test's own, which it may change."""
    return Credentials.make(tmp_path / "certs")


@pytest.fixture
def renewable(make_daemon, own: Credentials) -> Daemon:
    daemon = make_daemon(credentials=own)
    daemon.add_app()
    return daemon.start()


def served(daemon: Daemon) -> x509.Certificate:
    """The certificate that a sender sees now."""
    host, port = daemon.host_and_port
    return x509.load_pem_x509_certificate(
        ssl.get_server_certificate((host, port), ca_certs=str(daemon.credentials.ca)).encode()
    )


def expire(credentials: Credentials) -> None:
    """Replaces the server certificate by one that ended a day ago."""
    day = datetime.timedelta(days=1)
    credentials.reissue_server(-30 * day, -day)


def test_a_running_daemon_serves_the_renewed_certificate_and_senders_go_on(renewable: Daemon) -> None:
    before = served(renewable)
    password = {"RINGWAKE_PASSWORD": "open sesame"}
    done = renewable.ringwake("certs", "renew", "--all", "--json", env=password)
    assert done.returncode == 0, done
    report = json.loads(done.stdout)
    assert report["daemon"] == "reloaded"
    assert [file["state"] for file in report["files"]] == ["renewed", "renewed"]
    after = served(renewable)
    assert after.serial_number != before.serial_number
    assert after.public_key() == before.public_key()
    assert push(renewable, str(uuid.uuid4())).status == 200
    again = renewable.ringwake("certs", "renew")
    assert again.returncode == 0 and "Nothing to renew" in again.stdout, again


def test_a_reload_keeps_a_good_certificate_instead_of_an_expired_one(renewable: Daemon) -> None:
    before = served(renewable)
    expire(renewable.credentials)
    done = renewable.ringwake("reload")
    assert done.returncode == 9, done
    for word in (str(renewable.credentials.server_certificate), "expired on", "certs renew"):
        assert word in done.stderr
    assert served(renewable) == before
    # The file alone says what is to be renewed.
    assert renewable.ringwake("certs", "renew").returncode == 0
    assert served(renewable).serial_number != before.serial_number
    assert push(renewable, str(uuid.uuid4())).status == 200


def test_a_daemon_with_an_expired_certificate_takes_whatever_it_is_given(make_daemon, own: Credentials) -> None:
    expire(own)
    daemon = make_daemon(credentials=own)
    daemon.add_app()
    daemon.start()
    expire(own)
    assert daemon.ringwake("reload").returncode == 0
    assert daemon.ringwake("certs", "renew").returncode == 0
    assert push(daemon, str(uuid.uuid4())).status == 200


@pytest.mark.skipif(os.getuid() != 0, reason="giving files to others takes root")
@pytest.mark.parametrize("command", [["dev-ca", "--force"], ["renew", "--all"]], ids=["dev-ca", "renew"])
def test_a_daemon_of_another_user_can_read_what_root_renewed(command: list[str]) -> None:
    """As the system's daemon: the folder is root's, and its group reads it."""
    with tempfile.TemporaryDirectory(prefix="ringwake-certs-") as parent:
        os.chmod(parent, 0o755)
        folder = Path(parent) / "certs"
        folder.mkdir()
        os.chown(folder, 0, GROUP)
        folder.chmod(0o750)
        Credentials.make(folder)
        done = ringwake(
            "certs", *command, "--directory", folder, "--p12-password-file", "-", input="open sesame", stdin=None,
            env={"RINGWAKE_SOCKET": "/nonexistent"},
        )  # fmt: skip
        assert done.returncode == 0, done
        reader = ["setpriv", "--reuid=1234", f"--regid={GROUP}", "--clear-groups", "--", "cat"]
        for name in ("server.pem", "server.key", "ca.pem"):
            read = run(*reader, folder / name)
            assert read.returncode == 0, read.stderr
        assert run(*reader, folder / "ca.key").returncode != 0
