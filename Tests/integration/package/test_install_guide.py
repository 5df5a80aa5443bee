"""`Documentation/install.md`: its commands, in their order, on a fresh Debian 12."""

import re
from pathlib import Path

import pytest

from support.package import Device
from support.programs import ROOT

GUIDE = ROOT / "Documentation" / "install.md"
BLOCKS = dict(re.findall(r"<!-- tested: (\w+) -->\n```sh\n(.*?)```", GUIDE.read_text(), re.DOTALL))

# What stands between the blocks: what another machine and a person do, and what has to be seen.
BEFORE = {
    "install": """
mkdir /srv/download && cd /srv/download
ln -s /packages/older.deb ringwake_0.0.1_amd64.deb
echo 'APT::Get::Assume-Yes "true"; APT::Install-Recommends "false";' >/etc/apt/apt.conf.d/99test
""",
    # A firewall that lets nothing in but answers.
    "firewall": """
echo 127.0.0.1 phone.example.net >>/etc/hosts
nft -f - <<'END'
table inet filter {
    chain input {
        type filter hook input priority 0; policy drop;
        ct state established,related accept
    }
}
END
mkdir /srv/sender && cd /srv/sender
cp /etc/ringwake/certs/ca.pem /etc/ringwake/certs/voip-services-*.pem .
token=$(ringwake app show com.example.phone --json | tr -d ' \\n' | sed 's/.*"production":"\\([0-9a-f]*\\)".*/\\1/')
push() { ringwake push --host phone.example.net --port 2197 --ca ca.pem --environment production --timeout 3s "$@"; }
fails push --cert voip-services-com.example.phone.pem --token "$token"
""",
    "renewal": """
cp /etc/ringwake/certs/voip-services-com.example.door.pem .
door=$(ringwake app show com.example.door --json | tr -d ' \\n' | sed 's/.*"production":"\\([0-9a-f]*\\)".*/\\1/')
push --cert voip-services-com.example.door.pem --token "$door"
fails push --cert voip-services-com.example.door.pem --token "$token" --topic com.example.phone.voip
cp /etc/ringwake/certs/server.pem /srv/before.pem
""",
    "upgrade": """
fails cmp /etc/ringwake/certs/server.pem /srv/before.pem
cp /etc/ringwake/certs/voip-services-com.example.phone.pem /srv/sender/renewed.pem
push --cert renewed.pem --token "$token"
push --cert voip-services-com.example.phone.pem --token "$token"
cd /srv/download
rm ringwake_*.deb && ln -s /packages/ringwake.deb ringwake_1.0.0_amd64.deb
before=$(main_pid)
""",
    "uninstall": """
within 20 ringwake status
test "$before" != "$(main_pid)"
ringwake push list
""",
}
AFTER = {
    "configuration": "within 20 ringwake status\n",
    "sender": "within 20 call_is ringing\n",
    "uninstall": "test ! -e /etc/ringwake -a ! -e /var/lib/ringwake\n",
}


def test_the_commands_of_the_guide_install_operate_and_remove_ringwake(device: Device) -> None:
    assert BEFORE.keys() | AFTER.keys() <= BLOCKS.keys()
    device.run("".join(BEFORE.get(name, "") + block + AFTER.get(name, "") for name, block in BLOCKS.items()))


def test_every_block_of_commands_is_tested() -> None:
    assert GUIDE.read_text().count("```sh") == len(BLOCKS) > 0


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", GUIDE.read_text()))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (Path(GUIDE).parent / target).exists()
