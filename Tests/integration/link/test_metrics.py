"""What /metrics counts, as Prometheus' own parser reads it."""

import subprocess
import uuid

import pytest
from support.daemon import Daemon
from support.links import Device, devices, make_device, make_gateway, pair, send
from support.metrics import read_metrics, scrape
from support.mqtt import DeviceKey, Link
from support.waiting import until

PREFIX = "ringwake_gateway_"


@pytest.fixture
def linked(make_daemon) -> tuple[Daemon, Device]:
    gateway, device = make_gateway(make_daemon).start(), make_device(make_daemon).start()
    pair(gateway, device)
    return gateway, device


def test_a_gateways_metrics_follow_what_happens(linked, tmp_path) -> None:
    gateway, device = linked
    token = device.device_token()
    before = read_metrics(gateway)
    assert before[PREFIX + "links", "admitted"] == before[PREFIX + "devices", "online"] == 1
    call = str(uuid.uuid4())
    assert send(gateway, token, call).status == 200
    device.recorders[0].wait(call)
    until(lambda: read_metrics(gateway)[(PREFIX + "pushes_settled_total",)] == 1, 10, lambda: scrape(gateway))
    found = read_metrics(gateway)
    outcomes = [found[PREFIX + "pushes_total", outcome] for outcome in ("forwarded", "queued")]
    assert sum(outcomes) == found[(PREFIX + "push_acknowledgement_seconds_count",)] == 1
    assert 0 <= found[(PREFIX + "push_acknowledgement_seconds_sum",)] < 60
    buckets = [value for key, value in found.items() if key[0] == PREFIX + "push_acknowledgement_seconds_bucket"]
    assert buckets == sorted(buckets) and buckets[-1] == 1
    assert found[PREFIX + "push_acknowledgement_seconds_bucket", "+Inf"] == 1
    device.kill()
    until(lambda: devices(gateway)[0]["state"] == "offline", 30, lambda: gateway.log)
    assert send(gateway, token, str(uuid.uuid4()), b'{"aps":{},"n":1}').status == 200
    assert send(gateway, "0" * 64, str(uuid.uuid4())).status == 400
    host, port = gateway.control.get("/v1/gateway")["address"].rsplit(":", 1)
    with Link((host, int(port)), DeviceKey.make(tmp_path)) as link:
        assert link.connect().reason == 0x87
    found = read_metrics(gateway)
    assert found[(PREFIX + "mailbox_pushes",)] == 1 and found[(PREFIX + "mailbox_bytes",)] > 0
    assert found[PREFIX + "pushes_total", "queued"] == outcomes[1] + 1
    assert found[PREFIX + "devices", "offline"] == 1 and found[(PREFIX + "links_ended_total",)] == 1
    assert found[PREFIX + "links_refused_total", "0x87"] == 1
    assert found["ringwake_pushes_refused_total", "BadDeviceToken"] == 1
    assert found[("ringwake_pushes_accepted_total",)] == 2
    assert found[(PREFIX + "handshakes_waiting",)] == 0 and found[(PREFIX + "receipts",)] == 2
    assert gateway.ringwake("gateway", "drain").returncode == 0
    assert read_metrics(gateway)[(PREFIX + "drained",)] == 1


def test_a_daemon_without_links_has_the_metrics_of_its_pushes(make_daemon) -> None:
    daemon = make_daemon().start()
    found = read_metrics(daemon)
    assert found[("ringwake_pushes_accepted_total",)] == 0
    assert not [key for key in found if key[0].startswith(PREFIX)]


def test_the_status_socket_shows_no_metrics(make_daemon) -> None:
    daemon = make_daemon().start()
    place = daemon.directory / "run" / "status.sock"
    command = ["curl", "--silent", "--unix-socket", str(place), "--write-out", "%{http_code}", "http://localhost/metrics"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert shown.endswith("403") and "not-permitted" in shown
