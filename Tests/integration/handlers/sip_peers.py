"""The other side of the baresip example, played by sipp: a registrar, and callers."""

import os
import re
import socket
import subprocess
from pathlib import Path

from support import ports
from support.ports import ADDRESS
from support.waiting import until

SCENARIOS = Path(__file__).parent / "scenarios"
# How long a SIP message may take on this machine, in seconds.
PATIENCE = 60


class Peer:
    """One sipp with one scenario, and all messages that it has seen."""

    def __init__(self, folder: Path, name: str, *arguments: object) -> None:
        self.messages = folder / f"{name}.messages"
        self.screen = folder / f"{name}.screen"
        self.errors = folder / f"{name}.errors"
        self.port = ports.lease()
        command = [
            "sipp", *map(str, arguments), "-i", ADDRESS, "-p", str(self.port), "-nostdin",
            "-trace_msg", "-message_file", str(self.messages), "-trace_err", "-error_file", str(self.errors),
        ]  # fmt: skip
        with self.screen.open("wb") as screen:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=screen, stderr=screen, env=os.environ | {"TERM": "xterm"}
            )

    @property
    def seen(self) -> str:
        return self.messages.read_text(errors="replace") if self.messages.exists() else ""

    def count(self, pattern: str) -> int:
        """How many of its messages, its own and those that it was sent, have a line like this."""
        return len(re.findall(f"^{pattern}", self.seen, re.MULTILINE))

    def sees(self, pattern: str, count: int = 1) -> None:
        until(lambda: self.count(pattern) >= count, PATIENCE, lambda: f"{count} times {pattern} in\n{self.seen}")

    def clear_away(self) -> None:
        errors = self.errors.read_text(errors="replace") if self.errors.exists() else ""
        print(f"--- {self.messages.name}\n{self.seen}{errors}")
        self.process.kill()
        self.process.wait()


class Registrar(Peer):
    """Where the client registers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "registrar", "-sf", SCENARIOS / "registrar.xml")

    def registrations(self) -> int:
        """How often somebody has come."""
        return self.count(r"Contact: .*expires=[1-9]") // 2

    def unregistrations(self) -> int:
        return self.count(r"Contact: .*expires=0") // 2


class SIPCaller(Peer):
    """Alice calls the client, and does what `hang_up` and the user on the other side make her do."""

    def __init__(self, folder: Path, call_id: str, to: int) -> None:
        self.call_id = call_id
        # An even one for sound, with RTCP after it, and two more for a picture.
        media = ports.lease(5)
        super().__init__(
            folder, f"caller-{call_id}", f"{ADDRESS}:{to}", "-sf", SCENARIOS / "caller.xml", "-s", "bob", "-m", 1,
            "-mp", media + media % 2, "-rtp_echo", "-cid_str", call_id,
        )  # fmt: skip

    def hang_up(self) -> None:
        """Cancels, or ends the call that was answered: what she does when an INFO of the call's id comes."""
        lines = [
            f"INFO sip:alice@{ADDRESS}:{self.port} SIP/2.0", f"Via: SIP/2.0/UDP {ADDRESS}:9;branch=z9hG4bKcue",
            "From: <sip:cue@invalid>;tag=1", "To: <sip:alice@invalid>;tag=2", f"Call-ID: {self.call_id}",
            "CSeq: 1 INFO", "Content-Length: 0", "", "",
        ]  # fmt: skip
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto("\r\n".join(lines).encode(), (ADDRESS, self.port))

    def is_content(self) -> None:
        """The whole flow of her side went through, to its last message."""
        assert self.process.wait(PATIENCE) == 0, f"{self.seen}\n{self.screen.read_text(errors='replace')}"
