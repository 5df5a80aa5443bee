"""Gateways and brokers, the fleets of devices that are linked to them, and the senders of both."""

import hashlib
import json
import os
import select
import shutil
import sqlite3
import tempfile
from pathlib import Path

from . import programs
from .servers import APP, HOST, TOPIC, Peer, Ringwaked, Server, free_port

# Keys that a fleet may need. They are made once, into a folder beside the measuring programs.
DEVICES = 5000
# Descriptors that a gateway may have: enough for the fleet. Without a limit it takes 65,536.
DESCRIPTORS = 16_384
ENVIRONMENT = "development"
KEYS = programs.PEERS / "fleet-keys"


def make_keys() -> list[str]:
    """The ids of the fleet's devices."""
    KEYS.mkdir(exist_ok=True)
    ids = KEYS / "devices"
    if not ids.exists() or len(ids.read_text().split()) < DEVICES:
        # It makes the keys before it is ready.
        maker = Peer("fleet", "broker", HOST, 1, KEYS, DEVICES, "none", "-")
        maker.read(), maker.stop()
    return ids.read_text().split()


def token_of(device: str) -> bytes:
    """Its device token, always the same: see "Registrations" in Documentation/link.md."""
    random = hashlib.sha256(f"token {device}".encode()).digest()[:16]
    bound = hashlib.sha256(b"ringwake token 1" + device.encode() + ENVIRONMENT.encode() + random).digest()
    return random + bound[:16]


def record_of(device: str) -> str:
    """Its row in the store, as `DeviceRecord` of the gateway reads it."""
    registration = {
        "slot": "00000001", "app": APP, "topics": [TOPIC], "environment": ENVIRONMENT,
        "token": hashlib.sha256(token_of(device)).hexdigest(),
    }  # fmt: skip
    return json.dumps({
        "id": device, "name": "benchmark", "pairedAt": 1_767_225_600_000, "revision": 1,
        "registrations": [registration], "ended": [],
    })  # fmt: skip


class Linked(Server):
    """What devices can be linked to."""

    descriptors = DESCRIPTORS
    devices: list[str]
    # Where devices connect.
    link_port: int
    kind: str
    proof: str

    def fleet(self, journal: Path | None = None) -> "Fleet":
        return Fleet(self, journal)

    def sender(self, connections: int, window: int, devices: range, acknowledged: Path = Path("/dev/null")) -> Peer:
        """A sender of pushes to these devices in turn, which is ready."""
        raise NotImplementedError

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def written_bytes(self) -> int:
        """What it caused to be written to a disk: proc(5), io."""
        lines = Path(f"/proc/{self.process.pid}/io").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


class Gateway(Ringwaked, Linked):
    """A gateway that knows the first `count` devices, and has one app of its own."""

    kind = "ringwake"
    descriptors = DESCRIPTORS

    def __init__(self, count: int, proof: str = "signature", log_level: str = "error") -> None:
        self.devices, self.proof = make_keys()[:count], proof
        self.link_port = free_port()
        super().__init__(["/bin/true"], log_level=log_level, more=f'[gateway]\nlisten = "{HOST}:{self.link_port}"\n')
        Server.stop(self)
        with sqlite3.connect(self.store) as store:
            store.executemany(
                "INSERT INTO device (id, version, data) VALUES (?, 1, ?)",
                [(device, record_of(device).encode()) for device in self.devices],
            )
        store.close()
        self.tokens = self.folder / "tokens"
        self.start()
        if (known := self.control("/v1/gateway")["devices"]) != count:
            raise SystemExit(f"the gateway knows {known} of {count} devices:\n{self.log.read_text()}")

    def sender(self, connections: int, window: int, devices: range, acknowledged: Path = Path("/dev/null")) -> Peer:
        self.tokens.write_text("".join(token_of(self.devices[index]).hex() + "\n" for index in devices))
        return ready(Peer(
            "token_load", HOST, self.port, self.ca, self.certificate, self.tokens, TOPIC, connections, window,
            acknowledged,
        ))  # fmt: skip


class Mosquitto(Linked):
    """mosquitto with the certificate of a `ringwaked`, and with persistence as Debian sets it up."""

    kind = "broker"

    def __init__(self, like: Ringwaked, count: int, proof: str = "none", more: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ringwake-mosquitto-"))
        self.ca, self.proof, self.devices = like.ca, proof, make_keys()[:count]
        self.port = self.link_port = free_port()
        asking = f"cafile {KEYS}/ca.pem\nrequire_certificate true\n" if proof == "certificate" else ""
        self.certificates = self.folder / "certs"
        shutil.copytree(like.server_certificate.parent, self.certificates)
        # As root it would become another user, who may not read these files.
        user = "user root\n" if os.getuid() == 0 else ""
        (self.folder / "mosquitto.conf").write_text(
            f"""{user}persistence true
persistence_location {self.folder}/
log_dest stderr
log_type error
sys_interval 0
set_tcp_nodelay true
max_inflight_messages 0
{more}listener {self.port} {HOST}
certfile {self.certificates}/{like.server_certificate.name}
keyfile {self.certificates}/{like.server_key.name}
tls_version tlsv1.3
allow_anonymous true
{asking}"""
        )
        self.start()

    def start(self) -> None:
        self.launch(programs.MOSQUITTO, "-c", self.folder / "mosquitto.conf", log=self.folder / "log")
        self.wait_for_port()

    def sender(self, connections: int, window: int, devices: range, acknowledged: Path = Path("/dev/null")) -> Peer:
        proof = "certificate" if self.proof == "certificate" else "none"
        return ready(Peer(
            "publish_load", HOST, self.port, KEYS, devices.start, len(devices), proof, connections, window,
            acknowledged,
        ))  # fmt: skip

    def stop(self) -> None:
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Fleet(Peer):
    """Devices of `peers/fleet.c`, of which none is linked at first. With `journal` each push is on the disk, in that
    file, before it is acknowledged.
    """

    def __init__(self, server: Linked, journal: Path | None = None) -> None:
        super().__init__(
            "fleet", server.kind, HOST, server.link_port, KEYS, len(server.devices), server.proof, journal or "-"
        )
        ready(self)

    def answer(self) -> dict:
        return json.loads(" ".join(self.read()))

    def do(self, *words: object) -> dict:
        self.ask(" ".join(str(word) for word in words))
        return self.answer()

    def link(self, first: int, count: int, window: int) -> dict:
        linked = self.do("link", first, count, window)
        if linked["linked"] != count:
            raise SystemExit(f"{linked['linked']} of {count} devices were linked: {linked}")
        return linked

    def has_answered(self) -> bool:
        return bool(select.select([self.process.stdout], [], [], 0)[0])


def ready(peer: Peer) -> Peer:
    if peer.read() != ["ready"]:
        raise SystemExit(f"{peer.name} did not begin")
    return peer


def kernel_bytes() -> int | None:
    """Bytes of the kernel's objects that the ends of connections are made of, of the whole machine, without their
    dentries; None for others than root.
    """
    caches = _caches()
    names = ("TCP", "sock_inode_cache", "filp", "eventpoll_epi", "eventpoll_pwq")
    return caches and sum(count * size for name in names for count, size in [caches.get(name, (0, 0))])


def dentry_bytes() -> int:
    return _caches()["dentry"][1]


def _caches() -> dict[str, tuple[int, int]] | None:
    """Objects in use, and the size of one."""
    try:
        lines = Path("/proc/slabinfo").read_text().splitlines()[2:]
    except PermissionError:
        return None
    return {words[0]: (int(words[1]), int(words[3])) for words in map(str.split, lines)}
