"""What `ringwake doctor` and `ringwake status` say about backups, as the folder and the schedule are."""

import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from support.daemon import Daemon
from support.doctor import Report, doctor
from support.programs import RINGWAKE, run

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root: it has a /var/backups of its own")
FOLDER = "/var/backups/ringwake"
# Its units by name: the timer's state and the service's.
SYSTEMCTL = """#!/bin/sh
case $* in
*ringwake-backup.timer*) printf 'UnitFileState={timer}\\nActiveState=inactive\\n' ;;
*ringwake-backup.service*)
    printf 'LoadState={load}\\nActiveState={service}\\nResult=timeout\\nExecMainStatus=15\\nInvocationID=abc\\n' ;;
*) printf 'LoadState=loaded\\nActiveState=active\\nResult=success\\nExecMainStatus=0\\n' ;;
esac
"""
JOURNALCTL = """#!/bin/sh
case $* in *_SYSTEMD_INVOCATION_ID=abc*) echo 'the server does not answer' ;; esac
"""


class Machine:
    """A daemon on a machine with a /var/backups of its own, whose systemd says what the test wants."""

    def __init__(self, daemon: Daemon, folder: Path) -> None:
        self.daemon = daemon
        self.backups, self.tools = folder / "backups", folder / "tools"
        for made in (self.backups, self.tools):
            made.mkdir()
        mount = 'mount --bind "$1" /var/backups && shift && exec "$@"'
        self.inside = ["unshare", "--mount", "sh", "-c", mount, "sh", self.backups]

    def schedule(self, timer: str = "disabled", service: str = "inactive", load: str = "loaded") -> None:
        text = SYSTEMCTL.format(timer=timer, service=service, load=load)
        for name, content in {"systemctl": text, "journalctl": JOURNALCTL}.items():
            (self.tools / name).write_text(content)
            (self.tools / name).chmod(0o755)

    def doctor(self) -> Report:
        return doctor(self.daemon, *self.inside, env={"PATH": f"{self.tools}:/usr/bin:/bin"})

    def found(self) -> list[str]:
        """The states of the findings about backups."""
        return [one["state"] for one in self.doctor().findings if one["check"] == "backup"]

    def ringwake(self, *words: object) -> str:
        done = run(*self.inside, RINGWAKE, *words, env=self.daemon.environment())
        assert done.returncode == 0, done
        return done.stdout

    def date(self, age: timedelta) -> str:
        """Gives the only backup another date; returns its path on the machine."""
        [backup] = (self.backups / "ringwake").iterdir()
        name = f"ringwake-{datetime.now(timezone.utc) - age:%Y-%m-%dT%H%M%SZ}.tar.zst"
        backup.rename(backup.with_name(name))
        return f"{FOLDER}/{name}"


@pytest.fixture
def machine(daemon: Daemon, tmp_path: Path) -> Machine:
    (tmp_path / "machine").mkdir()
    machine = Machine(daemon, tmp_path / "machine")
    machine.schedule(load="not-found")
    return machine


def test_the_newest_backup_and_its_age(machine: Machine) -> None:
    note = machine.doctor().named("backup", f"there is none in {FOLDER}", "ringwake backup create")
    assert note["state"] == "note"
    assert "backup" not in json.loads(machine.ringwake("status", "--json"))
    assert "backup" not in machine.ringwake("status")
    made = json.loads(machine.ringwake("backup", "create", "--no-keys", "--config", machine.daemon.configuration, "--json"))["file"]
    assert machine.doctor().named("backup", "the newest is", f"old: {made}")["state"] == "ok"
    file = machine.date(timedelta(days=3, hours=2, minutes=30))
    status = json.loads(machine.ringwake("status", "--json"))
    assert status["backup"]["file"] == file and status["backup"]["agoMs"] // 3_600_000 == 74
    created = datetime.strptime(status["backup"]["created"], "%Y-%m-%dT%H:%M:%SZ")
    assert f"{created:%Y-%m-%dT%H%M%SZ}" in file
    assert status["version"] and f"\nbackup  3 d 2 h ago ({file})\n" in machine.ringwake("status")
    machine.doctor().named("backup", f"the newest is 3 d 2 h old: {file}")


def test_a_schedule_that_makes_no_backups(machine: Machine) -> None:
    machine.schedule(timer="disabled")
    machine.doctor().named("backup", "there is none", "enable --now ringwake-backup.timer")
    machine.schedule(timer="enabled")
    machine.doctor().named("backup", "there is none", "start ringwake-backup")
    machine.ringwake("backup", "create", "--no-keys", "--config", machine.daemon.configuration)
    machine.date(timedelta(days=6, hours=23))
    assert machine.found() == ["ok"]
    machine.date(timedelta(days=7, hours=1))
    found = machine.doctor().problem("backup", "the newest is 7 d 1 h old", "ringwake-backup.timer is enabled")
    assert found["state"] == "warning"
    machine.schedule(timer="disabled")
    assert machine.found() == ["ok"]


def test_the_last_run_of_a_schedule_failed(machine: Machine) -> None:
    machine.schedule(timer="enabled", service="failed")
    found = machine.doctor().problem("backup", "(timeout, exit status 15): the server does not answer")
    assert found["state"] == "warning" and "start ringwake-backup" in found["hint"]
    assert machine.found() == ["warning", "note"]
    machine.schedule(timer="enabled", service="activating")
    assert machine.found() == ["note"]
