"""Senders with certificates that Apple issued: its CA is trusted, the teams say who may send, and only push certificates
count (decision 0050). The certificates have the shape of Apple's; `support.apple` makes them."""

import json
import ssl
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from support.apple import INTERMEDIATE, NULL, TEAM, Apple
from support.credentials import APP, TOPIC
from support.daemon import Daemon
from support.h2client import H2Client
from support.programs import run

STRANGER = "ZYXWV98765"


@pytest.fixture(scope="module")
def apple(tmp_path_factory: pytest.TempPathFactory) -> Apple:
    folder = tmp_path_factory.mktemp("apple")
    folder.chmod(0o755)
    return Apple(folder / "ca")


@pytest.fixture
def trusting(make_daemon: Callable[..., Daemon]) -> Callable[..., Daemon]:
    """Makes a running daemon that trusts these CAs beside its own, and has the team of the tests."""

    def make(*authorities: Path) -> Daemon:
        daemon = make_daemon()
        daemon.settings["server.provider_cas"] = [str(path) for path in (daemon.credentials.ca, *authorities)]
        daemon.add_app()
        daemon.start()
        done = daemon.ringwake("team", "add", TEAM, "--app", APP)
        assert done.returncode == 0, done
        assert (daemon.directory / "teams.d" / f"{TEAM}.toml").exists()
        return daemon

    return make


def push(daemon: Daemon, certificate: Path, *options: object) -> str:
    """What a sender gets for a push: the status and the reason."""
    done = run(
        "curl", "--silent", "--show-error", "--http2", "--cacert", daemon.credentials.ca, "--cert", certificate,
        "--data-binary", "{}", "--write-out", "\n%{http_code}", *options, f"{daemon.url}/3/device/{daemon.device_token()}",
    )  # fmt: skip
    assert done.returncode == 0, done
    body, _, status = done.stdout.rpartition("\n")
    return f"{status} {json.loads(body)['reason']}" if body else status


def cause(daemon: Daemon) -> str:
    """Why the last push was refused."""
    return daemon.control.get("/v1/refusals?limit=1")["refusals"][0]["cause"]


def test_the_intermediate_as_apple_offers_it_is_enough(trusting: Callable[..., Daemon], apple: Apple) -> None:
    daemon = trusting(apple.intermediate_file)
    call = str(uuid.uuid4())
    assert push(daemon, apple.provider("sender"), "--header", f"apns-id: {call}") == "200"
    daemon.recorders[0].wait(call)
    assert daemon.control.get(f"/v1/pushes/{call}")["team"] == TEAM
    assert push(daemon, daemon.credentials.provider_pem) == "200", "the device's own CA counts as before"
    # Both forms in any order, and a topic that the certificate has beside its UID.
    assert push(daemon, apple.provider("chain", with_chain=True), "--header", f"apns-topic: {TOPIC}") == "200"
    assert "no-ca" not in [one["problem"] for one in daemon.control.status()["problems"]]


def test_the_root_alone_takes_senders_that_show_the_intermediate(trusting: Callable[..., Daemon], apple: Apple) -> None:
    daemon = trusting(apple.root_file)
    assert push(daemon, apple.provider("with", with_chain=True)) == "200"
    assert push(daemon, apple.provider("without")) == "403 BadCertificate"
    assert f"unable to get local issuer certificate; its issuer is '{INTERMEDIATE}'" in cause(daemon)


def test_another_developer_is_refused_until_the_team_is_added(trusting: Callable[..., Daemon], apple: Apple) -> None:
    daemon = trusting(apple.intermediate_file, apple.root_file)
    stranger = apple.provider("stranger", team=STRANGER)
    assert push(daemon, stranger) == "403 BadCertificate"
    assert f"the team '{STRANGER}', which is not configured" in cause(daemon)
    assert daemon.ringwake("team", "add", STRANGER, "--app", APP).returncode == 0
    assert push(daemon, stranger) == "200"
    assert daemon.ringwake("team", "remove", STRANGER).returncode == 0
    assert push(daemon, stranger) == "403 BadCertificate"
    # A team may send to its topics alone, whatever Apple certified.
    assert daemon.ringwake("team", "add", STRANGER, "--app", "com.example.other").returncode == 0
    assert push(daemon, stranger) == "403 Forbidden"
    daemon.check_alive()


OTHER_PURPOSES = {
    # A client certificate of the team, of another kind.
    "client": dict(marks={}, user_id="QB5T62M7CY", common_name="Apple Development: Eve (QB5T62M7CY)"),
    # Even with a topic for its UID.
    "topic": dict(marks={"25": NULL}),
}


@pytest.mark.parametrize("kind", OTHER_PURPOSES)
def test_what_apple_issued_for_something_else_is_refused(
    trusting: Callable[..., Daemon], apple: Apple, kind: str
) -> None:
    daemon = trusting(apple.intermediate_file)
    assert push(daemon, apple.provider(kind, **OTHER_PURPOSES[kind])) == "403 BadCertificate"
    assert "Apple did not issue the certificate of" in cause(daemon)


def test_a_certificate_for_signing_apps_is_refused(trusting: Callable[..., Daemon], apple: Apple) -> None:
    daemon = trusting(apple.intermediate_file)
    signing = apple.provider("signing", marks={}, purpose=ExtendedKeyUsageOID.CODE_SIGNING)
    assert push(daemon, signing) == "403 BadCertificate"
    assert "is not trusted: unsuitable certificate purpose" in cause(daemon)


def test_a_resumed_session_is_judged_like_the_first(trusting: Callable[..., Daemon], apple: Apple) -> None:
    daemon = trusting(apple.intermediate_file)
    context = ssl.create_default_context(cafile=str(daemon.credentials.ca))
    context.load_cert_chain(str(apple.provider("resumed", marks={})))
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    token = daemon.device_token()
    with H2Client(daemon.host_and_port, context) as first:
        assert first.push(token).reason == "BadCertificate"
        session = first.socket.session
    with H2Client(daemon.host_and_port, context, session=session) as second:
        assert second.socket.session_reused
        assert second.push(token).reason == "BadCertificate"


def test_a_ca_that_only_calls_itself_apple_is_refused(
    trusting: Callable[..., Daemon], apple: Apple, tmp_path: Path
) -> None:
    daemon = trusting(apple.intermediate_file, apple.root_file)
    impostor = Apple(tmp_path / "impostor")
    assert push(daemon, impostor.provider("impostor", with_chain=True)) == "403 BadCertificate"
    assert "is not trusted" in cause(daemon)


def test_a_certificate_for_the_other_environment_is_refused(trusting: Callable[..., Daemon], apple: Apple) -> None:
    daemon = trusting(apple.intermediate_file)
    assert push(daemon, apple.provider("production", marks={"2": NULL, "4": NULL})) == "403 BadCertificateEnvironment"


def test_a_damaged_file_of_a_ca_is_named(make_daemon: Callable[..., Daemon], apple: Apple, tmp_path: Path) -> None:
    daemon = make_daemon()
    damaged = tmp_path / "AppleWWDRCAG4.cer"
    damaged.write_bytes(apple.intermediate_file.read_bytes()[:-1])
    daemon.settings["server.provider_cas"] = [str(damaged)]
    done = daemon.run_to_its_end("--check-config")
    assert done.returncode == 9 and str(damaged) in done.stderr, done
