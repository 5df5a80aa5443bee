"""Backups of a daemon, and what is in its store and its folders before and after."""

import hashlib
import json
import sqlite3
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from .credentials import Credentials
from .daemon import APP, Daemon
from .h2client import Answer, H2Client
from .programs import RINGWAKE, run
from .pushing import push

BACKED_UP = 3
NEWER = 2

# A handler whose caller hangs up at once.
ENDS = ("sh", "-c", f"exec {RINGWAKE} call ended --reason remoteEnded")


def ring(daemon: Daemon, count: int) -> None:
    for _ in range(count):
        assert push(daemon, str(uuid.uuid4())).status == 200
    quiet(daemon)


def quiet(daemon: Daemon) -> None:
    """Waits until all calls have ended."""
    deadline = time.monotonic() + 20
    while daemon.control.get("/v1/status")["activeCalls"]:
        assert time.monotonic() < deadline, "calls do not end"
        time.sleep(0.02)


def push_to(daemon: Daemon, token: str) -> Answer:
    """One push to a token of the past."""
    fields = {"authorization": daemon.credentials.authorization(), "apns_topic": f"{APP}.voip"}
    with H2Client(daemon.host_and_port, daemon.credentials.context()) as client:
        return client.push(token, b"{}", apns_id=str(uuid.uuid4()), **fields)


def create(daemon: Daemon, file: Path, *words: object) -> Path:
    words = words or ("--no-keys",)
    done = daemon.ringwake("backup", "create", "--to", file, *words, *where(daemon), "--json")
    assert done.returncode == 0, done
    return Path(json.loads(done.stdout)["file"])


def where(daemon: Daemon) -> list[object]:
    return ["--config", daemon.configuration]


def restore(daemon: Daemon, file: Path, *words: object, status: int = 0) -> dict:
    scratch = file.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    environment = {"TMPDIR": str(scratch)}
    done = daemon.ringwake("backup", "restore", file, "--yes", *words, *where(daemon), "--json", env=environment)
    assert list(scratch.iterdir()) == [], done
    assert done.returncode == status, done
    return json.loads(done.stdout if status == 0 else done.stderr.splitlines()[-1])


def pushes(state: Path) -> int:
    connection = sqlite3.connect(f"file:{state}/store.db?mode=ro", uri=True)
    try:
        return connection.execute("SELECT count(*) FROM push").fetchone()[0]
    finally:
        connection.close()


def own_certificates(daemon: Daemon) -> Path:
    """Has a daemon use a certificate and keys of its own, made as 'ringwake setup' does, in the folder `certs`."""
    certs = daemon.directory / "certs"
    daemon.stop()
    daemon.credentials = Credentials.make(certs)
    daemon.write_configuration()
    daemon.start()
    return certs


def known(daemon: Daemon) -> int:
    """The pushes that a running daemon knows, or that are in the store of one that does not run."""
    done = daemon.ringwake("store", "status", *where(daemon), "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)["rows"]["push"]


def tree(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def rewritten(file: Path, target: Path, edit: Callable[[Path, dict], None]) -> Path:
    """Another backup, whole as far as its checksums go."""
    folder = target.with_suffix(".folder")
    folder.mkdir()
    assert run("tar", "--zstd", "-xf", file, "-C", folder).returncode == 0
    manifest = json.loads((folder / "manifest.json").read_text())
    edit(folder, manifest)
    for member in manifest["members"]:
        contents = (folder / member["name"]).read_bytes()
        member["bytes"], member["sha256"] = len(contents), hashlib.sha256(contents).hexdigest()
    text = json.dumps(manifest).encode()
    (folder / "manifest.json").write_bytes(text)
    (folder / "manifest.sha256").write_text(f"{hashlib.sha256(text).hexdigest()}  manifest.json\n")
    names = ["manifest.json", "manifest.sha256", *(member["name"] for member in manifest["members"])]
    done = run("tar", "--zstd", "--format=ustar", "-cf", target, "-C", folder, *names)
    assert done.returncode == 0, done
    return target
