"""What it costs while a call is connected and nothing changes."""

import time
from contextlib import ExitStack
from pathlib import Path

from .outcome import Outcome, Table
from .programs import audio, audio_agent
from .scene import Scene, call
from measure.servers import Ringwaked

SECONDS = 60
SETTLE = 3


def measure(quick: bool) -> list[Outcome]:
    seconds = 5 if quick else SECONDS
    table = Table(
        "A connected call in which nothing changes, and memory",
        f"`ringwake-audio` with a call's plan in force and three streams that play, {seconds} s; an idle `ringwaked` "
        "without a call, which has no such program, beside it. Voluntary context switches of all threads; memory "
        "from smaps_rollup, in kB. Aim: 0 switches.",
        ["", f"switches in {seconds} s", "CPU ms", "threads", "resident", "PSS", "private dirty"],
        command="Tests/lab/audio/run",
    )
    outcome = Outcome(table)
    with ExitStack() as stack:
        daemon = Ringwaked(["/bin/true"])
        stack.callback(daemon.stop)
        agents = {kind: _connected(Scene(kind, stack)) for kind in audio.SERVERS}
        time.sleep(SETTLE)
        processes = {f"ringwake-audio, {kind}": agent.process.pid for kind, agent in agents.items()}
        processes["ringwaked, idle"] = daemon.process.pid
        before = {name: (_switches(pid), _cpu(pid)) for name, pid in processes.items()}
        time.sleep(seconds)
        for name, pid in processes.items():
            switches, cpu = _switches(pid) - before[name][0], _cpu(pid) - before[name][1]
            memory = _memory(pid)
            table.add(
                name, switches, f"{cpu:.1f}", len(_tasks(pid)), *(memory[key] for key in ("Rss", "Pss", "Private_Dirty"))
            )  # fmt: skip
            if switches and name != "ringwaked, idle":
                outcome.missed.append(f"{name}: {switches} switches in {seconds} s, the aim is 0")
    return [outcome]


def _connected(scene: Scene) -> audio_agent.Agent:
    agent = scene.agent()
    agent.connected()
    agent.send({"apply": {"number": 1, "_1": call(), "resumes": True}})
    assert agent.next("applied")["number"] == 1
    assert scene.is_ducked()
    return agent


def _tasks(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").iterdir())


def _switches(pid: int) -> int:
    """Of all threads, those where it went to sleep of itself."""
    lines = [line for task in _tasks(pid) for line in (task / "status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def _cpu(pid: int) -> float:
    """Milliseconds on a processor so far."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


def _memory(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) for line in lines}
