"""aioapns, the sender inside Matrix's sygnal: it offers no ALPN, sends `host`, and looks answers up by `apns-id`."""

import asyncio
import importlib.metadata
import uuid

import pytest
from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsTLSClientProtocol

from support.credentials import APP, TEAM, TOPIC, Credentials
from support.daemon import Daemon
from support.handlers import Recorder


def client(daemon: Daemon, auth: str) -> APNs:
    """A client as its users make it, sent to the daemon instead of Apple."""
    credentials = daemon.credentials
    context = credentials.context()
    if auth == "certificate":
        made = APNs(client_cert=str(credentials.provider_pem), ssl_context=context)
    else:
        # Version 3 takes the path of the key.
        takes_path = importlib.metadata.version("aioapns").startswith("3.")
        key = str(credentials.token_key) if takes_path else credentials.token_key.read_text()
        made = APNs(
            key=key, key_id=credentials.key_id, team_id=TEAM, topic=TOPIC,
            ssl_context=context,
        )  # fmt: skip
    host, port = daemon.host_and_port
    made.pool.protocol_class = type("Protocol", (APNsTLSClientProtocol,), {"APNS_SERVER": host, "APNS_PORT": port})
    return made


def push(token: str, **options) -> NotificationRequest:
    options = {"message": {"call": "x"}, "push_type": PushType.VOIP, "notification_id": str(uuid.uuid4())} | options
    return NotificationRequest(device_token=token, **options)


def send(daemon: Daemon, auth: str, *requests: NotificationRequest) -> tuple[list, int]:
    """Sends all at once; the results, and how many connections that took."""

    async def work() -> tuple[list, int]:
        sender = client(daemon, auth)
        results = await asyncio.wait_for(asyncio.gather(*map(sender.send_notification, requests)), 60)
        connections = len(sender.pool.connections)
        sender.pool.close()
        await asyncio.sleep(0)
        return results, connections

    return asyncio.run(work())


@pytest.mark.parametrize("auth", ["certificate", "token"])
def test_one_push_wakes_the_handler(daemon: Daemon, handler: Recorder, auth: str) -> None:
    request = push(daemon.device_token(), message={"call": "Grüße", "n": 1}, priority=10, time_to_live=30)
    [result], _ = send(daemon, auth, request)
    assert result.is_successful
    assert result.notification_id == request.notification_id
    wake = handler.wait(request.notification_id)
    assert wake.payload == '{"call": "Grüße", "n": 1}'.encode()
    assert wake.message["topic"] == TOPIC


@pytest.mark.parametrize("auth", ["certificate", "token"])
def test_300_at_once_are_all_answered_and_all_wake_a_handler(make_daemon, auth: str) -> None:
    daemon = make_daemon()
    handler = daemon.add_app("true")
    daemon.start()
    token = daemon.device_token()
    requests = [push(token, message={"call": number}) for number in range(300)]
    results, _ = send(daemon, auth, *requests)
    assert [result.status for result in results] == ["200"] * 300
    assert [result.notification_id for result in results] == [request.notification_id for request in requests]
    wakes = handler.wait_for_all(300)
    for number, request in enumerate(requests):
        assert wakes[request.notification_id].payload == b'{"call": %d}' % number
    daemon.check_alive()


@pytest.mark.parametrize("auth", ["certificate", "token"])
def test_a_refusal_leaves_the_connection_usable(daemon: Daemon, auth: str) -> None:
    unknown = push("ab" * 32)
    results, connections = send(daemon, auth, unknown, push(daemon.device_token()), push("ab" * 32))
    assert [(result.status, result.description) for result in results] == [
        ("400", "BadDeviceToken"), ("200", None), ("400", "BadDeviceToken"),
    ]  # fmt: skip
    assert connections == 1


def test_a_removed_app_is_gone_since_an_exact_time(daemon: Daemon) -> None:
    token = daemon.device_token()
    assert daemon.ringwake("app", "remove", APP).returncode == 0
    [result], _ = send(daemon, "certificate", push(token))
    assert (result.status, result.description) == ("410", "Unregistered")
    assert type(result.timestamp) is int


def test_a_certificate_of_a_foreign_ca_is_answered_not_cut_off(
    daemon: Daemon, foreign_credentials: Credentials
) -> None:
    async def work():
        context = daemon.credentials.context()
        sender = APNs(client_cert=str(foreign_credentials.provider_pem), ssl_context=context)
        host, port = daemon.host_and_port
        members = {"APNS_SERVER": host, "APNS_PORT": port}
        sender.pool.protocol_class = type("Protocol", (APNsTLSClientProtocol,), members)
        try:
            return await asyncio.wait_for(sender.send_notification(push(token)), 20)
        finally:
            sender.pool.close()

    token = daemon.device_token()
    result = asyncio.run(work())
    assert (result.status, result.description) == ("403", "BadCertificate")
