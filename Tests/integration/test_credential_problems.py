"""Problems of certificates and keys: each is made for real, and named in the log, the status and by the doctor."""

import datetime
import json
import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509

from support import processes, programs
from support.credentials import TEAM, Credentials
from support.daemon import Daemon, owns_nothing
from support.doctor import doctor
from support.netns import Namespace, unavailable
from support.programs import as_nobody
from support.waiting import until

DAY = datetime.timedelta(days=1)

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user and to mount")


@pytest.fixture
def own(tmp_path: Path) -> Credentials:
    """Credentials of this test's own, which it may change."""
    return Credentials.make(tmp_path / "certs")


def connecting(network: Namespace) -> list[int]:
    """The command's process in the network, once a connection of it waits for an answer."""
    pids = subprocess.run(["ip", "netns", "pids", network.name], capture_output=True, text=True, check=True).stdout
    syn_sent, found = "02", []
    for pid in pids.split():
        # One may end as it is looked at.
        with suppress(OSError):
            states = [line.split()[3] for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
            if Path(f"/proc/{pid}/comm").read_text() == "ringwake\n" and syn_sent in states:
                found.append(int(pid))
    return found


def problems(daemon: Daemon) -> list[str]:
    """The words of the status."""
    return [one["problem"] for one in daemon.control.status()["problems"]]


DATES = {
    "expired": (-30 * DAY, -DAY, "it expired on", "certs renew"),
    "ends-soon": (-DAY, 9.5 * DAY, "it expires in 9 days", "certs renew"),
    "not-yet-valid": (DAY, 90 * DAY, "it is not valid before", "set this machine's clock"),
}


@pytest.mark.parametrize("word", DATES)
def test_dates_are_named_everywhere(make_daemon, own: Credentials, word: str) -> None:
    start, end, text, advice = DATES[word]
    # What no sender accepts is no good configuration, although a daemon starts with it.
    status = 0 if word == "ends-soon" else 9
    own.reissue_server(start, end)
    daemon = make_daemon(credentials=own)
    daemon.add_app()
    check = daemon.run_to_its_end("--check-config")
    warning = "" if status else "warning: "
    assert check.returncode == status and f"ringwaked: {warning}{own.server_certificate}: {text}" in check.stderr, check
    listed = json.loads(daemon.run_to_its_end("--check-config", "--json").stdout)["problems"]
    assert [one["problem"] for one in listed] == [word]
    daemon.start()
    daemon.log_mentions(f"a certificate or key has a problem file={own.server_certificate} problem={word}")
    assert daemon.control.status()["problems"] == listed
    assert text in daemon.ringwake("status").stdout
    doctor(daemon).problem("certificates", str(own.server_certificate), text, advice)
    shown = programs.ringwake("certs", "show", own.server_certificate, "--json")
    assert [one["problem"] for one in json.loads(shown.stdout)["files"][0]["problems"]] == [word]
    lines = daemon.log.count("a certificate or key has a problem")
    assert daemon.ringwake("reload").returncode == 0
    assert daemon.log.count("a certificate or key has a problem") == lines + 1
    # Repaired, it is in order.
    own.reissue_server(-DAY, 90 * DAY)
    assert problems(daemon) == ["not-loaded"]
    doctor(daemon).problem("certificates", "still uses", "ringwake reload")
    assert daemon.ringwake("reload").returncode == 0
    assert problems(daemon) == []
    assert doctor(daemon).bad() == []


def test_a_certificate_that_is_for_no_server(make_daemon, own: Credentials) -> None:
    own.reissue_server(-DAY, 90 * DAY, x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.CLIENT_AUTH]))
    daemon = make_daemon(credentials=own)
    daemon.add_app()
    daemon.start()
    assert problems(daemon) == ["no-server-purpose"]
    doctor(daemon).problem("certificates", "does not allow a TLS server", "serverAuth")


def test_a_file_of_cas_without_a_ca(make_daemon, own: Credentials) -> None:
    daemon = make_daemon(credentials=own)
    daemon.settings["server.provider_cas"] = [str(own.ca), str(own.server_certificate)]
    daemon.add_app()
    daemon.start()
    assert problems(daemon) == ["no-ca"]
    doctor(daemon).problem("certificates", str(own.server_certificate), "is no CA")


def test_two_teams_with_one_key(daemon: Daemon) -> None:
    folder = daemon.directory / "teams.d"
    folder.mkdir()
    key = daemon.credentials.token_public_key
    (folder / "OTHER00001.toml").write_text(f'[[key]]\nid = "OTHERKEY01"\nfile = "{key}"\n')
    assert daemon.ringwake("reload").returncode == 0
    assert sorted(problems(daemon)) == ["other-key", "shared-key"]
    report = doctor(daemon)
    report.problem("certificates", TEAM, "OTHER00001", "whoever has it can send as both")
    report.problem("certificates", "OTHERKEY01", f"its name says {daemon.credentials.key_id}")


@pytest.mark.parametrize("runs", [True, False])
def test_a_key_of_another_certificate(make_daemon, own: Credentials, foreign_credentials, runs: bool) -> None:
    daemon = make_daemon(credentials=own)
    daemon.add_app()
    if runs:
        daemon.start()
    shutil.copy(foreign_credentials.server_key, own.server_key)
    daemon.write_configuration()
    report = doctor(daemon)
    assert report.status == 9
    report.problem("certificates", str(own.server_key), "it is not the key of the certificate")
    report.problem("configuration", "does not belong to its certificate")


@needs_root
@pytest.mark.parametrize("runs", [True, False])
def test_a_key_that_only_root_may_read(make_daemon, runs: bool) -> None:
    """Root renewed it, and the daemon is another user's: its next start would fail."""
    daemon = make_daemon(user=as_nobody())
    own = Credentials.make(daemon.directory / "certs")
    daemon.credentials = own
    daemon.add_app()
    daemon.write_configuration()
    owns_nothing(daemon.directory)
    if runs:
        daemon.start()
    os.chown(own.server_key, 0, 0)
    own.server_key.chmod(0o600)
    if runs:
        assert problems(daemon) == ["unreadable"]
        report = doctor(daemon)
    else:
        done = daemon.run_to_its_end("--check-config")
        assert done.returncode == 9, done
        report = doctor(daemon, *as_nobody())
    assert report.status == 9
    report.problem("certificates", str(own.server_key), "Permission denied", "user 65534")
    own.server_key.chmod(0o644)
    if runs:
        assert problems(daemon) == []


@pytest.mark.skipif(bool(unavailable()), reason="needs root: it makes network namespaces")
def test_names_that_no_sender_elsewhere_can_use_and_a_port_that_nobody_reaches(make_daemon, own: Credentials) -> None:
    with Namespace() as network:
        own.reissue_server(-DAY, 90 * DAY, x509.SubjectAlternativeName([x509.DNSName("localhost")]))
        daemon = make_daemon(credentials=own, address="0.0.0.0:0", user=network.command())
        daemon.add_app()
        daemon.start()
        assert problems(daemon) == ["wrong-names"]
        inside = ("ip", "netns", "exec", network.name)
        report = doctor(daemon, *inside)
        report.problem("certificates", "0.0.0.0", "(localhost)", "setup --host")
        assert not [one for one in report.findings if "loopback" in one["message"]]
        own.reissue_server(-DAY, 90 * DAY, x509.SubjectAlternativeName([x509.DNSName("phone.example.org")]))
        assert daemon.ringwake("reload").returncode == 0
        assert problems(daemon) == []
        network.ip("link", "set", "lo", "down")
        doctor(daemon, *inside).problem("ports", "takes no push", "no answer in time")
        # Stopping the process interrupts connect(2), as a sleep of the machine does. The doctor continues it.
        with ThreadPoolExecutor() as threads:
            report = threads.submit(doctor, daemon, *inside)
            pid = until(lambda: connecting(network), 10, "the doctor to connect")[0]
            # On a very busy machine its time may be over by now.
            with suppress(ProcessLookupError):
                processes.stop(pid)
                os.kill(pid, signal.SIGCONT)
            report.result().problem("ports", "takes no push", "no answer in time")
