"""`ringwake audio run`, while it runs."""

import os
import signal
import subprocess
import threading

from . import programs
from .daemon import Daemon
from .waiting import until

RUN_TIMEOUT = 60


class AudioRun:
    """A command that holds an active session, and what is said of it on standard error."""

    def __init__(self, daemon: Daemon, *options: str, command: tuple[str, ...] = ("sleep", "60")) -> None:
        self.process = subprocess.Popen(
            [str(programs.RINGWAKE), "audio", "run", *options, "--", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=os.environ | daemon.variables | daemon.environment(),
        )  # fmt: skip
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def __enter__(self) -> "AudioRun":
        return self.says("audio is active")

    def __exit__(self, *_: object) -> None:
        self.end()

    def says(self, text: str, seconds: float = RUN_TIMEOUT) -> "AudioRun":
        until(lambda: any(text in line for line in self.lines), seconds, lambda: f"'{text}'; it said {self.lines}")
        return self

    def end(self, signal_number: int = signal.SIGTERM) -> int:
        """Sends it a signal, which it passes on, and waits for the end of both."""
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            return self.process.wait(RUN_TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise AssertionError(f"it did not end; it said {self.lines}") from None
        finally:
            self.reader.join(RUN_TIMEOUT)

    def kill(self) -> None:
        """Takes its life, and leaves its command to itself."""
        self.process.kill()
        self.process.wait()
