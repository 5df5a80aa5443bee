"""TLS as real clients speak it: versions, ALPN, resumption, authorities."""

import socket
import ssl
import uuid

import pytest

from support.daemon import Daemon
from support.h2client import H2Client, push_fields
from support.handlers import Recorder
from support.programs import run


@pytest.mark.parametrize("alpn", [None, ["h2"], ["h2", "http/1.1"], ["h2", "h2-16", "h2-15", "h2-14", "http/1.1"]])
def test_http_2_is_spoken_whatever_way_the_client_asks(daemon: Daemon, alpn: list[str] | None) -> None:
    context = daemon.credentials.context(certificate=True, alpn=alpn)
    with H2Client(daemon.host_and_port, context) as client:
        assert client.socket.selected_alpn_protocol() == ("h2" if alpn else None)
        assert client.push(daemon.device_token()).status == 200


def test_a_client_that_offers_only_http_1_is_refused_by_alpn(daemon: Daemon) -> None:
    context = daemon.credentials.context(alpn=["http/1.1"])
    with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
        H2Client(daemon.host_and_port, context)
    daemon.check_alive()


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1"])
def test_old_versions_are_refused(daemon: Daemon, version: str) -> None:
    host, port = daemon.host_and_port
    done = run(
        "openssl", "s_client", version, "-cipher", "DEFAULT@SECLEVEL=0", "-connect", f"{host}:{port}"
    )
    assert "Cipher is (NONE)" in done.stdout, done.stdout
    daemon.check_alive()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS1.2", "TLS1.3"])
@pytest.mark.parametrize("auth", ["certificate", "token"])
def test_a_resumed_session_keeps_the_senders_certificate(
    daemon: Daemon, handler: Recorder, version: ssl.TLSVersion, auth: str
) -> None:
    context = daemon.credentials.context(certificate=auth == "certificate", alpn=["h2"])
    context.minimum_version = context.maximum_version = version
    fields = {"authorization": daemon.credentials.authorization()} if auth == "token" else {}
    token = daemon.device_token()
    with H2Client(daemon.host_and_port, context) as first:
        assert first.push(token, **fields).status == 200
        session = first.socket.session
    with H2Client(daemon.host_and_port, context, session=session) as second:
        assert second.socket.session_reused
        call = str(uuid.uuid4())
        assert second.push(token, apns_id=call, **fields).status == 200
    handler.wait(call)


def test_host_in_place_of_authority_is_accepted(daemon: Daemon) -> None:
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        fields = [*push_fields(daemon.device_token(), authority=None), ("host", "api.push.apple.com")]
        answer = client.request(fields)
    assert (answer.status, answer.frames) == (200, ["headers+end"])


def test_the_settings_leave_room_for_a_whole_push(daemon: Daemon) -> None:
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        assert client.push(daemon.device_token(), b'{"x":"' + b"y" * 5000 + b'"}').status == 200
        assert client.h2.remote_settings.max_concurrent_streams >= 100
        assert client.h2.remote_settings.initial_window_size >= 5120


def test_the_connection_window_never_runs_dry(daemon: Daemon) -> None:
    """aioapns sends a body in one piece and fails when the window is short: 40 bodies are more than 64 KiB."""
    token = daemon.device_token()
    body = b'{"x":"' + b"y" * 5000 + b'"}'
    with H2Client(daemon.host_and_port, daemon.credentials.context(certificate=True)) as client:
        for _ in range(40):
            assert client.h2.outbound_flow_control_window >= 5120
            assert client.push(token, body).status == 200


def test_a_client_that_goes_away_in_the_handshake_costs_nothing(daemon: Daemon) -> None:
    for _ in range(50):
        connection = daemon.connect()
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.close()
    daemon.check_alive()
