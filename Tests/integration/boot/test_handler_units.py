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
ringwake app add "$app" --unit "$unit" --instances call --payload ringwake >/run/added
[ -z "$(grep note: /run/added)" ]
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
step "an id that is too long for the name of a unit reaches the handler whole"
long=$(printf 'a-%.0s' $(seq 100))
connect "$long"
hang_up "$long"
eventually gone
step "any other unit is refused to the daemon"
ringwake app add "$app" --unit ssh@.service --instances call --payload ringwake --replace >/run/added
grep -F "note: the handler of $app: polkit's rule does not let the daemon start ssh@.service" /run/added
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


UNSTARTABLE = r"""
prepare
systemctl start dbus polkit
systemctl enable --now ringwaked
folder=/etc/systemd/system
useradd --system phone
write() { printf "[Service]\n$2\n" >$folder/ringwake-handler-$1@.service; }
write stranger "User=phone\nExecStart=/bin/true"
write user "User=nosuch\nExecStart=/bin/true"
write program "ExecStart=/usr/bin/nosuch --option"
write mode "ExecStart=/etc/passwd"
write setting "ExecStart="
write good "ExecStart=/bin/true %i"
systemctl daemon-reload
finds() {
    ringwake app add "$app" --unit "ringwake-handler-$1@.service" --instances call --payload ringwake --replace
    { ringwake doctor || true; } | grep -F -A 1 "handlers " | tee /run/found
    grep -F -- "$2" /run/found
}
step "a unit that cannot start is named, with its cause"
finds missing "systemd knows no unit ringwake-handler-missing@.service"
finds stranger "the user phone may not use the control socket (SupplementaryGroups= in $folder/ringwake-handler-stranger@.service)"
finds user "there is no user nosuch (User= in $folder/ringwake-handler-user@.service)"
finds program "there is no program /usr/bin/nosuch (ExecStart= in $folder/ringwake-handler-program@.service)"
finds mode "/etc/passwd is not an executable file"
finds setting "systemd-analyze verify $folder/ringwake-handler-setting@.service"
finds good "every handler is there"
"""


def test_a_unit_that_cannot_start(device: Root, boot: Booted) -> None:
    handler_unit.install_rules(device)
    boot(UNSTARTABLE)
