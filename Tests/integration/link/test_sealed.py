"""What the sender wrote never comes to the gateway's disk in plain."""

import uuid

import pytest
from support.daemon import Daemon
from support.links import Device, devices, make_device, make_gateway, pair, send
from support.waiting import until


@pytest.fixture
def linked(make_daemon) -> tuple[Daemon, Device]:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    pair(gateway, device)
    return gateway, device


def test_a_waiting_payload_is_sealed_for_its_device(linked) -> None:
    gateway, device = linked
    assert devices(gateway)[0]["sealed"]
    token, call, secret = device.device_token(), str(uuid.uuid4()), "number-" + uuid.uuid4().hex
    payload = b'{"aps":{},"caller":"%s"}' % secret.encode()
    device.kill()
    assert send(gateway, token, call, payload).status == 200
    files = [path for path in (gateway.directory / "state").rglob("*") if path.is_file()]
    found = b"".join(path.read_bytes() for path in files)
    # The push is there, and what is in it can't be read.
    assert call.encode() in found and secret.encode() not in found
    device.start()
    assert device.recorders[0].wait(call).payload == payload
    until(lambda: devices(gateway)[0]["waiting"] == 0, 10, lambda: f"{devices(gateway)}")


def test_a_device_with_another_sealing_key_refuses_the_payload_and_says_so(linked) -> None:
    gateway, device = linked
    token, call = device.device_token(), str(uuid.uuid4())
    device.kill()
    assert send(gateway, token, call).status == 200
    (device.directory / "state" / "sealing.pem").unlink()
    device.start()
    until(lambda: devices(gateway)[0]["waiting"] == 0, 30, lambda: f"{devices(gateway)}\n{device.log}")
    assert "a push of the gateway cannot be read" in device.log
    # The gateway has the new key now: what waits from now on can be read.
    device.wait_until_linked()
    device.kill()
    later = str(uuid.uuid4())
    assert send(gateway, token, later).status == 200
    device.start()
    device.recorders[0].wait(later)
