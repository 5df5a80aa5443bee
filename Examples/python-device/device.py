#!/usr/bin/env python3
"""A device for a Ringwake gateway: Documentation/link.md in Python, for one app. README.md shows how to use it."""
import argparse, base64, datetime, hashlib, hmac, json, os, pathlib  # noqa: E401
import random, sqlite3, ssl, sys, time, urllib.parse  # noqa: E401
import paho.mqtt.client as mqtt
from cryptography import exceptions, x509
from cryptography.hazmat.primitives import hashes, serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from paho.mqtt.properties import PacketTypes, Properties

SEALED = "id", "run", "seq", "slot", "at", "exp", "priority", "type", "topic", "environment", "sender", "collapse"
TABLES = """PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; -- Each commit waits for the disk.
CREATE TABLE IF NOT EXISTS push (sender, slot, id, properties, payload, PRIMARY KEY (sender, slot, id));
CREATE TABLE IF NOT EXISTS state (only PRIMARY KEY, json);
INSERT OR IGNORE INTO state VALUES (1, '{"revision": 0, "registrations": []}')"""

def say(*words): print(*words, file=sys.stderr, flush=True)
def boot_ms(): return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
def spki(key): return key.public_bytes(form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo)
def user(properties): return dict(getattr(properties, "UserProperty", []))

def private_key(file):
    """The key in a file. At first use it is made, with a self-signed certificate; the file is whole, or not there."""
    if not file.exists():
        key, nobody, start = ec.generate_private_key(ec.SECP256R1()), x509.Name([]), datetime.datetime(2020, 1, 1)
        certificate = x509.CertificateBuilder(nobody, nobody, key.public_key(), x509.random_serial_number(), start)
        certificate = certificate.not_valid_after(datetime.datetime(2120, 1, 1)).sign(key, hashes.SHA256())
        text = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        file.with_suffix(".new").write_bytes(text + certificate.public_bytes(form.Encoding.PEM))
        os.sync()
        file.with_suffix(".new").rename(file)
    return form.load_pem_private_key(file.read_bytes(), None)

def unseal(key, info, aad, data):
    """RFC 9180, base mode: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM."""
    def extract(suite, salt, label, text): return hmac.digest(salt, b"HPKE-v1" + suite + label + text, "sha256")
    def expand(suite, secret, label, text, size):  # At most one block of HKDF.
        return hmac.digest(secret, bytes([0, size]) + b"HPKE-v1" + suite + label + text + b"\1", "sha256")[:size]
    kem, suite, enc = b"KEM\0\x10", b"HPKE\0\x10\0\x01\0\x01", data[:65]
    own = key.public_key().public_bytes(form.Encoding.X962, form.PublicFormat.UncompressedPoint)
    shared = key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), enc))
    shared = expand(kem, extract(kem, b"", b"eae_prk", shared), b"shared_secret", enc + own, 32)
    context = b"\0" + extract(suite, b"", b"psk_id_hash", b"") + extract(suite, b"", b"info_hash", info)
    secret = extract(suite, shared, b"secret", b"")
    nonce = expand(suite, secret, b"base_nonce", context, 12)
    return AESGCM(expand(suite, secret, b"key", context, 16)).decrypt(nonce, data[65:], aad)

class Socket(ssl.SSLSocket):
    def do_handshake(self, block=False):
        self.settimeout(10)  # paho sets the keep-alive as the limit, which is 0 here.
        super().do_handshake()
        key = x509.load_der_x509_certificate(self.getpeercert(True)).public_key()
        if self.context.pin and self.context.pin != hashlib.sha256(spki(key)).hexdigest():
            raise ssl.SSLError("the gateway's key isn't that of the link's pin; if the pin is a CA's, give --ca")

class Device:
    def __init__(self, folder, **changes):
        os.umask(0o077)
        folder.mkdir(parents=True, exist_ok=True)
        self.file, self.failures, self.takeovers = folder / "device.pem", 0, []
        self.key, self.sealing = private_key(self.file), private_key(folder / "sealing.pem")
        self.id = base64.b32encode(hashlib.sha256(spki(self.key.public_key())).digest()).decode().lower().rstrip("=")
        self.db = sqlite3.connect(folder / "device.db", isolation_level=None)
        self.db.executescript(TABLES)
        self.state = json.loads(self.db.execute("SELECT json FROM state").fetchone()[0])
        self.save(**{name: value for name, value in changes.items() if value})
    def save(self, **changes):
        self.state |= changes
        self.db.execute("UPDATE state SET json = ?", [json.dumps(self.state)])

    def pair(self, code, name):
        key = spki(self.sealing.public_key())
        r, s = utils.decode_dss_signature(self.key.sign(b"ringwake sealing 1" + key, ec.ECDSA(hashes.SHA256())))
        key, signature = (base64.b64encode(it).decode() for it in (key, r.to_bytes(32, "big") + s.to_bytes(32, "big")))
        self.hold({"op": "pair", "code": code, "name": name, "sealing": key, "signature": signature}, pair=1)
        return self.accepted
    def make_token(self, app, environment):
        r = os.urandom(16)
        token = r + hashlib.sha256(f"ringwake token 1{self.id}{environment}".encode() + r).digest()[:16]
        one = {"slot": os.urandom(4).hex(), "app": app, "topics": [app + ".voip"], "environment": environment}
        one["token"] = hashlib.sha256(token).hexdigest()
        self.save(revision=self.state["revision"] + 1, registrations=[one])
        return token.hex()
    def run(self):
        while True:
            known = {name: self.state[name] for name in ("revision", "epoch") if name in self.state}
            self.hold(None, slots=len(self.state["registrations"]), **known)
            self.failures += 1
            limit = int(self.answer.get("retry-after", min(900, 2**self.failures)))
            if self.code in (0x87, 0x98):
                say("the gateway doesn't know this device, or has revoked it: pair it again")
            if self.code == 0x8E:
                self.takeovers = [time for time in self.takeovers if time > boot_ms() - 600_000] + [boot_ms()]
                if len(self.takeovers) == 3:
                    sys.exit("another machine has this device's key: stopped")
            time.sleep({0x87: 86400, 0x98: 86400, 0x8E: 15, 0x9F: limit}.get(self.code, limit * random.random()))

    def hold(self, pairing, **about):
        """One connection, to its end. Each has a new client: paho would send again what the former one left."""
        self.code, self.answer, self.accepted, self.pairing = None, {}, False, pairing
        context = ssl.create_default_context(cadata=self.state.get("ca"))
        context.pin = None if "ca" in self.state else self.state.get("pin")
        if context.pin:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version, context.sslsocket_class = ssl.TLSVersion.TLSv1_3, Socket
        context.load_cert_chain(self.file)
        context.set_alpn_protocols(["mqtt"])
        client, properties = mqtt.Client(self.id, protocol=mqtt.MQTTv5), Properties(PacketTypes.CONNECT)
        client.tls_set_context(context)
        client.on_connect, client.on_subscribe, client.on_publish = self.on_connect, self.on_subscribe, self.on_publish
        client.on_message, client.on_disconnect = self.on_message, self.on_disconnect
        properties.UserProperty = [("version", "python-device")] + [(name, str(value)) for name, value in about.items()]
        host, port = self.state["gateway"].rsplit(":", 1)
        try:
            client.connect(host.strip("[]"), int(port), keepalive=0, clean_start=True, properties=properties)
            with client.socket():
                while client.loop(1e9) == mqtt.MQTT_ERR_SUCCESS:
                    pass  # No keep-alive and no timer: it sleeps until something comes.
        except (OSError, sqlite3.Error) as error:  # A push that isn't on the disk was not acknowledged.
            say(error)
    def on_connect(self, client, _, flags, reason, properties):
        self.code, self.answer = reason.value, user(properties)
        if self.code:
            return say("refused:", reason, getattr(properties, "ReasonString", ""))
        self.ahead, self.failures = int(self.answer["now"]) - boot_ms(), 0
        if self.pairing:
            return self.publish(client, self.pairing)
        self.save(epoch=self.answer["epoch"])
        client.subscribe(f"ringwake/1/d/{self.id}", qos=1)
    def on_subscribe(self, client, *_):
        gateways = int(self.answer.get("revision", -1))
        if gateways == self.state["revision"]:
            return say("linked")
        self.publish_registrations(client, max(gateways + 1, self.state["revision"]))  # The folder may be an old copy.
    def publish_registrations(self, client, revision):
        self.save(revision=revision)
        self.publish(client, {"op": "registrations"} | {key: self.state[key] for key in ("revision", "registrations")})
    def publish(self, client, message):
        client.publish(f"ringwake/1/u/{self.id}", json.dumps(message), qos=1)
    def on_publish(self, client, _, mid):
        packet, properties = bytes(client._in_packet["packet"]), Properties(PacketTypes.PUBACK)
        self.accepted = len(packet) < 3 or packet[2] < 0x80  # paho has no other way to tell.
        if len(packet) > 3:
            properties.unpack(packet[3:])
        say("accepted" if self.accepted else f"refused: {getattr(properties, 'ReasonString', packet[2:])}")
    def on_message(self, client, _, message):
        """paho sends PUBACK when this has returned."""
        push, payload = user(message.properties), message.payload
        if push["slot"] not in [one["slot"] for one in self.state["registrations"]]:
            say("unknown slot:", push["slot"])  # paho can't send 0x90; but a newer set without the slot ends its token.
            return self.publish_registrations(client, self.state["revision"] + 1)
        if getattr(message.properties, "ContentType", "") == "application/vnd.ringwake.sealed":
            parts = [part.encode() for name in SEALED if name in push for part in (name, push[name])]
            aad = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
            try:
                payload = unseal(self.sealing, f"ringwake seal 1{self.id}".encode(), aad, payload)
            except (exceptions.InvalidTag, ValueError) as error:
                return say("can't be read:", push, repr(error))  # The gateway drops it, as with 0x99.
        age = max(0, boot_ms() + self.ahead - int(push["arrived"]))  # CONNACK took a while to come.
        row = [push["sender"], push["slot"], push["id"], json.dumps(push), payload]
        if self.db.execute("INSERT OR IGNORE INTO push VALUES (?, ?, ?, ?, ?)", row).rowcount:
            print(json.dumps(push | {"age": age, "payload": payload.decode(errors="replace")}), flush=True)
    def on_disconnect(self, client, _, reason, properties):
        if isinstance(reason, mqtt.ReasonCodes):
            self.code, self.answer = reason.value, user(properties)
        say("link ended:", reason)

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("command", choices=["pair", "token", "run"])
parser.add_argument("code", nargs="?", default="")
for option in ("--folder", "--gateway", "--ca", "--name", "--app", "--environment"):
    parser.add_argument(option, required=option == "--folder")
options = parser.parse_args()
link, ca = urllib.parse.urlsplit(options.code), options.ca and pathlib.Path(options.ca).read_text()
invited = dict(urllib.parse.parse_qsl(link.query))
device = Device(pathlib.Path(options.folder), gateway=link.netloc or options.gateway, ca=ca, pin=invited.get("pin"))
if options.command == "pair":
    sys.exit(not device.pair(invited.get("code", options.code), options.name))
elif options.command == "token":
    print(device.make_token(options.app, options.environment))
else:
    device.run()
