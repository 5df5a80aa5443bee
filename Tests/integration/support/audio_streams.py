"""Streams on a real audio server, and what of the server a user would notice."""

import os
import signal
import subprocess

from .audio import AudioServer
from .waiting import until

STREAM_TIMEOUT = 60
FULL = 65536


class Stream:
    """`pacat` or `parec`, which play silence to a server, or record from it, until they are ended."""

    def __init__(
        self, server: AudioServer, name: str, *, role: str | None = None, records: bool = False,
        device: str | None = None, volume: int | None = None, prefix: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.server = server
        self.name = name
        self.records = records
        options = [f"--client-name={name}", f"--stream-name={name}", "--raw", "--latency-msec=100"]
        options += [f"--property=media.role={role}"] if role else []
        options += [f"--device={device}"] if device else []
        options += [f"--volume={volume}"] if volume is not None else []
        command = ["parec", *options] if records else ["pacat", "--playback", *options, "/dev/zero"]
        self.process = subprocess.Popen(
            [*prefix, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env=os.environ | server.environment(),
        )  # fmt: skip
        until(self.is_running, STREAM_TIMEOUT, lambda: f"{name} to play; there are {self.all()}")

    def all(self) -> list[dict]:
        return self.server.list("source-outputs" if self.records else "sink-inputs")

    def facts(self) -> dict | None:
        """What pactl says of it; nil while the server does not have it."""
        mine = [one for one in self.all() if one["properties"].get("application.name") == self.name]
        return mine[0] if mine else None

    def is_running(self) -> bool:
        facts = self.facts()
        # pipewire-pulse announces a stream before it has a device and a volume.
        return facts is not None and not facts["corked"] and facts["source" if self.records else "sink"] < 2**32 - 1

    @property
    def index(self) -> int:
        facts = self.facts()
        assert facts, f"{self.name} is gone"
        return facts["index"]

    @property
    def volume(self) -> int:
        """Of its first channel; 65536 is full."""
        facts = self.facts()
        assert facts, f"{self.name} is gone"
        return next(iter(facts["volume"].values()))["value"]

    @property
    def is_muted(self) -> bool:
        facts = self.facts()
        assert facts, f"{self.name} is gone"
        return facts["mute"]

    def set_volume(self, percent: int) -> None:
        """As the user does in a mixer."""
        self.server.pactl("set-sink-input-volume", self.index, f"{percent}%")

    def set_mute(self, is_muted: bool) -> None:
        self.server.pactl("set-sink-input-mute", self.index, int(is_muted))

    def end(self) -> None:
        """As a player does that has come to its end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STREAM_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def snapshot(server: AudioServer) -> dict:
    """All that a user would find changed: volumes, mutes, ports, profiles and defaults, by names that stay."""
    info = server.info()
    found: dict = {"default sink": info["default_sink_name"], "default source": info["default_source_name"]}
    for what in ("sinks", "sources"):
        for device in server.list(what):
            found[device["name"]] = (volumes(device), device["mute"], device.get("active_port"))
    for card in server.list("cards"):
        found[card["name"]] = card["active_profile"]
    for what, place in (("sink-inputs", "sink"), ("source-outputs", "source")):
        names = {device["index"]: device["name"] for device in server.list(f"{place}s")}
        for stream in server.list(what):
            name = stream["properties"].get("application.name", "")
            found[f"{what} {name}"] = (volumes(stream), stream["mute"], stream["corked"], names.get(stream[place]))
    return found


def volumes(thing: dict) -> tuple[int, ...]:
    return tuple(channel["value"] for channel in thing.get("volume", {}).values())


def stored_volume(server: AudioServer, name: str, role: str | None = None) -> tuple[int, bool]:
    """Volume and mute that the server gives to the next stream of a kind."""
    stream = Stream(server, name, role=role)
    try:
        return stream.volume, stream.is_muted
    finally:
        stream.end()
