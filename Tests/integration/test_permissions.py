"""What this user may not read is refused as that: exit status 4, and not as something that is missing."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.programs import RINGWAKE, RINGWAKED, as_nobody, run

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be two users")
NOT_PERMITTED = 4


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody may enter. The folder `ringwake` in it is root's alone."""
    folder = Path(tempfile.mkdtemp(prefix="ringwake-permissions-"))
    folder.chmod(0o755)
    (folder / "ringwake" / "certs").mkdir(parents=True)
    (folder / "ringwake").chmod(0o700)
    (folder / "ringwake" / "ringwaked.toml").write_text("")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("command", [
    [RINGWAKED, "--check-config", "--config", "{}/ringwaked.toml"],
    [RINGWAKE, "config", "show"],
    [RINGWAKE, "team", "list"],
    [RINGWAKE, "certs", "renew", "--directory", "{}/certs"],
    [RINGWAKE, "certs", "show", "{}/certs/server.pem"],
    [RINGWAKE, "app", "add", "com.example.phone", "--exec", "{}/handler"],
    [RINGWAKE, "team", "key", "add", "TEAM123456", "{}/AuthKey_ABC123DEFG.p8"],
], ids=lambda command: "-".join(str(word) for word in command[1:3]))  # fmt: skip
def test_what_this_user_may_not_read(place: Path, command: list) -> None:
    words = [str(word).format(place / "ringwake") for word in command]
    done = run(*as_nobody(), *words, env={"XDG_CONFIG_HOME": str(place), "HOME": str(place)})
    assert done.returncode == NOT_PERMITTED, done
    assert "Permission denied" in done.stderr and "root" in done.stderr


@pytest.mark.parametrize("command", [
    [RINGWAKED, "--check-config", "--config", "{}/nowhere/ringwaked.toml"],
    [RINGWAKE, "certs", "renew", "--directory", "{}/nowhere"],
    [RINGWAKE, "app", "add", "com.example.phone", "--exec", "{}/nowhere"],
], ids=lambda command: "-".join(str(word) for word in command[1:3]))  # fmt: skip
def test_what_is_missing(place: Path, command: list) -> None:
    done = run(*[str(word).format(place) for word in command])
    assert done.returncode == 5, done
