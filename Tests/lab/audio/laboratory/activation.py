"""From the request to the server's last acknowledgement, beside the same changes made by pactl."""

import os
import time
from contextlib import ExitStack

from .outcome import Outcome, Table, median, milliseconds, quantile
from .programs import audio, audio_agent
from .scene import GAIN, Scene, call

ROUNDS = 60
# As a share of pactl's time.
AIM = 0.5
# Seconds before each sample: what the one before left to do is over by then.
PAUSE = 0.05


def measure(quick: bool) -> list[Outcome]:
    return [_measure(kind, 5 if quick else ROUNDS) for kind in audio.SERVERS]


def _measure(kind: str, count: int) -> Outcome:
    with ExitStack() as stack:
        scene = Scene(kind, stack)
        agent = scene.agent()
        agent.connected()
        rows: dict[str, list[int]] = {}
        internal: list[int] = []
        for number in range(count):
            scene.mute_microphone()
            time.sleep(PAUSE)
            _prepare(agent)
            took, applied = _apply(agent, 4 * number + 1, call())
            _check(scene, number, "ringwake-audio")
            rows.setdefault("ringwake-audio, prepared while it rang", []).append(took)
            internal.append(applied["microseconds"] * 1000)
            time.sleep(PAUSE)
            rows.setdefault("ringwake-audio, all put back", []).append(
                _apply(agent, 4 * number + 2, audio_agent.plan())[0]
            )
            time.sleep(PAUSE)
            rows.setdefault("ringwake-audio, not prepared", []).append(_apply(agent, 4 * number + 3, call())[0])
            _apply(agent, 4 * number + 4, audio_agent.plan())
            time.sleep(PAUSE)
            rows.setdefault("pactl, a process for each change", []).append(_pactl(scene))
            _check(scene, number, "pactl")
            _put_back(scene)
            rows.setdefault("pactl, one process that changes nothing", []).append(_nothing(scene))
            rows.setdefault("write and fdatasync of a journal's size", []).append(_disk(scene))
        rows["ringwake-audio, as it counts itself, prepared"] = internal
        return _outcome(scene, rows, count)


def _outcome(scene: Scene, rows: dict[str, list[int]], count: int) -> Outcome:
    pactl = median(rows["pactl, a process for each change"])
    outcome = Outcome(Table(
        f"To activate, until the server has acknowledged all: {scene.name}",
        f"{count} rounds, one sample of each in a round. Three streams are made quieter and the microphone is unmuted: "
        "four changes. ringwake-audio as the daemon drives it: from the line that is written to its socket to the "
        "line that says it is done, after the image of the server shows the changes; the effect journal is on the "
        "disk before the first change. What it counts itself ends with the server's last acknowledgement. pactl: a process for each change, one after the other, as scripts do. In "
        "every round it was looked whether the streams are quieter. Milliseconds.",
        ["", "median", "p90", "max", "x pactl"], command="Tests/lab/audio/run",
    ))  # fmt: skip
    for name, values in rows.items():
        outcome.table.add(
            name, milliseconds(median(values)), milliseconds(quantile(values, 0.9)), milliseconds(max(values)),
            f"{median(values) / pactl:.2f}",
        )  # fmt: skip
    for name in ("ringwake-audio, prepared while it rang", "ringwake-audio, not prepared"):
        if (ratio := median(rows[name]) / pactl) > AIM:
            outcome.missed.append(f"{name}, {scene.name}: {ratio:.2f}x pactl, the aim is {AIM}x")
    return outcome


def _prepare(agent: audio_agent.Agent) -> None:
    agent.send({"prepare": {"_0": call()}})
    # It is answered by nothing: it happens while the telephone rings.
    time.sleep(PAUSE)


def _apply(agent: audio_agent.Agent, number: int, plan: dict) -> tuple[int, dict]:
    start = time.monotonic_ns()
    agent.send({"apply": {"number": number, "_1": plan, "resumes": True}})
    done = agent.next("applied")
    took = time.monotonic_ns() - start
    assert done["number"] == number
    return took, done["_1"]


def _pactl(scene: Scene) -> int:
    start = time.monotonic_ns()
    for index in scene.indexes:
        scene.server.pactl("set-sink-input-volume", index, GAIN)
    scene.server.pactl("set-source-mute", "microphone", 0)
    return time.monotonic_ns() - start


def _put_back(scene: Scene) -> None:
    for index in scene.indexes:
        scene.server.pactl("set-sink-input-volume", index, 65536)


def _nothing(scene: Scene) -> int:
    start = time.monotonic_ns()
    scene.server.pactl("info")
    return time.monotonic_ns() - start


def _disk(scene: Scene) -> int:
    """The floor of a journal that has to be on the disk: a new file, and its folder."""
    file = scene.server.folder / "floor"
    start = time.monotonic_ns()
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, b"x" * 2048)
    os.fdatasync(descriptor)
    os.close(descriptor)
    return time.monotonic_ns() - start


def _check(scene: Scene, number: int, who: str) -> None:
    # PipeWire shows pactl's change to another program a little later.
    for _ in range(50):
        if scene.is_ducked():
            return
        time.sleep(0.02)
    raise AssertionError(f"round {number}: {who} has not made the streams quieter")
