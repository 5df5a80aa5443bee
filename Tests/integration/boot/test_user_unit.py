"""A user's unit as it ships, under a real `systemd --user` of a machine that booted."""

from collections.abc import Callable

from support.machine import Boot

Booted = Callable[[str], Boot]

USER = r"""
useradd --create-home --shell /bin/bash alice
loginctl enable-linger alice
user=$(id -u alice)
eventually test -S /run/user/$user/systemd/private
as_alice() {
    setpriv --reuid=alice --regid=alice --init-groups env -i HOME=/home/alice USER=alice PATH=/usr/bin:/bin \
        XDG_RUNTIME_DIR=/run/user/$user DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$user/bus "$@"
}
home=/home/alice
as_alice ringwake certs dev-ca --directory $home/.config/ringwake/certs --app $app --team DEVTEAM001 >/dev/null
as_alice cp /usr/share/ringwake-test/ringwaked.toml $home/.config/ringwake/
ctl() { as_alice systemctl --user "$@"; }
trap 'journal _UID=$user | tail -n 40; fail "line $LINENO: $BASH_COMMAND"' ERR
alice_is() { [ "$(as_alice ringwake call show "$1" --json | part '["state"]')" = "$2" ]; }
alices_tokens() { as_alice ringwake app show $app --json | part '["tokens"]'; }
dial() {
    as_alice ringwake push --app $app --data "{\"ringwake\":{\"call\":\"$1\",\"caller\":\"sip:alice@example.org\"}}"
    eventually alice_is "$1" ringing
    as_alice ringwake call answer "$1"
    eventually alice_is "$1" connected
}
"""

LIFE = USER + r"""
step "start"
ctl enable --now ringwaked
ctl is-active ringwaked ringwaked.socket
step "a call, whose handler is a unit of its own"
as_alice ringwake app add $app --exec /usr/libexec/phone-handler --payload ringwake --instances call
dial first
step "reload, restart and kill in a call"
ctl reload ringwaked
ctl restart ringwaked
eventually alice_is first connected
before=$(ctl show --property=MainPID --value ringwaked)
kill -9 "$before"
replaced() { ctl is-active --quiet ringwaked && [ "$(ctl show --property=MainPID --value ringwaked)" != "$before" ]; }
eventually replaced
eventually alice_is first connected
as_alice ringwake call end first
eventually alice_is first ended
step "a backup of the user's own, with the settings of the user"
printf 'secret\n' >$home/.config/ringwake/backup-passphrase
ctl start ringwake-backup
backup=$(ls -d $home/.local/share/ringwake/backups/ringwake-*.tar.zst)
[ "$(stat --format='%a %U' "$backup")" = "600 alice" ]
as_alice ringwake backup verify "$backup" --passphrase-file $home/.config/ringwake/backup-passphrase | grep 'is whole'
(as_alice ringwake doctor || true) | grep "^ok .* backup .*$backup"
as_alice ringwake status | grep "^backup .*$backup"
step "state is not among the configuration, and cleaning deletes none of that"
test -f $home/.local/state/ringwake/store.db
! ls $home/.config/ringwake | grep -E 'store|tokens|lock' || fail "there is state among the configuration"
tokens=$(alices_tokens)
step "a daemon that is started by hand has the same tokens"
ctl stop ringwaked.socket
as_alice ringwaked >/dev/null 2>&1 &
eventually as_alice ringwake status
[ "$(alices_tokens)" = "$tokens" ]
kill %1
wait %1 || true
ctl clean --what=runtime ringwaked
ls $home/.config/ringwake/ringwaked.toml $home/.config/ringwake/certs/server.key >/dev/null
"""

MOVED = USER + r"""
step "the unit as it was: systemd 252 puts its state among the configuration"
mkdir -p /etc/systemd/user/ringwaked.service.d
printf '[Service]\nStateDirectory=ringwake\n' >/etc/systemd/user/ringwaked.service.d/former.conf
ctl daemon-reload
ctl start ringwaked
as_alice ringwake app add $app --exec /usr/libexec/phone-handler --payload ringwake --instances call
dial first
tokens=$(alices_tokens)
test -f $home/.config/ringwake/store.db
step "the unit as it is: the state moves, in a call, and nothing else does"
rm -r /etc/systemd/user/ringwaked.service.d
ctl daemon-reload
ctl restart ringwaked
eventually alice_is first connected
[ "$(alices_tokens)" = "$tokens" ]
test -f $home/.local/state/ringwake/store.db
! ls $home/.config/ringwake | grep -vE '^(certs|apps.d|ringwaked.toml)$' || fail "something was left behind"
journal _UID=$user | grep 'moved out of the configuration folder'
step "once"
ctl restart ringwaked
[ "$(journal _UID=$user | grep -c 'moved out of the configuration folder')" = 1 ]
"""


AUDIO = USER + r"""
prepare
socket=/run/ringwake-audio/$user.sock
# The first word of the program, to a client of this user.
connect() {
    setpriv --reuid="$1" --regid="$1" --init-groups python3 -c \
        'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(4096))' "$socket"
}
useradd mallory
printf '[audio]\nsocket = "%s"\n' "$socket" >>/etc/ringwake/ringwaked.toml

step "the folder as it was: the socket has the user's group, and the daemon says what to do"
chmod g-s /run/ringwake-audio
chgrp root /run/ringwake-audio
ctl enable --now ringwake-audio.socket
[ "$(stat --format='%a %U %G' "$socket")" = "660 alice alice" ]
systemctl start ringwaked
problem() { (ringwake doctor 2>&1 || true) | grep "$1"; }
route() { ringwake audio route --json 2>&1 || true; }
problem 'systemd-tmpfiles --create'
route | grep 'systemd-tmpfiles --create'

step "the folder as it is: the socket has the daemon's group, in which its user is not"
systemd-tmpfiles --create ringwake.conf
[ "$(stat --format='%a %U %G' /run/ringwake-audio)" = "3777 root ringwake" ]
ctl restart ringwake-audio.socket
[ "$(stat --format='%a %U %G' "$socket")" = "660 alice ringwake" ]
! id --name --groups alice | grep --word-regexp ringwake || fail "alice is in the group"
! problem "$socket" || fail "there is no problem"

step "the daemon and the user connect, and nobody else"
connect ringwake | grep '"ready"'
connect alice | grep '"ready"'
connect root | grep '"ready"'
(connect mallory 2>&1 || true) | grep PermissionError
! route | grep 'may not\|does not let' || fail "the daemon is kept out"
! journal _UID=$user | grep 'client refused' || fail "it refused somebody"

step "another user who owns the name cannot be told of calls"
ctl stop ringwake-audio.socket ringwake-audio
[ ! -e "$socket" ]
setpriv --reuid=mallory --regid=mallory --clear-groups python3 -c \
    'import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); time.sleep(600)' \
    "$socket" &
eventually test -S "$socket"
chmod 666 "$socket"
route | grep 'would be told of calls'
kill %1
"""


def test_a_call_survives_everything_that_befalls_a_users_unit(boot: Booted) -> None:
    boot(LIFE)


def test_the_state_of_an_older_unit_moves_out_of_the_configuration(boot: Booted) -> None:
    boot(MOVED)


def test_the_daemon_alone_uses_the_audio_socket_of_a_user(boot: Booted) -> None:
    """The group of the socket comes from its folder: a user's systemd cannot set one that the user is not in."""
    boot(AUDIO)
