"""Sound on a booted machine, which has no card: a PulseAudio server of the system's, and an ALSA device made of pipes."""

from pathlib import Path

from support.machine import Root

TONE = "/usr/libexec/tone.py"
RECORDING = "/run/heard.raw"

# As a person without a desktop runs it. Its user and the group pulse-access are Debian's.
SERVER = """\
[Unit]
Description=The test's PulseAudio
[Service]
ExecStart=/usr/bin/pulseaudio --system --disallow-exit --daemonize=no --use-pid-file=no -n \
    --exit-idle-time=-1 --file=/etc/pulse/test.pa
"""
SERVER_SCRIPT = """\
load-module module-native-protocol-unix
load-module module-null-sink sink_name=speaker
load-module module-sine-source source_name=microphone frequency=440
set-default-sink speaker
set-default-source microphone
"""

# What a script runs for it. `record` writes what the speaker plays to $recording.
PULSEAUDIO = f"""
recording={RECORDING}
systemctl start test-pulseaudio
as_pulse() {{ setpriv --reuid=pulse --regid=pulse --init-groups env HOME=/run/pulse "$@"; }}
eventually as_pulse pactl --server=unix:/run/pulse/native info
record() {{
    as_pulse parec --server=unix:/run/pulse/native --device=speaker.monitor \\
        --latency-msec=20 --format=s16le --rate=8000 --channels=1 --raw >"$recording" &
    recorder=$!
}}
"""

# /etc/asound.conf: a sound card that a program plays, with the clock of a real one.
SOUND_CARD = f"""\
pcm.!default {{ type plug slave {{ pcm "card" format S16_LE rate 48000 channels 2 }} }}
pcm.card {{ type asym playback.pcm "speaker" capture.pcm "microphone" }}
pcm.speaker {{
    type file slave.pcm null format raw
    file "|/usr/bin/python3 {TONE} speaker /var/lib/phone/heard.raw"
}}
pcm.microphone {{ type file slave.pcm null format raw file "/dev/null" infile "/run/microphone" }}
"""
MICROPHONE_FIFO = f"""
recording=/var/lib/phone/heard.raw
mkfifo -m 666 /run/microphone
python3 {TONE} microphone /run/microphone &
"""


def install_sound(root: Root) -> None:
    root.write(TONE, (Path(__file__).parent / "tone.py").read_bytes(), 0o755)
    root.write("/etc/systemd/system/test-pulseaudio.service", SERVER)
    root.write("/etc/pulse/test.pa", SERVER_SCRIPT)
