"""Development credentials, and provider tokens both proper and forged."""

import base64
import datetime
import json
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from .programs import ringwake

APP = "com.example.phone"
TOPIC = APP + ".voip"
TEAM = "DEVTEAM001"
P12_PASSWORD = "open sesame"


@dataclass(frozen=True)
class Credentials:
    """The folder that `ringwake certs dev-ca` filled."""

    directory: Path

    @classmethod
    def make(cls, directory: Path, app: str = APP, team: str = TEAM, hosts: Iterable[str] = ()) -> "Credentials":
        """Makes a CA and everything that it issues for one app; the server has these names and addresses too."""
        done = ringwake(
            "certs", "dev-ca", "--directory", directory, "--app", app, "--team", team, "--apple-names",
            *(part for host in hosts for part in ("--host", host)), "--p12-password-file", "-", input=P12_PASSWORD,
            stdin=None,
        )  # fmt: skip
        assert done.returncode == 0, f"certs dev-ca failed: {done.stderr}{done.stdout}"
        return cls(directory)

    def reissue_server(
        self, start: datetime.timedelta, end: datetime.timedelta, *replaced: x509.ExtensionType
    ) -> None:
        """Replaces the server certificate by one of the same CA and key, with these dates from now and extensions."""
        present = x509.load_pem_x509_certificate(self.server_certificate.read_bytes())
        key = serialization.load_pem_private_key((self.directory / "ca.key").read_bytes(), password=None)
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(present.subject)
            .issuer_name(present.issuer)
            .public_key(present.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + start)
            .not_valid_after(now + end)
        )
        for extension in present.extensions:
            [value] = [one for one in replaced if one.oid == extension.oid] or [extension.value]
            builder = builder.add_extension(value, extension.critical)
        pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        self.server_certificate.write_bytes(pem)

    @property
    def ca(self) -> Path:
        return self.directory / "ca.pem"

    @property
    def server_certificate(self) -> Path:
        return self.directory / "server.pem"

    @property
    def server_key(self) -> Path:
        return self.directory / "server.key"

    @property
    def provider_pem(self) -> Path:
        """Certificate and key of a VoIP Services provider."""
        return self._only("voip-services-*.pem")

    @property
    def provider_p12(self) -> Path:
        return self._only("voip-services-*.p12")

    @property
    def p12_password_file(self) -> Path:
        file = self.directory.with_name(self.directory.name + ".password")
        file.write_text(P12_PASSWORD + "\n")
        return file

    @property
    def token_key(self) -> Path:
        """The P8 that signs provider tokens."""
        return self._only("AuthKey_*.p8")

    @property
    def token_public_key(self) -> Path:
        return self._only("AuthKey_*.pub.pem")

    @property
    def key_id(self) -> str:
        return self.token_key.stem.removeprefix("AuthKey_")

    def _only(self, pattern: str) -> Path:
        (path,) = self.directory.glob(pattern)
        return path

    def context(self, *, certificate: bool = False, alpn: list[str] | None = None) -> ssl.SSLContext:
        """A client's TLS context that trusts this CA alone."""
        context = ssl.create_default_context(cafile=str(self.ca))
        if certificate:
            context.load_cert_chain(str(self.provider_pem))
        if alpn:
            context.set_alpn_protocols(alpn)
        return context

    def token(self, **claims: object) -> str:
        """A provider token; named claims replace the proper ones."""
        return self.forged_token(json.dumps({"iss": TEAM, "iat": int(time.time())} | claims))

    def forged_token(self, claims: str, header: str | None = None) -> str:
        """A provider token of any claims and header, as JSON text, with a signature that is right for them."""
        key = serialization.load_pem_private_key(self.token_key.read_bytes(), password=None)
        header = header or json.dumps({"alg": "ES256", "kid": self.key_id})
        signed = base64url(header.encode()) + "." + base64url(claims.encode())
        r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return signed + "." + base64url(r.to_bytes(32, "big") + s.to_bytes(32, "big"))

    def authorization(self, **claims: object) -> str:
        """The field of a proper provider token."""
        return "bearer " + self.token(**claims)


def base64url(data: bytes) -> str:
    """RFC 7515's base64url, without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
