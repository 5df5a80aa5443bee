"""A gateway, a device and a sender on networks of their own: both machines are booted, with the package installed.

    sender --198.51.100.0/24-- gateway --192.0.2.0/24-- device
"""

import subprocess
import sys
import time
import uuid
from pathlib import Path

import jwt
from support.debian import Packages
from support.live_machine import LiveMachine
from support.machine import Root, check
from support.netns import Namespace
from support.package import PRELUDE

HOST = "push.example.com"
TOPIC, TEAM, KEY_ID = "com.example.phone.voip", "OPERATOR01", "SENDERKEY1"
# Where each finds the gateway.
GATEWAY_FOR = {"sender": "198.51.100.1", "device": "192.0.2.1"}

# How long a connection that a packet filter drops is tried; seconds.
UNREACHABLE = 2

# In place of the ACME client and its CA: like certbot it puts what it got into a lineage, and runs the hook.
CERTBOT = """\
#!/bin/sh
set -e
while [ $# -gt 1 ]; do
    case $1 in
    --domain) domain=$2 ;;
    --deploy-hook) hook=$2 ;;
    esac
    shift
done
lineage=/etc/letsencrypt/live/$domain
mkdir -p "$lineage"
cp /srv/issued/fullchain.pem /srv/issued/privkey.pem "$lineage"
RENEWED_LINEAGE=$lineage RENEWED_DOMAINS=$domain "$hook"
"""
PAIRED = "paired() { ringwake link status --json | tr -d ' \\n' | grep -q '\"state\":\"linked\"'; }\n"


class Authority:
    """The CA of the gateway's certificates, and the senders' key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                      "-subj", "/CN=Example CA", "-keyout", "ca.key", "-out", "ca.pem")  # fmt: skip
        self._openssl("genpkey", "-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "sender.p8")
        self._openssl("pkey", "-in", "sender.p8", "-pubout", "-out", "sender.pub.pem")

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def issue(self, root: Root, days: int) -> None:
        """A new certificate with a new key, where the machine's ACME client gets it; the CA's stands after it."""
        (self.folder / "extensions").write_text(f"subjectAltName=DNS:{HOST}\n")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={HOST}",
                      "-keyout", "server.key", "-out", "server.csr")  # fmt: skip
        self._openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", str(days),
                      "-extfile", "extensions", "-out", "server.pem")  # fmt: skip
        root.write("/srv/issued/fullchain.pem", self.file("server.pem").read_text() + self.file("ca.pem").read_text())
        root.write("/srv/issued/privkey.pem", self.file("server.key").read_bytes(), 0o600)

    def file(self, name: str) -> Path:
        return self.folder / name

    def authorization(self) -> str:
        claims = {"iss": TEAM, "iat": int(time.time())}
        return "bearer " + jwt.encode(claims, self.file("sender.p8").read_text(), "ES256", {"kid": KEY_ID})


class GatewaySite:
    """The three of them. Nothing of Ringwake is configured yet."""

    def __init__(self, gateway: LiveMachine, device: LiveMachine, sender: Namespace, authority: Authority) -> None:
        self.gateway, self.device = gateway, device
        self.sender, self.authority = sender, authority
        self.token = ""

    def post(self, push_id: str) -> str:
        """A push by curl to the gateway's port 443; answers the status."""
        done = self.sender.exec(
            "curl", "--silent", "--show-error", "--http2", "--max-time", "60",
            "--cacert", self.authority.file("ca.pem"), "--header", f"authorization: {self.authority.authorization()}", "--header", f"apns-topic: {TOPIC}",
            "--header", "apns-push-type: voip", "--header", f"apns-id: {push_id}", "--data", '{"aps":{}}',
            "--output", "/dev/null", "--write-out", "%{http_code}", f"https://{HOST}/3/device/{self.token}",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ring(self) -> str:
        """A push that rings on the device, and is hung up there; answers its id."""
        push_id = str(uuid.uuid4())
        assert self.post(push_id) == "200"
        self.device.run(f"""
rings() {{ ringwake call show {push_id} --json | tr -d ' \\n' | grep -q '"state":"ringing"'; }}
eventually rings
ringwake call end {push_id}
""")
        return push_id

    def restart(self, how: str) -> None:
        """Restarts both daemons, one after the other; a push rings after each."""
        for machine in (self.gateway, self.device):
            machine.run(f"""
before=$(main_pid)
{how}
restarted() {{ test "$(main_pid)" != "$before" && systemctl is-active ringwaked; }}
eventually restarted
""")
            self.ring()

    def can_connect(self, port: int) -> bool:
        """Whether the sender's packets reach a port of the gateway."""
        script = f"import socket; socket.create_connection(('{HOST}', {port}), {UNREACHABLE})"
        return self.sender.exec(sys.executable, "-c", script).returncode == 0

    def certificate(self, alpn: str = "h2", port: int = 443) -> str:
        """The serial number of the certificate that new connections get."""
        done = self.sender.exec(
            "openssl", "s_client", "-connect", f"{HOST}:{port}", "-servername", HOST, "-alpn", alpn, "-CAfile",
            self.authority.file("ca.pem"), "-verify_return_error", text=False,
        )  # fmt: skip
        # It prints what the peer sends, too.
        said = done.stdout.decode(errors="replace")
        assert f"ALPN protocol: {alpn}" in said, said
        return check("openssl", "x509", "-noout", "-serial", "-in", self._pem(said)).strip()

    def _pem(self, text: str) -> Path:
        file = self.authority.file("seen.pem")
        begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
        file.write_text(begin + text.partition(begin)[2].partition(end)[0] + end + "\n")
        return file


def lay_cables(gateway: Namespace, device: Namespace, sender: Namespace) -> None:
    for other, name, network in ((device, "device", "192.0.2"), (sender, "sender", "198.51.100")):
        gateway.veth(name, other, "eth0")
        gateway.ip("address", "add", f"{network}.1/24", "dev", name)
        other.ip("address", "add", f"{network}.2/24", "dev", "eth0")
    sender.etc("hosts", f"127.0.0.1 localhost\n{GATEWAY_FOR['sender']} {HOST}\n")


def furnish(root: Root, packages: Packages, name: str) -> None:
    """What is on a machine before the operator begins: the package to install, and its name."""
    root.file("/packages").mkdir(exist_ok=True)
    root.write("/packages/ringwake.deb", packages.current.read_bytes())
    root.write("/etc/hostname", name + "\n")
    address = {"device": GATEWAY_FOR["device"]}.get(name, "127.0.0.1")
    root.write("/etc/hosts", f"127.0.0.1 localhost {name}\n{address} {HOST}\n")


def switched_on(root: Root, network: Namespace) -> LiveMachine:
    return LiveMachine(root, network.name, PRELUDE + PAIRED)
