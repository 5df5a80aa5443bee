"""An audio program that hangs or ends: it is replaced, and a call that goes on gets its audio."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support import processes, programs
from support.apps import App
from support.audio import AudioServer
from support.audio_streams import Stream
from support.daemon import Daemon
from support.telephone import PAYLOAD, connected, hang_up
from support.waiting import until

# What happens in place of the first starts of the program: the fault, and how often.
FAULTS = {"hangs before its first word": ("exec sleep 1000", 1), "ends four times": ("exit 3", 4)}


class Program:
    """`ringwake-audio` with a fault at its first starts."""

    def __init__(self, folder: Path, fault: str, times: int) -> None:
        self.path = folder / "audio-program"
        self._starts = folder / "starts"
        self.path.write_text(
            f"#!/bin/sh\necho $$ >>{self._starts}\n"
            f"[ $(wc -l <{self._starts}) -gt {times} ] && exec {programs.BIN_DIRECTORY / 'ringwake-audio'} \"$@\"\n"
            f"{fault}\n"
        )
        self.path.chmod(0o755)

    @property
    def starts(self) -> list[int]:
        """The processes that were started, the oldest first."""
        return [int(line) for line in self._starts.read_text().splitlines()]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_program_with_a_fault_is_replaced_in_the_call(
    make_audio_daemon: Callable[..., Daemon], audio_server: AudioServer, plays: Callable[..., Stream], tmp_path: Path,
    fault: str,
) -> None:  # fmt: skip
    what, times = FAULTS[fault]
    program = Program(tmp_path, what, times)
    daemon = make_audio_daemon(audio_server)
    daemon.sections["audio"] = f'backend = "program"\nprogram = "{program.path}"'
    phone = App(daemon).by_exec(more=PAYLOAD)
    daemon.start()
    music = plays("music")
    with daemon.control.events() as stream:
        call = connected(phone)
        told = [event["event"] for event in stream.until("audioActivated", seconds=60, call=call)]
        assert told.count("audioFailed") == 1, "the call goes on without audio, and is told so once"
        until(lambda: music.is_muted, 10, "music to be silent")
        assert len(program.starts) == times + 1
        assert not any(processes.is_running(pid) for pid in program.starts[:-1]), "those with the fault are gone"
        hang_up(phone, call)
        stream.until("audioDeactivated", call=call)
    until(lambda: not music.is_muted, 10, "music to be heard at the end")
    assert ("ringwake-audio hangs" in daemon.log) == ("sleep" in what)
