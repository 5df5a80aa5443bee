"""A gateway that is drained: its devices leave, its senders notice nothing, and it takes links again."""

import uuid

import pytest
from support.daemon import Daemon
from support.links import Device, devices, invitation, make_device, make_gateway, pair, send
from support.mqtt import DISCONNECT, DeviceKey, Link
from support.mqtt import pair as pair_key
from support.waiting import until


@pytest.fixture
def linked(make_daemon) -> tuple[Daemon, Device]:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    pair(gateway, device)
    return gateway, device


def drain(gateway: Daemon, *options: str) -> str:
    done = gateway.ringwake("gateway", "drain", *options)
    assert done.returncode == 0, done
    return done.stdout


def online(gateway: Daemon) -> int:
    return gateway.control.get("/v1/gateway")["online"]


def test_a_drained_gateway_keeps_pushes_and_gives_them_when_it_takes_links_again(linked, make_daemon) -> None:
    gateway, device = linked
    token = device.device_token()
    assert drain(gateway) == "the gateway is drained: its links end now, and pushes wait\n"
    until(lambda: online(gateway) == 0, 10, lambda: gateway.log)
    until(lambda: "drained" in str(device.link.get("lastEnd")), 10, lambda: f"{device.link}")
    assert gateway.control.get("/v1/gateway")["drainedMs"] >= 0
    assert "it takes no links" in gateway.ringwake("gateway", "status").stdout
    assert "drained" in gateway.ringwake("status").stdout
    call = str(uuid.uuid4())
    answer = send(gateway, token, call)
    assert (answer.status, answer.reason) == (200, None)
    assert devices(gateway)[0]["waiting"] == 1
    # Nobody pairs either, and is told why; so is who invites.
    done = gateway.ringwake("gateway", "invite")
    assert done.returncode == 0 and "ringwake link pair" in done.stdout, done
    assert "no device can pair until 'ringwake gateway drain --off'" in done.stderr
    done = make_device(make_daemon).start().ringwake("link", "pair", invitation(gateway)["link"])
    assert done.returncode == 7 and "drained" in done.stderr, done
    drain(gateway, "--off")
    assert gateway.ringwake("gateway", "invite").stderr == ""
    assert "drainedMs" not in gateway.control.get("/v1/gateway")
    assert device.recorders[0].wait(call).payload == b'{"aps":{}}'
    device.wait_until_linked()


def test_a_device_is_told_when_to_come_again(make_daemon, tmp_path) -> None:
    gateway = make_gateway(make_daemon, 'admission = "open"\n').start()
    key = DeviceKey.make(tmp_path)
    host, port = gateway.control.get("/v1/gateway")["address"].rsplit(":", 1)
    address = host, int(port)
    assert pair_key(address, key, "").reason == 0
    with Link(address, key) as link:
        link.connect()
        link.subscribe()
        drain(gateway)
        end = link.receive()
        assert (end.kind, end.reason, end.user["retry-after"]) == (DISCONNECT, 0x8B, "1")
    with Link(address, key) as link:
        refused = link.connect()
        assert (refused.reason, refused.user["retry-after"]) == (0x88, "1")


def test_a_restart_ends_the_drain(linked) -> None:
    gateway, _ = linked
    drain(gateway)
    gateway.stop()
    gateway.start()
    assert "drainedMs" not in gateway.control.get("/v1/gateway")
