"""Devices that a gateway sends to another one: for good, for now, and in vain."""

import shutil
import socket
import ssl
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import mqtt, sites
from support.daemon import Daemon
from support.links import Device, address, devices, fix_port, invitation, make_device, make_gateway, pair, send
from support.mqtt import DeviceKey
from support.waiting import until


@pytest.fixture
def two(make_daemon) -> tuple[Daemon, Daemon, Device]:
    """A gateway with its device, and another one that was made of a copy of its state."""
    first, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    pair(first, device)
    place = address(first)
    first.stop()
    second = make_gateway(make_daemon)
    shutil.copytree(first.directory / "state", second.directory / "state", dirs_exist_ok=True)
    fix_port(first, place)
    first.start()
    second.start()
    until(device.is_linked, 60, lambda: f"{device.link}")
    return first, second, device


def move(gateway: Daemon, *options: str) -> None:
    done = gateway.ringwake("gateway", "move", *options)
    assert done.returncode == 0, done


def push(gateway: Daemon, device: Device, token: str) -> None:
    call = str(uuid.uuid4())
    answer = send(gateway, token, call)
    assert (answer.status, answer.reason) == (200, None), (gateway.log, device.log)
    device.recorders[0].wait(call)


def state(gateway: Daemon) -> str:
    return devices(gateway)[0]["state"]


def is_visiting(device: Device, gateway: Daemon) -> bool:
    return device.link.get("visiting") == address(gateway)


def has_moved(first: Daemon, second: Daemon, device: Device) -> None:
    until(lambda: device.link.get("gateway") == address(second), 60, lambda: f"{device.link}\n{device.log}")
    until(lambda: state(first) == "moved", 60, lambda: f"{devices(first)}\n{device.log}")
    device.wait_until_linked()


def test_a_device_moves_for_good_with_its_tokens_and_what_waited(two) -> None:
    first, second, device = two
    token = device.device_token()
    device.kill()
    call = str(uuid.uuid4())
    assert send(first, token, call).status == 200
    # It is away, and asked when it links.
    move(first, "--all", "--to", address(second))
    assert devices(first)[0]["movesTo"] == address(second)
    device.start()
    device.recorders[0].wait(call)
    has_moved(first, second, device)
    assert device.device_token() == token
    push(second, device, token)
    gone = send(first, token, str(uuid.uuid4()))
    assert (gone.status, gone.reason) == (410, "Unregistered")
    assert "moved to " + address(second) in first.ringwake("gateway", "devices").stdout
    # It is remembered on both sides.
    until(lambda: "leaving" not in device.link, 30, lambda: f"{device.link}")
    first.stop()
    device.stop()
    device.start()
    device.wait_until_linked()
    assert device.link["gateway"] == address(second)
    push(second, device, token)


def test_a_device_that_is_linked_moves_at_once(two) -> None:
    first, second, device = two
    move(first, devices(first)[0]["name"], "--to", address(second))
    has_moved(first, second, device)
    push(second, device, device.device_token())


def test_a_gateway_gives_itself_another_address(two) -> None:
    first, _, device = two
    token, port = device.device_token(), address(first).rsplit(":", 1)[1]
    move(first, "--all", "--to", f"localhost:{port}")
    until(lambda: device.link.get("gateway") == f"localhost:{port}", 60, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    assert devices(first)[0]["state"] == "online" and "movesTo" not in devices(first)[0], first.log
    until(lambda: "leaving" not in device.link, 60, lambda: f"{device.link}\n{device.log}")
    assert device.device_token() == token
    push(first, device, token)
    device.kill()
    device.start()
    device.wait_until_linked()
    push(first, device, token)


def test_a_gateway_with_another_address_is_not_left_by_devices_that_were_away(two) -> None:
    """They never were linked to this start of it before they are asked."""
    first, _, device = two
    token, place = device.device_token(), address(first)
    device.kill()
    first.kill()
    first.start()
    other = "localhost:" + place.rsplit(":", 1)[1]
    move(first, "--all", "--to", other)
    device.start()
    until(lambda: device.link.get("gateway") == other, 60, lambda: f"{device.link}\n{device.log}")
    until(lambda: "leaving" not in device.link, 60, lambda: f"{device.link}\n{device.log}\n{first.log}")
    device.kill()
    device.start()
    device.wait_until_linked()
    assert state(first) == "online" and "movesTo" not in devices(first)[0], first.log
    assert device.device_token() == token
    push(first, device, token)


def test_a_device_visits_another_gateway_for_now(two) -> None:
    first, second, device = two
    token = device.device_token()
    move(first, "--all", "--to", address(second), "--temporary")
    until(lambda: is_visiting(device, second), 30, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    assert device.link["gateway"] == address(first) and state(first) == "offline"
    push(second, device, token)
    call = str(uuid.uuid4())
    assert send(first, token, call).status == 200
    second.stop()
    # Its own gateway has kept what came.
    device.recorders[0].wait(call)
    device.wait_until_linked()
    assert "visiting" not in device.link and state(first) == "online"


def test_a_device_that_is_unpaired_while_it_visits_leaves_both(two) -> None:
    first, second, device = two
    token = device.device_token()
    move(first, "--all", "--to", address(second), "--temporary")
    until(lambda: is_visiting(device, second), 30, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    assert device.ringwake("link", "unpair").returncode == 0
    for gateway in (second, first):
        until(lambda: state(gateway) != "online" and state(gateway) != "offline", 30, lambda: f"{devices(gateway)}")
        gone = send(gateway, token, str(uuid.uuid4()))
        assert (gone.status, gone.reason) == (410, "Unregistered"), gateway.log


@pytest.mark.parametrize("pairing", ["succeeds", "fails", "is mistyped"])
def test_a_pairing_meanwhile_ends_no_farewell(two, pairing: str) -> None:
    first, second, device = two
    token = device.device_token()
    move(first, "--all", "--to", address(second), "--temporary")
    until(lambda: is_visiting(device, second), 30, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    first.kill()
    assert device.ringwake("link", "unpair").returncode == 0
    if pairing == "succeeds":
        pair(second, device)
    else:
        link = invitation(second)["link"]
        code = link.split("code=")[1].split("&")[0]
        wrong = link.replace(code, code[::-1] if pairing == "fails" else code[:-1])
        assert device.ringwake("link", "pair", wrong).returncode != 0
    first.start()
    until(lambda: state(first) not in ("online", "offline"), 60, lambda: f"{devices(first)}\n{device.log}")
    gone = send(first, token, str(uuid.uuid4()))
    assert (gone.status, gone.reason) == (410, "Unregistered"), first.log


def test_a_farewell_ends_no_pairing_with_the_same_gateway(two) -> None:
    """By another name it looks like another gateway."""
    first, second, device = two
    move(first, "--all", "--to", address(second), "--temporary")
    until(lambda: is_visiting(device, second), 30, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    first.kill()
    assert device.ringwake("link", "unpair").returncode == 0
    first.start()
    done = device.ringwake("link", "pair", invitation(first)["link"].replace("127.0.0.1", "localhost"))
    assert done.returncode == 0, (done, first.log, device.log)
    until(lambda: "the former gateway has let this device go" in device.log, 60, lambda: device.log)
    device.wait_until_linked()
    assert state(first) == "online"
    push(first, device, device.device_token())


def test_a_device_stays_if_the_other_gateway_does_not_know_it(two, make_daemon) -> None:
    first, _, device = two
    stranger = make_gateway(make_daemon).start()
    move(first, "--all", "--to", address(stranger))
    until(lambda: "not paired" in str(device.link.get("notFollowed")), 30, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    assert "problem" not in device.link and device.link["gateway"] == address(first)
    assert state(first) == "online" and devices(first)[0]["movesTo"] == address(stranger)
    push(first, device, device.device_token())
    move(first, "--all", "--off")
    assert "movesTo" not in devices(first)[0]


def test_a_visited_gateway_settles_no_disagreement(two) -> None:
    """It may be wrong, or lie: only the device's own gateway has a say in its tokens."""
    first, second, device = two
    token, before = device.device_token(), device.link["revision"]
    # The other one is ahead.
    for _ in range(3):
        done = second.ringwake("gateway", "reset", devices(second)[0]["name"])
        assert done.returncode == 0, done
    move(first, "--all", "--to", address(second), "--temporary")
    until(lambda: "revision" in str(device.link.get("notFollowed")), 60, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    assert (device.link["gateway"], device.link["revision"]) == (address(first), before), device.log
    assert "reset" not in device.link
    push(first, device, token)


def test_a_visited_gateway_that_refuses_the_registrations_is_left(two, tmp_path: Path) -> None:
    first, second, device = two
    token = device.device_token()
    # The token has ended there, and the device is known there again.
    assert second.ringwake("gateway", "revoke", devices(second)[0]["name"]).returncode == 0
    own, pem = DeviceKey.load(device.directory / "state" / "device.pem").key, tmp_path / "key.pem"
    pem.write_bytes(mqtt.private_pem(own) + mqtt.certificate(own))
    code = second.control.post("/v1/gateway/invitations")["code"]
    assert mqtt.pair(sites.address(second), DeviceKey.load(pem), code).reason == 0
    move(first, "--all", "--to", address(second), "--temporary")
    until(lambda: device.link.get("notFollowed"), 60, lambda: f"{device.link}\n{device.log}\n{second.log}")
    device.wait_until_linked()
    until(lambda: state(first) == "online" and state(second) == "offline", 60, lambda: f"{devices(first)}\n{device.log}")
    assert "visiting" not in device.link and device.device_token() == token
    push(first, device, token)


def test_a_device_comes_back_from_a_name_without_an_address(two) -> None:
    first, _, device = two
    move(first, "--all", "--to", "nobody.invalid")
    until(lambda: "no address" in str(device.link.get("notFollowed")), 90, lambda: f"{device.link}\n{device.log}")
    device.wait_until_linked()
    push(first, device, device.device_token())


@pytest.fixture
def impostor(tmp_path) -> Iterator[str]:
    """A server with a certificate of its own, which counts nobody's trust."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(DeviceKey.make(tmp_path).pem)
    context.set_alpn_protocols(["mqtt"])
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                accepted, _ = listening.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(accepted, server_side=True) as secured:
                    secured.recv(1)
            except OSError:
                accepted.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"127.0.0.1:{listening.getsockname()[1]}"
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join(10)


def test_a_reference_replaces_no_trust(two, impostor: str) -> None:
    first, _, device = two
    move(first, "--all", "--to", impostor)
    until(lambda: device.link.get("notFollowed"), 30, lambda: f"{device.link}\n{device.log}")
    assert device.link["notFollowed"]["gateway"] == impostor
    device.wait_until_linked()
    shown = device.ringwake("link", "status").stdout
    assert f"not followed   {impostor}" in shown, shown
    push(first, device, device.device_token())
