"""Certificates of the same shape as Apple's: a root, the intermediate that developers' certificates come from, and those."""

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from .credentials import APP, TOPIC

TEAM = "ABCDE12345"
ARC = "1.2.840.113635.100.6.3."
NULL = b"\x05\x00"
DAY = datetime.timedelta(days=1)
INTERMEDIATE = "Apple Worldwide Developer Relations Certification Authority"


def utf8(text: str) -> bytes:
    """A UTF8String in DER."""
    return bytes([0x0C, len(text)]) + text.encode()


def sequence(*parts: bytes) -> bytes:
    """A SEQUENCE in DER."""
    content = b"".join(parts)
    length = bytes([len(content)]) if len(content) < 128 else bytes([0x81, len(content)])
    return b"\x30" + length + content


# Of a VoIP Services certificate, as they stand in it: environments, VoIP, topics with their purposes.
PUSH_MARKS = {
    "1": NULL,
    "2": NULL,
    "4": NULL,
    "6": sequence(
        utf8(APP), sequence(utf8("app")), utf8(TOPIC), sequence(utf8("voip")), utf8(f"{APP}.complication"),
        sequence(utf8("complication")),
    ),
}  # fmt: skip


class Apple:
    """One such CA, with its files in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.root_key, self.key = (rsa.generate_private_key(65537, 2048) for _ in range(2))
        root = _name("Apple Root CA", unit="Apple Certification Authority")
        name = _name(INTERMEDIATE, unit="G4")
        # The real root's signature is SHA-1, which nobody checks: it is trusted as it is.
        self.root = _authority(root, root, self.root_key, self.root_key, None).sign(self.root_key, hashes.SHA256())
        self.intermediate = _authority(name, root, self.key, self.root_key, 0).sign(self.root_key, hashes.SHA256())
        # As apple.com/certificateauthority offers them.
        self.root_file = self._write("AppleIncRootCertificate.cer", _der(self.root))
        self.intermediate_file = self._write("AppleWWDRCAG4.cer", _der(self.intermediate))

    def _write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path

    def certificate(
        self, key: rsa.RSAPublicKey, *, team: str = TEAM, user_id: str = TOPIC, common_name: str = f"VoIP Services: {APP}",
        marks: dict[str, bytes] = PUSH_MARKS, purpose: ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH,
    ) -> x509.Certificate:  # fmt: skip
        """A certificate for a developer."""
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.USER_ID, user_id),
                x509.NameAttribute(NameOID.COMMON_NAME, common_name),
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, team),
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Example GmbH"),
                x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"),
            ]
        )
        crl = x509.DistributionPoint([x509.UniformResourceIdentifier("http://crl.example/wwdrg4.crl")], None, None, None)
        policy = x509.PolicyInformation(
            ObjectIdentifier("1.2.840.113635.100.5.1"), ["https://www.apple.com/certificateauthority/"]
        )
        builder = (
            _builder(subject, self.intermediate.subject, key, self.key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=True)
            .add_extension(x509.CertificatePolicies([policy]), critical=False)
            .add_extension(x509.CRLDistributionPoints([crl]), critical=False)
        )
        for number, content in marks.items():
            mark = x509.UnrecognizedExtension(ObjectIdentifier(ARC + number), content)
            builder = builder.add_extension(mark, critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def provider(self, name: str, *, with_chain: bool = False, **certificate) -> Path:
        """A certificate with a new key, as a sender has them: one PEM."""
        key = rsa.generate_private_key(65537, 2048)
        chain = [self.certificate(key.public_key(), **certificate), *([self.intermediate] if with_chain else [])]
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return self._write(f"{name}.pem", b"".join(map(_pem, chain)) + secret)

    def sign(self, request: Path, name: str = "voip_services.cer", **certificate) -> Path:
        """What the portal answers to a request: its key alone counts."""
        asked = x509.load_pem_x509_csr(request.read_bytes())
        assert asked.is_signature_valid
        return self._write(name, _der(self.certificate(asked.public_key(), **certificate)))


def _name(common_name: str, unit: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Apple Inc."),
            x509.NameAttribute(NameOID.COUNTRY_NAME, "US"),
        ]
    )


def _builder(subject: x509.Name, issuer: x509.Name, key, issuer_key) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + 395 * DAY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )


def _authority(subject: x509.Name, issuer: x509.Name, key, issuer_key, path_length) -> x509.CertificateBuilder:
    return (
        _builder(subject, issuer, key.public_key(), issuer_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(_usage(signs=True), critical=True)
    )


def _usage(signs: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=signs, crl_sign=signs, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
