"""However the daemon or the program ends, the audio server is as it was."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from support.audio import AudioServer
from support.audio_agent import Agent, mend, session
from support.audio_streams import FULL, Stream, snapshot, stored_volume
from support.waiting import until

Streams = Callable[..., Stream]
Agents = Callable[..., Agent]
MENDED = 15


def duck(server: AudioServer, make_agent: Agents, make_stream: Streams) -> tuple[Agent, Stream, dict]:
    """Music plays and is ducked; also how everything was before."""
    music = make_stream(server, "music", role="music")
    before = snapshot(server)
    agent = make_agent(server)
    agent.connected()
    assert agent.apply(1, session(16))["made"] == 1
    assert music.volume < FULL / 1.5
    assert agent.journal.exists()
    return agent, music, before


def test_the_line_ends(server: AudioServer, make_agent: Agents, make_stream: Streams) -> None:
    agent, _, before = duck(server, make_agent, make_stream)
    agent.close()
    assert agent.ended() == 0, agent.log()
    assert snapshot(server) == before
    assert not agent.journal.exists()


def test_the_line_ends_in_the_middle_of_a_request(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    agent, _, before = duck(pulseaudio, make_agent, make_stream)
    agent.socket.sendall(b'{"apply":{"number":2,')
    agent.close()
    assert agent.ended() == 0
    assert "broke off" in agent.log()
    assert snapshot(pulseaudio) == before


def test_it_is_told_to_end(server: AudioServer, make_agent: Agents, make_stream: Streams) -> None:
    agent, _, before = duck(server, make_agent, make_stream)
    agent.terminate()
    assert agent.ended() == 0
    assert snapshot(server) == before


def test_its_parent_is_killed(
    server: AudioServer, make_agent: Agents, make_stream: Streams, tmp_path: Path
) -> None:
    """A daemon that is killed has no time to say anything: the kernel closes its end of the line."""
    music = make_stream(server, "music", role="music")
    before = snapshot(server)
    script = tmp_path / "parent.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from pathlib import Path\n"
        "from support.audio import AudioServer\n"
        "from support.audio_agent import Agent, session\n"
        "class Known(AudioServer):\n"
        "    def __init__(self): pass\n"
        "    def environment(self): return {}\n"
        f"agent = Agent(Known(), Path({str(tmp_path / 'effects.json')!r}))\n"
        "agent.connected()\n"
        "agent.apply(1, session(16))\n"
        "print(agent.process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | server.environment()
    )
    assert parent.stdout and int(parent.stdout.readline())
    assert music.volume < FULL / 1.5
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until(lambda: snapshot(server) == before, MENDED, lambda: f"{snapshot(server)} to be {before}")
    assert not (tmp_path / "effects.json").exists()


def test_it_is_killed_and_the_next_start_mends(server: AudioServer, make_agent: Agents, make_stream: Streams) -> None:
    agent, music, before = duck(server, make_agent, make_stream)
    agent.kill()
    assert music.volume < FULL / 1.5
    assert agent.journal.exists()
    done = mend(server, agent.journal)
    assert done.returncode == 0, done.stderr
    assert "put back: " in done.stderr
    assert snapshot(server) == before
    assert not agent.journal.exists()
    assert mend(server, agent.journal).returncode == 0


def test_it_is_killed_and_the_next_engine_mends_first(
    server: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    agent, music, before = duck(server, make_agent, make_stream)
    agent.kill()
    again = make_agent(server)
    assert again.next("ready")["mended"] == 1
    assert snapshot(server) == before
    again.next("connected")
    # Ducked once, not twice.
    assert again.apply(1, session(16))["made"] == 1
    ducked = music.volume
    again.close()
    assert again.ended() == 0
    assert snapshot(server) == before
    assert FULL / 4 < ducked < FULL / 1.5


def test_what_the_user_changed_meanwhile_stays(server: AudioServer, make_agent: Agents, make_stream: Streams) -> None:
    agent, music, _ = duck(server, make_agent, make_stream)
    agent.kill()
    music.set_volume(77)
    theirs = music.volume
    assert mend(server, agent.journal).returncode == 0
    assert music.volume == theirs


def test_without_a_server_the_journal_is_kept(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    agent, music, _ = duck(pulseaudio, make_agent, make_stream)
    agent.kill()
    pulseaudio.kill()
    done = mend(pulseaudio, agent.journal)
    assert done.returncode == 1
    assert "not all was put back" in done.stderr and "--mend" in done.stderr
    assert agent.journal.exists()
    pulseaudio.start()
    assert mend(pulseaudio, agent.journal).returncode == 0
    assert not agent.journal.exists()
    assert stored_volume(pulseaudio, "music", role="music") == (FULL, False)


def test_a_journal_in_use_is_left_to_its_owner(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    agent, music, before = duck(pulseaudio, make_agent, make_stream)
    done = mend(pulseaudio, agent.journal)
    assert done.returncode == 0
    assert "in use" in done.stderr
    assert music.volume < FULL / 1.5
    agent.close()
    assert agent.ended() == 0
    assert snapshot(pulseaudio) == before


def test_the_next_one_waits_until_the_former_has_undone_its_effects(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    agent, music, before = duck(pulseaudio, make_agent, make_stream)
    following = make_agent(pulseaudio)
    agent.close()
    following.connected()
    assert agent.ended() == 0
    assert snapshot(pulseaudio) == before
    assert following.apply(1, session(17))["made"] == 1
    assert music.volume < FULL / 1.5


def test_mending_looks_at_every_journal_of_the_user(
    pulseaudio: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    agent, _, before = duck(pulseaudio, make_agent, make_stream)
    agent.kill()
    folder = pulseaudio.folder / "state" / "ringwake"
    folder.mkdir()
    # As a program that uses the library leaves it.
    agent.journal.rename(folder / "audio-effects.3.json")
    assert mend(pulseaudio).returncode == 0
    assert snapshot(pulseaudio) == before
    assert not list(folder.glob("*.json"))


def test_mending_finds_journals_in_folders_that_only_their_programs_know(
    server: AudioServer, make_agent: Agents, make_stream: Streams
) -> None:
    agent, _, before = duck(server, make_agent, make_stream)
    agent.kill()
    done = mend(server)
    assert done.returncode == 0 and "put back: " in done.stderr, done.stderr
    assert snapshot(server) == before
    assert not agent.journal.exists()
    assert not list((server.folder / "run" / "ringwake-audio").iterdir())
