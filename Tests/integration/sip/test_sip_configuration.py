"""The shipped configuration in the places that deploy/senders/kamailio/README.md names."""

import re
import shutil
from pathlib import Path

import pytest
from sip import exchange as exchanges
from sip.exchange import CONFIGURATION
from support import programs

DEBIAN = Path("/etc/kamailio/kamailio.cfg")
# After what in Debian's file, and the line that comes there.
PLACES = [
    (r"\tif \(is_method\(\"CANCEL\"\)\) \{\n", "route(RINGWAKE_CANCEL);"),
    (r"\tif \(!save\(\"location\"\)\) \{\n\t\tsl_reply_error\(\);\n\t\}\n", "route(RINGWAKE_REGISTERED);"),
    (r"\nroute\[LOCATION\] \{\n", 'if (is_method("INVITE")) route(RINGWAKE_INVITE);'),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like /etc/kamailio with the shipped files."""
    if reason := exchanges.unavailable():
        pytest.skip(reason)
    for path in CONFIGURATION.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def check(folder: Path, *options: str) -> str:
    done = programs.run("/usr/sbin/kamailio", "-c", "-f", folder / "kamailio.cfg", *options)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "config file ok" in said and "ERROR" not in said, said
    return said


def test_the_whole_server(folder: Path) -> None:
    check(folder)


@pytest.mark.parametrize("options", [(), ("-A", "WITH_NAT")])
def test_within_the_configuration_of_debian(folder: Path, options: tuple[str, ...]) -> None:
    readme = (CONFIGURATION / "README.md").read_text()
    text = DEBIAN.read_text()
    for place, line in PLACES:
        assert f"`{line}`" in readme
        text, count = re.subn(place, lambda match, line=line: f"{match[0]}{line}\n", text, count=1)
        assert count == 1, f"Debian's file has no {place}"
    files = [f'include_file "{name}"' for name in ("ringwake-settings.cfg", "ringwake.cfg")]
    assert all(f"`{line}`" in readme for line in files)
    head, found, tail = text.partition("\nrequest_route {")
    assert found
    (folder / "kamailio.cfg").write_text("\n".join([head, *files, found + tail]))
    check(folder, *options)
