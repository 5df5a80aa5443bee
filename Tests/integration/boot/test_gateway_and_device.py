"""Documentation/gateway.md, step by step: a gateway and a device, each booted by a systemd of its own."""

import re
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gateway_site import CERTBOT, Authority, GatewaySite, furnish, lay_cables, switched_on
from support import programs
from support.machine import Root
from support.netns import Namespace
from support.package import Packages, blocks, links, readme_handler

GUIDE = "gateway.md"
BLOCKS = blocks(GUIDE)
TEXT = (programs.ROOT / "Documentation" / GUIDE).read_text()
# The configurations of the page in its order: the gateway's, what one port for both adds, the device's.
GATEWAY, ONE_PORT, DEVICE = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
# The drop-ins: of the gateway's socket, and of a device that sleeps.
SOCKET, WAKE_ALARM = re.findall(r"```ini\n(.*?)```", TEXT, re.DOTALL)
# Enough for the devices that the page promises, with what `DescriptorLimit` keeps for others.
DESCRIPTORS = 65_536
DROP_IN = "/etc/systemd/system/ringwaked-production.socket.d/override.conf"
# A packet filter that lets nothing in but answers.
PACKET_FILTER = """
nft -f - <<'END'
table inet filter {
    chain input {
        type filter hook input priority 0; policy drop;
        ct state established,related accept
        iif lo accept
    }
}
END
"""
HOOK = "/usr/libexec/ringwake/acme-deploy-hook"
CONFIGURATION = "/etc/ringwake/ringwaked.toml"


@pytest.fixture
def site(debian: Path, packages: Packages, tmp_path: Path) -> Iterator[GatewaySite]:
    authority = Authority(tmp_path)
    with (
        Namespace() as gateway_network, Namespace() as device_network, Namespace() as sender,
        Root.overlay(tmp_path / "gateway", on=debian) as gateway_root,
        Root.overlay(tmp_path / "device", on=debian) as device_root,
    ):  # fmt: skip
        lay_cables(gateway_network, device_network, sender)
        furnish(gateway_root, packages, "gateway")
        furnish(device_root, packages, "device")
        authority.issue(gateway_root, days=20)
        gateway_root.write("/usr/local/bin/certbot", CERTBOT, 0o755)
        gateway_root.write("/srv/AuthKey_SENDERKEY1.pub.pem", authority.file("sender.pub.pem").read_bytes())
        device_root.write("/usr/local/bin/phone-handler", readme_handler(), 0o755)
        device_root.write("/srv/ca.pem", authority.file("ca.pem").read_bytes())
        with switched_on(gateway_root, gateway_network) as gateway, switched_on(device_root, device_network) as device:
            with ThreadPoolExecutor() as pool:
                list(pool.map(lambda machine: machine.run("install_package /packages/ringwake.deb curl"), (gateway, device)))
            yield GatewaySite(gateway, device, sender, authority)


def configure(root: Root, text: str) -> None:
    root.write(CONFIGURATION, text, 0o640)


def set_up(site: GatewaySite, configuration: str = GATEWAY) -> None:
    """The page's steps, up to the invitation."""
    said = site.gateway.run(BLOCKS["certificate"])
    assert "ringwaked doesn't run" in said
    configure(site.gateway.root, configuration)
    site.gateway.root.write(DROP_IN, SOCKET)
    site.gateway.run(f"""
# As `systemctl edit` does when the editor is closed.
systemctl daemon-reload
chown root:ringwake {CONFIGURATION}
{BLOCKS["start"]}
cd /srv
{BLOCKS["team"]}""")
    configure(site.device.root, DEVICE)
    site.device.run(f"chown root:ringwake {CONFIGURATION}\n" + BLOCKS["device"])


def general(command: str) -> str:
    """A command to pair, without the secrets that each invitation has of its own."""
    command = re.sub(r"&pin=[0-9a-f]{64}| --pin [0-9a-f]{64}", "", command.strip())
    return re.sub(r"code=\w+|\w{2}-\w{4}-\w{4}", "CODE", command)


def invited(site: GatewaySite) -> tuple[str, str]:
    """The commands of an invitation: with a link, and with a code. The page shows the same two."""
    said = site.gateway.run("set +x\n" + BLOCKS["invite"])
    commands = [line.strip() for line in said.splitlines() if line.strip().startswith("ringwake link pair ")]
    port = "443" if ":443" in said else "8883"
    assert [general(it) for it in commands] == [
        general(it.replace("8883", port)) for it in BLOCKS["pair"].splitlines()
    ], said
    link, code = commands
    return link, code


def pair(site: GatewaySite, command: str) -> None:
    said = site.device.run(f"{command}\neventually paired\nset +x\n{BLOCKS['linked']}echo token=$(token production)\n")
    assert "those of the gateway push.example.com" in said
    site.token = said.rpartition("token=")[2].strip()


def test_the_guide_makes_a_gateway_whose_device_rings_whatever_restarts(site: GatewaySite) -> None:
    set_up(site)
    for machine in (site.gateway, site.device):
        limits = machine.run("grep 'Max open files' /proc/$(main_pid)/limits\n").splitlines()[-1].split()
        # The daemon has raised its own to what the unit allows, as far as this machine lets a container.
        assert limits[3:5] == [str(min(DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))] * 2, limits
    site.gateway.run(PACKET_FILTER)
    assert not site.can_connect(443) and not site.can_connect(8883)
    site.gateway.run(BLOCKS["firewall"])
    assert site.can_connect(443) and site.can_connect(8883)
    link, _ = invited(site)
    assert "&pin=" in link
    pair(site, link)
    site.restart("systemctl restart ringwaked")
    site.restart("kill -9 $before")
    renew(site)
    push_id = site.ring()
    # The device's report comes when there is time for it.
    reported = f"reported() {{ {BLOCKS['push'].strip()} | grep -q 'state *ended'; }}\neventually reported\n"
    said = site.gateway.run(f"set +x\nid={push_id}\n" + reported + BLOCKS["status"] + BLOCKS["devices"])
    assert re.search(r"devices +1 paired, 1 online", said) and re.search(r"device +\w{8} +online", said), said
    operate(site)
    revoke_and_return(site)


def renew(site: GatewaySite) -> None:
    """A renewal with another key: the link stays, and who is new sees the new certificate and links by the pin."""
    before, links_before = site.certificate(), links_made(site)
    site.authority.issue(site.gateway.root, days=25)
    assert "ringwaked doesn't run" not in site.gateway.run(BLOCKS["certificate"])
    assert site.certificate() != before
    assert site.certificate("mqtt", 8883) == site.certificate()
    site.ring()
    assert links_made(site) == links_before
    site.device.run("systemctl restart ringwaked\neventually paired\n")
    assert links_made(site) == links_before + 1
    site.ring()
    # The same by lego's variables; and by hand, without any.
    before = site.certificate()
    site.authority.issue(site.gateway.root, days=25)
    site.gateway.run(f"""
LEGO_CERT_PATH=/srv/issued/fullchain.pem LEGO_CERT_KEY_PATH=/srv/issued/privkey.pem {HOOK}
{HOOK} 2>&1 | grep 'an ACME client runs this'
""")
    assert site.certificate() != before


def operate(site: GatewaySite) -> None:
    """Metrics, a drain, the drop-in for a device that sleeps, and a move to a gateway that isn't there."""
    said = site.gateway.run(f"""
mkdir -p /var/lib/prometheus/node-exporter
{BLOCKS["textfile"]}
grep 'ringwake_gateway_devices{{state="online"}} 1' /var/lib/prometheus/node-exporter/ringwake.prom
set +x
{BLOCKS["metrics"]}""")
    assert "ringwake_gateway_push_acknowledgement_seconds_bucket" in said, said
    alone = "alone() { ringwake gateway devices | grep -q offline; }\neventually alone\n"
    site.gateway.run(BLOCKS["drain"] + alone + BLOCKS["reopen"])
    site.device.root.write("/etc/systemd/system/ringwaked.service.d/override.conf", WAKE_ALARM)
    # Whether that wakes the machine, the lab shows that has a machine to wake (Tests/lab/link/suspend).
    site.device.run("""
systemctl daemon-reload
systemctl restart ringwaked
eventually paired
capabilities=$(awk '/^CapEff:/ { print $2 }' "/proc/$(systemctl show -p MainPID --value ringwaked)/status")
[ $((0x$capabilities >> 35)) = 1 ]
ringwake status --features | grep 'boottime-alarm *there'
""")
    site.ring()
    site.gateway.run(BLOCKS["move"].replace("door-station", "device"))
    went = "went() { ringwake link status | grep -q 'not followed.*push2'; }\neventually went\n"
    site.device.run(went)
    site.gateway.run("ringwake gateway move --all --off\n")
    site.device.run("eventually paired\n")
    site.ring()


def links_made(site: GatewaySite) -> int:
    said = site.gateway.run("set +x\nringwake gateway status\n")
    return int(re.search(r"links +(\d+) made", said)[1])


def revoke_and_return(site: GatewaySite) -> None:
    """The device is taken out by its gateway, and leaves by itself."""
    site.gateway.run(BLOCKS["revoke"].replace("door-station", "device"))
    assert site.post("00000000-0000-4000-8000-000000000001") == "410"
    site.device.run(BLOCKS["unpair"])
    # A revoked device needs a code, and the code takes the CA where the link had a pin.
    _, code = invited(site)
    pair(site, re.sub(" --pin .*", "", code) + " --ca /srv/ca.pem")
    site.ring()
    site.device.run(BLOCKS["unpair"])
    assert site.post("00000000-0000-4000-8000-000000000002") == "410"


def test_links_and_pushes_share_the_port_443_that_systemd_passes(site: GatewaySite) -> None:
    set_up(site, GATEWAY.partition("[gateway]")[0] + ONE_PORT)
    link, _ = invited(site)
    assert ":443/pair?" in link
    # A socket that is enabled on the device too, as an image may have it: the device rings, and says what is wrong.
    site.device.run("""
systemctl stop ringwaked.socket ringwaked
systemctl enable --now ringwaked-production.socket
systemctl start ringwaked
""")
    pair(site, link)
    assert site.certificate("h2") == site.certificate("mqtt")
    site.ring()
    site.restart("systemctl restart ringwaked")
    site.restart("kill -9 $before")
    # 8883, in the kernel's hexadecimal.
    site.gateway.run("fails grep ':22B3 ' /proc/net/tcp /proc/net/tcp6\n")
    log = "journalctl --no-pager --unit ringwaked --output cat --lines 20"
    for command in (log, "ringwake status", "ringwake doctor || true"):
        said = site.device.run(f"set +x\n{command}\n")
        assert "run 'systemctl disable --now ringwaked-production.socket'" in said, said
    site.device.run("systemctl disable --now ringwaked-production.socket\nsystemctl restart ringwaked\n")
    said = site.device.run("eventually paired\nset +x\nringwake status\nringwake doctor || true\n")
    assert "ringwaked-production" not in said, said
    site.ring()


@pytest.mark.parametrize("target", links(GUIDE))
def test_what_the_guide_links_to_is_there(target: str) -> None:
    assert (programs.ROOT / "Documentation" / target).exists()
