"""What the daemon does with reachability: events, connection status, the settings about it, and its sleep."""

import json
import platform
import socket
import sys
import textwrap

import pytest

from support import api, processes
from support.control import Control
from support.credentials import APP
from support.daemon import Daemon
from support.netns import Namespace
from support.network import FAR, ROUTER, configure, default_route, hold, reachability
from support.pushing import start_call
from support.waiting import until


# Events


def test_a_handler_with_a_call_on_the_line_hears_of_the_path(network: Namespace, networked: Daemon) -> None:
    with network.entered():
        ringing, wake = start_call(networked)
        woken, _ = start_call(networked)
    handler = Control(networked.control_socket, wake.secret)
    handler.verb(ringing, "report", ring=True)
    with (
        handler.events(f"?call={ringing}") as of_call,
        handler.events() as of_app,
        networked.control.events() as all_of,
    ):
        network.ip("address", "add", "192.0.2.8/24", "dev", "wlan0")
        network.ip("route", "replace", "default", "via", ROUTER, "src", "192.0.2.8")
        for stream in (of_call, of_app):
            seen = stream.until("path")
            assert (seen[-1]["app"], seen[-1]["call"]) == (APP, ringing)
            assert seen[-1]["path"]["sources"] == ["192.0.2.8"]
            api.check(seen[-1], "EventMessage")
        seen = [event for event in all_of.until("path", call=ringing) if event["event"] == "path"]
        assert [event.get("call") for event in seen] == [None, ringing], f"not of {woken}, which has nobody on the line"
        assert seen[0]["path"] == seen[1]["path"] == networked.control.get("/v1/path")


def test_connection_is_told_at_the_beginning_and_when_it_changes(network: Namespace, lonely: Daemon) -> None:
    configure(lonely)
    lonely.add_app(app="com.example.near", more='[reachability]\ntargets = ["192.0.2.1"]\n')
    lonely.start()

    def connections(events: list[dict]) -> list[tuple]:
        told = [event for event in events if event["event"] == "connection"]
        for event in told:
            api.check(event, "EventMessage")
        return [(event.get("app"), event["connection"], event.get("connectionReason")) for event in told]

    near = "com.example.near"
    with (
        lonely.control.events() as all_of,
        lonely.control.events(f"?app={APP}") as phone,
        lonely.control.events(f"?app={near}") as of_near,
    ):
        assert connections(phone.until("connection")) == [(APP, "online", None)]
        assert connections(of_near.until("connection")) == [(near, "online", None)]
        default_route(network, "delete")
        # Without targets it is the daemon's, and the near one is near still.
        assert connections(phone.until("connection")) == [(APP, "offline", "noRoute")]
        network.ip("address", "flush", "dev", "wlan0")
        [(app, state, _)] = connections(of_near.until("connection"))
        assert (app, state) == (near, "offline")
        seen = connections(all_of.until("connection", app=near, connection="offline"))
        assert [one[:2] for one in seen] == [
            (None, "online"), (near, "online"), (None, "offline"), (near, "offline"),
        ]  # fmt: skip


def test_an_app_is_told_how_it_stands_when_a_reload_gives_it_other_targets(network: Namespace, lonely: Daemon) -> None:
    configure(lonely)
    lonely.set_handler(["/bin/true"], more='[reachability]\ntargets = ["2001:db8::1"]\n')
    lonely.start()

    def after_reload(targets: str, is_expensive: bool) -> list[tuple]:
        """What is told of the app from a reload, which changes the path as well, until it is online."""
        more = f'[[reachability.interface]]\nname = "wlan0"\nexpensive = {str(is_expensive).lower()}\n'
        configure(lonely, more)
        lonely.set_handler(["/bin/true"], more=targets and f"[reachability]\ntargets = [{targets}]\n")
        assert lonely.ringwake("reload").returncode == 0
        told = events.until("connection", app=APP, connection="online")
        return [(event["connection"], event.get("connectionReason")) for event in told if event.get("app")]

    with lonely.control.events() as events:
        events.until("connection", app=APP, connection="offline", connectionReason="noRoute")
        # Without targets it is as the daemon is.
        assert after_reload("", is_expensive=True) == [("online", None)]
        # A name that is being looked up for the first time, or a target that is new, makes nobody offline.
        assert after_reload('"sip.example.org"', is_expensive=False) == [("online", None)]
        assert after_reload(f'"{ROUTER}", "{FAR}"', is_expensive=True) == [("online", None)]


# Apps and configuration


def test_an_app_shows_how_its_targets_are_reached_and_a_reload_changes_them(network: Namespace, lonely: Daemon) -> None:
    configure(lonely)
    lonely.start()
    assert lonely.control.app(APP)["connection"] == {"status": "online"}
    lonely.set_handler(["/bin/true"], more='[reachability]\ntargets = ["2001:db8::1", "sip.example.org"]\n')
    lonely.control.post("/v1/reload")

    def settled() -> dict | None:
        connection = lonely.control.app(APP)["connection"]
        return connection if connection.get("why") == "someTargetsUnreachable" else None

    connection = until(settled, 15, "one target to be reachable and the other not")
    assert connection["status"] == "limited"
    assert [(one["target"], one["reason"]) for one in connection["targets"]] == [
        ("2001:db8::1", "noRoute"), ("sip.example.org", None),
    ]  # fmt: skip
    api.check(lonely.control.app(APP), "AppMessage")
    shown = lonely.ringwake("app", "show", APP).stdout
    assert "connection  limited: some of its targets are not reachable\n" in shown
    assert "target      2001:db8::1  not reachable: no route leads there\n" in shown


def test_a_reload_puts_what_is_said_of_interfaces_in_force_at_once(network: Namespace, networked: Daemon) -> None:
    with networked.control.events() as events:
        configure(networked, '[[reachability.interface]]\nname = "wlan*"\ntype = "cellular"\nconstrained = true\n')
        assert networked.ringwake("reload").returncode == 0
        path = events.until("path")[-1]["path"]
        assert (path["interfaceType"], path["isConstrained"]) == ("cellular", True)
        events.until("connection", connection="limited", connectionReason="constrained")
    [line] = reachability(networked, FAR)
    assert (line["interfaceType"], line["isConstrained"]) == ("cellular", True)
    assert "isWWAN" in line["flags"]
    configure(networked, 'filter_level = 2\n[[reachability.interface]]\nname = "wlan*"\nmetered = true\n')
    done = networked.ringwake("reload")
    assert done.returncode == 9 and "'reachability.interface.metered' is not a setting" in done.stderr
    configure(networked, "filter_level = 2\n")
    assert networked.ringwake("reload").returncode == 0
    assert networked.control.status()["reachability"]["wantedFilterLevel"] == 2
    assert networked.control.get("/v1/path")["interfaceType"] == "wifi"


# A process under this may not make netlink sockets, as under RestrictAddressFamilies= without AF_NETLINK.
WITHOUT_NETLINK = textwrap.dedent("""
    import ctypes, errno, os, struct, sys
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    socket = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
    code = lambda *parts: struct.pack("=HBBI", *parts)
    program = b"".join([
        code(0x20, 0, 0, 0), code(0x15, 0, 3, socket),      # the number of the call
        code(0x20, 0, 0, 16), code(0x15, 0, 1, 16),         # its first argument: AF_NETLINK
        code(0x06, 0, 0, 0x00050000 | errno.EAFNOSUPPORT), code(0x06, 0, 0, 0x7fff0000),
    ])
    text = ctypes.create_string_buffer(program, len(program))
    filter = struct.pack("@HxxxxxxP", len(program) // 8, ctypes.addressof(text))
    assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, filter, 0, 0) == 0
    os.execvp(sys.argv[1], sys.argv[1:])
""")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="knows the call numbers of two machines")
def test_a_daemon_that_may_not_look_works_all_the_same_and_says_so(make_daemon) -> None:
    daemon = make_daemon(user=[sys.executable, "-c", WITHOUT_NETLINK])
    daemon.add_app()
    daemon.start()
    daemon.log_mentions("warning reachability is not watched why=")
    status = daemon.control.status()
    api.check(status, "StatusMessage")
    assert status["reachability"]["state"] == "failed" and "AF_NETLINK" in status["reachability"]["why"]
    assert "path" not in status and "connection" not in status
    for target in ("path", "path?watch=true", "reachability", "reachability?watch=true"):
        answered, answer = daemon.control.request("GET", f"/v1/{target}")
        assert (answered, answer["error"]) == (500, "system") and "AF_NETLINK" in answer["message"]
    assert "connection  unknown: reachability is not watched" in daemon.ringwake("status").stdout
    assert "connection" not in daemon.control.app(APP)
    call, _ = start_call(daemon)
    assert daemon.control.call(call)["state"] == "woken"
    daemon.control.post("/v1/reload")


# Idle


def test_a_watch_whose_targets_are_known_leaves_no_timer(network: Namespace, networked: Daemon) -> None:
    connection = hold(networked, 64)
    for _ in range(64):
        connection.answer.readline()
    # Far less than the patience with names that are not known.
    until(lambda: not processes.armed_timers(networked.pid), 5, "the daemon to wait for nothing but news")
    connection.answer.close()
    connection.close()


@pytest.mark.alone
def test_watched_targets_wake_nobody_while_nothing_happens(network: Namespace, networked: Daemon) -> None:
    connection = hold(networked, 64)
    for _ in range(64):
        assert json.loads(connection.answer.readline())["reachable"]
    switches = lambda: processes.voluntary_switches(networked.pid)  # noqa: E731
    # What was on its way is over once a stretch has passed without anything.
    seen: list[int] = []

    def settled() -> bool:
        seen.append(switches())
        return len(seen) > 200 and len(set(seen[-200:])) == 1

    until(settled, 30, "the daemon to sleep for two seconds")
    # What cannot matter is kept away by the kernel.
    network.batch(f"route add 203.0.113.{number} via {ROUTER}" for number in range(200))
    assert switches() == seen[-1]
    connection.answer.close()
    connection.close()


def test_no_namespace_is_reached_from_outside(networked: Daemon) -> None:
    """The tests above show something only if the daemon is not on this machine's own network."""
    with pytest.raises(OSError):
        socket.create_connection(networked.host_and_port, timeout=1).close()
