"""What a device keeps in its folder: keys, registrations and pushes. Each is whole, or not there, after any kill."""

import base64
import datetime
import hashlib
import hmac
import json
import os
import pathlib
import sqlite3

from cryptography import x509
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ENCODING = serialization.Encoding
# What was said outside of a sealed payload, in its order.
SEALED = "id", "run", "seq", "slot", "at", "exp", "priority", "type", "topic", "environment", "sender", "collapse"
TABLES = """PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; -- Each commit waits for the disk.
CREATE TABLE IF NOT EXISTS push (sender, slot, id, properties, payload, PRIMARY KEY (sender, slot, id));
CREATE TABLE IF NOT EXISTS state (only PRIMARY KEY, json);
INSERT OR IGNORE INTO state VALUES (1, '{"revision": 0, "registrations": []}')"""


class Folder:
    def __init__(self, path):
        path = pathlib.Path(path)
        os.umask(0o077)
        path.mkdir(parents=True, exist_ok=True)
        self.key_file = path / "device.pem"
        self.key, self.sealing = private_key(self.key_file), private_key(path / "sealing.pem")
        self.device = base64.b32encode(hashlib.sha256(spki(self.key)).digest()).decode().lower().rstrip("=")
        self.db = sqlite3.connect(path / "device.db", isolation_level=None)
        self.db.executescript(TABLES)
        self.state = json.loads(self.db.execute("SELECT json FROM state").fetchone()[0])

    def save(self, **changes):
        self.state |= changes
        self.db.execute("UPDATE state SET json = ?", [json.dumps(self.state)])

    def add(self, push, payload):
        """Whether the push is new. It is on the disk then."""
        row = [push["sender"], push["slot"], push["id"], json.dumps(push), payload]
        return self.db.execute("INSERT OR IGNORE INTO push VALUES (?, ?, ?, ?, ?)", row).rowcount == 1

    def make_token(self, app, environment):
        r = os.urandom(16)
        token = r + hashlib.sha256(f"ringwake token 1{self.device}{environment}".encode() + r).digest()[:16]
        one = {"slot": os.urandom(4).hex(), "app": app, "topics": [app + ".voip"], "environment": environment}
        one["token"] = hashlib.sha256(token).hexdigest()
        self.save(revision=self.state["revision"] + 1, registrations=[one])
        return token.hex()

    def sealing_key(self):
        """The members of the message that pairs."""
        key = spki(self.sealing)
        r, s = utils.decode_dss_signature(self.key.sign(b"ringwake sealing 1" + key, ec.ECDSA(hashes.SHA256())))
        signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return {"sealing": base64.b64encode(key).decode(), "signature": base64.b64encode(signature).decode()}

    def unseal(self, push, payload):
        """The payload of a push that was sealed for this device; None if it can't be read."""
        parts = [part.encode() for name in SEALED if name in push for part in (name, push[name])]
        aad = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
        try:
            return hpke_open(self.sealing, f"ringwake seal 1{self.device}".encode(), aad, payload)
        except (InvalidTag, ValueError):
            return None


def private_key(file):
    """The key in a file. At first use it is made, with a self-signed certificate."""
    if not file.exists():
        key, nobody = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
        begin, end = datetime.datetime(2020, 1, 1), datetime.datetime(2120, 1, 1)
        builder = x509.CertificateBuilder(nobody, nobody, key.public_key(), x509.random_serial_number(), begin, end)
        form = serialization.PrivateFormat.PKCS8
        text = key.private_bytes(ENCODING.PEM, form, serialization.NoEncryption())
        text += builder.sign(key, hashes.SHA256()).public_bytes(ENCODING.PEM)
        file.with_suffix(".new").write_bytes(text)
        os.sync()
        file.with_suffix(".new").rename(file)
    return serialization.load_pem_private_key(file.read_bytes(), None)


def spki(key):
    """SubjectPublicKeyInfo, in DER, of a private key or a certificate."""
    return key.public_key().public_bytes(ENCODING.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def pin(certificate):
    """The pin that an invitation has for the key of this certificate."""
    return hashlib.sha256(spki(x509.load_der_x509_certificate(certificate))).hexdigest()


def hpke_open(key, info, aad, sealed):
    """RFC 9180, base mode: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM."""
    kem, suite = b"KEM\0\x10", b"HPKE\0\x10\0\x01\0\x01"
    enc, ciphertext = sealed[:65], sealed[65:]
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), enc)
    own = key.public_key().public_bytes(ENCODING.X962, serialization.PublicFormat.UncompressedPoint)
    secret = extract(kem, b"", b"eae_prk", key.exchange(ec.ECDH(), point))
    shared = expand(kem, secret, b"shared_secret", enc + own, 32)
    context = b"\0" + extract(suite, b"", b"psk_id_hash", b"") + extract(suite, b"", b"info_hash", info)
    secret = extract(suite, shared, b"secret", b"")
    nonce = expand(suite, secret, b"base_nonce", context, 12)
    return AESGCM(expand(suite, secret, b"key", context, 16)).decrypt(nonce, ciphertext, aad)


def extract(suite, salt, label, text):
    """LabeledExtract of RFC 9180, section 4."""
    return hmac.digest(salt, b"HPKE-v1" + suite + label + text, "sha256")


def expand(suite, secret, label, text, size):
    """LabeledExpand of one block at most."""
    return hmac.digest(secret, bytes([0, size]) + b"HPKE-v1" + suite + label + text + b"\1", "sha256")[:size]
