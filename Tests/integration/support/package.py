"""The Debian package under test, and the machines that it is installed on."""

import re
from dataclasses import dataclass
from pathlib import Path

from . import programs
from .machine import Root, check

BUILD_TIMEOUT = 240
# The programs are the same in both: a test of an upgrade needs nothing but an older number.
OLDER = "0.0.1"

# What each script begins with: it stops at the first command that fails, and shows each. That a command has to fail is
# said with `fails`, because `set -e` overlooks a `!`.
PRELUDE = """\
set -ex
export DEBIAN_FRONTEND=noninteractive NO_COLOR=1
app=com.example.phone
fails() { if "$@"; then echo "this had to fail: $*"; exit 1; fi; }
install_package() { apt-get install --yes --quiet --no-install-recommends "$@"; }
# Tries the command until it succeeds.
eventually() {
    for _ in $(seq 600); do "$@" && return 0; sleep 0.1; done 2>/dev/null
    echo "waited in vain for: $*"
    systemctl --no-pager status ringwaked || true
    journalctl --no-pager -n 40 || true
    return 1
}
call_is() { ringwake call list --json | tr -d ' \\n' | grep -q '"state":"'"$1"'"'; }
# token ENVIRONMENT [APP]: the device token.
token() { ringwake app show "${2:-$app}" --json | tr -d ' \\n' | sed 's/.*"'"$1"'":"\\([0-9a-f]*\\)".*/\\1/'; }
main_pid() { systemctl show --property MainPID --value ringwaked; }
# as USER COMMAND...
as() { setpriv --reuid "$1" --regid "$1" --init-groups "${@:2}"; }
"""


@dataclass(frozen=True)
class Packages:
    """The package of these programs, and the same with the number of an older version."""

    current: Path
    older: Path

    def control(self, name: str) -> str:
        """A field of the package's control file."""
        return check("dpkg-deb", "--field", self.current, name).strip()


class Device:
    """A fresh Debian 12 with both packages in /packages, and no network."""

    def __init__(self, root: Root) -> None:
        self.root = root

    def run(self, script: str) -> str:
        """Boots it and runs the script, which has to succeed. Returns what the script printed."""
        boot = self.root.boot(PRELUDE + script)
        assert boot.status == 0, boot.end
        return boot.text


def build(output: Path, *options: str) -> Path:
    """Makes the package; it is compressed little, which takes a tenth of the time."""
    command = [programs.ROOT / "deploy" / "debian" / "build", "--programs", programs.BIN_DIRECTORY, "--output", output]
    return Path(check("env", "DPKG_DEB_COMPRESSOR_LEVEL=0", *command, *options, timeout=BUILD_TIMEOUT).strip())


def readme_handler() -> str:
    """The handler that README.md shows."""
    text = (programs.ROOT / "README.md").read_text()
    match = re.search(r"<!-- tested: handler -->\n```sh\n(.*?)```", text, re.DOTALL)
    assert match, "README.md has no handler"
    return match[1]


def setup_commands() -> str:
    """The commands of README.Debian that set the daemon up and start it, as they stand there."""
    text = (programs.ROOT / "deploy" / "debian" / "debian" / "ringwake.README.Debian").read_text()
    commands = re.findall(r"^    (ringwake setup|systemctl enable --now ringwaked)$", text, re.MULTILINE)
    assert len(commands) == 2, "README.Debian does not say how to set up and start the daemon"
    return "\n".join(commands) + "\n"


def blocks(guide: str) -> dict[str, str]:
    """The blocks of commands in a page of Documentation, by the names in their marks, in the page's order.

    A block in Python is a command that runs it.
    """
    text = (programs.ROOT / "Documentation" / guide).read_text()
    found = re.findall(r"<!-- tested: (\w+) -->\n```(sh|python)\n(.*?)```", text, re.DOTALL)
    marked = len(re.findall(r"^```(?:sh|python)$", text, re.MULTILINE))
    assert marked == len(found) > 0, f"{guide} has a block of commands that is not tested"
    return {name: code if kind == "sh" else f"python3 - <<'END'\n{code}END\n" for name, kind, code in found}


def links(guide: str) -> list[str]:
    """The files that a page of Documentation links to."""
    targets = re.findall(r"\]\(([^)#]+)", (programs.ROOT / "Documentation" / guide).read_text())
    return [target for target in targets if not target.startswith("https:")]
