"""Handlers of the system's service around whole programs: baresip with each of its ways to sound, and one with a window."""

from collections.abc import Callable
from pathlib import Path

import handler_unit
import pytest
from sound import MICROPHONE_FIFO, PULSEAUDIO, SOUND_CARD, TONE, install_sound
from support import programs
from support.machine import Boot, Root

Booted = Callable[[str], Boot]

HERE = Path(__file__).parent
EXAMPLE = programs.ROOT / "Examples" / "baresip-shell"
MODULES = "/usr/lib/baresip/modules"
# The client's modules of sound, and the packages that have them.
SOUND = {"alsa": "baresip-core", "pulse": "baresip-x11"}
SCENARIOS = HERE.parent / "handlers" / "scenarios"

# The example's configuration with other sound, as its comments say, on loopback and off the ports of a SIP server that this
# machine may have installed.
SETTINGS = """\
audio_player {device}
audio_source {device}
audio_alert {device}
# A null sink asks for sound in larger pieces than a card.
audio_buffer 200-1000
module {module}.so
sip_listen 127.0.0.1:15060
net_interface 127.0.0.1
rtp_ports 10000-10100
"""
REPLACED = ("audio_", "ausrc_", "sip_listen", "module ausine.so")
ACCOUNT = "<sip:bob@127.0.0.1:15070>;regint=60;answermode=manual;auth_pass=x\n"

UNITS = r"""
prepare
# What happens too late is another test's.
sed -i -E 's/^(report|action|claim) = "[^"]*"/\1 = "60s"/' /etc/ringwake/ringwaked.toml
systemctl start dbus polkit
systemctl enable --now ringwaked
unit_is() { systemctl show --property="$1" --value "ringwake-handler-*.service"; }
restarted() { [ "$(main_pid)" != "$killed" ] && systemctl is-active --quiet ringwaked; }
claimed() { ! ringwake call show "$1" --json | grep -q claimMs && is "$1" connected; }
gone() { [ -z "$(systemctl list-units --plain --no-legend 'ringwake-handler-*')" ]; }
strikes() { ringwake app show "$app" --json | part '["strikes"]["count"]'; }
kill_daemon() {
    killed=$(main_pid)
    kill -9 "$killed"
    eventually restarted
}
"""

PHONE = r"""
peer() {
    local name=$1
    shift
    TERM=xterm sipp "$@" -i 127.0.0.1 -nostdin \
        -trace_msg -message_file "/run/$name.messages" -trace_err -error_file "/run/$name.errors" >/dev/null 2>&1
}
peer registrar -sf /usr/share/ringwake-test/registrar.xml -p 15070 &
registrar=$!
show_more() { tail -n 60 /var/lib/phone/log /run/*.messages /run/*.errors; }
heard() { python3 TONE heard "$recording" || fail "no sound"; }

step "a push wakes the client, which registers; then the call comes"
push one
registered() { grep -q 'Contact: .*expires=[1-9]' /run/registrar.messages; }
eventually registered
peer alice 127.0.0.1:15060 -p 15080 -sf /usr/share/ringwake-test/caller.xml -s bob -m 1 -mp 7000 -rtp_echo -cid_str one &
alice=$!
eventually is one ringing
[ "$(ps -o user= -p "$(unit_is MainPID)")" = phone ]
[ "$(ps -o user= -C baresip)" = phone ]
ringwake call answer one
eventually is one connected
acknowledged() { grep -q '^ACK ' /run/alice.messages; }
eventually acknowledged
step "sound flows: what the microphone hears comes back from the caller"
heard
step "the daemon is killed in the call, and starts again"
before=$(unit_is MainPID)
kill_daemon
eventually claimed one
[ "$(unit_is MainPID)" = "$before" ]
heard
step "the handler is killed in the call, and starts again; the client stays"
client=$(pgrep -x baresip)
kill -9 "$before"
another() { [[ $(unit_is MainPID) != @(|0|$before) ]]; }
eventually another
eventually claimed one
[ "$(pgrep -x baresip)" = "$client" ]
heard
step "hold, unhold, hang up"
ringwake call hold one
eventually is one held
ringwake call unhold one
eventually is one connected
hang_up one
wait $alice
step "it ended with its call, and unregistered its client"
eventually gone
client_gone() { ! pgrep -x baresip; }
eventually client_gone
grep 'Contact: .*expires=0' /run/registrar.messages
kill $registrar
"""

WINDOW = r"""
export DISPLAY=:1
Xvfb $DISPLAY -screen 0 800x600x24 -nolisten tcp -ac >/dev/null 2>&1 &
display=$!
eventually xdotool getdisplaygeometry
# A window whose title says who calls and in which state; and a press of a button, by the pointer.
shown() { xdotool search --onlyvisible --name "^sip:alice@example.org: $1\$"; }
press() {
    eval "$(xdotool getwindowgeometry --shell "$1")"
    xdotool mousemove --window "$1" $((WIDTH * $2 / 100)) $((HEIGHT * 3 / 4)) click 1
}
answer=25 end=75

useradd --system phone
ringwake app add "$app" --unit ringwake-handler-phone@.service --instances call --payload ringwake
step "a push opens the window"
push one
eventually is one ringing
eventually shown ringing
[ "$(ps -o user= -p "$(unit_is MainPID)")" = phone ]
step "its button answers"
press "$(shown ringing)" $answer
eventually is one connected
eventually shown connected
ringwake call show one | grep 'answered (by app)'
step "the daemon is killed in the call, and starts again"
before=$(unit_is MainPID)
kill_daemon
eventually claimed one
[ "$(unit_is MainPID)" = "$before" ]
step "what others do to the call, the window shows"
ringwake call hold one
eventually shown held
ringwake call unhold one
eventually shown connected
step "its other button ends the call, and with it the handler"
press "$(shown connected)" $end
eventually is one ended
ringwake call show one --json | part '["reason"]' | grep localEnded
eventually gone
! shown '.*' || fail "the window is still there"
step "another call is declined"
push two
eventually shown ringing
press "$(shown ringing)" $end
eventually is two ended
ringwake call show two --json | part '["reason"]' | grep declined
eventually gone
[ "$(strikes)" = 0 ]
kill $display
"""


def needs(packages: dict[str, str]) -> None:
    """Fails if a file of one of these packages is missing, and says what to install."""
    if missing := [package for file, package in packages.items() if not Path(file).exists()]:
        pytest.fail(f"apt-get install --no-install-recommends {' '.join(missing)}")


def install_baresip(device: Root, module: str) -> str:
    """The example with its sound set; the commands of its README.md that install it."""
    folder = "/usr/share/ringwake-test/phone"
    for file in EXAMPLE.iterdir():
        device.write(f"{folder}/{file.name}", file.read_text().replace("org.example", "com.example"))
    delivered = (EXAMPLE / "config").read_text().splitlines()
    # PulseAudio has a default device if none is named.
    own = SETTINGS.format(module=module, device={"alsa": "alsa,default", "pulse": "pulse"}[module])
    lines = [line for line in delivered if not " ".join(line.split()).startswith(REPLACED)]
    # The modules of sound come before those that use them.
    device.write(f"{folder}/config", own + "\n".join(lines) + "\n")
    device.write(f"{folder}/accounts", ACCOUNT)
    device.write(f"/etc/systemd/system/{handler_unit.NAME}.d/slow.conf", "[Service]\nEnvironment=INVITE_TIMEOUT=60\n")
    handler_unit.install_rules(device)
    for scenario in SCENARIOS.iterdir():
        device.write(f"/usr/share/ringwake-test/{scenario.name}", scenario.read_bytes())
    section = (EXAMPLE / "README.md").read_text().partition("## Install it for the system's daemon")[2].partition("## ")[0]
    commands = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    assert len(commands) > 5, section
    return f"cd {folder}\n" + "\n".join(commands).replace("org.example", "com.example") + "\n"


@pytest.mark.parametrize("module", SOUND)
def test_baresip_as_a_unit(device: Root, boot: Booted, module: str) -> None:
    needs({"/usr/bin/sipp": "sip-tester"} | {f"{MODULES}/{name}.so": package for name, package in SOUND.items()})
    install = install_baresip(device, module)
    install_sound(device)
    if module == "alsa":
        device.write("/etc/asound.conf", SOUND_CARD)
    server = PULSEAUDIO + "record\nusermod --append --groups pulse-access phone\n"
    sound = {"alsa": MICROPHONE_FIFO, "pulse": server}[module]
    boot(UNITS + install + sound + PHONE.replace("TONE", TONE))


def test_a_window_as_a_unit(device: Root, boot: Booted) -> None:
    needs({f"/usr/share/doc/{package}": package for package in ("gir1.2-gtk-3.0", "xdotool", "xvfb")})
    device.write("/usr/libexec/window.py", (HERE / "window.py").read_bytes(), 0o755)
    handler_unit.install_unit(device, "/usr/libexec/window.py", "DISPLAY=:1 NO_AT_BRIDGE=1")
    boot(UNITS + WINDOW)
