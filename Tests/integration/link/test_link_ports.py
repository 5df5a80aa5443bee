"""One port for pushes and links, and devices that check whom they link to."""

import json
import re
import uuid

from support.daemon import Daemon
from support.links import devices, invitation, make_device, make_gateway, pair, send


def test_one_port_serves_pushes_and_links_by_alpn(make_daemon) -> None:
    gateway = make_gateway(make_daemon)
    gateway.sections["gateway"] = 'on_push_ports = true\naddress = "127.0.0.1"\n'
    gateway.start()
    device = make_device(make_daemon).start()
    pair(gateway, device)
    assert device.link["gateway"] == f"127.0.0.1:{gateway.host_and_port[1]}"
    call = str(uuid.uuid4())
    assert send(gateway, device.device_token(), call).status == 200
    device.recorders[0].wait(call)


def test_a_port_that_takes_no_links_says_which_one_does(make_daemon) -> None:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    made = invitation(gateway)
    port = gateway.host_and_port[1]
    done = device.ringwake("link", "pair", f"127.0.0.1:{port}", made["code"], "--pin", made["pin"])
    assert done.returncode == 8, done
    assert f"127.0.0.1:{port}: this port takes no links of devices" in done.stderr and "8883" in done.stderr, done
    assert "alert" not in done.stderr


def test_a_pin_survives_a_renewed_certificate_and_refuses_another_key(make_daemon, foreign_credentials) -> None:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    made = invitation(gateway)
    assert made["pins"] == "key" and len(made["pin"]) == 64
    wrong = made["link"].replace(made["pin"], "0" * 64)
    done = device.ringwake("link", "pair", wrong)
    assert done.returncode == 8 and "pin" in done.stderr, done
    assert device.ringwake("link", "pair", made["link"]).returncode == 0
    device.wait_until_linked()
    # Another key behind the same address.
    address = gateway.control.get("/v1/gateway")["address"]
    gateway.stop()
    credentials = gateway.credentials
    gateway.credentials = foreign_credentials
    gateway.sections["gateway"] = f'listen = "{address}"\naddress = "127.0.0.1"\n'
    gateway.write_configuration()
    gateway.start()
    device.log_mentions("the server's certificate is refused", 60)
    assert devices(gateway)[0]["state"] == "offline"
    gateway.stop()
    gateway.credentials = credentials
    gateway.write_configuration()
    gateway.start()
    device.wait_until_linked(120)


def test_a_ca_can_be_given_in_place_of_a_pin(make_daemon) -> None:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    made = invitation(gateway)
    done = device.ringwake("link", "pair", made["gateway"], made["code"], "--ca", gateway.credentials.ca)
    assert done.returncode == 0, done
    device.wait_until_linked()
    assert device.link["trust"] == "authorities"


def test_without_pin_and_ca_the_system_decides(make_daemon) -> None:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    made = invitation(gateway)
    done = device.ringwake("link", "pair", made["gateway"], made["code"])
    assert done.returncode == 8 and re.search("issuer|unknown|CA", done.stderr), done
    assert device.link["state"] == "unpaired"


def test_roles_and_settings_that_do_not_fit_are_refused(make_daemon) -> None:
    def refusal(change: str, **sections: str) -> str:
        daemon = make_daemon()
        daemon.sections |= sections
        daemon.write_configuration(daemon.text().replace("state_directory", change + "state_directory", 1))
        done = daemon.run_to_its_end("--check-config")
        assert done.returncode == 9, done
        return done.stderr

    assert "[[listener]]" in refusal('role = "device"\n')
    assert "[gateway]" in refusal('role = "gateway"\n')


def test_a_gateway_alone_has_no_apps(make_daemon) -> None:
    gateway: Daemon = make_gateway(make_daemon)
    gateway.write_configuration('role = "gateway"\n' + gateway.text())
    gateway.add_app()
    gateway.start()
    assert gateway.control.status()["apps"] == 0
    assert json.loads(gateway.ringwake("gateway", "status", "--json").stdout)["devices"] == 0
    assert gateway.ringwake("link", "status").returncode == 1
