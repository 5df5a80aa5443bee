"""A Bluetooth headset on a real PulseAudio: `fakes/bluez.py` is BlueZ and the headset, the rest is the server's own.

What works with PulseAudio 16: a card with A2DP (sound goes into a socket pair); HFP that is refused, because the
machine has no voice link (`bluez`: the server tries for 0.9 s and leaves the card off); HFP that works (`ofono`: oFono
hands the voice link over). PipeWire 0.3.65 with WirePlumber's `with-logind = false` makes a card too, and its headset
profile works with `ofono`; but it does not come into A2DP, for it asks the headset for its codecs, and this one has
none to tell of.
"""

import socket

from .audio import PULSEAUDIO, PulseAudio
from .buses import Bus
from .waiting import until

CARD = "bluez_card.00_11_22_33_44_55"
A2DP, HFP = "a2dp_sink", "handsfree_head_unit"
# PulseAudio waits 3 seconds for profiles that have not connected.
CARD_TIMEOUT = 60


class PulseAudioWithBluetooth(PulseAudio):
    """PulseAudio that finds BlueZ on a system bus of its own."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.bus = Bus("system").start()
        self.control = self.bus.folder / "headset.sock"
        self.bluez = self.bus.fake("org.bluez", "bluez.py", self.control, kind)
        self.variables |= self.bus.environment()
        backend = {"bluez": "native", "ofono": "ofono"}[kind]
        self.script = PULSEAUDIO + f"load-module module-bluez5-discover headset={backend}\n"

    def start(self) -> "PulseAudioWithBluetooth":
        super().start()
        # Its endpoints come after its socket.
        self.bluez.waits_for("endpoint")
        self.bluez.waits_for("agent" if "ofono" in self.script else "profile")
        return self

    def connect_headset(self) -> None:
        """The headset comes, with music on."""
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.control))
            control.sendall(b"connect\n")
        until(lambda: self.profile() == A2DP, CARD_TIMEOUT, lambda: f"the card; {self.bluez.log}")

    def profile(self) -> str | None:
        """In which the headset is; nil while it is not there."""
        return next((card["active_profile"] for card in self.list("cards") if card["name"] == CARD), None)

    def clear_away(self) -> None:
        super().clear_away()
        self.bus.clear_away()
