"""A user's audio server with music on it, and `ringwake-audio` beside it."""

from contextlib import ExitStack
from pathlib import Path

from .programs import audio, audio_agent, audio_streams

# Streams that a call has to make quieter.
STREAMS = 3
CALL = 0
# What making quieter sets: a fifth of the amplitude, on the server's cubic scale to 65536.
GAIN = 38326


class Scene:
    """Music of three programs, a microphone that is muted, and nobody who has changed anything."""

    def __init__(self, kind: str, stack: ExitStack) -> None:
        self.server = audio.SERVERS[kind]()
        stack.callback(self.server.clear_away)
        self.server.start()
        self.streams = [audio_streams.Stream(self.server, f"music {number}") for number in range(STREAMS)]
        for stream in self.streams:
            stack.callback(stream.end)
        self.indexes = [stream.index for stream in self.streams]
        self.stack = stack
        self.runs = 0

    @property
    def name(self) -> str:
        return self.server.kind

    def agent(self) -> audio_agent.Agent:
        """A new `ringwake-audio`, with a journal of its own."""
        self.runs += 1
        agent = audio_agent.Agent(self.server, self.journal(self.runs))
        self.stack.callback(agent.clear_away)
        return agent

    def journal(self, number: int) -> Path:
        return self.server.folder / f"journal-{number}.json"

    def is_ducked(self) -> bool:
        """Whether every stream is quieter, and the microphone open: looked at by another program."""
        streams = [one for one in self.server.list("sink-inputs") if one["index"] in self.indexes]
        # PipeWire keeps volumes as floats.
        loud = [one for one in streams if next(iter(one["volume"].values()))["value"] > GAIN + 2]
        return not loud and not self.is_microphone_muted()

    def is_microphone_muted(self) -> bool:
        return next(one["mute"] for one in self.server.list("sources") if one["name"] == "microphone")

    def mute_microphone(self) -> None:
        self.server.pactl("set-source-mute", "microphone", 1)


def call() -> dict:
    """The plan of a call that makes others quieter and takes the microphone."""
    return audio_agent.plan(
        audio_agent.session(
            CALL, "duck", category="playAndRecord", mode="voiceChat", isInputOpen=True, isCall=True
        )
    )
