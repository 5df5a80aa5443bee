"""A push through a gateway to a device that no sender can reach."""

import json
import uuid

import pytest
from support.daemon import Daemon
from support.links import Device, address, devices, fix_port, invitation, make_device, make_gateway, pair, send
from support.waiting import until


@pytest.fixture
def linked(make_daemon) -> tuple[Daemon, Device]:
    """A gateway, and a device that is paired with it."""
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    pair(gateway, device)
    return gateway, device


def test_a_push_at_the_gateway_wakes_a_handler_on_the_device(linked) -> None:
    gateway, device = linked
    call = str(uuid.uuid4())
    answer = send(gateway, device.device_token(), call, b'{"aps":{},"greeting":"hello"}')
    assert (answer.status, answer.reason) == (200, None), gateway.log
    wake = device.recorders[0].wait(call)
    assert wake.payload == b'{"aps":{},"greeting":"hello"}'
    # The gateway knows nothing of the call.
    assert gateway.control.get("/v1/pushes")["pushes"] == [] and gateway.control.calls() == []


def test_a_device_that_is_away_gets_its_push_when_it_is_back(linked) -> None:
    gateway, device = linked
    token = device.device_token()
    device.kill()
    call = str(uuid.uuid4())
    assert send(gateway, token, call).status == 200
    until(lambda: devices(gateway)[0]["waiting"] == 1, 10, lambda: f"{devices(gateway)}")
    device.start()
    assert device.recorders[0].wait(call).payload == b'{"aps":{}}'
    until(lambda: devices(gateway)[0]["waiting"] == 0, 10, lambda: f"{devices(gateway)}")


def test_what_waits_survives_the_death_of_the_gateway(linked) -> None:
    gateway, device = linked
    token, port = device.device_token(), gateway.control.get("/v1/gateway")["address"]
    device.kill()
    call = str(uuid.uuid4())
    assert send(gateway, token, call).status == 200
    gateway.kill()
    # The device knows this address only.
    gateway.sections["gateway"] = f'listen = "{port}"\naddress = "127.0.0.1"\n'
    gateway.write_configuration()
    gateway.start()
    assert devices(gateway)[0]["waiting"] == 1
    device.start()
    device.recorders[0].wait(call)


def test_nothing_is_written_for_a_push_that_the_device_has_at_once(linked) -> None:
    gateway, device = linked
    send(gateway, device.device_token(), str(uuid.uuid4()))
    before = gateway.control.status()["journal"]
    commits = json.loads(gateway.ringwake("status", "--json").stdout)
    for _ in range(5):
        call = str(uuid.uuid4())
        assert send(gateway, device.device_token(), call).status == 200
        device.recorders[0].wait(call)
    assert gateway.control.status()["journal"] == before, commits


def test_a_removed_app_answers_410(linked) -> None:
    gateway, device = linked
    token = device.device_token()
    assert device.ringwake("app", "remove", "com.example.phone").returncode == 0
    device.wait_until_linked()
    answer = send(gateway, token, str(uuid.uuid4()))
    assert (answer.status, answer.reason) == (410, "Unregistered")


def test_a_revoked_device_is_out(linked) -> None:
    gateway, device = linked
    token = device.device_token()
    done = gateway.ringwake("gateway", "revoke", devices(gateway)[0]["name"])
    assert done.returncode == 0, done
    answer = send(gateway, token, str(uuid.uuid4()))
    assert (answer.status, answer.reason) == (410, "Unregistered")
    until(lambda: device.link.get("problem"), 30, lambda: f"{device.link}")


def test_an_unpaired_device_is_out_and_can_be_paired_again(linked) -> None:
    gateway, device = linked
    token = device.device_token()
    assert device.ringwake("link", "unpair").returncode == 0
    until(lambda: send(gateway, token, str(uuid.uuid4())).status == 410, 10, "the tokens to end")
    assert device.link["state"] == "unpaired"
    pair(gateway, device)
    call = str(uuid.uuid4())
    assert device.device_token() != token
    assert send(gateway, device.device_token(), call).status == 200
    device.recorders[0].wait(call)


def test_a_gateway_that_was_away_is_told_of_the_unpairing_later(linked) -> None:
    gateway, device = linked
    token = device.device_token()
    place = address(gateway)
    gateway.kill()
    fix_port(gateway, place)
    until(lambda: device.link["state"] != "linked", 30, lambda: device.log)
    done = device.ringwake("link", "unpair")
    assert done.returncode == 0 and "is told when it can be reached" in done.stdout, done
    gateway.start()
    until(lambda: "leaving" not in device.link, 60, lambda: device.log)
    gone = send(gateway, token, str(uuid.uuid4()))
    assert (gone.status, gone.reason) == (410, "Unregistered"), gateway.log


def test_a_wrong_code_is_refused_with_the_gateways_words(make_daemon) -> None:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    link = invitation(gateway)["link"]
    code = link.split("code=")[1].split("&")[0]
    wrong = link.replace(code, code[:2] + ("0" if code[2] != "0" else "1") + code[3:])
    done = device.ringwake("link", "pair", wrong)
    assert done.returncode == 7 and "the code is not valid" in done.stderr, done
    assert device.ringwake("link", "pair", link).returncode == 0
    done = make_device(make_daemon).start().ringwake("link", "pair", link)
    assert done.returncode == 7, done
