"""`ringwake certs request`, `import` and `export`, between a CA with Apple's shape, openssl, senders and a daemon."""

import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from support.apple import TEAM, Apple
from support.credentials import APP, TOPIC, Credentials
from support.daemon import Daemon
from support.programs import ringwake, run

STEM = f"voip-services-{APP}"
NAMES = ["api.push.apple.com", "api.sandbox.push.apple.com", "api.development.push.apple.com"]


@pytest.fixture(scope="module")
def apple(tmp_path_factory: pytest.TempPathFactory) -> Apple:
    folder = tmp_path_factory.mktemp("apple")
    folder.chmod(0o755)
    return Apple(folder / "ca")


def certs(*arguments: object, status: int = 0, **options) -> str:
    done = ringwake("certs", *arguments, **options)
    assert done.returncode == status, done
    return done.stdout + done.stderr


def openssl(*arguments: object) -> str:
    """What openssl says, for a person and on standard error."""
    done = run("openssl", *arguments)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


@pytest.fixture
def imported(tmp_path: Path, apple: Apple) -> Path:
    """The folder of a sender that got its certificate from the portal."""
    folder = tmp_path / "certs"
    certs("request", "--app", APP, "--directory", folder)
    certs("import", apple.sign(folder / f"{STEM}.certSigningRequest"), "--directory", folder)
    return folder


@pytest.mark.parametrize("kind", ["rsa", "p256"])
def test_openssl_finds_a_proper_request(tmp_path: Path, kind: str) -> None:
    shown = certs("request", "--app", APP, "--key-type", kind, "--directory", tmp_path / "certs")
    request = tmp_path / "certs" / f"{STEM}.certSigningRequest"
    assert f"upload {request}" in shown and "certs import voip_services.cer" in shown
    text = openssl("req", "-in", request, "-verify", "-noout", "-text")
    assert "verify OK" in text and f"UID = {TOPIC}" in text
    assert ("Public-Key: (2048 bit)" if kind == "rsa" else "NIST CURVE: P-256") in text
    assert (tmp_path / "certs" / f"{STEM}.key").stat().st_mode & 0o777 == 0o600


def test_what_the_portal_returns_becomes_a_senders_pem(make_daemon: Callable[..., Daemon], apple: Apple, imported: Path) -> None:
    pem = imported / f"{STEM}.pem"
    assert pem.stat().st_mode & 0o777 == 0o600
    daemon = make_daemon()
    daemon.settings["server.provider_cas"] = [str(apple.intermediate_file)]
    daemon.add_app()
    daemon.start()
    assert daemon.ringwake("team", "add", TEAM, "--topic", TOPIC).returncode == 0
    host, port = daemon.host_and_port
    # No topic: it is the certificate's.
    done = ringwake(
        "push", "--host", host, "--port", port, "--ca", daemon.credentials.ca, "--cert", pem, "--token",
        daemon.device_token(), "--data", '{"by":"apple"}',
    )  # fmt: skip
    assert done.returncode == 0, done
    for name, options in [("new", []), ("old", ["--legacy"])]:
        p12 = imported / f"{name}.p12"
        certs("export", pem, p12, *options, "--p12-password-file", "-", input="secret\n", stdin=None)
        call = str(uuid.uuid4())
        done = run(
            "curl", "--silent", "--show-error", "--http2", "--cacert", daemon.credentials.ca, "--cert-type", "P12",
            "--cert", f"{p12}:secret", "--header", f"apns-id: {call}", "--data-binary", "{}", "--write-out", "%{http_code}",
            f"{daemon.url}/3/device/{daemon.device_token()}",
        )  # fmt: skip
        assert done.stdout == "200", done
        daemon.recorders[0].wait(call)


def test_openssl_reads_both_kinds_of_p12(imported: Path) -> None:
    pem = imported / f"{STEM}.pem"
    for options, expected in [
        ([], ["MAC: sha256", "AES-256-CBC", "hmacWithSHA256"]),
        (["--legacy"], ["MAC: sha1", "pbeWithSHA1And3-KeyTripleDES-CBC"]),
    ]:
        p12 = imported / "out.p12"
        certs("export", pem, p12, *options, "--force", env={"RINGWAKE_PASSWORD": "secret"})
        assert p12.stat().st_mode & 0o777 == 0o600
        text = openssl("pkcs12", "-in", p12, "-passin", "pass:secret", "-info", "-nodes")
        assert all(words in text for words in expected), text
        blocks = re.findall(r"-----BEGIN [A-Z ]*-----", text)
        assert sorted(blocks) == ["-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----"]
        back = imported / "back.pem"
        certs("export", p12, back, "--force", env={"RINGWAKE_PASSWORD": "secret"})
        assert back.read_bytes() == pem.read_bytes()
        certs("export", p12, back, "--force", env={"RINGWAKE_PASSWORD": "wrong"}, status=4)


FORMS = {
    "modern": [],
    "triple-des": ["-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES", "-macalg", "sha1"],
    "rc2": ["-legacy", "-certpbe", "PBE-SHA1-RC2-40", "-keypbe", "PBE-SHA1-3DES", "-macalg", "sha1"],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_p12_of_openssl_is_imported_and_rc2_needs_the_legacy_provider(imported: Path, form: str) -> None:
    p12, target = imported.parent / "keychain.p12", imported.parent / "other"
    openssl("pkcs12", "-export", "-in", imported / f"{STEM}.pem", "-out", p12, "-passout", "pass:secret", *FORMS[form])
    # Without its legacy provider, as on a Debian 13 that nobody added it to.
    lean = {"RINGWAKE_PASSWORD": "secret", "OPENSSL_MODULES": "/nonexistent"}
    if form == "rc2":
        said = certs("import", p12, "--directory", target, env=lean, status=1)
        assert "RC2-40" in said and "legacy provider" in said and "openssl pkcs12 -legacy" in said
        assert not target.exists()
        del lean["OPENSSL_MODULES"]
    certs("import", p12, "--directory", target, env=lean)
    assert (target / f"{STEM}.pem").read_bytes() == (imported / f"{STEM}.pem").read_bytes()


def test_a_certificate_without_its_key_is_refused_and_says_what_to_do(apple: Apple, imported: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    certs("request", "--app", APP, "--directory", foreign)
    returned = apple.sign(foreign / f"{STEM}.certSigningRequest", "foreign.cer")
    said = certs("import", returned, "--directory", imported, status=5)
    assert "is the key of" in said and "--key" in said and "ringwake certs request" in said
    before = (imported / f"{STEM}.pem").read_bytes()
    certs("import", returned, "--directory", imported, "--key", foreign / f"{STEM}.key", status=1)
    assert (imported / f"{STEM}.pem").read_bytes() == before
    certs("import", returned, "--directory", imported, "--key", foreign / f"{STEM}.key", "--force")
    assert (imported / f"{STEM}.pem").read_bytes() != before


@pytest.mark.parametrize("host", NAMES)
def test_a_sender_of_apples_hosts_comes_here_by_name(daemon: Daemon, host: str) -> None:
    assert push_to(daemon, host).stdout == "200"


def test_without_apple_names_such_a_sender_trusts_nobody(make_daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    certs("dev-ca", "--directory", tmp_path / "certs", "--app", APP)
    daemon = make_daemon(credentials=Credentials(tmp_path / "certs"))
    daemon.add_app()
    daemon.start()
    assert "no alternative certificate subject name matches" in push_to(daemon, NAMES[0]).stderr


def push_to(daemon: Daemon, host: str):
    address, port = daemon.host_and_port
    return run(
        "curl", "--silent", "--show-error", "--http2", "--cacert", daemon.credentials.ca, "--cert",
        daemon.credentials.provider_pem, "--resolve", f"{host}:{port}:{address}", "--data-binary", "{}",
        "--write-out", "%{http_code}", f"https://{host}:{port}/3/device/{daemon.device_token()}",
    )  # fmt: skip
