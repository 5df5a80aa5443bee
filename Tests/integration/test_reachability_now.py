"""A question is answered by the kernel's tables of this moment, whatever the daemon still holds back from its streams."""

import contextlib
import json
import os
from collections.abc import Iterator

import pytest

from support import programs
from support.control import UnixConnection
from support.daemon import Daemon
from support.netns import Namespace
from support.daemon import APP
from support.network import FAR, default_route, reachability
from support.programs import RINGWAKE, as_nobody

ROUNDS = 50


@pytest.fixture
def holding(lonely: Daemon) -> Daemon:
    """A running daemon that reports a loss only after a minute."""
    lonely.write_configuration(lonely.text() + '\n[reachability]\nloss_hold = "60s"\n')
    return lonely.start()


def answers(daemon: Daemon) -> dict[str, bool]:
    """Whether there is a way, by each question there is."""
    status = daemon.control.status()
    return {
        "target": reachability(daemon, FAR)[0]["reachable"],
        "any": reachability(daemon, "any")[0]["reachable"],
        "path": daemon.control.get("/v1/path")["status"] == "satisfied",
        "status": status["path"]["status"] == "satisfied",
        "connection": status["connection"]["status"] == "online",
    }


def test_a_lost_route_is_in_the_next_answer_while_the_loss_is_held(network: Namespace, holding: Daemon) -> None:
    with watched(holding):
        for round in range(ROUNDS):
            default_route(network, "delete")
            assert not any((found := answers(holding)).values()), (round, found)
            default_route(network)
            assert all((found := answers(holding)).values()), (round, found)


def test_an_answer_is_not_older_than_the_question_while_the_daemon_rests(
    network: Namespace, networked: Daemon
) -> None:
    with watched(networked):
        for _ in range(ROUNDS):
            for _ in range(8):
                default_route(network, "delete")
                default_route(network)
            # The fifth rest takes 800 ms. A question ends none, but it takes what would cause the next one.
            if networked.control.status()["reachability"]["throttles"] >= 5:
                break
        # The link's state comes only by a message of the kernel, which the daemon leaves unread while it rests.
        network.ip("link", "set", "wlan0", "down")
        assert not any((found := answers(networked)).values()), found


def test_an_app_with_targets_is_shown_as_it_is_now(network: Namespace, lonely: Daemon) -> None:
    lonely.set_handler(["/bin/true"], more=f'[reachability]\ntargets = ["{FAR}"]\n')
    lonely.write_configuration(lonely.text() + '\n[reachability]\nloss_hold = "60s"\n')
    daemon = lonely.start()
    connection = lambda: daemon.control.get("/v1/apps")["apps"][0]["connection"]  # noqa: E731
    for _ in range(5):
        assert connection()["status"] == "online"
        default_route(network, "delete")
        assert connection()["status"] == "offline"
        default_route(network)


@contextlib.contextmanager
def watched(daemon: Daemon) -> Iterator[None]:
    """Somebody watches the same targets, whose stream is told of losses later."""
    connection = UnixConnection(daemon.control_socket)
    connection.request("GET", f"/v1/reachability?watch=true&target={FAR}&target=any")
    answer = connection.getresponse()
    answer.readline()
    try:
        yield
    finally:
        answer.close()
        connection.close()


# For whom, and where


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_a_rule_for_one_user_counts_for_the_answers_to_that_user(network: Namespace, networked: Daemon) -> None:
    def ask(question: str, *before: str) -> dict:
        socket = networked.status_socket if before else networked.control_socket
        done = programs.run(*before, "curl", "-s", "--unix-socket", socket, f"http://localhost/v1/{question}")
        return json.loads(done.stdout)

    network.ip("rule", "add", "uidrange", "65534-65534", "pref", "100", "prohibit")
    targets = f"reachability?target={FAR}&target=any&target=127.0.0.1"
    assert [target["reachable"] for target in ask(targets)["targets"]] == [True, True, True]
    nobodys = ask(targets, *as_nobody())["targets"]
    assert [target["reason"] for target in nobodys] == ["prohibited", "prohibited", None]
    assert (ask("path")["status"], ask("path", *as_nobody())["status"]) == ("satisfied", "unsatisfied")
    network.ip("rule", "delete", "pref", "100")
    assert all(target["reachable"] for target in ask(targets, *as_nobody())["targets"])


@pytest.mark.skipif(not as_nobody(), reason="needs root, to become another user")
def test_a_rule_for_one_user_counts_for_the_streams_to_that_user(network: Namespace, networked: Daemon) -> None:
    command = [RINGWAKE, "reachability", "--watch", "--json", FAR, "--socket", networked.status_socket]
    # A line that does not come fails the test, and does not hold it up for ever.
    nobodys = network.popen("timeout", "60", *as_nobody(), *command, stdout=-1)
    owners = network.popen("timeout", "60", *command, stdout=-1)
    try:
        assert [json.loads(watch.stdout.readline())["reachable"] for watch in (owners, nobodys)] == [True, True]
        network.ip("rule", "add", "uidrange", "65534-65534", "pref", "100", "prohibit")
        assert json.loads(nobodys.stdout.readline())["reason"] == "prohibited"
        network.ip("rule", "delete", "pref", "100")
        assert json.loads(nobodys.stdout.readline())["reachable"]
        default_route(network, "delete")
        assert json.loads(owners.stdout.readline())["reason"] == "noRoute", "the first news for the owner"
    finally:
        for watch in (nobodys, owners):
            watch.terminate()
            watch.wait()
            watch.stdout.close()


def test_a_rule_for_one_user_counts_for_an_app_of_that_user(network: Namespace, lonely: Daemon) -> None:
    lonely.write_configuration(lonely.text() + '\n[reachability]\nloss_hold = "0s"\n')
    lonely.add_app(app="com.example.other", more=f'[reachability]\ntargets = ["{FAR}"]\nuser = "65534"\n')
    lonely.set_handler(["/bin/true"], more=f'[reachability]\ntargets = ["{FAR}"]\n')
    lonely.start()
    with lonely.control.events("?app=com.example.other") as events:
        events.until("connection", connection="online")
        network.ip("rule", "add", "uidrange", "65534-65534", "pref", "100", "prohibit")
        events.until("connection", connection="offline", connectionReason="prohibited")
        assert lonely.control.app("com.example.other")["connection"]["targets"][0]["reason"] == "prohibited"
        assert lonely.control.app(APP)["connection"]["status"] == "online"
        network.ip("rule", "delete", "pref", "100")
        events.until("connection", connection="online")


def test_a_daemon_of_another_network_is_noticed_and_not_believed(network: Namespace, networked: Daemon) -> None:
    environment = networked.environment()
    with Namespace() as elsewhere:
        for arguments in ([FAR], ["--path"], ["any", "--json"]):
            here = network.exec(RINGWAKE, "reachability", *arguments, env=environment)
            assert (here.returncode, here.stderr) == (0, "")
            there = elsewhere.exec(RINGWAKE, "reachability", *arguments, env=environment)
            alone = elsewhere.exec(RINGWAKE, "reachability", *arguments, "--local", env=environment)
            assert (there.returncode, there.stdout) == (8, alone.stdout)
            assert there.stderr == "ringwake: the daemon is in another network namespace; this is read here, without it\n"
        verbose = elsewhere.exec(RINGWAKE, "reachability", FAR, "--verbose", env=environment)
        assert verbose.stderr.startswith("ringwake: the daemon is in another"), "the state of that monitor is not shown"
        for arguments in ([FAR], ["--watch"], ["--path", "--watch"]):
            named = elsewhere.exec(RINGWAKE, "reachability", *arguments, "--socket", networked.control_socket)
            assert (named.returncode, named.stdout) == (3, ""), named
            assert "the daemon is in another network namespace" in named.stderr
        watch = elsewhere.popen(
            RINGWAKE, "reachability", "--watch", "--json", FAR, stdout=-1, stderr=-1, env=os.environ | environment)
        assert not json.loads(watch.stdout.readline())["reachable"]
        watch.terminate()
        assert "another network namespace" in watch.communicate()[1]
