"""Whoever reads the daemon's log may stop reading: a terminal that is paused must not stop calls."""

import os
import pty
import select
import subprocess

from support.daemon import Daemon
from support.waiting import until


def test_a_terminal_that_nobody_reads_does_not_stop_the_daemon(make_daemon) -> None:
    daemon: Daemon = make_daemon()
    daemon.add_app()
    daemon.write_configuration()
    terminal, end = pty.openpty()
    try:
        daemon.process = subprocess.Popen(
            daemon.command(), cwd="/", stdin=subprocess.DEVNULL, stdout=end, stderr=end, start_new_session=True
        )
        os.close(end)
        until(daemon._answers, 15, "the daemon to answer")
        # Each reload is a line; a terminal holds some hundred of them.
        for _ in range(1500):
            daemon.control.post("/v1/reload")
        text = b""
        while select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65536)
        daemon.control.post("/v1/reload")
        until(lambda: select.select([terminal], [], [], 0)[0], 5, "the next line")
        text = text.splitlines()[-1] + os.read(terminal, 65536)
        assert b"log lines were lost" in text
        daemon.stop()
    finally:
        if daemon.process:
            daemon.process.kill()
            daemon.process.wait()
            daemon.process = None
        os.close(terminal)
