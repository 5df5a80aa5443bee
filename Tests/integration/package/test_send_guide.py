"""`Documentation/send-pushes.md`: its commands, in their order, with the package on a fresh Debian 12."""

import re

import pytest

from support.package import Device, blocks, links
from support.programs import ROOT

GUIDE = "send-pushes.md"
BLOCKS = blocks(GUIDE)
# What a comment after a command promises: the status.
PROMISED = re.findall(r"# (\d{3})", "".join(BLOCKS.values()))
# Calls of the sender in Python.
CALLS = 20

# The device, whose owner is the same person here, and what it gave to the sender.
DEVICE = """
install_package /packages/ringwake.deb curl openssl python3-httpx python3-h2
echo 127.0.0.1 phone.example.net >>/etc/hosts
ringwake setup --host phone.example.net --payload ringwake
systemctl enable --now ringwaked
mkdir /srv/sender && cd /srv/sender
cp /etc/ringwake/certs/ca.pem /etc/ringwake/certs/voip-services-*.pem .
export token=$(token development)
is() { ringwake call show "$1" --json | tr -d ' \\n' | grep -q "\\"$2\\""; }
"""
BEFORE = {
    # The firewall refuses connections for a moment: the sender repeats its pushes. It counts those that are accepted.
    "sender": """
nft -f - <<'END'
table inet count {
    chain accepted {
        type filter hook input priority 0
        tcp sport 2197 tcp flags & (syn | ack) == (syn | ack) counter
    }
    chain refused {
        type filter hook input priority -10
        tcp dport 2197 reject with tcp reset
    }
}
END
(sleep 2 && nft flush chain inet count refused) &
""",
}
AFTER = {
    "certificate": "eventually is c-4711 ringing\n",
    # Another team cannot cancel it.
    "token": """
eventually is c-4712 ringing
by_certificate() { post "$1" --cert voip-services-com.example.phone.pem >/dev/null; }
by_certificate '{"ringwake":{"call":"c-4712","cancel":true}}'
is c-4712 ringing
""",
    "outcome": "eventually is c-4719 ringing\n",
    # A cancellation that overtakes its call.
    "cancel": """
eventually is c-4711 cancelled
is c-4711 ended
by_certificate '{"ringwake":{"call":"c-4713","cancel":true}}'
by_certificate '{"ringwake":{"call":"c-4713","caller":"sip:carol@example.org"}}'
is c-4713 cancelled
is c-4713 ended
""",
    "webhook": "ringwake team show OPERATOR01 | grep https://pbx.example.com/receipts\n",
    "elsewhere": "eventually is c-4712 answeredElsewhere\nis c-4712 ended\n",
    "sender": f"""
for n in $(seq 0 {CALLS - 1}); do eventually is "c-$n" ringing; done
test "$(nft list table inet count | sed -n 's/.*counter packets \\([0-9]*\\).*/\\1/p')" = 1
""",
    "look": "ringwake push show \"$id\" | grep cancelled\n",
    # The app comes back with another token.
    "removed": """
ringwake app add com.example.phone --connected
test "$(token development)" != "$token"
""",
}  # fmt: skip


def test_the_commands_of_the_guide_show_what_it_promises(device: Device) -> None:
    assert BEFORE.keys() | AFTER.keys() <= BLOCKS.keys()
    script = "".join(BEFORE.get(name, "") + block + AFTER.get(name, "") for name, block in BLOCKS.items())
    text = device.run(DEVICE + script)
    answers = re.findall(r"^(?:\{.*\})? (\d{3})$", text, re.MULTILINE)
    assert answers == PROMISED and len(PROMISED) == 6, text
    assert '{"outcome":"started"} 200' in text, text
    assert len(re.findall(r"^200 $", text, re.MULTILINE)) == CALLS, text
    assert re.search(r'^\{"reason":"Unregistered","timestamp":\d{13}\} 410$', text, re.MULTILINE), text


@pytest.mark.parametrize("target", links(GUIDE))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (ROOT / "Documentation" / target).exists()
