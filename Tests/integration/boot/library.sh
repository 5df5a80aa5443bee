# What the scripts that run on a booted machine share. Each ends at the first command that fails; the last `==` line says
# where.
set -euo pipefail

app=com.example.phone

step() { echo "== $*"; }

# What the journal holds; what was said before this call is in it.
journal() {
    journalctl --sync
    journalctl --no-pager --output=cat "$@"
}

# What else a test that fails shows.
show_more() { :; }

fail() {
    echo "FAILED: $*"
    systemctl --no-pager --full status 'ringwaked*' 2>&1 | head -60 || true
    journal --unit=ringwaked --unit='ringwake-handler-*' 2>&1 | tail -n 40 || true
    show_more || true
    exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR

# Tries a command until it succeeds.
eventually() {
    local attempt
    for attempt in $(seq 600); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    fail "waited in vain for: $*"
}

# A part of the JSON on standard input: `ringwake status --json | part '["version"]'`.
part() { /usr/bin/python3 -c "import json, sys; print(json.load(sys.stdin)$1)"; }

# The state of a call, as `ringwake call show` has it.
state() { ringwake call show "$1" --json | part '["state"]'; }
is() { [ "$(state "$1")" = "$2" ]; }

push() {
    ringwake push --app "$app" --data "{\"ringwake\":{\"call\":\"$1\",\"caller\":\"sip:alice@example.org\"}}"
}

# A call is made and answered: push, handler, ring, answer.
connect() {
    push "$1"
    eventually is "$1" ringing
    ringwake call answer "$1"
    eventually is "$1" connected
}

hang_up() {
    ringwake call end "$1"
    eventually is "$1" ended
}

main_pid() { systemctl "$@" show --property=MainPID --value ringwaked; }

# What README.md says: certificates, configuration, users.
prepare() {
    systemd-sysusers
    systemd-tmpfiles --create
    ringwake certs dev-ca --directory /etc/ringwake/certs --app "$app" --team DEVTEAM001 >/dev/null
    chown -R root:ringwake /etc/ringwake/certs
    chmod 640 /etc/ringwake/certs/server.key
    install -m 640 -g ringwake /usr/share/ringwake-test/ringwaked.toml /etc/ringwake/
}

add_app() {
    ringwake app add "$app" --exec /usr/libexec/phone-handler --way exec --payload ringwake --instances call "$@"
}
