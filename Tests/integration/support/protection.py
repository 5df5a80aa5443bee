"""The protection of what a daemon stores: its keys, its lock, and what is said of both."""

import base64
import hashlib
from pathlib import Path

from .control import EventStream
from .daemon import Daemon
from .waiting import until

UNTIL_FIRST = "completeUntilFirstUserAuthentication"
ALL = {"complete", "completeUnlessOpen", UNTIL_FIRST}
# The grace period is 10 s.
LOCK_TIMEOUT = 60


def derived(passphrase: str, message: dict) -> str:
    """The key of a passphrase as another program than ours makes it: the standard library's scrypt."""
    how = message["passphrase"]
    salt = base64.urlsafe_b64decode(how["salt"] + "=" * (-len(how["salt"]) % 4))
    key = hashlib.scrypt(
        passphrase.encode(), salt=salt, n=how["n"], r=how["r"], p=how["p"], maxmem=256 << 20, dklen=32
    )
    return base64.urlsafe_b64encode(key).rstrip(b"=").decode()


class Protection:
    """What a daemon says of its protection, and what it is told to do."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon

    @property
    def message(self) -> dict:
        return self.daemon.control.get("/v1/protection")

    @property
    def available(self) -> set[str]:
        """The classes that can be read now."""
        return {one["name"] for one in self.message["classes"] if one["available"]}

    @property
    def generations(self) -> dict[str, int]:
        return {one["name"]: one.get("generation") for one in self.message["classes"]}

    @property
    def file(self) -> Path:
        return self.daemon.directory / "state" / "protection.json"

    def ask(self, verb: str, body: dict | None = None) -> tuple[int, dict]:
        return self.daemon.control.request("POST", f"/v1/protection/{verb}", body)

    def waits_until(self, state: str) -> dict:
        """Until it is so, and apps were told: the records are opened a moment after the lock."""
        return until(
            lambda: (
                found if (found := self.message)["state"] == state
                and found["protectedDataAvailable"] == (state != "locked") else None
            ), LOCK_TIMEOUT,
            lambda: f"the protection to be {state}; it is {self.message}",
        )  # fmt: skip

    def set_passphrase(self, passphrase: str) -> None:
        """As `ringwake protection passphrase` does."""
        file = self.daemon.directory / "passphrase"
        file.write_text(passphrase + "\n")
        done = self.daemon.ringwake("protection", "passphrase", "--passphrase-file", file)
        assert done.returncode == 0, done.stderr

    def unlock(self, passphrase: str):
        return self.daemon.ringwake("protection", "unlock", env={"RINGWAKE_PASSWORD": passphrase})


def make(make_daemon, section: str = "", **options) -> tuple[Daemon, Protection]:
    daemon = make_daemon(**options)
    daemon.add_app()
    if section:
        daemon.sections["protection"] = section
    return daemon, Protection(daemon)


def by_key_file(make_daemon, more: str = "") -> tuple[Daemon, Protection]:
    daemon, protection = make(make_daemon)
    daemon.sections["protection"] = f'root_key = "{daemon.directory}/root.key"\n{more}'
    daemon.start()
    return daemon, protection


def by_passphrase(make_daemon, passphrase: str = "correct horse") -> tuple[Daemon, Protection]:
    daemon, protection = make(make_daemon, 'root_key = "passphrase"')
    daemon.start()
    protection.set_passphrase(passphrase)
    return daemon, protection


def reborn(daemon: Daemon) -> None:
    daemon.kill()
    daemon.start()


def states(stream: EventStream, last: str) -> list[str]:
    """The states of the events `protectedData` of a stream, up to `last`."""
    events = stream.until("protectedData", LOCK_TIMEOUT, state=last)
    return [event["state"] for event in events if event["event"] == "protectedData"]
