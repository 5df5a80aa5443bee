"""The system's units as they ship, booted by a real systemd: a call rings through them and survives what befalls them."""

from collections.abc import Callable
from pathlib import Path

from support import programs
from support.machine import Boot, Root
from support.native import Native

WATCHDOG_FILE = programs.ROOT / "deploy" / "systemd" / "examples" / "watchdog.conf"
Booted = Callable[[str], Boot]

# Asks on the control socket, again and again, until the file is gone; each refusal is a line of the file.
KNOCK = r"""
knock() {
    while [ -e /run/knocking ]; do
        ringwake status --json >/dev/null 2>>/run/refused || echo "status: $?" >>/run/refused
    done
}
touch /run/knocking
knock &
knocker=$!
"""

LIFE = r"""
prepare
step "start"
systemctl enable --now ringwaked
[ "$(systemctl show --property=Type --value ringwaked)" = notify ]
systemctl is-active ringwaked ringwaked.socket
step "the handler that exec starts, inside the sandbox"
add_app
connect first
step "reload"
systemctl reload ringwaked
step "a reload that fails says so, and changes nothing"
cp /etc/ringwake/ringwaked.toml /run/good.toml
echo 'nonsense = true' >>/etc/ringwake/ringwaked.toml
! systemctl reload ringwaked || fail "a wrong configuration was taken"
systemctl show --property=StatusText --value ringwaked | grep nonsense
systemctl is-active ringwaked
cp /run/good.toml /etc/ringwake/ringwaked.toml
systemctl reload ringwaked
[ -z "$(systemctl show --property=StatusText --value ringwaked)" ]
is first connected
step "restart in a call, while somebody asks all the time"
before=$(main_pid)
systemctl restart ringwaked
[ "$(main_pid)" != "$before" ]
eventually is first connected
step "upgrade in a call: another program file"
cp /usr/bin/ringwaked /usr/bin/ringwaked.new && mv /usr/bin/ringwaked.new /usr/bin/ringwaked
systemctl restart ringwaked
eventually is first connected
rm /run/knocking
wait $knocker
[ ! -s /run/refused ] || { cat /run/refused; fail "a client was refused during the restarts"; }
step "kill -9 in a call"
before=$(main_pid)
kill -9 "$before"
restarted() { [ "$(main_pid)" != "$before" ] && systemctl is-active --quiet ringwaked; }
eventually restarted
eventually is first connected
step "the call ends, and its handler"
hang_up first
handler_is_gone() { ! pgrep -f '^/bin/sh /usr/libexec/phone-handler'; }
eventually handler_is_gone
step "stop: the service alone can be started again by a client"
systemctl stop ringwaked
ringwake status --json >/dev/null
systemctl is-active ringwaked
step "stop for good"
systemctl stop ringwaked.socket
! systemctl is-active ringwaked ringwaked.socket || fail "something still runs"
status=0
ringwake status >/dev/null 2>&1 || status=$?
[ $status = 3 ]
step "the doctor knows why: the unit does not run; and a unit that failed, with its last words"
examine() { status=0; ringwake doctor >/run/doctor || status=$?; }
examine
[ $status = 3 ] || { cat /run/doctor; fail "doctor: $status"; }
grep -F "run 'systemctl enable --now ringwaked'" /run/doctor
chmod 600 /etc/ringwake/certs/server.key
chown root /etc/ringwake/certs/server.key
! systemctl start ringwaked || fail "it started without its key"
examine
[ $status = 9 ] || { cat /run/doctor; fail "doctor: $status"; }
grep -F "/etc/ringwake/certs/server.key" /run/doctor
grep -F "Permission denied" /run/doctor
chmod 640 /etc/ringwake/certs/server.key
# The doctor's connections may still start it, now that it can.
systemctl stop ringwaked.socket ringwaked
systemctl reset-failed ringwaked ringwaked.socket
step "a backup is restored while the daemon runs, and systemd starts it again"
systemctl start ringwaked
ringwake backup create --to /run/kept.tar.zst --no-keys
connect later
hang_up later
before=$(main_pid)
ringwake backup restore --yes /run/kept.tar.zst
[ "$(main_pid)" != "$before" ]
systemctl is-active ringwaked
ringwake call show first
! ringwake call show later || fail "the call that the backup has not is still there"
[ "$(stat --format=%U:%a /var/lib/ringwake/store.db)" = ringwake:600 ]
connect after
hang_up after
systemctl stop ringwaked.socket ringwaked
step "clean: state goes, configuration stays"
systemctl clean --what=state ringwaked
[ ! -e /var/lib/ringwake ]
ls /etc/ringwake/ringwaked.toml /etc/ringwake/certs/server.key /etc/ringwake/apps.d/$app.toml
systemctl start ringwaked
connect second
hang_up second
step "the doctor finds nothing that keeps it from ringing, except the network, which a test's machine has not"
examine
! grep ^problem /run/doctor || fail "the doctor found a problem"
"""

PROVIDER_SOCKET = r"""
prepare
step "a [[listener]] beside a socket of systemd's is an error that names both"
systemctl enable --now ringwaked-development.socket
! systemctl start ringwaked || fail "it started"
journal --unit=ringwaked | grep 'FileDescriptorName=development' | grep '127.0.0.1:2197' | grep '2198' | tail -n 1
step "without the [[listener]]"
sed -i 's/^\[\[listener\]\]$/[[gone]]/; /^\[\[gone\]\]$/,/^environment/d' /etc/ringwake/ringwaked.toml
[ "$(systemctl show --property=NRestarts --value ringwaked)" = 0 ]
systemctl start ringwaked
ringwake status --json | part '["listeners"]' | tee /dev/stderr | grep ':2198.*development'
add_app
token=$(ringwake app show $app --json | part '["tokens"]["development"]')
push() {
    curl --silent --show-error --fail --http2 --cacert /etc/ringwake/certs/ca.pem \
        --cert /etc/ringwake/certs/voip-services-$app.pem --header "apns-topic: $app.voip" \
        --header 'apns-push-type: voip' --header 'apns-expiration: 0' \
        --data "{\"ringwake\":{\"call\":\"$1\",\"cancel\":true}}" "https://127.0.0.1:2198/3/device/$token"
}
step "no sender is refused while the daemon restarts"
touch /run/pushing
(number=0; while [ -e /run/pushing ]; do
    number=$((number + 1)); push "call-$number" 2>>/run/refused || echo "push $number: $?" >>/run/refused
done; echo $number >/run/pushed) &
pusher=$!
for round in 1 2 3; do systemctl restart ringwaked; done
rm /run/pushing
wait $pusher
[ ! -s /run/refused ] || { cat /run/refused; fail "a sender was refused during the restarts"; }
[ "$(cat /run/pushed)" -ge 3 ]
step "stop and start: a sender waits meanwhile"
systemctl stop ringwaked
push waits
systemctl is-active ringwaked
step "a sender that came by IPv4 to a socket for both is told apart by its own address"
! curl --silent --output /dev/null --http2 --cacert /etc/ringwake/certs/ca.pem https://127.0.0.1:2198/3/device/$token --fail
ringwake push list --refused | grep -F ' 127.0.0.1:' || fail "its address is another"
step "strangers with pushes that they do not finish do not decide when it ends"
mkdir -p /run/systemd/system/ringwaked.service.d
printf '[Service]\nTimeoutStopSec=9s\n' >/run/systemd/system/ringwaked.service.d/stop.conf
systemctl daemon-reload
/usr/bin/python3 /srv/stranger.py 2198 >/run/stranger &
eventually grep ready /run/stranger
systemctl stop ringwaked
[ "$(systemctl show --property=Result --value ringwaked)" = success ] || fail "systemd had to kill it"
push waits-again
step "a socket that failed, as senders came while the daemon could not start, comes back with it"
mv /etc/ringwake/certs/server.key /run/server.key
systemctl stop ringwaked
! systemctl start ringwaked || fail "it started without its key"
knocks() { push nobody-there; systemctl is-failed --quiet ringwaked-development.socket; }
eventually knocks
mv /run/server.key /etc/ringwake/certs/server.key
systemctl reset-failed ringwaked ringwaked.socket ringwaked-development.socket
systemctl start ringwaked
push there-again
step "the address of a socket of systemd's is systemd's: a [[listener]] for it is refused at reload too"
printf '[[listener]]\naddress = "127.0.0.1:2299"\nenvironment = "development"\n' >>/etc/ringwake/ringwaked.toml
! systemctl reload ringwaked || fail "it was taken"
"""

WATCHDOG = r"""
prepare
mkdir -p /etc/systemd/system/ringwaked.service.d
sed 's/WatchdogSec=.*/WatchdogSec=5s/' /usr/share/ringwake-test/watchdog.conf \
    >/etc/systemd/system/ringwaked.service.d/watchdog.conf
systemctl daemon-reload
systemctl start ringwaked
step "a daemon that works is left alone"
before=$(main_pid)
[ "$(systemctl show --property=WatchdogUSec --value ringwaked)" = 5s ]
sleep 12
[ "$(main_pid)" = "$before" ]
step "one that hangs is replaced"
kill -STOP "$before"
replaced() { [ "$(main_pid)" != "$before" ] && [ "$(main_pid)" != 0 ] && systemctl is-active --quiet ringwaked; }
eventually replaced
ringwake status >/dev/null
"""

def test_a_call_survives_everything_that_befalls_the_unit(boot: Booted) -> None:
    boot(LIFE.replace('step "restart in a call', KNOCK + 'step "restart in a call', 1))


def test_a_provider_port_of_systemd_refuses_nobody(device: Root, boot: Booted) -> None:
    device.write("/srv/stranger.py", (Path(__file__).parent / "stranger.py").read_bytes())
    boot(PROVIDER_SOCKET)


def test_the_watchdog_replaces_a_daemon_that_hangs(device: Root, boot: Booted) -> None:
    device.write("/usr/share/ringwake-test/watchdog.conf", WATCHDOG_FILE.read_bytes())
    boot(WATCHDOG)


# All 500 ring at the same time only if none has rung out before the last one is dialled, however busy the machine is. The
# state is in memory: 500 commits can take minutes on a disk that others keep busy, and this test is not about it.
MANY = r"""
prepare
mount -t tmpfs tmpfs /var/lib/ringwake
sed -i -e 's/^report = .*/report = "1m"/' -e 's/^ring = .*/ring = "1h"/' /etc/ringwake/ringwaked.toml
systemctl enable --now ringwaked
ringwake app add "$app" --exec /usr/libexec/stream-handler --way exec --payload ringwake --instances call
step "500 calls, each with a handler that keeps a stream and reports"
export app
dial() { ringwake push --app "$app" --data "{\"ringwake\":{\"call\":\"$1\",\"caller\":\"sip:alice@example.org\"}}"; }
export -f dial
seq 500 | xargs -P 4 -I N bash -c 'dial call-N' >/dev/null
rings() { [ "$(ringwake call list --json --limit 500 | part '["calls"]' | grep -o "'state': 'ringing'" | wc -l)" = 500 ]; }
eventually rings
[ "$(pgrep --count --full stream-handler)" -ge 500 ]
step "none was missed"
[ "$(ringwake status --json | part '["strikes"]')" = '{}' ]
"""


def test_five_hundred_handlers_at_once_report(device: Root, boot: Booted, native: Native) -> None:
    device.write("/usr/libexec/stream-handler", (native.folder / "stream_handler").read_bytes(), 0o755)
    boot(MANY)
