"""Host names whose addresses change, name servers that change, and resolv.conf."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from reachability.command import SENTINEL_SETUP, Watch, ask, watching, wrong
from reachability.dns import NameServer
from reachability.scenarios.links import BY_WIFI, BY_WIFI6, GATEWAY, NEAR, OWN, REMOTE, REMOTE6, WIFI, WIFI_BOTH
from reachability.scenarios.model import ANYTHING, Facts, no, own, without_dns
from reachability.stage import Stage

NAME = "sip.example.test"
HOSTS = "127.0.0.1 localhost\n"
FIRST_SERVER, SECOND_SERVER = "127.0.0.53", "127.0.0.54"
# A name server that is asked again before the test's patience ends.
OPTIONS = "options timeout:1 attempts:2\n"


def until_said(watch: Watch, facts: Facts, target: str = NAME) -> None:
    """Reads on until what is said of the target is right."""
    while mistakes := wrong({target: facts}, watch.said):
        watch.next(f"this to change:\n{mistakes}")


@pytest.fixture
def servers(stage: Stage) -> Iterator[tuple[NameServer, NameServer]]:
    """Two name servers; resolv.conf names the first."""
    stage.network.etc("resolv.conf", f"nameserver {FIRST_SERVER}\n{OPTIONS}")
    with NameServer(stage.network, FIRST_SERVER) as first, NameServer(stage.network, SECOND_SERVER) as second:
        yield first, second


def test_a_name_in_the_hosts_file_follows_it(stage: Stage) -> None:
    stage.perform(WIFI)
    stage.network.etc("hosts", HOSTS + f"{GATEWAY} {NAME}\n")
    assert not wrong({NAME: NEAR}, ask(stage.network, NAME))
    with watching(stage, NAME) as watch:
        assert not wrong({NAME: NEAR}, watch.said)
        stage.network.etc("hosts", HOSTS + f"{REMOTE} {NAME}\n")
        until_said(watch, BY_WIFI)
        stage.network.etc("hosts", HOSTS + f"{OWN} {NAME}\n")
        until_said(watch, own(OWN, "isDirect"))
        # The same again is no change.
        stage.network.etc("hosts", HOSTS + f"# the same\n{OWN} {NAME}\n")
        assert watch.rest(stage) == []


def test_a_name_that_no_server_knows(stage: Stage, servers: tuple[NameServer, NameServer]) -> None:
    stage.perform(WIFI)
    assert not wrong({NAME: no("nameNotFound")}, ask(stage.network, NAME))
    servers[0].names[NAME] = []
    assert not wrong({NAME: no("nameNotFound")}, ask(stage.network, NAME))
    servers[0].names[NAME] = [REMOTE]
    assert not wrong({NAME: BY_WIFI}, ask(stage.network, NAME))


def test_the_best_of_its_addresses_counts(stage: Stage, servers: tuple[NameServer, NameServer]) -> None:
    stage.perform(WIFI_BOTH)
    stage.perform(["route add unreachable 198.51.100.200"])
    stage.settle()
    servers[0].names[NAME] = ["198.51.100.200", REMOTE6]
    assert not wrong({NAME: BY_WIFI6}, ask(stage.network, NAME))
    with watching(stage, NAME) as watch:
        stage.perform(["-6 route delete default"])
        until_said(watch, no(ANYTHING))
        stage.perform(["route delete unreachable 198.51.100.200"])
        until_said(watch, BY_WIFI)


def test_another_name_server_is_asked_again(stage: Stage, servers: tuple[NameServer, NameServer]) -> None:
    stage.perform(WIFI)
    servers[0].names[NAME], servers[1].names[NAME] = [GATEWAY], [REMOTE]
    with watching(stage, NAME) as watch:
        assert not wrong({NAME: NEAR}, watch.said)
        stage.network.etc("resolv.conf", f"nameserver {SECOND_SERVER}\n{OPTIONS}")
        until_said(watch, BY_WIFI)


def test_it_is_not_stuck_on_its_first_answer(stage: Stage, servers: tuple[NameServer, NameServer]) -> None:
    stage.perform(WIFI)
    with watching(stage, NAME) as watch:
        assert not wrong({NAME: no("nameNotFound")}, watch.said)
        # Another network, in which the name is known.
        servers[0].names[NAME] = [REMOTE]
        stage.perform(["route replace default via 192.0.2.2 dev wlan0"])
        until_said(watch, replace(BY_WIFI, gateway="192.0.2.2"))
        servers[0].names[NAME] = [GATEWAY]
        stage.perform([f"route replace default via {GATEWAY} dev wlan0"])
        until_said(watch, NEAR)


def test_a_silent_server_holds_up_nothing_else(stage: Stage, servers: tuple[NameServer, NameServer]) -> None:
    stage.perform(WIFI)
    servers[0].silent = True
    stage.network.etc("hosts", HOSTS + f"{REMOTE} known.example.test\n")
    known = "known.example.test"
    stage.perform(SENTINEL_SETUP)
    watch = Watch(stage.network, NAME, known, "any")
    try:
        while known not in watch.said or "any" not in watch.said:
            watch.next("what is known")
        assert not wrong({known: BY_WIFI, "any": BY_WIFI}, watch.said)
        until_said(watch, no("nameServersSilent"))
        servers[0].names[NAME], servers[0].silent = [REMOTE], False
        stage.perform(["route replace default via 192.0.2.2 dev wlan0"])
        until_said(watch, replace(BY_WIFI, gateway="192.0.2.2"))
    finally:
        watch.close()


def test_without_a_way_to_a_name_server_none_is_asked(stage: Stage) -> None:
    stage.perform(WIFI[:2])
    stage.network.etc("resolv.conf", "nameserver 198.51.100.53\n" + OPTIONS)
    assert not wrong({NAME: without_dns(no(ANYTHING))}, ask(stage.network, NAME))


def test_supports_dns_follows_resolv_conf_and_the_routes(stage: Stage) -> None:
    stage.perform(WIFI)
    stage.network.etc("resolv.conf", f"nameserver {GATEWAY}\n")
    with watching(stage, GATEWAY) as watch:
        assert not wrong({GATEWAY: NEAR}, watch.said)
        stage.perform(["route add prohibit 198.51.100.0/24"])
        assert watch.rest(stage) == []
        stage.network.etc("resolv.conf", "# somebody else\nnameserver 198.51.100.53\n")
        until_said(watch, without_dns(NEAR), GATEWAY)
        stage.perform(["route delete prohibit 198.51.100.0/24"])
        until_said(watch, NEAR, GATEWAY)
        # One of several is enough.
        stage.network.etc("resolv.conf", "nameserver 2001:db8::53\nnameserver 198.51.100.53\n")
        assert watch.rest(stage) == []


@pytest.mark.parametrize("is_link", [False, True], ids=["renamed over", "a link that is turned"])
def test_a_resolv_conf_that_is_replaced_is_noticed(stage: Stage, tmp_path: Path, is_link: bool) -> None:
    """As resolvconf, NetworkManager and systemd-resolved write it: never in place."""
    stage.perform(WIFI)
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "hosts").write_text(HOSTS)
    (folder / "nsswitch.conf").write_text("hosts: files dns\n")
    (tmp_path / "bad").write_text("nameserver 203.0.113.53\n")
    (tmp_path / "good").write_text(f"nameserver {GATEWAY}\n")
    stage.perform(["route add prohibit 203.0.113.53"])

    def put(name: str) -> None:
        new = folder / "new"
        if is_link:
            new.symlink_to(tmp_path / name)
        else:
            new.write_text((tmp_path / name).read_text())
        os.replace(new, folder / "resolv.conf")

    put("good")
    # The whole of /etc is another folder for it.
    before = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(folder))
    with watching(stage, GATEWAY, before=before) as watch:
        assert not wrong({GATEWAY: NEAR}, watch.said)
        for _ in range(2):
            put("bad")
            until_said(watch, without_dns(NEAR), GATEWAY)
            put("good")
            until_said(watch, NEAR, GATEWAY)
        (folder / "resolv.conf").unlink()
        # Then it is 127.0.0.1, which lo reaches: resolv.conf(5).
        assert watch.rest(stage) == []
        put("bad")
        until_said(watch, without_dns(NEAR), GATEWAY)
