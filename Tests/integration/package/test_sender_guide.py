"""`Documentation/test-your-sender.md`: its commands, in their order, with the package on a fresh Debian 12."""

import re

import pytest

from support.package import PRELUDE, Device
from support.programs import ROOT

GUIDE = ROOT / "Documentation" / "test-your-sender.md"
BLOCKS = dict(re.findall(r"<!-- tested: (\w+) -->\n```sh\n(.*?)```", GUIDE.read_text(), re.DOTALL))
# What a comment after a command promises: the status and the reason.
PROMISED = re.findall(r"# (\d{3} [A-Z]\w+)", "".join(BLOCKS.values()))

AFTER = {"push": "count() { ringwake call list --json | grep -o '\"state\" *: *\"ringing\"' | wc -l; }\n"
         "two_ring() { test \"$(count)\" = 2; }\nwithin 20 two_ring\n"}  # fmt: skip


def test_the_commands_of_the_guide_show_what_it_promises(device: Device) -> None:
    # The page needs no rights: a user runs it.
    user = "install_package /packages/ringwake.deb\nuseradd --create-home developer\ncd /home/developer\n"
    device.root.write("/srv/guide", PRELUDE + "".join(block + AFTER.get(name, "") for name, block in BLOCKS.items()))
    text = device.run(user + "setpriv --reuid developer --regid developer --init-groups bash /srv/guide\n")
    answers = re.findall(r"^(\d{3} [A-Z]\w+) from ", text, re.MULTILINE)
    assert answers == PROMISED and len(PROMISED) == 7, text


def test_every_block_of_commands_is_tested() -> None:
    assert GUIDE.read_text().count("```sh") == len(BLOCKS) > 0


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)", GUIDE.read_text()))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (GUIDE.parent / target).exists()
