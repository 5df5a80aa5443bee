"""A handler as a unit of the system's service, with its own user, and the rules that let the daemon start it."""

from support import programs
from support.machine import Root

NAME = "ringwake-handler-phone@.service"
RULES = programs.ROOT / "deploy" / "polkit" / "50-ringwake.rules"

UNIT = """\
[Unit]
Description=Call handler of com.example.phone
CollectMode=inactive-or-failed

[Service]
Type=exec
User=phone
SupplementaryGroups=ringwake-control
Environment=RINGWAKE_APP=com.example.phone {environment}
ExecStart={command}
Restart=no
TimeoutStopSec=5s
"""


def install_rules(root: Root) -> None:
    root.write("/usr/share/polkit-1/rules.d/50-ringwake.rules", RULES.read_bytes())


def install_unit(root: Root, command: str, environment: str = "") -> None:
    """The unit for this command, and the rules."""
    install_rules(root)
    root.write(f"/etc/systemd/system/{NAME}", UNIT.format(command=command, environment=environment))
