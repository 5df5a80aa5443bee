"""Handlers of the system's service: units that root has installed, each with its own user, outside the daemon's sandbox."""

from collections.abc import Callable
from pathlib import Path

import handler_unit
import pytest
from support import programs
from support.machine import Boot, Root

Booted = Callable[[str], Boot]

LIVE = r"""
prepare
useradd --system phone
systemctl start dbus polkit
systemctl enable --now ringwaked
ringwake app add "$app" --unit "$unit" --instances call --payload ringwake
ringwake app show "$app" | grep -F "of the system manager"
connect one
step "it is a unit of its own, and has its own user"
handler() { systemctl show --property=MainPID --value "ringwake-handler-*.service"; }
[ "$(ps -o user= -p "$(handler)")" = phone ]
step "the daemon is killed in the call, and starts again"
kill -9 "$(main_pid)"
again() { systemctl is-active --quiet ringwaked && ringwake status >/dev/null; }
eventually again
eventually is one connected
ringwake call hold one
eventually is one held
ringwake call unhold one
eventually is one connected
hang_up one
step "it ended with its call"
gone() { [ -z "$(systemctl list-units --plain --no-legend 'ringwake-handler-*')" ]; }
eventually gone
step "any other unit is refused to the daemon"
ringwake app add "$app" --unit ssh@.service --instances call --payload ringwake --replace
ringwake push --app "$app" --data '{"ringwake":{"call":"two","caller":"sip:alice@example.org"}}'
eventually is two ended
"""


@pytest.mark.parametrize("language", ["python", "node"])
def test_a_handler_that_is_a_unit_of_its_own(device: Root, boot: Booted, language: str) -> None:
    sources = {
        "python": (programs.ROOT / "Examples" / "python-handler" / "handler.py", "/usr/bin/python3"),
        "node": (Path(__file__).parent / "handler.mjs", "/usr/bin/node"),
    }
    file, interpreter = sources[language]
    device.write(f"/usr/libexec/{file.name}", file.read_bytes(), 0o755)
    handler_unit.install_unit(device, f"{interpreter} /usr/libexec/{file.name}")
    boot(f"unit={handler_unit.NAME}\n{LIVE}")
