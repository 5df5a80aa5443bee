"""The line between the daemon and `ringwake-audio`: what is read, what is refused, and how the program is started."""

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs
from support.audio import AudioServer
from support.audio_agent import RINGWAKE_AUDIO, Agent, plan, session
from support.audio_streams import FULL, Stream, snapshot
from support.processes import threads, voluntary_switches

Streams = Callable[..., Stream]
Agents = Callable[..., Agent]

# Bytes of a line, without its end.
MAXIMUM_LINE = 256 << 10


def test_it_says_who_it_is_first_and_then_what_it_is_connected_to(server: AudioServer, make_agent: Agents) -> None:
    agent = make_agent(server)
    ready = agent.next("ready")
    assert re.fullmatch(r"\d+\.\d+\.\d+", ready["version"])
    assert ready["mended"] == 0
    connected = agent.next("connected")
    assert connected["_0"]["name"]
    assert connected["_1"]["outputs"][0]["device"] == server.info()["default_sink_name"]


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense", b"{}", b"[]", b"\xff\xfe", b'{"apply":{"number":"1"}}', b'{"apply":{},"prepare":{}}',
        b'{"apply":' + b"[" * 100_000, b"x" * (MAXIMUM_LINE + 1),
    ],
    ids=["word", "empty", "array", "not-utf8", "wrong-types", "two-members", "deep", "long"],
)  # fmt: skip
def test_what_cannot_be_read_ends_it_after_everything_is_put_back(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams, line: bytes
) -> None:
    make_stream(pulseaudio, "music", role="music")
    before = snapshot(pulseaudio)
    agent = make_agent(pulseaudio)
    agent.connected()
    agent.apply(1, session(16))
    agent.socket.sendall(line + b"\n")
    agent.at_end()
    assert agent.ended() == 1
    assert "cannot be read" in agent.log()
    assert snapshot(pulseaudio) == before
    assert not agent.journal.exists()


def test_a_line_without_an_end_is_not_read_for_ever(pulseaudio: AudioServer, make_agent: Agents) -> None:
    agent = make_agent(pulseaudio)
    agent.connected()
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        while True:
            agent.socket.sendall(b"x" * 65536)
    assert agent.ended() == 1
    assert "more than" in agent.log()


def test_a_request_of_a_later_version_is_told_and_passed_over(pulseaudio: AudioServer, make_agent: Agents) -> None:
    agent = make_agent(pulseaudio)
    agent.connected()
    agent.send({"levitate": {"height": 3}})
    assert "levitate" in agent.next("problem")["_0"]
    agent.apply(1)


def test_lines_may_come_in_pieces_and_together(pulseaudio: AudioServer, make_agent: Agents) -> None:
    agent = make_agent(pulseaudio)
    agent.connected()
    empty = plan()
    lines = [json.dumps({"apply": {"number": number, "_1": empty, "resumes": False}}) for number in range(1, 30)]
    data = "\n".join(lines).encode() + b"\n"
    for start in range(0, len(data), 1000):
        agent.socket.sendall(data[start : start + 1000])
    assert [agent.next("applied")["number"] for _ in lines] == list(range(1, 30))


def test_reports_that_nobody_reads_end_it(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    """They are kept up to a bound: memory is not what a daemon that hangs takes."""
    make_stream(pulseaudio, "music", role="music")
    before = snapshot(pulseaudio)
    agent = make_agent(pulseaudio)
    agent.connected()
    agent.apply(1, session(16))
    line = json.dumps({"n" * 64: {}}).encode() + b"\n"
    agent.socket.settimeout(10)
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        for _ in range(100_000):
            agent.socket.sendall(line)
    assert agent.ended() == 1
    assert "does not read" in agent.log()
    assert snapshot(pulseaudio) == before


def test_without_a_server_it_says_so_and_finds_it_when_it_comes(pulseaudio: AudioServer, make_agent: Agents) -> None:
    pulseaudio.kill()
    agent = make_agent(pulseaudio)
    agent.next("ready")
    assert agent.next("unavailable")["_0"]
    pulseaudio.start()
    agent.next("connected")
    agent.close()
    assert agent.ended() == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--what"], ["--fd"], ["--fd", "x"], ["--fd", "-1"], ["--fd=+1"], ["--journal"], ["--journal="],
        ["--mend", "--listen"], ["--fd", "0", "--fd", "0"], ["--listen"], ["--fd", "77"], [], ["extra"],
    ],
)  # fmt: skip
def test_wrong_usage_is_said_and_nothing_is_begun(tmp_path: Path, options: list[str]) -> None:
    done = programs.run(RINGWAKE_AUDIO, *options, env={"XDG_STATE_HOME": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr.startswith("ringwake-audio: ")
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_help_and_version() -> None:
    done = programs.run(RINGWAKE_AUDIO, "--help")
    assert done.returncode == 0
    assert {"--fd", "--listen", "--mend", "--journal"} <= set(re.findall(r"--\w+", done.stdout))
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", programs.run(RINGWAKE_AUDIO, "--version").stdout)


def test_another_descriptor_can_be_the_line(pulseaudio: AudioServer, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    number = theirs.fileno()
    process = subprocess.Popen(
        [RINGWAKE_AUDIO, f"--fd={number}", f"--journal={tmp_path / 'effects.json'}"], pass_fds=[number],
        stdin=subprocess.DEVNULL, env=os.environ | pulseaudio.environment(),
    )  # fmt: skip
    theirs.close()
    assert b"ready" in ours.recv(65536)
    ours.close()
    assert process.wait(15) == 0


def test_a_journal_that_cannot_be_written_is_said_on_the_line(
    pulseaudio: AudioServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    agent = Agent(pulseaudio, tmp_path / "file" / "effects.json")
    assert str(tmp_path / "file") in agent.next("unavailable")["_0"]
    assert agent.ended() == 1
    agent.clear_away()


def test_it_sleeps_while_nothing_happens(server: AudioServer, make_agent: Agents, make_stream: Streams) -> None:
    make_stream(server, "music", role="music")
    agent = make_agent(server)
    agent.connected()
    assert agent.apply(1, session(16))["made"] == 1
    assert threads(agent.process.pid) == 1
    # What the change brings about is over after a while; then nothing wakes it.
    for _ in range(20):
        before = voluntary_switches(agent.process.pid)
        time.sleep(1)
        if voluntary_switches(agent.process.pid) == before:
            return
    pytest.fail("it is woken again and again")


def test_loudness_is_not_lost_by_many_lives(pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams) -> None:
    music = make_stream(pulseaudio, "music", role="music", volume=50_000)
    for number in range(1, 6):
        agent = make_agent(pulseaudio)
        agent.connected()
        agent.apply(number, session(16))
        agent.close()
        assert agent.ended() == 0
        assert music.volume == 50_000 < FULL
