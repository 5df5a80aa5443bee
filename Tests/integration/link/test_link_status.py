"""What a person sees of links: status, doctor, and lists."""

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
