"""Senders that know Apple's hosts only: kalyke-apns, pyapns-client, and aioapns as it was before its version 4."""

import asyncio
import os
import subprocess
import sys
import uuid
from pathlib import Path

import kalyke
import pyapns_client
import pytest
from kalyke.exceptions import BadDeviceToken
from pyapns_client.exceptions import BadDeviceTokenException

from support.credentials import TEAM, TOPIC
from support.daemon import Daemon
from support.handlers import Recorder

AIOAPNS_3 = Path(sys.prefix) / "aioapns3"


def url(daemon: Daemon) -> str:
    return "https://{}:{}".format(*daemon.host_and_port)


@pytest.fixture
def kalyke_client(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> kalyke.VoIPClient:
    # It trusts what OpenSSL trusts.
    monkeypatch.setenv("SSL_CERT_FILE", str(daemon.credentials.ca))
    client = type("Client", (kalyke.VoIPClient,), {"_base_url": url(daemon)})
    return client(
        use_sandbox=True, team_id=TEAM, auth_key_id=daemon.credentials.key_id,
        auth_key_filepath=daemon.credentials.token_key,
    )  # fmt: skip


def test_kalyke_wakes_the_handler(daemon: Daemon, handler: Recorder, kalyke_client: kalyke.VoIPClient) -> None:
    call = str(uuid.uuid4())
    config = kalyke.VoIPApnsConfig(topic=TOPIC, identifier=call, expiration=0, collapse_id="c")
    told = asyncio.run(kalyke_client.send_message(daemon.device_token(), {"n": 1}, config))
    assert told == call
    assert handler.wait(call).payload.replace(b" ", b"") == b'{"n":1}'


def test_kalyke_knows_the_reason(daemon: Daemon, kalyke_client: kalyke.VoIPClient) -> None:
    with pytest.raises(BadDeviceToken):
        asyncio.run(kalyke_client.send_message("ab" * 32, {}, kalyke.VoIPApnsConfig(topic=TOPIC)))


def test_kalyke_with_a_certificate(daemon: Daemon, handler: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(daemon.credentials.ca))
    members = {"_base_url": url(daemon)}
    with pytest.warns(DeprecationWarning):
        client = type("Client", (kalyke.VoIPCertificateClient,), members)(
            use_sandbox=True, auth_key_filepath=daemon.credentials.provider_pem
        )
    call = str(uuid.uuid4())
    config = kalyke.VoIPApnsConfig(topic=TOPIC, identifier=call)
    assert asyncio.run(client.send_message(daemon.device_token(), {}, config)) == call
    handler.wait(call)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pyapns_client(daemon: Daemon, handler: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pyapns_client.APNSClient.BASE_URLS, "dev", url(daemon))
    client = pyapns_client.APNSClient(
        mode=pyapns_client.APNSClient.MODE_DEV, root_cert_path=str(daemon.credentials.ca),
        auth_key_path=str(daemon.credentials.token_key), auth_key_id=daemon.credentials.key_id, team_id=TEAM,
    )  # fmt: skip
    calls = [str(uuid.uuid4()) for _ in range(3)]
    payload = pyapns_client.IOSPayload(custom={"call": 1})
    for call in calls:
        notification = pyapns_client.IOSNotification(payload=payload, topic=TOPIC, apns_id=call, push_type="voip")
        client.push(notification, daemon.device_token())
    for call in calls:
        handler.wait(call)
    with pytest.raises(BadDeviceTokenException):
        client.push(pyapns_client.IOSNotification(payload=payload, topic=TOPIC, push_type="voip"), "ab" * 32)
    client.close()


def test_aioapns_3(tmp_path: Path) -> None:
    """All tests of aioapns 4, by its predecessor."""
    folder = Path(__file__).parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(AIOAPNS_3)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "--basetemp", tmp_path / "3",
         folder / "test_clients_aioapns.py"],
        cwd=folder.parent.parent, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    probe = "import aioapns, sys; sys.exit(not aioapns.__file__.startswith(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", probe, AIOAPNS_3], env=environment, check=True)
