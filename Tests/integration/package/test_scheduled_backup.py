"""The package's timer for backups, under a real systemd: made, kept, copied by a hook, and reported when it fails."""

from support.package import Device

# What the scripts share, and a hook that copies.
COMMON = r"""
folder=/var/backups/ringwake
backups() { ls -d $folder/ringwake-*.tar.zst 2>/dev/null; }
newest() { backups | tail -n 1; }
there_are() { test "$(backups | wc -l)" = "$1"; }
# The doctor's lines about backups, each with its hint. It may find other things wrong with a machine without a network.
examine() { (ringwake doctor || true) | grep -A 1 -E '^[a-z]+ +backup ' | tee /run/doctor; }
keys() { ringwake backup show "$1" --json | tr -d ' \n' | sed 's/.*"keys":"\([^"]*\)".*/\1/'; }
# Names have seconds.
another() { sleep 1.1; systemctl start ringwake-backup; }
cat >/usr/local/bin/copy-backup <<'end'
#!/bin/sh
set -e
echo "$1" >>/srv/said
cp "$1" /srv/copy
# It is root in a sandbox that leaves the configuration alone.
if touch /etc/ringwake/ringwaked.toml 2>/dev/null; then exit 9; fi
end
chmod +x /usr/local/bin/copy-backup
"""


def test_the_timer_makes_backups_that_an_administrator_can_rely_on(device: Device) -> None:
    device.run(f"""
install_package /packages/ringwake.deb
. /usr/local/bin/set-up
{COMMON}
test "$(systemctl is-enabled ringwake-backup.timer)" = disabled
examine
grep 'note .* there is none in /var/backups/ringwake' /run/doctor
grep 'enable --now ringwake-backup.timer' /run/doctor
fails grep backup <(ringwake status)
# The first time it only remembers the hour; a machine that was off for two days makes a backup as soon as it is on.
systemctl enable --now ringwake-backup.timer
there_are 0
systemctl stop ringwake-backup.timer
touch --date '2 days ago' /var/lib/systemd/timers/stamp-ringwake-backup.timer
mkdir -p /run/systemd/system/ringwake-backup.timer.d
printf '[Timer]\\nRandomizedDelaySec=0\\n' >/run/systemd/system/ringwake-backup.timer.d/now.conf
systemctl daemon-reload
systemctl start ringwake-backup.timer
eventually there_are 1
made() {{ test "$(systemctl show --property ActiveState --value ringwake-backup)" = inactive; }}
eventually made
test "$(systemctl show --property Result --value ringwake-backup)" = success
test "$(stat -c '%U %a' $folder "$(newest)" | tr '\\n' ,)" = 'root 700,root 600,'
ringwake backup verify "$(newest)"
test "$(keys "$(newest)")" = left-out
examine
grep "ok .* the newest is .* old: $(newest)" /run/doctor
ringwake status | grep "^backup .* ago ($(newest))"
ringwake status --json | grep -A 4 '"backup"' | grep "$(newest)"
# With a passphrase and settings. The oldest goes, and the hook gets each path.
(umask 077 && echo 'correct horse' >/etc/ringwake/backup-passphrase)
printf 'KEEP=2\\nHOOK=/usr/local/bin/copy-backup\\n' >/etc/ringwake/backup.env
first=$(newest)
another
another
there_are 2
fails test -e "$first"
test "$(cat /srv/said)" = "$(backups)"
cmp /srv/copy "$(newest)"
test "$(keys "$(newest)")" = encrypted
ringwake backup verify "$(newest)" --passphrase-file /etc/ringwake/backup-passphrase
# Without a daemon the store itself, as the daemon's user, in the same sandbox.
systemctl stop ringwaked.socket ringwaked
another
fails systemctl is-active ringwaked
ringwake backup verify "$(newest)" --passphrase-file /etc/ringwake/backup-passphrase
test "$(stat -c %U /var/lib/ringwake/* | sort -u)" = ringwake
systemctl start ringwaked
""")


def test_a_backup_that_fails_is_seen_by_systemd_and_the_doctor(device: Device) -> None:
    device.run(f"""
install_package /packages/ringwake.deb
. /usr/local/bin/set-up
{COMMON}
useradd alice
systemctl enable --now ringwake-backup.timer
printf 'HOOK=/usr/local/bin/copy-backup\\n' >/etc/ringwake/backup.env
printf '#!/bin/sh\\nexit 3\\n' >/usr/local/bin/copy-backup
fails systemctl start ringwake-backup
systemctl is-failed ringwake-backup
systemctl --no-pager status ringwake-backup | grep 'copy-backup ended with 3'
examine
grep 'warning .* the last scheduled backup failed (exit-code, exit status 1): ringwake: .* ended with 3' /run/doctor
grep "run 'systemctl start ringwake-backup'" /run/doctor
# The backup was made all the same.
grep "ok .*$(newest)" /run/doctor
# Another user sees that it failed, and not what is in root's folder.
(as alice ringwake doctor || true) | grep -E '^[a-z]+ +backup ' | tee /run/alice
grep '^warning .* failed (exit-code' /run/alice
fails grep $folder /run/alice
fails as alice ringwake backup list $folder
# A passphrase that cannot be used leaves no backup behind.
printf '#!/bin/sh\\n' >/usr/local/bin/copy-backup
: >/etc/ringwake/backup-passphrase
fails another
there_are 1
rm /etc/ringwake/backup-passphrase
# Repaired, it is forgotten; and a schedule that makes none is seen a week later.
another
examine
fails grep warning /run/doctor
rm "$(backups | head -n 1)"
mv "$(newest)" $folder/ringwake-$(date --utc --date '8 days ago' +%Y-%m-%dT%H%M%SZ).tar.zst
examine
grep 'warning .* the newest is 8 d .*, although ringwake-backup.timer is enabled' /run/doctor
systemctl disable --now ringwake-backup.timer
examine
grep 'ok .* the newest is 8 d' /run/doctor
""")


def test_an_upgrade_and_a_removal_let_backups_be(device: Device) -> None:
    device.run(f"""
install_package /packages/older.deb
. /usr/local/bin/set-up
{COMMON}
systemctl enable --now ringwake-backup.timer
# A hook that waits until it may go on, as one that copies to a slow server. A second run would not.
mkfifo /run/gate
printf '#!/bin/sh\\ntest ! -e /run/copying || exit 0\\ntouch /run/copying\\ncat /run/gate\\n' >/usr/local/bin/copy-backup
echo 'HOOK=/usr/local/bin/copy-backup' >/etc/ringwake/backup.env
systemctl start --no-block ringwake-backup
eventually test -e /run/copying
install_package /packages/ringwake.deb
timeout 60 sh -c 'echo >/run/gate'
made() {{ test "$(systemctl show --property ActiveState --value ringwake-backup)" = inactive; }}
eventually made
test "$(systemctl show --property Result --value ringwake-backup)" = success
there_are 1
systemctl is-active ringwake-backup.timer
apt-get remove --yes ringwake
fails systemctl is-active ringwake-backup.timer
there_are 1
""")
