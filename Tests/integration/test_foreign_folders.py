"""Root writes only where others do not decide what a name stands for: another user's folder may be full of links."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.credentials import APP
from support.daemon import Daemon
from support.programs import RINGWAKE, as_nobody, ringwake, run

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be two users")
NOBODY = 65534
NOT_PERMITTED = 4
ELSEWHERE = {"RINGWAKE_SOCKET": "/nonexistent"}


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody may enter: root's `secret` in it is for root alone."""
    folder = Path(tempfile.mkdtemp(prefix="ringwake-foreign-"))
    folder.chmod(0o755)
    (folder / "secret").write_text("of root")
    (folder / "secret").chmod(0o600)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def theirs(place: Path) -> Path:
    """A folder of nobody's with a development CA, whose server key has become a link to root's secret."""
    folder = place / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    made = run(*as_nobody(), RINGWAKE, "certs", "dev-ca", "--directory", folder / "certs", "--app", APP, env=ELSEWHERE)
    assert made.returncode == 0, made
    key = folder / "certs" / "server.key"
    key.unlink()
    key.symlink_to(place / "secret")
    return folder


def is_untouched(place: Path) -> None:
    status = (place / "secret").lstat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (0, 0, 0o600)
    assert (place / "secret").read_text() == "of root"


@pytest.mark.parametrize("words", [
    ["setup", "--directory", "{}", "--listen", "127.0.0.1:34567"], ["certs", "renew", "--all", "--directory", "{}/certs"],
    ["certs", "dev-ca", "--force", "--app", APP, "--directory", "{}/certs"],
], ids=["setup", "renew", "dev-ca"])  # fmt: skip
def test_root_writes_nothing_in_a_folder_of_others(place: Path, theirs: Path, words: list[str]) -> None:
    before = {path: path.lstat().st_mtime_ns for path in theirs.rglob("*")}
    done = ringwake(*[word.format(theirs) for word in words], env=ELSEWHERE)
    assert done.returncode == NOT_PERMITTED and "belongs to another user" in done.stderr, done
    is_untouched(place)
    assert {path: path.lstat().st_mtime_ns for path in theirs.rglob("*")} == before


def test_root_follows_no_link_of_others_to_a_folder(place: Path) -> None:
    (place / "theirs").mkdir()
    os.chown(place / "theirs", NOBODY, NOBODY)
    (place / "roots").mkdir(mode=0o700)
    (place / "theirs" / "link").symlink_to(place / "roots")
    os.lchown(place / "theirs" / "link", NOBODY, NOBODY)
    done = ringwake("setup", "--directory", place / "theirs" / "link" / "conf", env=ELSEWHERE)
    assert done.returncode == NOT_PERMITTED, done
    assert not any((place / "roots").iterdir()) and stat.S_IMODE((place / "roots").stat().st_mode) == 0o700


def test_an_app_is_not_written_where_a_daemon_of_others_says(daemon: Daemon, place: Path) -> None:
    """Its folder of apps is another user's by now."""
    folder = daemon.directory / "apps.d"
    os.chown(folder, NOBODY, NOBODY)
    done = daemon.ringwake("app", "add", "com.example.other", "--exec", "/bin/true")
    assert done.returncode == NOT_PERMITTED and "belongs to another user" in done.stderr, done
    assert not (folder / "com.example.other.toml").exists()


@pytest.mark.parametrize("words, made", [
    (["app", "add", "com.example.other", "--exec", "/bin/true"], "apps.d"),
    (["team", "add", "OTHERTEAM1", "--topic", "com.example.other.voip"], "teams.d"),
], ids=["app", "team"])  # fmt: skip
def test_no_folder_is_made_where_a_daemon_of_others_says(
    daemon: Daemon, place: Path, words: list[str], made: str
) -> None:
    """What the daemon calls its folder lies in another user's by now, and is not there."""
    folder = daemon.directory / made
    shutil.rmtree(folder, ignore_errors=True)
    os.chown(daemon.directory, NOBODY, NOBODY)
    done = daemon.ringwake(*words)
    assert done.returncode == NOT_PERMITTED and "belongs to another user" in done.stderr, done
    assert not folder.exists()


def test_what_endpoints_left_is_removed_and_nothing_of_others(place: Path) -> None:
    """A link with the name of such a folder leads to another one, which stays."""
    shared = place / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    kept = place / "kept"
    kept.mkdir()
    for name in ("in-use", "of-root"):
        (kept / name).write_text("x")
    link = shared / "ringwake-endpoint-BBBBBB"
    link.symlink_to(kept)
    os.lchown(link, NOBODY, NOBODY)
    endpoint = subprocess.Popen(
        [RINGWAKE, "setup", "--ephemeral", "--json"], env=os.environ | {"TMPDIR": str(shared)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert json.loads(endpoint.stdout.readline())["schema"] == 1
    endpoint.communicate()
    assert sorted(path.name for path in kept.iterdir()) == ["in-use", "of-root"]
