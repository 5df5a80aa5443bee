#!/usr/bin/python3
"""A sound card made of two pipes, and an ear: what a booted machine has instead of hardware.

    tone.py microphone FIFO    plays a tone of 440 Hz to whoever opens the pipe, in real time
    tone.py speaker FILE       takes its standard input in real time, and adds it to the file
    tone.py heard FILE         waits until a second has been added that is mostly the tone; fails if none comes

The card has 48 kHz, stereo, 16 bits: a block of 20 ms is about a page, and a pipe has room again only page by page. The
file has 8 kHz, mono, 16 bits.
"""

import array
import math
import os
import struct
import sys
import time
from pathlib import Path

TONE = 440
CARD_RATE = 48000
RATE = 8000
# 20 ms, of two channels with two bytes each.
BLOCK = CARD_RATE // 50 * 4
# 25 ms of the file: 11 periods.
PART = RATE // 40
# How long the ear waits, in seconds.
TIMEOUT = 60


def wave_of(rate: int) -> array.array:
    """A second of the tone, which has whole periods."""
    return array.array("h", (round(8000 * math.sin(2 * math.pi * TONE * n / rate)) for n in range(rate)))


def microphone(path: str) -> None:
    second = array.array("h", (sample for sample in wave_of(CARD_RATE) for _ in range(2))).tobytes()
    while True:
        # Blocks until somebody records.
        pipe = os.open(path, os.O_WRONLY)
        start, sent = time.monotonic(), 0
        try:
            while True:
                at = sent * BLOCK % len(second)
                os.write(pipe, second[at : at + BLOCK])
                sent += 1
                time.sleep(max(0, start + sent / 50 - time.monotonic()))
        except BrokenPipeError:
            os.close(pipe)


def speaker(path: str) -> None:
    start, taken, rest = time.monotonic(), 0.0, b""
    with Path(path).open("ab", buffering=0) as file:
        while data := os.read(0, BLOCK):
            rest += data
            whole = len(rest) // 24 * 24
            file.write(array.array("h", rest[:whole])[::12].tobytes())
            rest = rest[whole:]
            taken += len(data) / (4 * CARD_RATE)
            # After a gap it continues from now, and does not catch up.
            start = max(start, time.monotonic() - taken - 0.1)
            time.sleep(max(0, start + taken - time.monotonic()))


def is_tone(samples: tuple[int, ...]) -> bool:
    """Whether most of the power is at 440 Hz (Goertzel's algorithm)."""
    factor, last, before = 2 * math.cos(2 * math.pi * TONE / RATE), 0.0, 0.0
    for sample in samples:
        last, before = sample + factor * last - before, last
    power = last * last + before * before - factor * last * before
    total = sum(sample * sample for sample in samples) * len(samples) / 2
    # A few counts of noise are silence.
    return power > 0.8 * total and total > len(samples) ** 2 * 100


def heard(path: str) -> None:
    file, deadline = Path(path), time.monotonic() + TIMEOUT
    at = file.stat().st_size // 2 * 2 if file.exists() else 0
    best = 0.0
    while time.monotonic() < deadline:
        if not file.exists() or file.stat().st_size < at + 2 * RATE:
            time.sleep(0.1)
            continue
        with file.open("rb") as sound:
            sound.seek(at)
            samples = struct.unpack(f"<{RATE}h", sound.read(2 * RATE))
        # In parts, because the tone jumps where a packet came late.
        best = max(best, sum(is_tone(samples[n : n + PART]) for n in range(0, RATE, PART)) * PART / RATE)
        if best > 0.5:
            return
        at += 2 * RATE
    sys.exit(f"no tone in {path}: {file.stat().st_size if file.exists() else 0} bytes, at best {best:.2f} of a second")


if __name__ == "__main__":
    {"microphone": microphone, "speaker": speaker, "heard": heard}[sys.argv[1]](sys.argv[2])
