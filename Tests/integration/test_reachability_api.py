"""Reachability as the daemon gives it on to the command line and to clients of the control socket.

The daemons run in network namespaces made by the tests, where links and routes can be changed at will.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from support import api, netns, programs
from support.control import UnixConnection
from support.credentials import APP
from support.daemon import Daemon
from support.netns import Namespace
from support.network import FAR, OWN, ROUTER, default_route, hold, reachability
from support.programs import as_nobody
from support.waiting import until

# What can be on its way of one question, as in NetworkQueries.swift.
MOST_TARGETS = 256
MOST_TARGETS_OF_STRANGERS = 64
MOST_NAMES_OF_STRANGERS = 8
TARGETS_OF_A_REQUEST = 64


# Questions


def test_the_status_shows_the_path_and_that_it_is_online(networked: Daemon) -> None:
    status = networked.control.status()
    api.check(status, "StatusMessage")
    assert status["connection"] == {"status": "online"}
    path = status["path"]
    assert (path["status"], path["interface"], path["interfaceType"]) == ("satisfied", "wlan0", "wifi")
    assert (path["gateways"], path["sources"]) == ([ROUTER], [OWN])
    assert (path["supportsIPv4"], path["supportsIPv6"], path["supportsDNS"]) == (True, False, True)
    assert (status["reachability"]["state"], status["reachability"]["wantedFilterLevel"]) == ("working", 4)
    assert networked.control.get("/v1/path") == path
    printed = networked.ringwake("status").stdout
    assert "connection  online\npath  satisfied, wlan0 (wifi)\n  via   192.0.2.1\n  from  192.0.2.7\n" in printed
    assert json.loads(networked.ringwake("status", "--path", "--json").stdout) == path


def test_without_a_name_server_it_is_limited_and_without_a_route_offline(network: Namespace, networked: Daemon) -> None:
    connection = lambda: networked.control.status()["connection"]  # noqa: E731
    # An empty file would mean the name server of this machine, resolv.conf(5).
    network.etc("resolv.conf", "nameserver 2001:db8::53\n")
    until(lambda: connection() == {"status": "limited", "why": "noNameServer"}, 5, "it to be limited")
    default_route(network, "delete")
    until(lambda: connection() == {"status": "offline", "why": "noRoute"}, 5, "it to be offline")
    default_route(network)
    network.etc("resolv.conf", f"nameserver {ROUTER}\n")
    until(lambda: connection() == {"status": "online"}, 5, "it to be online")


def test_the_answer_is_the_same_with_a_daemon_and_without(network: Namespace, networked: Daemon) -> None:
    targets = ["any", FAR, ROUTER, OWN, "127.0.0.1", "2001:db8::1", "SIP.example.org", f"{OWN},{FAR}", FAR]
    network.ip("route", "add", "blackhole", "203.0.113.0/24")
    targets.append("203.0.113.1")
    asked = networked.ringwake("reachability", *targets, "--json")
    own = network.exec(programs.RINGWAKE, "reachability", *targets, "--json", "--local")
    fallen_back = network.exec(programs.RINGWAKE, "reachability", *targets, "--json",
                               env={"RINGWAKE_SOCKET": "/nowhere/control.sock"})  # fmt: skip
    # Each looks the name up by itself.
    looked_up = r'"resolvedAt":"[^"]*"'
    assert len({re.sub(looked_up, "", done.stdout) for done in (asked, own, fallen_back)}) == 1
    assert (asked.returncode, own.returncode, asked.stderr, own.stderr) == (8, 8, "", "")
    lines = [json.loads(line) for line in asked.stdout.splitlines()]
    for line in lines:
        api.check(line, "TargetMessage")
    assert [line["target"] for line in lines] == [
        "any", FAR, ROUTER, OWN, "127.0.0.1", "2001:db8::1", "sip.example.org", f"{OWN},{FAR}", "203.0.113.1",
    ]  # fmt: skip
    assert [line["reachable"] for line in lines] == [True] * 5 + [False, True, True, False]
    assert [line["reason"] for line in lines if not line["reachable"]] == ["noRoute", "blackhole"]
    assert lines[2]["flags"] == ["reachable", "isDirect"] and lines[2]["gateway"] is None
    assert [line["addresses"] for line in lines] == [
        [], [FAR], [ROUTER], [OWN], ["127.0.0.1"], ["2001:db8::1"], ["198.51.100.7"], [FAR], ["203.0.113.1"],
    ]  # fmt: skip
    assert [line["target"] for line in lines if line["resolvedAt"]] == ["sip.example.org"]
    for line in (answers := reachability(networked, *targets)) + lines:
        line.pop("resolvedAt")
    assert answers == lines

    path = networked.ringwake("reachability", "--path", "--json").stdout
    assert path == network.exec(programs.RINGWAKE, "reachability", "--path", "--json", "--local").stdout
    api.check(json.loads(path), "PathMessage")


def test_the_text_says_the_way_or_why_there_is_none(network: Namespace, networked: Daemon) -> None:
    done = networked.ringwake("reachability", FAR)
    assert done.stdout == f"{FAR}  reachable via {ROUTER} on wlan0 (wifi), from {OWN}  [reachable]\n"
    assert done.returncode == 0
    done = networked.ringwake("reachability", "2001:db8::1")
    assert (done.stdout, done.returncode) == ("2001:db8::1  not reachable: no route leads there\n", 8)


def test_a_name_that_nobody_knows_does_not_hold_the_others_up_for_long(network: Namespace, networked: Daemon) -> None:
    # The router answers nothing on its port 53; none of the test's programs listens there.
    done = networked.ringwake("reachability", "nobody.example.org", "any", "--json")
    nobody, anything = (json.loads(line) for line in done.stdout.splitlines())
    assert anything["reachable"] and not nobody["reachable"]
    assert nobody["reason"] in ("nameServersSilent", "resolving", "nameNotFound")
    networked.check_alive()


@pytest.mark.parametrize("target", ["", "a%20b", "http://a", "1.2.3.4:5", "1.2.3.4,::1", "a..b", "%00", "1.2.3"])
def test_what_is_no_target_is_refused_with_what_one_is(daemon: Daemon, target: str) -> None:
    status, answer = daemon.control.request("GET", f"/v1/reachability?target=any&target={target}")
    assert (status, answer["error"]) == (400, "invalid-request")
    assert "LOCAL,REMOTE" in answer["message"]


def test_any_local_user_may_ask(daemon: Daemon) -> None:
    if not as_nobody():
        pytest.skip("needs root, to become another user")
    for target in ("path", "reachability?target=127.0.0.1"):
        done = programs.run(
            *as_nobody(), "curl", "-s", "--unix-socket", daemon.status_socket, f"http://localhost/v1/{target}")
        answer = json.loads(done.stdout)
        assert answer["schema"] == 1 and "error" not in answer
        # Which addresses the device has is nobody's business.
        for message in answer.get("targets", [answer]):
            hidden = ("gateway", "gateways", "source", "sources", "addresses", "resolvedAt")
            assert not any(message.get(name) for name in hidden), message


# Watching


class Watching:
    """`ringwake reachability ... --watch --json`, line by line."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process

    def line(self) -> dict:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"it ended: {self.process.communicate()}"
        return json.loads(line)

    def until(self, **members: object) -> dict:
        for _ in range(20):
            line = self.line()
            if all(line[name] == value for name, value in members.items()):
                return line
        raise AssertionError(f"no line with {members}")


@contextlib.contextmanager
def watching(network: Namespace, daemon: Daemon | None, *arguments: str) -> Iterator[Watching]:
    """The command at the daemon, or in the namespace without one."""
    command = [programs.RINGWAKE, "reachability", "--watch", "--json", *arguments]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    if daemon:
        process = network.popen(*command, env=os.environ | daemon.environment(), **options)
    else:
        process = network.popen(*command, "--local", **options)
    try:
        yield Watching(process)
    finally:
        netns.stop(process)


@pytest.mark.parametrize("has_daemon", [True, False], ids=["daemon", "local"])
def test_a_watch_sees_changes_and_ends_well_with_a_signal(network: Namespace, networked: Daemon, has_daemon) -> None:
    with watching(network, networked if has_daemon else None, FAR, ROUTER) as watch:
        assert {watch.line()["target"], watch.line()["target"]} == {FAR, ROUTER}
        network.ip("link", "set", "wlan0", "down")
        lost = [watch.line(), watch.line()]
        assert {line["target"] for line in lost} == {FAR, ROUTER}
        assert not any(line["reachable"] for line in lost)
        network.ip("link", "set", "wlan0", "up")
        default_route(network)
        assert watch.until(target=FAR, reachable=True)["gateway"] == ROUTER
        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(5) == 0


@pytest.mark.parametrize("has_daemon", [True, False], ids=["daemon", "local"])
def test_the_path_can_be_watched(network: Namespace, networked: Daemon, has_daemon: bool) -> None:
    with watching(network, networked if has_daemon else None, "--path") as watch:
        assert watch.line()["status"] == "satisfied"
        default_route(network, "delete")
        assert watch.until(status="unsatisfied")["reason"] == "noRoute"


@pytest.mark.parametrize("has_daemon", [True, False], ids=["daemon", "local"])
def test_a_watch_ends_when_the_other_end_of_its_socket_is_closed(
    network: Namespace, networked: Daemon, has_daemon: bool
) -> None:
    ours, its = socket.socketpair()
    command = [programs.RINGWAKE, "reachability", "--watch", "--json", FAR, *([] if has_daemon else ["--local"])]
    process = network.popen(*command, stdout=its, env=networked.environment())
    its.close()
    with ours:
        assert ours.recv(1) == b"{"
    assert process.wait(5) == 0


@pytest.mark.parametrize("has_daemon", [True, False], ids=["daemon", "local"])
def test_a_watch_ends_when_its_reader_leaves(network: Namespace, networked: Daemon, has_daemon: bool) -> None:
    with watching(network, networked if has_daemon else None, FAR) as watch:
        watch.line()
        watch.process.stdout.close()
        assert watch.process.wait(5) == 0
        watch.process.stdout = None


def test_a_watch_says_when_the_daemon_goes_away(network: Namespace, networked: Daemon) -> None:
    with watching(network, networked, FAR) as watch:
        watch.line()
        networked.kill()
        assert watch.process.wait(5) == 3
        assert json.loads(watch.process.stderr.read())["error"] == "daemon-not-running"


def test_a_watch_does_not_keep_the_daemon_from_stopping(network: Namespace, networked: Daemon) -> None:
    with watching(network, networked, FAR) as watch, watching(network, networked, "--path") as other:
        watch.line()
        other.line()
        networked.stop()
        assert watch.process.wait(5) == other.process.wait(5) == 3


def test_a_stream_ends_in_good_order_when_the_daemon_stops(daemon: Daemon) -> None:
    stream = hold(daemon, 2)
    stream.answer.readline()
    daemon.stop()
    # A body that is broken off raises IncompleteRead.
    for line in stream.answer.read().splitlines():
        json.loads(line)
    stream.close()


def name_server(network: Namespace, daemon: Daemon, address: str) -> None:
    """Names another name server, and waits until the daemon has read that.

    Not until it has a wakeup by the cause `resolver`: a change while the files settle is seen when they have.
    """
    evaluations = lambda: daemon.control.status()["reachability"]["evaluations"]  # noqa: E731
    before = evaluations()
    network.etc("resolv.conf", f"nameserver {address}\n")
    until(lambda: evaluations() > before, 10, "the file to be read again")


def test_a_question_that_waits_for_a_name_is_answered_when_the_daemon_stops(
    network: Namespace, networked: Daemon
) -> None:
    with network.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.53", 53))
        name_server(network, networked, "127.0.0.53")
        connection = UnixConnection(networked.control_socket)
        connection.request("GET", "/v1/reachability?target=nobody.example.org&target=any")
        assert silent.recv(512), "the name is being looked up"
        networked.stop()
        answer = connection.getresponse()
        nobody, anything = json.loads(answer.read())["targets"]
        connection.close()
    assert (nobody["reason"], anything["reachable"]) == ("resolving", True)


def test_verbose_says_how_the_look_at_the_network_is_doing(network: Namespace, networked: Daemon) -> None:
    for done in (
        networked.ringwake("reachability", "--verbose"),
        network.exec(programs.RINGWAKE, "reachability", "--verbose", "--local"),
    ):
        assert done.stderr.startswith("monitor: working, filter level "), done.stderr
        assert done.returncode == 0


# Limits


def test_a_request_names_64_targets_at_most(daemon: Daemon) -> None:
    names = [f"target=192.0.2.{number}" for number in range(TARGETS_OF_A_REQUEST + 1)]
    assert daemon.control.request("GET", "/v1/reachability?" + "&".join(names[1:]))[0] == 200
    status, answer = daemon.control.request("GET", "/v1/reachability?" + "&".join(names))
    assert (status, answer["error"]) == (400, "invalid-request")
    # The request line has a bound of its own; the command line says so before.
    long = [f"{number}.{'n' * 60}.{'n' * 60}.org" for number in range(TARGETS_OF_A_REQUEST)]
    done = daemon.ringwake("reachability", *long)
    assert done.returncode == 2 and "use --local" in done.stderr
    done = daemon.ringwake("reachability", *(["any"] * (TARGETS_OF_A_REQUEST + 1)))
    assert done.returncode == 2


def test_all_clients_together_watch_a_bounded_number_of_targets(daemon: Daemon) -> None:
    held = [hold(daemon, TARGETS_OF_A_REQUEST, start) for start in range(MOST_TARGETS // TARGETS_OF_A_REQUEST)]
    assert [connection.answer.status for connection in held] == [200] * len(held)
    refused = hold(daemon, 1)
    assert refused.answer.status == 429
    answer = json.loads(refused.answer.read())
    assert answer["error"] == "limit-reached"
    api.check(answer, "ErrorMessage")
    assert daemon.control.request("GET", "/v1/path")[0] == 200, "which holds nothing"
    for connection in held:
        connection.answer.close()
        connection.close()
    until(lambda: daemon.control.status()["reachability"]["targets"] == 0, 5, "the watches to be forgotten")
    assert daemon.control.request("GET", "/v1/reachability")[0] == 200
    daemon.check_alive()


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_strangers_have_targets_of_their_own(daemon: Daemon) -> None:
    ask = lambda query: json.loads(  # noqa: E731
        programs.run(
            *as_nobody(), "curl", "-s", "--max-time", "3", "--unix-socket", daemon.status_socket,
            f"http://localhost/v1/reachability?{query}",
        ).stdout.splitlines()[0]
    )  # fmt: skip
    held = [hold(daemon, 64, number) for number in range(MOST_TARGETS // 64)]
    assert daemon.control.request("GET", "/v1/reachability")[0] == 429
    addresses = "&".join(f"target=127.0.3.{number}" for number in range(1, MOST_TARGETS_OF_STRANGERS + 1))
    assert len(ask(addresses)["targets"]) == MOST_TARGETS_OF_STRANGERS
    names = "&".join(f"target=h{number}.invalid" for number in range(MOST_NAMES_OF_STRANGERS + 1))
    refused = ask(f"watch=true&{names}")
    assert refused["error"] == "limit-reached" and "host names" in refused["message"]
    for connection in held:
        connection.answer.close()
        connection.close()


# Opens a stream for many names, reads where it begins, and leaves; again and again.
ASK_AND_LEAVE = """
import socket, sys
for stream in range(50):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(sys.argv[1])
        names = "&".join(f"target=h{stream}-{number}.example.org" for number in range(8))
        client.sendall(f"GET /v1/reachability?watch=true&{names} HTTP/1.1\\r\\nhost: localhost\\r\\n\\r\\n".encode())
        assert b"200" in client.recv(12)
"""


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_names_that_other_users_ask_for_do_not_hold_up_those_of_apps(network: Namespace, networked: Daemon) -> None:
    with network.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.53", 53))
        name_server(network, networked, "127.0.0.53")
        done = programs.run(*as_nobody(), sys.executable, "-c", ASK_AND_LEAVE, networked.status_socket)
        assert done.returncode == 0, done.stderr
        # These wait for the name servers; the others have not been asked of them, and are forgotten.
        assert networked.control.status()["reachability"]["lookups"] <= 3
        networked.set_handler(["/bin/true"], more='[reachability]\ntargets = ["sip.example.org"]\n')
        networked.control.post("/v1/reload")
        # A name server that is silent takes five seconds at least.
        is_online = lambda: networked.control.app(APP)["connection"]["status"] == "online"  # noqa: E731
        until(is_online, 4, "the app's name to be known")
