"""httpx with HTTP/2: what kalyke, pyapns-client and most home-made senders are built on."""

import ssl
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from support.credentials import APP, TOPIC
from support.daemon import Daemon
from support.handlers import Recorder


@contextmanager
def client(daemon: Daemon, auth: str, version: ssl.TLSVersion | None = None) -> Iterator[httpx.Client]:
    context = daemon.credentials.context(certificate=auth == "certificate")
    if version:
        context.minimum_version = context.maximum_version = version
    fields = {} if auth == "certificate" else {"authorization": daemon.credentials.authorization()}
    url = daemon.url.replace("127.0.0.1", "localhost")
    with httpx.Client(http2=True, http1=False, verify=context, headers=fields, base_url=url) as made:
        yield made


def push(made: httpx.Client, token: str, call: str | None = None, content: bytes = b"{}", **fields) -> httpx.Response:
    fields = {
        "apns-topic": TOPIC, "apns-push-type": "voip", "apns-id": call or str(uuid.uuid4()),
    } | fields  # fmt: skip
    return made.post(f"/3/device/{token}", content=content, headers=fields)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS1.2", "TLS1.3"])
@pytest.mark.parametrize("auth", ["certificate", "token"])
def test_a_push_is_answered_and_wakes_the_handler(
    daemon: Daemon, handler: Recorder, auth: str, version: ssl.TLSVersion
) -> None:
    call = str(uuid.uuid4())
    with client(daemon, auth, version) as made:
        answer = push(made, daemon.device_token(), call, b'{"from":"sip:alice@example.com"}')
    assert (answer.http_version, answer.status_code, answer.content) == ("HTTP/2", 200, b"")
    assert answer.headers["apns-id"] == call
    assert uuid.UUID(answer.headers["apns-unique-id"]), "the development environment names each push once more"
    assert handler.wait(call).payload == b'{"from":"sip:alice@example.com"}'


def test_an_apns_id_is_made_for_a_sender_that_has_none(daemon: Daemon, handler: Recorder) -> None:
    with client(daemon, "certificate") as made:
        answer = made.post(f"/3/device/{daemon.device_token()}", content=b"{}", headers={"apns-topic": TOPIC})
    assert answer.status_code == 200
    call = answer.headers["apns-id"]
    assert uuid.UUID(call)
    handler.wait(call)


def test_topic_and_push_type_are_inferred_from_the_certificate(daemon: Daemon, handler: Recorder) -> None:
    with client(daemon, "certificate") as made:
        answer = made.post(f"/3/device/{daemon.device_token()}", content=b'{"only":"content-type"}')
    assert answer.status_code == 200
    assert handler.wait(answer.headers["apns-id"]).message["topic"] == TOPIC


def test_an_upper_case_apns_id_comes_back_as_it_was_sent(daemon: Daemon) -> None:
    call = str(uuid.uuid4()).upper()
    with client(daemon, "certificate") as made:
        assert push(made, daemon.device_token(), call).headers["apns-id"] == call
        refusal = push(made, "00" * 32, call)
    assert (refusal.status_code, refusal.headers["apns-id"]) == (400, call)


def test_an_upper_case_token_is_the_same_token(daemon: Daemon, handler: Recorder) -> None:
    call = str(uuid.uuid4())
    with client(daemon, "certificate") as made:
        assert push(made, daemon.device_token().upper(), call).status_code == 200
    handler.wait(call)


def test_a_listener_on_ipv6_takes_pushes(make_daemon) -> None:
    daemon = make_daemon(address="[::1]:0")
    handler = daemon.add_app()
    daemon.start()
    call = str(uuid.uuid4())
    with client(daemon, "token") as made:
        assert push(made, daemon.device_token(), call).status_code == 200
    handler.wait(call)


def test_a_production_listener_has_tokens_of_its_own(make_daemon) -> None:
    daemon = make_daemon()
    daemon.settings["listener.environment"] = "production"
    handler = daemon.add_app()
    daemon.start()
    tokens = daemon.control.app(APP)["tokens"]
    assert tokens["production"] != tokens.get("development")
    call = str(uuid.uuid4())
    with client(daemon, "certificate") as made:
        answer = push(made, tokens["production"], call)
        assert answer.status_code == 200
        assert "apns-unique-id" not in answer.headers
        if "development" in tokens:
            refusal = push(made, tokens["development"])
            assert (refusal.status_code, refusal.json()["reason"]) == (400, "BadDeviceToken")
    handler.wait(call)


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({"apns-topic": "com.example.other.voip"}, 400, "TopicDisallowed"),
        ({"apns-priority": "7"}, 400, "BadPriority"),
        ({"apns-expiration": "soon"}, 400, "BadExpirationDate"),
        ({"apns-expiration": "99999999999999999999999999"}, 400, "BadExpirationDate"),
        ({"apns-collapse-id": "x" * 65}, 400, "BadCollapseId"),
        ({"apns-id": "not-a-uuid"}, 400, "BadMessageId"),
        ({"apns-push-type": "telepathy"}, 400, "InvalidPushType"),
    ],
)
def test_a_bad_field_is_refused_with_apples_reason(
    daemon: Daemon, handler: Recorder, fields: dict, status: int, reason: str
) -> None:
    with client(daemon, "certificate") as made:
        answer = push(made, daemon.device_token(), **fields)
        assert (answer.status_code, answer.json()) == (status, {"reason": reason})
        assert answer.headers["apns-id"]
        assert answer.headers["content-type"] == "application/json"
        assert push(made, daemon.device_token()).status_code == 200
    assert daemon.control.status()["pushes"]["refused"] == {reason: 1}


def test_method_and_path_are_checked(daemon: Daemon) -> None:
    token = daemon.device_token()
    with client(daemon, "certificate") as made:
        answer = made.get(f"/3/device/{token}")
        assert (answer.status_code, answer.json()["reason"]) == (405, "MethodNotAllowed")
        answer = made.post("/4/device/x", content=b"{}")
        assert (answer.status_code, answer.json()["reason"]) == (404, "BadPath")
        answer = made.post("/3/device/", content=b"{}")
        assert (answer.status_code, answer.json()["reason"]) == (400, "MissingDeviceToken")


def test_a_sender_without_credentials_is_refused(daemon: Daemon) -> None:
    with httpx.Client(http2=True, verify=daemon.credentials.context(), base_url=daemon.url) as made:
        answer = push(made, daemon.device_token())
    assert (answer.status_code, answer.json()["reason"]) == (403, "MissingProviderToken")
