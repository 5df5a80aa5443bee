"""The daemon rings from the system's unit, within its sandbox: it is heard, or the daemon says why not and what to do."""

import io
import wave
from collections.abc import Callable

from sound import PULSEAUDIO, TONE, install_sound
from tone import RATE, wave_of
from support.machine import Boot, Root

Booted = Callable[[str], Boot]

RINGTONE = "/usr/share/ringwake-test/ringtone.wav"

# The configuration as it ships, with a [ring] of these lines, for a daemon that starts; and what it logs from then on.
CONFIGURE = r"""
prepare
cp /etc/ringwake/ringwaked.toml /run/shipped.toml
systemctl enable ringwaked
configure() {
    { cat /run/shipped.toml; echo '[ring]'; printf '%s\n' "$@"; } >/etc/ringwake/ringwaked.toml
    journalctl --sync
    cursor=$(journalctl --lines=0 --show-cursor | sed -n 's/^-- cursor: //p')
    systemctl restart ringwaked
}
logged() { journal --unit=ringwaked --after-cursor="$cursor"; }
"""

HEARD = r"""
usermod --append --groups pulse-access ringwake
record
player() { pgrep --uid ringwake --exact paplay; }
heard() { python3 TONE heard "$recording" || fail "no sound"; }
silent() { ! player; }
configure 'command = ["/usr/bin/paplay", "{file}"]' 'ringtone = "RINGTONE"'
! logged | grep 'cannot ring' || fail "it warned"

step "ringer = daemon: the handler reports the call, and the daemon rings until the user answers"
add_app --ringer daemon
push one
eventually is one ringing
heard
ringwake call answer one
eventually is one connected
eventually silent
hang_up one

step "fallback = ring: the handler fails, and the daemon rings until the user declines"
ringwake app add "$app" --exec /bin/false --way exec --payload ringwake --fallback ring --replace
push two
eventually is two ringing
heard
ringwake call decline two
eventually is two ended
eventually silent
"""

NOT_HEARD = r"""
# The start warns of it, and its words say what to do.
warns() {
    logged | grep 'the device cannot ring as configured' | grep -F "$1" | grep -F "$2" ||
        fail "it did not warn of '$1' with '$2'"
}
play='"/usr/bin/paplay", "{file}"' ringtone='ringtone = "RINGTONE"'

step "a player that is not there"
configure 'command = ["/usr/bin/nonesuch", "{file}"]' "$ringtone"
warns "'ring.command': /usr/bin/nonesuch: there is no such file" "install it, or correct the path"

step "a player that only root may start"
install -m 700 /usr/bin/paplay /usr/libexec/roots-player
configure 'command = ["/usr/libexec/roots-player", "{file}"]' "$ringtone"
warns "'ring.command': /usr/libexec/roots-player: the daemon's user may not execute it" "run chmod +x"

step "a player in a home directory, which the sandbox hides"
install -D -m 755 /usr/bin/paplay /home/alice/player
configure "command = [$play]" "$ringtone" 'waiting = ["/home/alice/player", "RINGTONE"]'
warns "'ring.waiting': /home/alice/player: there is no such file" "hides home directories"

step "a ringtone in a home directory"
install -D -m 644 RINGTONE /home/alice/ring.wav
configure "command = [$play]" 'ringtone = "/home/alice/ring.wav"'
warns "'ring.ringtone': /home/alice/ring.wav: the daemon's user cannot read it" "hides home directories"
ringwake doctor >/run/doctor || true
grep -A1 -F "'ring.ringtone': /home/alice/ring.wav" /run/doctor || fail "the doctor sees it from outside"

step "a player that uses sound cards, which the sandbox hides"
configure 'command = ["/usr/bin/aplay", "{file}"]' "$ringtone"
warns "'ring.command': /usr/bin/aplay: there is no sound card here" "PrivateDevices=no"

step "nothing to ring with, for an app whose calls the daemon rings"
configure 'notifications = false'
add_app --ringer daemon
systemctl reload ringwaked
warns "'ring.command': it is missing, and the daemon is to ring for $app" "set ring.command and ring.ringtone"
ringwake app remove "$app"

step "no ringtone: the daemon does not start"
! configure "command = [$play]" || fail "it started"
logged | grep -F "'ring.ringtone' is missing"

step "an audio server that does not take the daemon's user: the start warns, and the first call says what the player said"
configure "command = [$play]" "$ringtone"
warns "the daemon's user is not in the group pulse-access" "usermod --append --groups pulse-access ringwake"
add_app --ringer daemon
push one
eventually is one ringing
told() { logged | grep 'could not be announced in full' | grep 'part=ring' | grep 'it exited with status 1: .*Access denied'; }
eventually told
hang_up one
"""


def prepared(device: Root) -> None:
    install_sound(device)
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, RATE, 0, "NONE", ""))
        sound.writeframes(wave_of(RATE).tobytes())
    device.write(RINGTONE, file.getvalue())


def script(text: str) -> str:
    return CONFIGURE + PULSEAUDIO + text.replace("RINGTONE", RINGTONE).replace("TONE", TONE)


def test_it_rings_from_within_the_sandbox(device: Root, boot: Booted) -> None:
    prepared(device)
    boot(script(HEARD))


def test_a_ring_that_nobody_hears(device: Root, boot: Booted) -> None:
    prepared(device)
    boot(script(NOT_HEARD))
