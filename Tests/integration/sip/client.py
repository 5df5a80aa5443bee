"""baresip's configuration, as Examples/baresip-shell has it, for a place on the exchange."""

from pathlib import Path

from .exchange import DEVICE, SERVER

# A tone in the place of a microphone, and nothing in that of a loudspeaker. The order of the modules counts.
CONFIGURATION = """poll_method epoll
sip_listen {address}:{port}
call_max_calls 8
audio_source ausine,440
ausrc_srate 48000
ausrc_channels 2
audio_alert nothing,nothing
ring_aufile none
callwaiting_aufile none
statmode_default off
module_path /usr/lib/baresip/modules
module g711.so
module ausine.so
{{accounts}}module_app menu.so
module_app ctrl_tcp.so
ctrl_tcp_listen 127.0.0.1:{control}
"""


# With this one it registers by itself when it starts.
ACCOUNTS = "module_tmp account.so\n"


def configure(
    folder: Path, number: int = 0, user: str = "bob", seconds: int = 3600, registers: bool = False
) -> Path:
    """Writes the folder of one client; of several on a device each has another `number`.

    It registers for `seconds`: by itself, or when its handler tells it to, who is ready for INVITEs by then.
    """
    folder.mkdir(exist_ok=True)
    # It takes the port after that of SIP for TLS.
    ports = {"port": 5060 + 2 * number, "control": 4444 + number}
    modules = ACCOUNTS if registers else ""
    (folder / "config").write_text(CONFIGURATION.format(address=DEVICE, **ports).replace("{accounts}", modules))
    (folder / "accounts").write_text(f"<sip:{user}@{SERVER}>;regint={seconds};answermode=manual\n")
    (folder / "contacts").write_text("")
    return folder
