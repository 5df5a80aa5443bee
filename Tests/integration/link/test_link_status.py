"""What a person sees of links: status, doctor, and lists."""

import re

from support.doctor import doctor
from support.links import make_device, make_gateway, pair
from support.waiting import until


def test_doctor_knows_what_a_device_and_a_gateway_need(make_daemon) -> None:
    gateway = make_gateway(make_daemon)
    gateway.write_configuration('role = "gateway"\n' + gateway.text())
    gateway.start()
    device = make_device(make_daemon).start()
    # A device has no port, no team and no certificate; a gateway no app.
    assert not [one for one in doctor(gateway).findings if one["check"] == "apps"]
    checks = {one["check"] for one in doctor(device).findings}
    assert not checks & {"ports", "teams"}
    assert doctor(device).named("link", "not paired")["state"] == "problem"
    pair(gateway, device)
    assert doctor(device).named("link", "linked to")["state"] == "ok"
    gateway.stop()
    until(lambda: device.link["state"] != "linked", 10, lambda: str(device.link))
    assert doctor(device).named("link", "not linked")["state"] == "problem"


def test_doctor_on_a_gateway_says_what_keeps_devices_and_senders_away(make_daemon) -> None:
    gateway = make_gateway(make_daemon)
    gateway.write_configuration('role = "gateway"\n' + gateway.text())
    gateway.start()
    device = make_device(make_daemon).start()
    address = gateway.control.get("/v1/gateway")["address"]
    fine = doctor(gateway).named("gateway", address, "which they know as 127.0.0.1:", "0 devices, 0 online")
    assert fine["state"] == "ok"
    pair(gateway, device)
    assert doctor(gateway).named("gateway", "1 device, 1 online")["state"] == "ok"
    text = gateway.ringwake("doctor").stdout
    assert "call rings" not in text and "calls ring" not in text and "ringwake setup" not in text, text
    assert "provider token" not in device.ringwake("doctor").stdout
    assert gateway.ringwake("gateway", "drain").returncode == 0
    found = doctor(gateway)
    assert found.problem("gateway", "drained")["hint"] == "run 'ringwake gateway drain --off'" and found.status == 1
    # A gateway without a port for senders starts, and is told.
    gateway.stop()
    text = gateway.configuration.read_text()
    gateway.configuration.write_text(re.sub(r"^\[\[listener\]\]\n(?!\[).*\n(?!\[).*\n", "", text, flags=re.M))
    gateway.start()
    assert doctor(gateway).problem("gateway", "no port for pushes")["state"] == "problem"
    assert not [one for one in doctor(gateway).findings if one["check"] == "ports"]


def test_a_device_says_what_a_gateway_needs(make_daemon) -> None:
    device = make_device(make_daemon).start()
    done = device.ringwake("gateway", "status")
    assert done.returncode != 0 and 'role is "device"' in done.stderr, done
    assert 'set role = "gateway" or "both" and add [gateway]' in done.stderr, done


def test_status_shows_links_on_both_sides(make_daemon) -> None:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    assert "link" not in device.control.status() and gateway.control.status()["gateway"]["devices"] == 0
    pair(gateway, device)
    assert device.control.status()["link"]["state"] == "linked"
    shown = device.ringwake("status").stdout
    assert "linked, gateway 127.0.0.1:" in shown, shown
    assert "1 of 1 devices online, 0 pushes wait" in gateway.ringwake("status").stdout
    listed = gateway.ringwake("gateway", "devices").stdout
    assert "online" in listed and "com.example.phone" in listed
    # The kernel keeps the link; how often is known on both sides.
    assert device.link["keepAliveSeconds"] == gateway.control.get("/v1/gateway/devices")["devices"][0]["keepAliveSeconds"]
