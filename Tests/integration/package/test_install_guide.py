"""`Documentation/install.md`: its commands, in their order, on a fresh Debian 12."""

import re

import pytest

from support.package import Device, blocks, links
from support.programs import ROOT

GUIDE = "install.md"
BLOCKS = blocks(GUIDE)
# What the page writes into an editor that `systemctl edit` opens.
DROP_IN = re.findall(r"```ini\n(.*?)```", (ROOT / "Documentation" / GUIDE).read_text(), re.DOTALL)
# From `apt install` to the first ring.
MAXIMUM_COMMANDS = 4

# What stands between the blocks: what another machine and a person do, and what has to be seen.
BEFORE = {
    # apt asks whether to install what the package depends on and recommends; the person says yes.
    "ring": """
mkdir /srv/download && cd /srv/download
ln -s /packages/older.deb ringwake_0.0.1_amd64.deb
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/99test
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
cp /etc/ringwake/certs/ca.pem /etc/ringwake/certs/voip-services-*.pem /etc/ringwake/certs/AuthKey_*.p8 .
token=$(token development)
push() { ringwake push --host phone.example.net --port 2197 --ca ca.pem --timeout 3s "$@"; }
fails push --cert voip-services-com.example.phone.pem --token "$token"
""",
    "remove": """
cp /etc/ringwake/certs/voip-services-com.example.door.pem .
door=$(token development com.example.door)
push --cert voip-services-com.example.door.pem --token "$door"
fails push --cert voip-services-com.example.door.pem --token "$token" --topic com.example.phone.voip
""",
    "rotation": """
fails push --cert voip-services-com.example.door.pem --token "$door"
old=$(basename AuthKey_*.p8 .p8) && old=${old#AuthKey_}
ringwake certs dev-ca --directory new --team DEVTEAM001
cp new/AuthKey_*.p8 AuthKey_NEWKEY0001.p8 && cp new/AuthKey_*.pub.pem AuthKey_NEWKEY0001.pub.pem
by_key() { push --key "AuthKey_$1.p8" --team DEVTEAM001 --topic com.example.phone.voip --token "$token"; }
by_key "$old"
fails by_key NEWKEY0001
""",
    "retirement": """
by_key "$old"
by_key NEWKEY0001
""",
    "renewal": """
fails by_key "$old"
by_key NEWKEY0001
cp /etc/ringwake/certs/server.pem /srv/before.pem
""",
    "operators": "useradd alice && useradd bob\n",
    "upgrade": """
cd /srv/download
rm ringwake_*.deb && ln -s /packages/ringwake.deb ringwake_1.0.0_amd64.deb
before=$(main_pid)
""",
    "uninstall": """
test "$before" != "$(main_pid)"
ringwake push list
""",
}
AFTER = {
    "ring": "eventually call_is ringing\n",
    "look": "eventually call_is ended\n",
    "handler": "eventually call_is ringing\nringwake call answer\neventually call_is connected\nringwake call end\n"
               "nothing_is_active() { ! call_is '\\(ringing\\|connected\\)'; }\neventually nothing_is_active\n",
    "sender": "eventually call_is ringing\nringwake call end\n",
    "renewal": "cmp /etc/ringwake/certs/server.pem /srv/before.pem\n",
    "renew": """
fails cmp /etc/ringwake/certs/server.pem /srv/before.pem
cp /etc/ringwake/certs/voip-services-com.example.phone.pem /srv/sender/renewed.pem
push --cert renewed.pem --token "$token"
push --cert voip-services-com.example.phone.pem --token "$token"
""",
    "operators": """
before=$(main_pid)
as alice systemctl restart ringwaked
test "$before" != "$(main_pid)"
fails as bob systemctl --no-ask-password restart ringwaked
""",
    # The other port, which keeps the tokens, and back.
    "sockets": f"""
push --cert voip-services-com.example.phone.pem --token "$(token production)" --environment production
fails push --cert voip-services-com.example.phone.pem --token "$token"
systemctl stop ringwaked.socket ringwaked-production.socket
mkdir /etc/systemd/system/ringwaked-development.socket.d
cat >/etc/systemd/system/ringwaked-development.socket.d/override.conf <<'END'
{DROP_IN[0]}END
systemctl daemon-reload
systemctl start ringwaked-development.socket ringwaked
push --cert voip-services-com.example.phone.pem --token "$token"
systemctl stop ringwaked.socket ringwaked-development.socket
systemctl start ringwaked-production.socket ringwaked
""",
    "gate": """
cp /etc/ringwake/certs/voip-services-com.example.gate.pem .
push --cert voip-services-com.example.gate.pem --token "$(token production com.example.gate)" --environment production
""",
    "uninstall": "test ! -e /etc/ringwake -a ! -e /var/lib/ringwake\n",
}  # fmt: skip


def test_the_commands_of_the_guide_install_operate_and_remove_ringwake(device: Device) -> None:
    assert BEFORE.keys() | AFTER.keys() <= BLOCKS.keys()
    device.run("".join(BEFORE.get(name, "") + block + AFTER.get(name, "") for name, block in BLOCKS.items()))


def test_the_first_ring_takes_few_commands() -> None:
    commands = BLOCKS["ring"].splitlines()
    assert next(iter(BLOCKS)) == "ring" and len(commands) <= MAXIMUM_COMMANDS
    # A loop, a pipe or a list of commands would be a script.
    assert not [command for command in commands if set(command) & set(";&|\\(")]


@pytest.mark.parametrize("target", links(GUIDE))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (ROOT / "Documentation" / target).exists()
