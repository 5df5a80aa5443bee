"""The Debian package on a fresh Debian 12 with a systemd of its own: installed, used, upgraded, removed."""

from support.package import OLDER, Device, Packages, blocks

# A push rings, and the user answers.
CONNECTED_CALL = """
ringwake app add "$app" --instances call --exec /usr/local/bin/phone-handler --way exec --replace
ringwake push --app "$app" --data '{"caller":"sip:alice@example.org"}'
eventually call_is ringing
call=$(ringwake call list --json | tr -d ' \\n' | sed 's/.*"call":"\\([^"]*\\)".*/\\1/')
ringwake call answer
eventually call_is connected
"""

# A handler that is a unit, and the oldest process of the one that `exec` started; its others are its subshells.
HANDLERS = r"""
printf '[Service]\nExecStart=/bin/sleep infinity\n' >/etc/systemd/system/ringwake-handler-door@.service
systemctl start ringwake-handler-door@call.service
handler() { grep -lszx '/usr/local/bin/[p]hone-handler' /proc/[0-9]*/cmdline | sort -V | head -n 1; }
test -n "$(handler)"
"""

# systemd holds every port, and somebody else's program sends and asks without a pause. A repeated push rings nobody.
SENDERS = f"""
{blocks("install.md")["sockets"]}
cp /usr/bin/ringwake /srv/sender && cp -r /etc/ringwake/certs /srv/certs
token=$(token production)
units=$(cd /lib/systemd/system && ls ringwaked*)
each_unit() {{ for unit in $units; do echo "$unit $(systemctl is-enabled "$unit" || true)"; done; }}
open_sockets() {{ systemctl show --property Id,ActiveState,ActiveEnterTimestampMonotonic 'ringwaked*.socket'; }}
touch /run/asking
ask() {{
    while [ -e /run/asking ]; do
        /srv/sender push --host localhost --port 2197 --environment production --ca /srv/certs/ca.pem --id "$call" \\
            --cert "/srv/certs/voip-services-$app.pem" --token "$token" || echo "push: exit status $?" >>/run/refused
        /srv/sender status || echo "status: exit status $?" >>/run/refused
        echo >>/run/rounds
    done >/dev/null 2>>/run/refused
}}
rounds() {{ wc -l </run/rounds 2>/dev/null || echo 0; }}
more_rounds() {{ [ "$(rounds)" -gt $((asked + 2)) ]; }}
set +x; ask & asker=$!; set -x
asked=0; eventually more_rounds
"""

# The files of the machine. What apt, dpkg and the journal keep of every package is not the package's.
ALL_FILES = """
all_files() {
    find / -xdev \\( -path /var/lib/apt -o -path /var/cache -o -path /var/log -o -path /var/lib/dpkg/info \\
        -o -path /var/lib/test-machine -o -path /var/lib/systemd -o -path /tmp -o -path /packages \\) -prune -o -print
    find /run -path '*ringwake*' ! -path '*/credentials/*' ! -path '/run/systemd/units/*' -print
    find /var/lib/systemd -path '*ringwake*' -print
}
"""


def test_an_installation_enables_and_starts_nothing(device: Device, packages: Packages) -> None:
    device.run(f"""
install_package /packages/ringwake.deb
test "$(dpkg-query -W -f '${{Version}} ${{db:Status-Status}}' ringwake)" = "{packages.control('Version')} installed"
test -z "$(dpkg --verify ringwake)"
for unit in $(cd /lib/systemd/system && ls ringwake*); do
    fails systemctl is-active "$unit"
    test "$(systemctl is-enabled "$unit")" = "$(grep -q '^WantedBy=' "/lib/systemd/system/$unit" && echo disabled || echo static)"
done
for unit in $(cd /usr/lib/systemd/user && ls ringwake*); do
    test "$(systemctl --global is-enabled "$unit")" = "$(grep -q '^WantedBy=' "/usr/lib/systemd/user/$unit" && echo disabled || echo static)"
done
fails ringwake status
# The folders, and a user who cannot log in.
getent passwd ringwake | grep ':/usr/sbin/nologin$'
test "$(stat -c '%U %G %a' /etc/ringwake /etc/ringwake/certs /var/lib/ringwake | tr '\\n' ,)" = \\
    'root ringwake 750,root ringwake 750,ringwake ringwake 700,'
test -z "$(find /etc/ringwake /var/lib/ringwake -type f)"
# apt has brought each library of the two programs that it has to run.
fails grep 'not found' <(ldd /usr/bin/ringwaked /usr/bin/ringwake)
""")


def test_a_push_rings_after_the_commands_of_the_manual_and_after_a_reboot(device: Device) -> None:
    device.run(f"""
install_package /packages/ringwake.deb
. /usr/local/bin/set-up
{CONNECTED_CALL}
ringwake call end "$call"
eventually call_is ended
test "$(stat -c %U /proc/"$(main_pid)")" = ringwake
""")
    # It was enabled, so it is there without a command.
    device.run("""
eventually ringwake status
ringwake push --app "$app" --data '{"caller":"sip:bob@example.org"}'
eventually call_is ringing
""")


def test_a_call_survives_an_upgrade_and_no_sender_is_refused(device: Device) -> None:
    device.run(f"""
install_package /packages/older.deb
. /usr/local/bin/set-up
{CONNECTED_CALL}
{SENDERS}
before=$(main_pid)
each_unit >/run/units-before
open_sockets >/run/sockets-before
{HANDLERS}
handler=$(handler)
install_package /packages/ringwake.deb
# The daemon is another process, and the call continues with the same handler.
after=$(main_pid)
test "$before" != "$after"
test "$(readlink /proc/"$after"/exe)" = /usr/bin/ringwaked
eventually call_is connected
test "$handler" = "$(handler)"
systemctl is-active ringwake-handler-door@call.service
# Nobody was refused meanwhile: the sockets are the same. Which units are enabled is the administrator's business.
asked=$(rounds); eventually more_rounds
rm /run/asking && wait $asker
test ! -s /run/refused || {{ cat /run/refused; exit 1; }}
open_sockets | diff /run/sockets-before -
each_unit | diff /run/units-before -
ringwake call mute "$call"
ringwake call end "$call"
eventually call_is ended
fails grep handlerFailed <(ringwake call list --json)
""")


def test_an_upgrade_follows_no_link_to_the_control_socket(device: Device) -> None:
    """Its folder belongs to the daemon's user, whose handlers may put a link there."""
    device.run(r"""
install_package /packages/older.deb
make_socket() { perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => shift, Listen => 1) or die' "$1"; }
rights() { stat -c '%U %G %a' "$1"; }
install -d -o ringwake -g ringwake /run/ringwake
make_socket /run/roots.sock && chmod 700 /run/roots.sock
ln -s /run/roots.sock /run/ringwake/control.sock
install_package /packages/ringwake.deb
test "$(rights /run/roots.sock)" = 'root root 700'
# The socket of an earlier version was open to everybody.
rm /run/ringwake/control.sock
make_socket /run/ringwake/control.sock
chown ringwake:ringwake /run/ringwake/control.sock && chmod 666 /run/ringwake/control.sock
/var/lib/dpkg/info/ringwake.postinst configure 0.0.1
test "$(rights /run/ringwake/control.sock)" = 'ringwake ringwake-control 660'
""")


def test_operators_control_the_service_and_nobody_else_does(device: Device) -> None:
    device.run(f"""
install_package /packages/ringwake.deb polkitd
. /usr/local/bin/set-up
useradd alice
useradd bob
{blocks("install.md")["operators"]}
try() {{ as "$1" systemctl --no-ask-password "${{@:2}}"; }}
for verb in restart try-restart reload reload-or-restart; do
    before=$(main_pid)
    fails try bob $verb ringwaked.service
    test "$before" = "$(main_pid)"
    try alice $verb ringwaked.service
done
fails try bob stop ringwaked.socket
try alice stop ringwaked.socket
fails systemctl is-active ringwaked
fails try bob start ringwaked
try alice start ringwaked
# An operator gets no more than that: no root by a unit, and no other service.
for attempt in 'kill ringwaked' 'enable ringwaked' 'set-property ringwaked MemoryMax=1G' 'restart systemd-journald'; do
    fails try alice $attempt
done
fails as alice cat /etc/ringwake/certs/server.key
# What they may not ask the daemon themselves names the way that they have.
for user in alice bob; do fails as $user ringwake reload 2>/run/$user; done
grep "run 'systemctl reload ringwaked'" /run/alice
fails grep systemctl /run/bob
# What every user may ask, and what nobody else may do.
as bob ringwake status
for command in 'call list' 'call answer' 'push list' 'app list' reload; do
    status=0; as bob ringwake $command || status=$?
    test "$status" = 4
done
""")


def test_an_upgrade_does_not_start_a_stopped_daemon(device: Device) -> None:
    device.run("""
install_package /packages/older.deb
. /usr/local/bin/set-up
systemctl stop ringwaked.socket
install_package /packages/ringwake.deb
fails systemctl is-active ringwaked
fails systemctl is-active ringwaked.socket
""")


def test_a_daemon_keeps_running_when_the_upgrade_refuses_its_configuration(device: Device) -> None:
    text = device.run(f"""
install_package /packages/older.deb
. /usr/local/bin/set-up
before=$(main_pid)
echo 'surprise = true' >/etc/ringwake/new && cat /etc/ringwake/ringwaked.toml >>/etc/ringwake/new
cat /etc/ringwake/new >/etc/ringwake/ringwaked.toml
install_package /packages/ringwake.deb
test "$before" = "$(main_pid)"
ringwake status
""")
    assert f"has not been restarted, and version {OLDER} keeps running" in " ".join(text.split())


def test_an_upgrade_restarts_a_daemon_that_starts_although_a_handler_is_missing(device: Device) -> None:
    text = device.run("""
install_package /packages/older.deb
. /usr/local/bin/set-up
before=$(main_pid)
printf '[wake]\\nexec = ["/nowhere/handler"]\\nway = "exec"\\n' >/etc/ringwake/apps.d/com.example.gone.toml
chmod 644 /etc/ringwake/apps.d/com.example.gone.toml
fails ringwaked --check-config
install_package /packages/ringwake.deb
fails test "$before" = "$(main_pid)"
ringwake status
""")
    assert "has not been restarted" not in text


def test_an_older_package_is_refused_over_a_store(device: Device, packages: Packages) -> None:
    text = device.run(f"""
install_package /packages/ringwake.deb
. /usr/local/bin/set-up
before=$(main_pid)
fails install_package --allow-downgrades /packages/older.deb
test "$(dpkg-query -W -f '${{Version}} ${{db:Status-Status}}' ringwake)" = "{packages.control('Version')} installed"
test -z "$(dpkg --verify ringwake)"
test "$before" = "$(main_pid)"
# Nor is it after a removal that keeps the store.
apt-get remove --yes ringwake
fails install_package --allow-downgrades /packages/older.deb
# The way that the message shows.
mv /var/lib/ringwake /var/lib/ringwake.newer
install_package --allow-downgrades /packages/older.deb
""")
    shown = " ".join(text.split())
    assert f"version {OLDER} was not installed: the store /var/lib/ringwake/store.db is of the newer version" in shown
    assert "move the folder /var/lib/ringwake away, and install again" in shown


def test_a_removal_stops_daemon_and_sockets_and_keeps_configuration_and_store(device: Device) -> None:
    device.run(f"""
install_package /packages/ringwake.deb
. /usr/local/bin/set-up
{CONNECTED_CALL}
{SENDERS}
# Whoever asks meanwhile does not start it again.
apt-get remove --yes ringwake
for unit in $units; do fails systemctl is-active "$unit"; done
test ! -e /run/ringwake/control.sock
fails grep ':0895 .* 0A ' /proc/net/tcp /proc/net/tcp6
rm /run/asking && wait $asker
test -f /etc/ringwake/ringwaked.toml
test -f /var/lib/ringwake/store.db
# It comes back as it was.
install_package /packages/ringwake.deb
test "$(systemctl is-enabled ringwaked ringwaked.socket ringwaked-production.socket | sort -u)" = enabled
systemctl start ringwaked
test "$(token production)" = "$token"
""")


def test_a_removal_ends_the_handlers(device: Device) -> None:
    device.run(f"""
install_package /packages/ringwake.deb
. /usr/local/bin/set-up
{CONNECTED_CALL}
{HANDLERS}
apt-get remove --yes ringwake
fails systemctl is-active ringwake-handler-door@call.service
gone() {{ test -z "$(handler)"; }}
eventually gone
""")


def test_a_removal_says_that_it_could_not_end_the_handlers(device: Device) -> None:
    text = device.run(f"""
install_package /packages/ringwake.deb
. /usr/local/bin/set-up
{CONNECTED_CALL}
# apt's path begins with /usr/sbin.
cat >/usr/sbin/systemctl <<'end'
#!/bin/sh
if [ "$1" = kill ]; then echo "Input/output error" >&2; exit 1; fi
exec /usr/bin/systemctl "$@"
end
chmod +x /usr/sbin/systemctl
apt-get remove --yes ringwake
# What the message shows.
systemd-cgls --no-pager --full /system.slice/ringwaked.service | grep phone-handler
""")
    assert "'systemd-cgls /system.slice/ringwaked.service' shows them" in text
    assert "systemd did not end them: Input/output error" in text


def test_a_removal_complains_of_nothing_where_the_daemon_never_ran(device: Device) -> None:
    text = device.run("""
install_package /packages/ringwake.deb
fails systemctl kill ringwaked.service
apt-get remove --yes ringwake
""")
    assert "not loaded" in text
    assert "systemd did not end them" not in text


def test_a_purge_leaves_nothing_but_the_user(device: Device) -> None:
    device.run(f"""
{ALL_FILES}
mkdir /tmp/lists
# What the package depends on stays, and what dpkg writes at its first work.
install_package $(dpkg-deb --field /packages/ringwake.deb Depends |
    sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g')
all_files | sort >/tmp/lists/before
install_package /packages/ringwake.deb
. /usr/local/bin/set-up
{CONNECTED_CALL}
ringwake call end "$call"
eventually call_is ended
systemctl enable ringwaked-production.socket ringwaked-development.socket
# Backups are the administrator's; they are elsewhere now.
systemctl enable --now ringwake-backup.timer
systemctl start ringwake-backup
mv /var/backups/ringwake /tmp/backups
apt-get purge --yes ringwake
all_files | sort >/tmp/lists/after
comm -13 /tmp/lists/before /tmp/lists/after >/tmp/lists/left
cat /tmp/lists/left
fails grep -v -e '^/etc/\\(passwd\\|group\\|shadow\\|gshadow\\)-\\?$' -e '/\\.\\(pwd\\.lock\\|updated\\)$' /tmp/lists/left
getent passwd ringwake
""")
