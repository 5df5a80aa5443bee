"""`Documentation/test-your-sender.md`: its commands, in their order, with the package on a fresh Debian 12."""

import re

import pytest

from support.package import PRELUDE, Device, blocks, links
from support.programs import ROOT

GUIDE = "test-your-sender.md"
BLOCKS = blocks(GUIDE)
# What a comment after a command promises: the status and the reason.
PROMISED = re.findall(r"# (\d{3} [A-Z]\w+)", "".join(BLOCKS.values()))

AFTER = {
    "push": """
two_ring() { ringwake call list --json | jq --exit-status '[.calls[] | select(.state == "ringing")] | length == 2'; }
eventually two_ring
""",
    "look": "eventually call_is connected\n",
    # The loop under "watch" may have pushed more than once.
    "end": """
all_ended() { ringwake call list --json | jq --exit-status 'all(.calls[]; .state == "ended")'; }
eventually all_ended
""",
    "log": f"test \"$(grep -c 'push refused' \"$(value endpoint.log)\")\" = {len(PROMISED)}\n",
    "clean": "test -z \"$(ls /tmp | grep ringwake-endpoint)\"\nfails grep -qx ringwaked /proc/[0-9]*/comm\n",
}  # fmt: skip


def test_the_commands_of_the_guide_show_what_it_promises(device: Device) -> None:
    assert AFTER.keys() <= BLOCKS.keys()
    # The page needs no rights: a user runs it.
    user = "install_package /packages/ringwake.deb curl jq\nuseradd --create-home developer\ncd /home/developer\n"
    device.root.write("/srv/guide", PRELUDE + "".join(block + AFTER.get(name, "") for name, block in BLOCKS.items()))
    text = device.run(user + "as developer bash /srv/guide\n")
    answers = re.findall(r"^(\d{3} [A-Z]\w+) from ", text, re.MULTILINE)
    assert answers == PROMISED and len(PROMISED) == 9, text


@pytest.mark.parametrize("target", links(GUIDE))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (ROOT / "Documentation" / target).exists()
