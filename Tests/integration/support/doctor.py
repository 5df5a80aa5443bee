"""`ringwake doctor` and what it found."""

import json
import subprocess
from pathlib import Path

from . import programs
from .daemon import Daemon

# On a machine without a time service, a bus, a network or a sound server these are notes or warnings.
OF_THE_MACHINE = {"clock", "bus", "awake", "network", "kernel"}


class Report:
    """What `ringwake doctor --json` found."""

    def __init__(self, done: subprocess.CompletedProcess) -> None:
        assert done.stdout, done.stderr
        self.status = done.returncode
        self.message = json.loads(done.stdout)
        self.findings = self.message["findings"]

    def bad(self) -> list[dict]:
        """What is wrong with the daemon, and not with the machine that the tests run on."""
        return [
            one for one in self.findings
            if one["state"] in ("warning", "problem") and one["check"] not in OF_THE_MACHINE
        ]  # fmt: skip

    def named(self, check: str, *words: str) -> dict:
        """The finding of a check that has all of these words."""
        for one in self.findings:
            text = one["message"] + " " + one.get("hint", "")
            if one["check"] == check and all(word in text for word in words):
                return one
        raise AssertionError(f"no finding of '{check}' with {words}: {json.dumps(self.findings, indent=1)}")

    def problem(self, check: str, *words: str) -> dict:
        found = self.named(check, *words)
        assert found["state"] in ("warning", "problem"), found
        assert self.status != 0
        return found


def doctor(daemon: Daemon, *before: object, **options) -> Report:
    """Looks at a daemon, whether it runs or not; `before` stands before the command."""
    command = [*before, programs.RINGWAKE, "doctor", "--json", "--config", daemon.configuration]
    return Report(programs.run(*command, env=daemon.environment() | daemon.variables | options.pop("env", {})))


def tool(path: Path, output: str) -> None:
    """A program that prints this whatever it is asked."""
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
    path.chmod(0o755)
