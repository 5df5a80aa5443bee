"""Whose identity a restored device has, where the backup does not say."""

import json
import shutil
from pathlib import Path

import pytest

from support.backups import ENDS, create, restore, ring, tree
from support.daemon import Daemon


@pytest.fixture
def daemon(make_daemon) -> Daemon:
    daemon: Daemon = make_daemon()
    daemon.add_app(*ENDS)
    daemon.start()
    ring(daemon, 1)
    return daemon


def unnamed(daemon: Daemon, file: Path) -> Path:
    """A backup of a device whose identity is gone, with its second copy."""
    daemon.stop()
    state = daemon.directory / "state"
    for path in (state / "identity.json", state / "copies" / "identity.json"):
        path.unlink()
    return create(daemon, file)


@pytest.mark.parametrize("answer", ["--keep-identity", "--new-identity"])
def test_two_devices_do_not_get_the_same_tokens_unasked(daemon: Daemon, tmp_path: Path, answer: str) -> None:
    token = daemon.device_token()
    file = unnamed(daemon, tmp_path / "b.tar.zst")
    before = tree(daemon.directory / "state")
    said = restore(daemon, file, status=1)["message"]
    assert "nobody can tell whether the backup is of this machine" in said and answer in said
    after = tree(daemon.directory / "state")
    # Of the restore itself, and empty.
    after.pop("restore.lock")
    assert after == before
    done = restore(daemon, file, answer)
    assert done["state"] == "restored" and done["store"]["isNewDevice"] == (answer == "--new-identity")
    daemon.start()
    assert (daemon.device_token() == token) == (answer == "--keep-identity")
    ring(daemon, 1)


def test_a_damaged_file_of_keys_is_said_before_anything_is_changed(daemon: Daemon, tmp_path: Path) -> None:
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"\n'
    daemon.stop()
    daemon.write_configuration()
    daemon.start()
    daemon.stop()
    state = daemon.directory / "state"
    for path in (state / "protection.json", state / "copies" / "protection.json"):
        path.write_text(path.read_text()[:40])
    file = create(daemon, tmp_path / "b.tar.zst")
    shutil.rmtree(state)
    done = restore(daemon, file, "--dry-run")
    assert any("protection.json" in what for what in done["store"]["damage"]), json.dumps(done)
