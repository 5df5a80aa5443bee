"""A handler on the system bus: the package's examples as they are, a user of its own, and a stranger whom the bus refuses."""

from support import buses
from support.package import Device

EXAMPLES = "/usr/share/doc/ringwake/examples"
# What a package of a handler installs. The handler is the tests' own.
INSTALL_HANDLER = f"""
install_package /packages/ringwake.deb dbus python3-dbus python3-gi
. /usr/local/bin/set-up
useradd --system phone
# The bus starts the handler with the groups of its user.
usermod --append --groups ringwake-control phone
useradd alice
install -d -o phone /var/lib/phone
reload_bus() {{ busctl call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig; }}
# The policy of the package is in force without a further command: the bus lets root and the daemon's user ask this.
asks() {{ as "$1" /usr/local/bin/ask org.freedesktop.DBus Nothing; }}
for user in root ringwake; do test "$(asks $user)" = org.freedesktop.DBus.Error.UnknownInterface; done
test "$(asks alice)" = org.freedesktop.DBus.Error.AccessDenied
install -m 644 {EXAMPLES}/org.example.Phone.conf /usr/share/dbus-1/system.d/
install -D -m 644 -t /usr/share/dbus-1/system-services {EXAMPLES}/org.example.Phone.service
reload_bus
ringwake app add "$app" --dbus org.example.Phone --replace
"""
# Prints the name of the error; nothing when there is none. dbus-python can leave out the interface, unlike busctl.
ASK = """\
#!/usr/bin/python3
import sys, dbus
name, member, *interface = sys.argv[1:]
interface = None if interface else "org.ringwake.Handler1"
texts = {"IncomingPush": ["{}", "secret", "/run/ringwake/control.sock"], "Release": ["com.example.phone", "call"]}
arguments = texts.get(member, [])
try:
    bus = dbus.SystemBus()
    bus.call_blocking(name, "/" + name.replace(".", "/"), interface, member, "s" * len(arguments), arguments)
except dbus.DBusException as error:
    print(error.get_dbus_name())
"""
HANDLER = """\
#!/bin/sh
test "$*" = --dbus || exit 2
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket
exec /usr/bin/python3 /usr/local/lib/handler.py /var/lib/phone/log dbus system org.example.Phone
"""
UNIT = """\
[Service]
Type=dbus
BusName=org.example.Phone
User=phone
SupplementaryGroups=ringwake-control
ExecStart=/usr/bin/phone-handler --dbus
"""
CALL = """
ringwake push --app "$app" --data '{"caller":"sip:alice@example.org"}'
eventually call_is ringing
owner=$(busctl call org.freedesktop.DBus / org.freedesktop.DBus GetConnectionUnixProcessID s org.example.Phone)
test "$(stat -c %U "/proc/${owner#u }")" = phone
ringwake call answer
eventually call_is connected
"""
END = """
ringwake call end
nothing_is_active() { ! call_is '\\(ringing\\|connected\\)'; }
eventually nothing_is_active
"""
# Half a minute after its last call the daemon asks the handler to leave.
RELEASE = """
left() { ! test -e "/proc/${owner#u }"; }
eventually left
grep '"what": "released"' /var/lib/phone/log
"""
# With the interface and without, as what nobody has started, and during a call.
STRANGER = """
for member in IncomingPush Release; do
    test "$(as alice /usr/local/bin/ask org.example.Phone $member)" = org.freedesktop.DBus.Error.AccessDenied
    test "$(as alice /usr/local/bin/ask org.example.Phone $member none)" = org.freedesktop.DBus.Error.AccessDenied
done
"""


def test_a_handler_of_its_own_user_is_woken_over_the_system_bus_and_only_by_the_daemon(device: Device) -> None:
    device.root.write("/usr/local/bin/ask", ASK, mode=0o755)
    device.root.write("/usr/bin/phone-handler", HANDLER, mode=0o755)
    device.root.write("/usr/local/lib/handler.py", (buses.FAKES / "handler.py").read_bytes())
    device.root.write("/etc/systemd/system/phone-handler.service", UNIT)
    device.run(f"""
{INSTALL_HANDLER}
{STRANGER}
test ! -e /var/lib/phone/log
{CALL}
{STRANGER}
{END}
{RELEASE}
# The other way that the example shows: systemd starts it.
sed -i 's/^#SystemdService=/SystemdService=/' /usr/share/dbus-1/system-services/org.example.Phone.service
reload_bus
fails systemctl is-active phone-handler
{CALL}
systemctl is-active phone-handler
{END}
fails grep handlerFailed <(ringwake call list --json)
test "$(grep -c '"what": "woken"' /var/lib/phone/log)" = 2
apt-get purge --yes ringwake
test -z "$(find /usr/share/dbus-1 -name '*ringwake*')"
""")
