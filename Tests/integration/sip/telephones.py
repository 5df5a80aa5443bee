"""The telephones at the exchange: sipp calls, and registers as a phone that says its device token."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support import netns
from support.waiting import until

from .exchange import CALLER, DEVICE, SERVER, Exchange

SCENARIOS = Path(__file__).parent / "scenarios"
# Where sipp takes RTP and sends it back.
MEDIA_PORT = 16000
CUE = (
    "INFO sip:alice@{caller} SIP/2.0\r\nVia: SIP/2.0/UDP {caller}:9;branch=z9hG4bK-cue\r\nMax-Forwards: 70\r\n"
    "From: <sip:cue@{caller}>;tag=cue\r\nTo: <sip:alice@{caller}>\r\nCall-ID: {call}\r\nCSeq: 1 INFO\r\n"
    "Content-Length: 0\r\n\r\n"
)
REGISTER = (
    "REGISTER sip:{server} SIP/2.0\r\nVia: SIP/2.0/UDP {caller}:9;branch=z9hG4bK-alice\r\nMax-Forwards: 70\r\n"
    "From: <sip:alice@{server}>;tag=alice\r\nTo: <sip:alice@{server}>\r\nCall-ID: alice\r\nCSeq: 1 REGISTER\r\n"
    "Contact: <sip:alice@{caller}:{port}>\r\nExpires: 3600\r\nContent-Length: 0\r\n\r\n"
)
# No call of a test takes longer; seconds.
CALL_TIMEOUT = 60


class Caller:
    """One run of sipp in the caller's network, which is one call."""

    def __init__(
        self, exchange: Exchange, scenario: str, call: str, port: int, pause_ms: int, name: str | bytes
    ) -> None:
        self.exchange, self.call, self.port = exchange, call, port
        self.errors = exchange.folder / f"sipp-{call}.errors"
        with (exchange.folder / f"sipp-{call}.log").open("wb") as log:
            self.process = exchange.caller.popen(
                "sipp", f"{SERVER}:5060", "-sf", SCENARIOS / f"{scenario}.xml", "-s", "bob", "-i", CALLER, "-p", port,
                "-mp", MEDIA_PORT + 4 * (port % 1000), "-rtp_echo", "-m", 1, "-d", pause_ms,
                "-key", "name", os.fsdecode(name), "-cid_str", call, "-timeout", CALL_TIMEOUT, "-timeout_error",
                "-nostdin", "-trace_err", "-error_file", self.errors,
                stdout=log, stderr=log, env=os.environ | {"TERM": "xterm"}, cwd=exchange.folder,
            )  # fmt: skip

    def ends(self, seconds: float = CALL_TIMEOUT) -> None:
        """The call has gone as the scenario says, within this time."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the caller still waits after {seconds} s; {self.said}") from None
        assert status == 0, f"the call did not go as its scenario says ({status}); {self.said}"

    def cancels(self) -> None:
        """Tells the scenario `cancel` to give up."""
        with self.exchange.caller.entered():
            cue = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with cue:
            cue.sendto(CUE.format(caller=CALLER, call=self.call).encode(), (CALLER, self.port))

    @property
    def said(self) -> str:
        return self.errors.read_text(errors="replace") if self.errors.exists() else "sipp reports no error"


@contextlib.contextmanager
def calls(exchange: Exchange, call: str, scenario: str = "call", *, port: int = 5070, pause_ms: int = 1000,
          name: str | bytes = "Alice") -> Iterator[Caller]:  # fmt: skip
    """Begins a call with this Call-ID; `name` stands between quotes in its From."""
    caller = Caller(exchange, scenario, call, port, pause_ms, name)
    try:
        yield caller
    finally:
        netns.stop(caller.process)
        exchange.caller.processes.remove(caller.process)


class Telephone:
    """A telephone with a number of its own in the caller's network, which is registered and can be called."""

    PORT = 5080

    def __init__(self, exchange: Exchange, scenario: str) -> None:
        self.exchange = exchange
        self.errors = exchange.folder / f"sipp-{scenario}.errors"
        with (exchange.folder / f"sipp-{scenario}.log").open("wb") as log:
            self.process = exchange.caller.popen(
                "sipp", "-sf", SCENARIOS / f"{scenario}.xml", "-i", CALLER, "-p", self.PORT, "-mp", MEDIA_PORT + 400,
                "-rtp_echo", "-m", 1, "-timeout", CALL_TIMEOUT, "-timeout_error", "-nostdin",
                "-trace_err", "-error_file", self.errors,
                stdout=log, stderr=log, env=os.environ | {"TERM": "xterm"}, cwd=exchange.folder,
            )  # fmt: skip
        until(self.is_registered, CALL_TIMEOUT, "alice to be registered")

    def is_registered(self) -> bool:
        if "AoR: alice" in self.exchange.ask("ul.dump"):
            return True
        with self.exchange.caller.entered():
            line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with line:
            line.sendto(REGISTER.format(caller=CALLER, server=SERVER, port=self.PORT).encode(), (SERVER, 5060))
        return False

    def is_content(self) -> None:
        """The call has gone as the scenario says."""
        said = self.errors.read_text(errors="replace") if self.errors.exists() else "sipp reports no error"
        assert self.process.wait(CALL_TIMEOUT) == 0, said


@contextlib.contextmanager
def telephone(exchange: Exchange, scenario: str = "answers") -> Iterator[Telephone]:
    """Alice's telephone, which does what the scenario says."""
    made = Telephone(exchange, scenario)
    try:
        yield made
    finally:
        netns.stop(made.process)
        exchange.caller.processes.remove(made.process)


def register(exchange: Exchange, token: str, topic: str, *, seconds: int = 3600, by: str = "udp") -> None:
    """A phone registers and says its token; afterwards nobody listens at its address, which is one by UDP or TCP."""
    done = exchange.device.exec(
        "sipp", f"{SERVER}:5060", "-sf", SCENARIOS / "register.xml", "-s", "bob", "-i", DEVICE, "-p", 5090, "-m", 1,
        "-key", "token", token, "-key", "topic", topic, "-key", "seconds", seconds, "-key", "by", by,
        "-timeout", 5, "-timeout_error", "-nostdin", env={"TERM": "xterm"}, cwd=exchange.folder,
    )  # fmt: skip
    assert done.returncode == 0, f"registering failed: {done.stdout}{done.stderr}"
    until(lambda: token in exchange.ask("htable.dump", "ringwake"), 5, "the server to know the token")
