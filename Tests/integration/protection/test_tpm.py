"""Keys under a TPM, by swtpm: made at the first start, asked at each other one, and what happens without it."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.doctor import doctor
from support.protection import Protection
from support.pushing import start_call
from support.waiting import until


class SoftwareTPM:
    """A TPM in a process of its own, which keeps its state in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "tpm"
        self.process: subprocess.Popen | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {"TPM2OPENSSL_TCTI": f"swtpm:path={self.socket}"}

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [
                "swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.folder}", "--server",
                f"type=unixio,path={self.socket}", "--ctrl", f"type=unixio,path={self.socket}.ctrl", "--flags",
                "not-need-init,startup-clear",
            ]
        )  # fmt: skip
        until(lambda: Path(f"{self.socket}.ctrl").exists() and self.socket.exists(), 20, "swtpm to listen")

    def stop(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.process = None
        for path in (self.socket, Path(f"{self.socket}.ctrl")):
            path.unlink(missing_ok=True)


@pytest.fixture
def tpm(tmp_path: Path) -> Iterator[SoftwareTPM]:
    tpm = SoftwareTPM(tmp_path / "tpm")
    tpm.start()
    yield tpm
    tpm.stop()


@pytest.fixture
def protection(make_daemon, tpm: SoftwareTPM) -> Protection:
    daemon = make_daemon()
    daemon.add_app()
    daemon.variables |= tpm.environment
    daemon.sections["protection"] = 'root_key = "tpm"'
    daemon.sections["protection.classes"] = 'callers = "complete"'
    return Protection(daemon)


def test_it_makes_the_key_and_opens_it_after_a_kill_and_a_lock(protection: Protection) -> None:
    daemon = protection.daemon
    daemon.start()
    assert protection.waits_until("unlocked")["source"] == "tpm"
    assert json.loads(protection.file.read_text())["source"]["kind"] == "tpm"
    assert start_call(daemon)
    daemon.kill()
    daemon.start()
    protection.waits_until("unlocked")
    assert daemon.ringwake("protection", "lock").returncode == 0
    protection.waits_until("locked")
    assert daemon.ringwake("protection", "unlock").returncode == 0
    assert protection.message["state"] == "unlocked"
    # So does the program that writes an export.
    done = daemon.ringwake("backup", "export", "--to", "-", "--config", daemon.configuration)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and done.stderr == "" and "locked" not in records[-1], done.stderr


def test_without_it_the_device_rings_and_is_locked_until_it_is_back(protection: Protection, tpm: SoftwareTPM) -> None:
    daemon = protection.daemon
    daemon.start()
    protection.waits_until("unlocked")
    daemon.stop()
    tpm.stop()
    daemon.start()
    message = until(
        lambda: found if (found := protection.message).get("unusable") else None, 20, "the TPM not to answer"
    )
    assert message["state"] == "locked" and not message["protectedDataAvailable"], message
    doctor(daemon).problem("protection", "cannot be used")
    assert start_call(daemon)
    refused = daemon.ringwake("protection", "unlock")
    assert refused.returncode == 8 and "TPM" in refused.stderr, refused.stderr
    done = daemon.ringwake("backup", "export", "--to", "-", "--config", daemon.configuration)
    assert done.returncode == 0 and "was left out" in done.stderr and "TPM" in done.stderr, done.stderr
    tpm.start()
    assert daemon.ringwake("protection", "unlock").returncode == 0
    assert protection.message["state"] == "unlocked" and "unusable" not in protection.message


def test_another_tpm_opens_nothing_and_replaces_nothing(
    protection: Protection, tpm: SoftwareTPM, tmp_path: Path
) -> None:
    daemon = protection.daemon
    daemon.start()
    protection.waits_until("unlocked")
    file = protection.file.read_bytes()
    daemon.stop()
    other = SoftwareTPM(tmp_path / "other")
    other.start()
    try:
        daemon.variables |= other.environment
        daemon.start()
        until(lambda: protection.message.get("unusable"), 20, "the other TPM's answer")
        assert protection.message["state"] == "locked" and protection.file.read_bytes() == file
    finally:
        daemon.stop()
        other.stop()


def test_keys_go_from_a_key_file_to_it(protection: Protection) -> None:
    daemon = protection.daemon
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"'
    daemon.start()
    generations = protection.generations
    daemon.stop()
    daemon.sections["protection"] = 'root_key = "tpm"'
    daemon.write_configuration()
    daemon.start()
    until(lambda: protection.message["source"] == "tpm", 20, lambda: f"the keys to move: {protection.message}")
    (daemon.directory / "root.key").unlink()
    daemon.kill()
    daemon.start()
    assert protection.waits_until("unlocked")["source"] == "tpm" and protection.generations == generations


def test_keys_go_from_a_passphrase_to_it_at_the_first_unlocking(protection: Protection) -> None:
    daemon = protection.daemon
    daemon.sections["protection"] = 'root_key = "passphrase"'
    daemon.start()
    protection.set_passphrase("correct horse")
    daemon.stop()
    daemon.sections["protection"] = 'root_key = "tpm"'
    daemon.write_configuration()
    daemon.start()
    assert protection.message["state"] == "locked" and "passphrase" in protection.message["why"]
    assert protection.unlock("correct horse").returncode == 0
    until(lambda: protection.message["source"] == "tpm", 20, lambda: f"the keys to move: {protection.message}")
    daemon.kill()
    daemon.start()
    protection.waits_until("unlocked")
