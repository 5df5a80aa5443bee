"""The mistakes of push senders: each is made by a real client against a real daemon.

`MISTAKES` has one for each row of the table in Documentation/test-your-sender.md.
"""

import datetime
import json
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from .credentials import APP, TOPIC, Credentials
from .daemon import Daemon
from .programs import run

DOOR = "com.example.door"
GONE = "com.example.gone"
RENEWED = "com.example.renewed"
OTHER_TEAM = "OTHERTEAM1"
HOUR = 3600
# Apple's extension of certificates for the development environment.
DEVELOPMENT = "1.2.840.113635.100.6.3.1"


@dataclass
class Ground:
    """A daemon with a port for each environment, and the senders that know it."""

    daemon: Daemon
    # Of another CA.
    foreign: Credentials
    # Of the daemon's CA, for a team that is not configured.
    stranger: Path
    expired: Path
    gone_token: str
    # For the production environment only.
    production_only: Path
    expired_token: str
    ports: dict[str, int] = field(default_factory=dict)

    @property
    def own(self) -> Credentials:
        return self.daemon.credentials

    def url(self, environment: str = "development", token: str | None = None) -> str:
        return f"https://127.0.0.1:{self.ports[environment]}/3/device/{token or self.daemon.device_token()}"

    def curl(self, *options: object, url: str | None = None, data: str = "{}", kind: str = "voip") -> str:
        """What curl says: the status and the reason, or why there is no answer."""
        done = run(
            "curl", "--silent", "--show-error", "--http2", "--cacert", self.own.ca, "--header", f"apns-push-type: {kind}",
            "--data-binary", "@-", "--write-out", "\n%{http_code}", *options, url or self.url(), input=data, stdin=None,
        )  # fmt: skip
        if done.returncode != 0:
            return done.stderr
        body, _, status = done.stdout.rpartition("\n")
        return f"{status} {json.loads(body)['reason']}" if body else status

    def by_certificate(self, *options: object, certificate: Path | None = None, **how) -> str:
        return self.curl("--cert", certificate or self.own.provider_pem, *options, **how)

    def by_token(self, *options: object, topic: str | None = TOPIC, bearer: str | None = None, **how) -> str:
        fields = ["--header", f"authorization: bearer {bearer or self.own.token()}"]
        fields += ["--header", f"apns-topic: {topic}"] if topic else []
        return self.curl(*fields, *options, **how)


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    - sees: what the sender sees; without an answer part of the client's own words, or one of several (` or `).
    - says: a part of the cause that the device's list of refusals has; None: nothing, because it looks to the device as
      if the client had thought better of it.
    """

    name: str
    make: Callable[[Ground], str]
    sees: str
    says: str | None

    @property
    def reason(self) -> str | None:
        """APNs' reason; None if there was no answer."""
        found = re.fullmatch(r"\d{3} (\w+)", self.sees)
        return found[1] if found else None


def reissue(own: Credentials, file: Path, days: int, without: str | None = None) -> Path:
    """A provider certificate of the same CA and key that ends so many days from now, without one of its extensions."""
    bundle = own.provider_pem.read_bytes()
    present = x509.load_pem_x509_certificate(bundle)
    key = serialization.load_pem_private_key((own.directory / "ca.key").read_bytes(), password=None)
    now = datetime.datetime.now(datetime.timezone.utc)
    made = x509.CertificateBuilder(
        issuer_name=present.issuer, subject_name=present.subject, public_key=present.public_key(),
        serial_number=x509.random_serial_number(), not_valid_before=now - datetime.timedelta(days=30),
        not_valid_after=now + datetime.timedelta(days=days),
        extensions=[one for one in present.extensions if one.oid.dotted_string != without],
    )  # fmt: skip
    pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    file.write_bytes(pem + bundle[bundle.index(b"-----BEGIN PRIVATE KEY") :])
    return file


def prepare(daemon: Daemon, folder: Path, foreign: Credentials) -> Ground:
    """Starts the daemon for `MISTAKES`."""
    for app in (APP, DOOR, GONE, RENEWED):
        daemon.add_app(app=app)
    daemon.settings |= {"team.topics": [f"{app}.voip" for app in (APP, DOOR, GONE, RENEWED)]}
    # Its first port is for development.
    daemon.write_configuration(daemon.text() + '[[listener]]\naddress = "127.0.0.1:0"\nenvironment = "production"\n')
    daemon.start()
    gone, expired = daemon.device_token(GONE), daemon.device_token(RENEWED)
    daemon.control.post(f"/v1/apps/{RENEWED}/tokens")
    assert daemon.ringwake("app", "remove", GONE).returncode == 0
    same_ca = folder / "stranger"
    same_ca.mkdir()
    for name in ("ca.pem", "ca.key"):
        shutil.copy(daemon.credentials.directory / name, same_ca)
    ground = Ground(
        daemon, foreign, stranger=Credentials.make(same_ca, team=OTHER_TEAM).provider_pem,
        expired=reissue(daemon.credentials, folder / "expired.pem", -1), gone_token=gone,
        production_only=reissue(daemon.credentials, folder / "production.pem", 30, DEVELOPMENT), expired_token=expired,
    )  # fmt: skip
    for listener in daemon.control.status()["listeners"]:
        ground.ports[listener["environment"]] = int(listener["address"].rpartition(":")[2])
    return ground


def plain(ground: Ground) -> str:
    return ground.by_certificate(url=ground.url().replace("https:", "http:"))


def another_name(ground: Ground) -> str:
    port = ground.ports["development"]
    url = ground.url().replace("127.0.0.1", "phone.example.net")
    return ground.by_certificate("--connect-to", f"phone.example.net:{port}:127.0.0.1:{port}", url=url)


def old_version(ground: Ground) -> str:
    done = run(
        "openssl", "s_client", "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0",
        "-connect", f"127.0.0.1:{ground.ports['development']}",
    )  # fmt: skip
    return done.stderr


def other_key(ground: Ground, team: str) -> str:
    """A token with a key of another sender, under the id of the configured key."""
    header = json.dumps({"alg": "ES256", "kid": ground.own.key_id})
    return ground.foreign.forged_token(json.dumps({"iss": team, "iat": int(time.time())}), header)


def unknown_key(ground: Ground) -> str:
    header = json.dumps({"alg": "ES256", "kid": "UNKNOWNKEY"})
    claims = json.dumps({"iss": "DEVTEAM001", "iat": int(time.time())})
    return ground.by_token(bearer=ground.own.forged_token(claims, header))


def issued(ground: Ground, seconds: int) -> str:
    return ground.by_token(bearer=ground.own.token(iat=int(time.time()) + seconds))


def many_tokens(ground: Ground) -> str:
    """Eleven pushes on one connection, each with a token of its own; the answer to the last one."""
    options: list[object] = []
    for _ in range(11):
        fields = [f"authorization: bearer {ground.own.token()}", f"apns-topic: {TOPIC}"]
        options += [one for field in fields for one in ("--header", field)]
        options += ["--http2", "--cacert", ground.own.ca, "--data", "{}", "--write-out", " %{http_code}\n", ground.url(), "--next"]
    last = run("curl", "--silent", "--show-error", *options[:-1]).stdout.splitlines()[-1]
    body, _, status = last.rpartition(" ")
    return f"{status} {json.loads(body)['reason']}"


MISTAKES = [
    Mistake("trusts another CA", lambda g: g.by_certificate("--cacert", g.foreign.ca),
            "SSL certificate problem", "alert unknown ca"),
    Mistake("uses a name that the certificate lacks", another_name,
            "no alternative certificate subject name matches", None),
    Mistake("speaks HTTP/1.1", lambda g: g.by_certificate("--http1.1"), "no application protocol",
            "no application protocol"),
    Mistake("speaks an old TLS", old_version, "alert protocol version", "unsupported protocol"),
    Mistake("speaks HTTP without TLS", plain, "Recv failure or Empty reply from server", "http request"),
    Mistake("certificate of another CA", lambda g: g.by_certificate(certificate=g.foreign.provider_pem),
            "403 BadCertificate", "is not trusted: unable to get local issuer certificate"),
    Mistake("expired certificate", lambda g: g.by_certificate(certificate=g.expired),
            "403 BadCertificate", "is not trusted: certificate has expired"),
    Mistake("certificate for the other environment", lambda g: g.by_certificate(certificate=g.production_only),
            "403 BadCertificateEnvironment", "the certificate is not for development"),
    Mistake("certificate of an unknown team", lambda g: g.by_certificate(certificate=g.stranger),
            "403 BadCertificate", "the team 'OTHERTEAM1', which is not configured"),
    Mistake("neither certificate nor token", lambda g: g.curl("--header", f"apns-topic: {TOPIC}"),
            "403 MissingProviderToken", "neither a certificate nor an authorization field came"),
    Mistake("token of an unknown key", unknown_key, "403 InvalidProviderToken",
            "the key 'UNKNOWNKEY' of the team 'DEVTEAM001' is not configured"),
    Mistake("token of an unknown team", lambda g: g.by_token(bearer=g.own.token(iss=OTHER_TEAM)),
            "403 InvalidProviderToken", "of the team 'OTHERTEAM1' is not configured"),
    Mistake("token signed with another key", lambda g: g.by_token(bearer=other_key(g, "DEVTEAM001")),
            "403 InvalidProviderToken", "the signature is not of the key"),
    Mistake("token of the future", lambda g: issued(g, HOUR), "403 InvalidProviderToken", "in the future"),
    Mistake("old token", lambda g: issued(g, -2 * HOUR), "403 ExpiredProviderToken", "the provider token was issued 72"),
    Mistake("a token for each push of a connection", many_tokens, "429 TooManyProviderTokenUpdates",
            "came with a new token, iat"),
    Mistake("topic that the team may not send to", lambda g: g.by_token(topic="com.example.other.voip"),
            "403 Forbidden", "does not let the team 'DEVTEAM001' push to 'com.example.other.voip'"),
    Mistake("topic that the certificate lacks",
            lambda g: g.by_certificate("--header", f"apns-topic: {DOOR}.voip"),
            "400 TopicDisallowed", "the certificate does not cover the topic 'com.example.door.voip'"),
    Mistake("no topic", lambda g: g.by_token(topic=None), "400 MissingTopic", "apns-topic is missing"),
    Mistake("topic without .voip", lambda g: g.by_certificate("--header", f"apns-topic: {APP}"),
            "403 Forbidden", "does not let the team 'DEVTEAM001' push to 'com.example.phone'"),
    Mistake("another push type", lambda g: g.by_token(kind="alert"), "400 InvalidPushType", "'alert'"),
    Mistake("unknown device token", lambda g: g.by_token(url=g.url(token="00" * 32)),
            "400 BadDeviceToken", "was never one of this device's"),
    Mistake("device token of the other environment", lambda g: g.by_token(url=g.url("production")),
            "400 BadDeviceToken", "of com.example.phone is for development"),
    Mistake("device token of another app", lambda g: g.by_token(topic=f"{DOOR}.voip"),
            "400 DeviceTokenNotForTopic", "is for the topic com.example.phone.voip, not 'com.example.door.voip'"),
    Mistake("device token that was replaced",
            lambda g: g.by_token(topic=f"{RENEWED}.voip", url=g.url(token=g.expired_token)),
            "410 ExpiredToken", "of com.example.renewed was replaced by a new one at"),
    Mistake("device token of an app that was removed",
            lambda g: g.by_token(topic=f"{GONE}.voip", url=g.url(token=g.gone_token)),
            "410 Unregistered", "of com.example.gone was removed at"),
    Mistake("payload too large", lambda g: g.by_token(data=json.dumps({"x": "y" * 6000})),
            "413 PayloadTooLarge", "; 5120 bytes are allowed"),
    Mistake("payload that is no JSON object", lambda g: g.by_token(data="caller=alice"),
            "400 PayloadEmpty", "the payload is not a JSON object"),
    Mistake("payload with half a surrogate pair", lambda g: g.by_token(data=r'{"caller":"\ud83d"}'),
            "400 PayloadEmpty", "half a surrogate pair"),
    Mistake("payload that is nested too deep", lambda g: g.by_token(data='{"a":' * 65 + "1" + "}" * 65),
            "400 PayloadEmpty", "nested deeper than 64 objects and arrays"),
    Mistake("wrong path", lambda g: g.by_token(url=g.url().replace("/3/device/", "/2/device/")),
            "404 BadPath", "the path is not /3/device/TOKEN"),
    Mistake("wrong method", lambda g: g.by_token("--request", "PUT"),
            "405 MethodNotAllowed", "the method is 'PUT'"),
    Mistake("field twice", lambda g: g.by_token("--header", f"apns-topic: {TOPIC}"), "400 DuplicateHeaders",
            "the field 'apns-topic' is there more than once"),
    Mistake("id that is no UUID", lambda g: g.by_token("--header", "apns-id: call-1"), "400 BadMessageId",
            "apns-id 'call-1' is not a UUID"),
    Mistake("expiration that is no number", lambda g: g.by_token("--header", "apns-expiration: soon"),
            "400 BadExpirationDate", "apns-expiration 'soon' is not a number of seconds since 1970"),
]  # fmt: skip
