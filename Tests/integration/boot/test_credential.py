"""Stored data under a credential that systemd passes: the lines of the guide, run on a booted machine."""

from collections.abc import Callable

from support import programs
from support.machine import Boot, Root

EXAMPLE = "deploy/systemd/examples/protection.conf"
GUIDE = programs.ROOT / "Documentation" / "protection.md"


def documented() -> str:
    """The commands of the guide."""
    text = GUIDE.read_text().partition("**The credential.**")[2]
    return text.partition("```sh\n")[2].partition("```")[0]


SCRIPT = r"""
prepare
systemctl enable --now ringwaked
add_app
protection() { ringwake protection status --json | part "[\"$1\"]"; }
caller() { ringwake call show "$1" --json | part '["caller"]'; }
step "without a credential, what is stored can be read in the files"
connect first
hang_up first
[ "$(protection state)" = off ]
grep -rqF alice@example.org /var/lib/ringwake
step "the commands of the guide"
mkdir -p /etc/credstore.encrypted
cd /srv
COMMANDS
[ "$(protection state)" = unlocked ]
[ "$(protection source)" = credential ]
step "nothing of it is in the files any more, and calls know who called"
hidden() { ! grep -rqF alice@example.org /var/lib/ringwake; }
eventually hidden
[ "$(caller first)" = sip:alice@example.org ]
connect second
step "kill -9 in a call"
before=$(main_pid)
kill -9 "$before"
restarted() { [ "$(main_pid)" != "$before" ] && systemctl is-active --quiet ringwaked; }
eventually restarted
eventually is second connected
[ "$(caller second)" = sip:alice@example.org ]
hang_up second
hidden
step "the state directory without the credential, as on another machine"
mv /etc/credstore.encrypted/ringwake-protection /run/away
systemctl restart ringwaked
[ "$(protection state)" = locked ]
protection why
[ "$(ringwake call show first --json | part '["lockedBy"]')" = completeUntilFirstUserAuthentication ]
connect third
hang_up third
hidden
mv /run/away /etc/credstore.encrypted/ringwake-protection
systemctl restart ringwaked
[ "$(protection state)" = unlocked ]
for call in first second third; do [ "$(caller $call)" = sip:alice@example.org ]; done
"""


def test_the_credential_of_the_guide_protects_what_is_stored(device: Root, boot: Callable[[str], Boot]) -> None:
    device.write(f"/srv/{EXAMPLE}", (programs.ROOT / EXAMPLE).read_bytes())
    boot(SCRIPT.replace("COMMANDS\n", documented()))
