"""Ports for pushes that a reload opens and closes."""

import signal
import socket
import uuid
from pathlib import Path

import httpx
import pytest
from support.credentials import APP, TOPIC
from support.daemon import Daemon
from support.h2client import H2Client, push_fields
from support.pushing import push
from support.waiting import until


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def ports(daemon: Daemon) -> dict[str, str]:
    """The environment of each open port."""
    return {one["address"]: one["environment"] for one in daemon.control.status()["listeners"]}


def configure(daemon: Daemon, *addresses: str, environment: str = "development") -> None:
    daemon.address, *further = addresses
    daemon.settings["listener.environment"] = environment
    more = "".join(f'[[listener]]\naddress = "{one}"\nenvironment = "{environment}"\n' for one in further)
    daemon.write_configuration(daemon.text() + more)


def reload(daemon: Daemon, address: str) -> None:
    """By signal, as systemd does."""
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: address in ports(daemon), 5, lambda: f"{address} to be open; its log:\n{daemon.log}")


@pytest.fixture
def daemon(make_daemon) -> Daemon:
    made = make_daemon(address=f"127.0.0.1:{free_port()}")
    made.add_app()
    return made.start()


def send(daemon: Daemon, address: str) -> int:
    """One push by httpx, on a connection of its own."""
    context = daemon.credentials.context()
    with httpx.Client(http2=True, verify=context) as client:
        fields = {"authorization": daemon.credentials.authorization(), "apns-topic": TOPIC}
        token = daemon.device_token()
        return client.post(f"https://{address}/3/device/{token}", content=b"{}", headers=fields).status_code


def test_the_new_port_takes_pushes_while_the_old_one_answers_what_it_has(daemon: Daemon) -> None:
    old, new = daemon.address, f"127.0.0.1:{free_port()}"
    fields = {"authorization": daemon.credentials.authorization(), "apns_topic": TOPIC}
    with H2Client(daemon.host_and_port, daemon.credentials.context()) as client:
        # A request whose body is not there yet is answered on the old connection.
        stream = client.send(push_fields(daemon.device_token(), apns_id=str(uuid.uuid4()), **fields), None, end=False)
        until(lambda: daemon.control.status()["listeners"][0]["connections"] == 1, 5, "the connection")
        configure(daemon, new)
        reload(daemon, new)
        assert ports(daemon) == {new: "development"}
        assert send(daemon, new) == 200
        with pytest.raises(OSError):
            socket.create_connection((old.partition(":")[0], int(old.rpartition(":")[2])), timeout=5)
        client.h2.send_data(stream, b"{}", end_stream=True)
        client.flush()
        assert client.wait(stream).status == 200
        client.wait_for_close()
        assert client.goaway.additional_data == b'{"reason":"Shutdown"}'
    assert "a port for pushes is closed" in daemon.log and daemon.control.status()["reload"]["needsRestart"] == []


def test_a_port_that_is_taken_keeps_the_old_configuration_with_its_ports(daemon: Daemon) -> None:
    old, new = daemon.address, f"127.0.0.1:{free_port()}"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        other = f"127.0.0.1:{taken.getsockname()[1]}"
        configure(daemon, new, other)
        done = daemon.ringwake("reload")
    assert done.returncode != 0 and f"cannot listen on {other}" in done.stderr, done
    assert ports(daemon) == {old: "development"} and send(daemon, old) == 200
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(new.rpartition(":")[2])), timeout=5)
    assert other in daemon.control.status()["reload"]["why"]


def test_another_environment_or_address_on_the_same_port(daemon: Daemon) -> None:
    number = daemon.address.rpartition(":")[2]
    everywhere = f"0.0.0.0:{number}"
    configure(daemon, daemon.address, environment="production")
    assert daemon.ringwake("reload").returncode == 0
    assert ports(daemon) == {daemon.address: "production"}
    assert "production" in daemon.control.app(APP)["tokens"]
    former = daemon.address
    configure(daemon, everywhere, environment="development")
    assert daemon.ringwake("reload").returncode == 0
    assert ports(daemon) == {everywhere: "development"} and send(daemon, former) == 200


def test_a_port_that_stays_keeps_its_connections(daemon: Daemon) -> None:
    fields = {"authorization": daemon.credentials.authorization(), "apns_topic": TOPIC}
    more = f"127.0.0.1:{free_port()}"
    with H2Client(daemon.host_and_port, daemon.credentials.context()) as client:
        assert client.push(daemon.device_token(), b"{}", **fields).status == 200
        for addresses in ([daemon.address, more], [daemon.address]):
            configure(daemon, *addresses)
            assert daemon.ringwake("reload").returncode == 0
            assert set(ports(daemon)) == set(addresses)
            assert client.push(daemon.device_token(), b"{}", **fields).status == 200


def test_the_first_port_can_come_by_a_reload_and_the_last_one_go(daemon: Daemon, tmp_path: Path) -> None:
    text = daemon.configuration.read_text()
    start, end = text.index("[[listener]]"), text.index("[[team]]")
    for configuration, expected in [(text[:start] + text[end:], {}), (text, {daemon.address: "development"})]:
        daemon.write_configuration(configuration)
        assert daemon.ringwake("reload").returncode == 0
        assert ports(daemon) == expected
    assert push(daemon, str(uuid.uuid4())).status == 200
