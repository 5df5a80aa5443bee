"""The handler of Examples/swift-handler as a process: what it was started by, and what it said."""

import json
import os
import subprocess
import time
from pathlib import Path

from support import processes
from support.apps import App
from support.programs import EXAMPLES_DIRECTORY
from support.waiting import until

HANDLER = (EXAMPLES_DIRECTORY / "phone-handler").resolve()
# Where the payloads of these tests say which call they mean, and that it is taken back.
PRESET = '[payload]\npreset = "ringwake"\n'


class SwiftHandler:
    """One app whose handler is written in Swift."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.daemon = app.daemon
        self.output = app.log_file.with_suffix(".said")
        self.output.touch()
        self.processes: list[subprocess.Popen] = []

    def started_by_daemon(self) -> "SwiftHandler":
        """What it prints goes to a file: a daemon that is killed hears it no more."""
        command = ["/bin/sh", "-c", f'exec "{HANDLER}" >>"{self.output}" 2>&1']
        self.app.configure(f"exec = {json.dumps(command)}", more=PRESET)
        return self

    def only_connected(self) -> "SwiftHandler":
        self.app.only_connected(more=PRESET)
        return self

    def run(self) -> subprocess.Popen:
        """Starts it as an init system would, and waits until it is the app's handler."""
        before = self.count("connection: connected")
        process = self._run("--stay", self.app.app)
        self.says("connection: connected", before + 1)
        return process

    def calls(self, to: str) -> subprocess.Popen:
        """The user starts it to call somebody."""
        return self._run("--call", self.app.app, to)

    def _run(self, *words: str) -> subprocess.Popen:
        with self.output.open("ab") as output:
            process = subprocess.Popen(
                [HANDLER, *words, self.daemon.control_socket], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, cwd="/",
            )  # fmt: skip
        self.processes.append(process)
        return process

    # What it said

    @property
    def lines(self) -> list[str]:
        return self.output.read_text(errors="replace").splitlines()

    def count(self, line: str) -> int:
        return self.lines.count(line)

    def audio(self, call: str) -> list[str]:
        """`on` and `off`, as it was told them of a call's audio."""
        beginning = f"call: {call} audio "
        return [line.removeprefix(beginning).split(" ")[0] for line in self.lines if line.startswith(beginning)]

    def says(self, line: str, count: int = 1, seconds: float = 15) -> None:
        until(lambda: self.count(line) >= count, seconds, lambda: f"{line!r}, {count} times; it said {self.lines}")

    # The processes of it

    def pid(self, call: str) -> int:
        """The process that has this call."""
        return self.daemon.control.call(call)["pid"]

    def is_gone(self, seconds: float = 15) -> None:
        until(lambda: not self.running(), seconds, lambda: f"the handler to end: {self.running()} said {self.lines}")

    def running(self) -> list[int]:
        """The processes of it that belong to this test: their output goes to its file."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_ours(pid)]

    def _is_ours(self, pid: int) -> bool:
        try:
            program, output = (os.readlink(f"/proc/{pid}/{name}") for name in ("exe", "fd/1"))
        except OSError:
            return False
        return (program, output) == (str(HANDLER), str(self.output))

    def restart_daemon(self, *, away: float = 0, count: int = 1) -> None:
        """The daemon is killed, and comes back; the handler finds it again."""
        before = self.count("connection: connected")
        self.daemon.kill()
        if away:
            # This long the handler tries in vain.
            time.sleep(away)
        self.daemon.start()
        self.says("connection: connected", before + count)

    def clear_away(self) -> None:
        # pytest shows this for a test that failed.
        print(f"--- {self.output}\n" + "\n".join(self.lines))
        for pid in self.running():
            processes.end(pid)
        for process in self.processes:
            process.kill()
            process.wait()
