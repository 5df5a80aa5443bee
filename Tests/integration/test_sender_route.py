"""What an app tells its server: where to push to, and which CA to trust there. A sender needs nothing else."""

import json
import socket
import ssl
import uuid

import pytest

from support import links
from support.credentials import APP, TOPIC, Credentials
from support.daemon import Daemon
from support.h2client import Answer, H2Client


def credential(daemon: Daemon) -> dict:
    [one] = daemon.control.get(f"/v1/apps/{APP}/credentials")["credentials"]
    return one


def push_by(one: dict, credentials: Credentials, call: str) -> Answer:
    """Pushes with what the app knows, and the sender's own key."""
    context = ssl.create_default_context(cadata=one["certificateAuthorities"])
    with H2Client((one["host"], one["port"]), context, name=one["host"]) as client:
        return client.push(one["token"], apns_id=call, apns_topic=TOPIC, authorization=credentials.authorization())


def der(pem: str) -> bytes:
    """The one certificate of a text that has nothing else."""
    assert pem.count("-----BEGIN") == 1
    return ssl.PEM_cert_to_DER_cert(pem)


def reload(daemon: Daemon) -> None:
    daemon.write_configuration()
    done = daemon.ringwake("reload")
    assert done.returncode == 0, done


def test_a_sender_pushes_with_what_the_app_knows(daemon: Daemon) -> None:
    one = credential(daemon)
    assert (one["host"], one["port"]) == daemon.host_and_port
    assert der(one["certificateAuthorities"]) == der(daemon.credentials.ca.read_text())
    call = str(uuid.uuid4())
    answer = push_by(one, daemon.credentials, call)
    assert (answer.status, answer.reason) == (200, None)
    daemon.recorders[0].wait(call)
    shown = daemon.ringwake("app", "show", APP)
    assert f"{one['host']}:{one['port']} (development)" in shown.stdout
    assert json.loads(daemon.ringwake("app", "show", APP, "--json").stdout)["pushAddresses"] == {
        "development": f"{one['host']}:{one['port']}"
    }


def test_a_reload_changes_it_and_tells_the_app(daemon: Daemon, foreign_credentials: Credentials) -> None:
    # A careless file: its key stays here.
    file = daemon.directory / "everything.pem"
    file.write_bytes((foreign_credentials.directory / "ca.key").read_bytes() + foreign_credentials.ca.read_bytes())
    with daemon.control.events(f"?app={APP}") as events:
        daemon.sections["senders"] = f'development = "[2001:db8::1]:443"\nca = "{file}"'
        reload(daemon)
        assert events.until("credentials", app=APP)[-1]["valid"] is True
    one = credential(daemon)
    assert (one["host"], one["port"]) == ("2001:db8::1", 443)
    assert der(one["certificateAuthorities"]) == der(foreign_credentials.ca.read_text())
    assert "[2001:db8::1]:443 (development)" in daemon.ringwake("app", "show", APP).stdout


def test_another_port_is_told_to_the_app(daemon: Daemon) -> None:
    before = credential(daemon)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with daemon.control.events(f"?app={APP}") as events:
        daemon.address = f"127.0.0.1:{port}"
        reload(daemon)
        events.until("credentials", app=APP)
    after = credential(daemon)
    assert after == before | {"port": port}
    assert push_by(after, daemon.credentials, str(uuid.uuid4())).status == 200


def test_a_wrong_ca_is_refused_and_everything_stays(daemon: Daemon) -> None:
    before = credential(daemon)
    for file, why in ((daemon.directory / "none.pem", "none.pem"), (daemon.credentials.server_certificate, "is no CA")):
        daemon.sections["senders"] = f'ca = "{file}"'
        daemon.write_configuration()
        done = daemon.ringwake("reload")
        assert done.returncode != 0 and "[senders]" in done.stderr and why in done.stderr, done
        assert credential(daemon) == before


def test_a_port_of_all_addresses_has_the_host_name_if_the_certificate_is_for_it(make_daemon, tmp_path) -> None:
    name = socket.gethostname()
    if name.startswith("localhost"):
        pytest.skip("this machine has no name")
    known = make_daemon(credentials=Credentials.make(tmp_path / "known", hosts=[name]), address="0.0.0.0:0")
    known.add_app()
    one = credential(known.start())
    assert (one["host"], one["port"]) == (name, known.host_and_port[1])
    # The name is of this machine, whether or not its name servers know it.
    context = ssl.create_default_context(cadata=one["certificateAuthorities"])
    with H2Client(("127.0.0.1", one["port"]), context, name=one["host"]) as client:
        answer = client.push(one["token"], authorization=known.credentials.authorization())
    assert answer.status == 200
    unknown = make_daemon(address="0.0.0.0:0")
    unknown.add_app()
    one = credential(unknown.start())
    assert "host" not in one and "port" not in one and "certificateAuthorities" in one


def test_a_linked_device_names_the_gateway_that_its_owner_has_named(make_daemon) -> None:
    gateway = links.make_gateway(make_daemon).start()
    device = links.make_device(make_daemon).start()
    links.pair(gateway, device)
    one = credential(device)
    assert "host" not in one and "port" not in one
    host, port = gateway.host_and_port
    device.sections["senders"] = f'development = "{host}:{port}"\nca = "{gateway.credentials.ca}"'
    reload(device)
    call = str(uuid.uuid4())
    answer = push_by(credential(device), gateway.credentials, call)
    assert (answer.status, answer.reason) == (200, None)
    device.recorders[0].wait(call)
