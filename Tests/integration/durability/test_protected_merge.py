"""What a backup protects is in no file as it is while it is merged, or gets to another app, whatever is killed when."""

from pathlib import Path

import pytest

from support.backups import ENDS, create, quiet
from support.crashes import Recorded
from support.credentials import APP
from support.daemon import Daemon
from support.native import Native
from support.programs import RINGWAKE
from support.telephone import PAYLOAD, send, user

CALLER, NAME, LISTED = "+49301234567", "Ada Geheim", "+49900111222"
OTHER = "com.example.other"


@pytest.mark.parametrize("way", ["--merge", f"--map={APP}={OTHER}"], ids=["merge", "map"])
def test_no_byte_of_it_is_written(make_daemon, native: Native, tmp_path: Path, way: str) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app(*ENDS, more=PAYLOAD)
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"\n'
    daemon.start()
    call = send(daemon, caller=CALLER, name=NAME)
    quiet(daemon)
    user(daemon, "block", "add", LISTED)
    (scratch := daemon.directory / "scratch").mkdir()
    file = create(daemon, daemon.directory / "b.tar.zst", "--no-keys")
    daemon.stop()
    for path in (daemon.directory / "state").glob("store.*"):
        path.unlink()
    daemon.start()
    daemon.stop()
    daemon.log_file.unlink()
    command = [RINGWAKE, "backup", "restore", file, "--yes", way, "--config", daemon.configuration]
    environment = daemon.environment() | {"TMPDIR": str(scratch)}
    recorded = Recorded.run(native, daemon.directory, command, tmp_path / "records", env=environment)
    assert recorded.done.returncode == 0, recorded.done
    assert any(call.encode() in entry.data for entry in recorded.entries), "what is not protected is there to be seen"
    for secret in (CALLER, NAME, LISTED):
        assert not any(secret.encode() in entry.data for entry in recorded.entries), secret
    daemon.start()
    if way == "--merge":
        assert LISTED in user(daemon, "block", "list", "blocked").stdout
        assert CALLER in user(daemon, "call", "show", call).stdout
    else:
        assert CALLER in user(daemon, "call", "list", "--json").stdout
